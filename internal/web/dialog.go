package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/signin"
)

const (
	// dialogRest is how long a dialog's buttons are ignored after it was made, and after
	// its window gets the focus: so a click that was meant for what was at that place
	// before is ignored.
	dialogRest  = 800 * time.Millisecond
	dialogLife  = time.Hour // how long after it was made a dialog's form counts
	maxInDialog = 4000      // characters of a call that a dialog shows; a longer one is on its own page
)

// dialogPages are the dialog for other people's pages.
type dialogPages struct {
	page
	shown    *shown
	castVote castVote // counts what a dialog decides
	origins  []string // of pages that may open it
}

func (p *dialogPages) routes() []route {
	return []route{
		{pattern: "GET /dialog/{code}", serve: p.open},
		{pattern: "POST /dialog/{code}", serve: p.decide},
	}
}

// dialog is what the page of an approval's dialog shows.
type dialog struct {
	approvalView
	TooLong  bool // the call is on its own page, and is allowed there
	Hidden   bool // the call may not be seen, so it cannot be allowed
	Buttons  []dialogButton
	Shown    string // fingerprint of the call if the page shows all of it, or empty
	MadeMs   int64
	Chosen   *dialogButton // to be confirmed, if no script guards the clicks
	Sentence string        // why the last try did not count, or what it did
	Answer   string        // for the window that opened this one, as JSON; empty if not set
	Origins  string        // of who may get it
}

// dialogButton is one of a dialog's buttons.
type dialogButton struct {
	Decision approval.Decision
	Label    string
	Covers   string // a description of what a wider scope allows
}

// yes is what the button says that confirms it.
func (b dialogButton) yes() string {
	if b.Decision == approval.AllowOnce {
		return "Yes, run it once"
	}
	return "Yes: " + b.Label
}

// dialogLabels are the words of the dialog's buttons.
var dialogLabels = sync.OnceValue(func() map[approval.Decision]string {
	return map[approval.Decision]string{
		approval.Deny: "Cancel", approval.AllowOnce: "Allow once",
		approval.AllowSession: "Always (this session)", approval.AllowAlways: "Always",
	}
})

// open shows the dialog of an approval, in a window that a page of another site has
// opened, or in one of its own.
func (p *dialogPages) open(out http.ResponseWriter, r *http.Request, s signin.Session) {
	a, err := p.dialogOf(r.Context(), s, r.PathValue("code"))
	if err != nil {
		p.noDialog(out, r, s, err)
		return
	}
	if r.Header.Get("X-Dialog") != "" { // the open window asks whether it has ended
		out.WriteHeader(map[bool]int{true: http.StatusNoContent, false: http.StatusAccepted}[a.Final()])
		return
	}
	p.showDialog(out, r, s, a, func(*dialog) {})
}

// dialogOf finds the approval of a code, if it concerns the signed-in person; else the
// answer does not reveal whether it exists.
func (p *dialogPages) dialogOf(ctx context.Context, s signin.Session, code string) (approval.Approval, error) {
	a, err := p.gate.ByCode(ctx, code)
	if err == nil && !core.ConcernsPerson(a, s.Person, p.gate.Rules().People) {
		err = approval.Refuse(approval.CodeNotFound, "There is no such approval.")
	}
	return a, err
}

// noDialog answers that there is no approval to decide.
func (p *dialogPages) noDialog(out http.ResponseWriter, r *http.Request, s signin.Session, err error) {
	d, status := dialog{Sentence: err.Error()}, http.StatusNotFound
	if approval.CodeOf(err) != approval.CodeNotFound {
		p.log.Error("could not show the decision dialog; the person was told to try again",
			"code", r.PathValue("code"), "person", s.Person, "reason", err)
		d.Sentence, status = "The desk cannot do that right now. Try again in a moment.", http.StatusServiceUnavailable
	}
	p.showOpened(out, status, "No decision is needed", d)
}

// showOpened answers with a dialog. Unlike all other pages it keeps its tie to the window
// that opened it, since it tells that window the decision.
func (p *dialogPages) showOpened(out http.ResponseWriter, status int, title string, d dialog) {
	out.Header().Set("Cross-Origin-Opener-Policy", "unsafe-none")
	p.show(out, status, dialogWindow(title, d))
}

// showDialog answers with the approval's present dialog, after change has altered it.
func (p *dialogPages) showDialog(
	out http.ResponseWriter, r *http.Request, s signin.Session, a approval.Approval, change func(*dialog),
) {
	payload, err := p.gate.Cards().Payload(r.Context(), a)
	if err != nil {
		p.noDialog(out, r, s, err)
		return
	}
	v := p.reader(s)
	d := newDialog(a, drawn(p.gate, v, a, payload, 0), payload, v.now)
	d.Origins = strings.Join(p.origins, " ")
	if d.Shown != "" {
		p.shown.note(s, a)
	}
	change(&d)
	status, title := http.StatusOK, "Approval required"
	if a.Final() {
		title = "Decided"
	}
	p.showOpened(out, status, title, d)
}

// newDialog is the dialog of an approval. payload is its whole call. It offers an allow
// only if the page shows every byte of the call.
func newDialog(a approval.Approval, view approvalView, payload []card.Fact, now time.Time) dialog {
	d := dialog{approvalView: view, MadeMs: now.UnixMilli()}
	if a.Final() {
		return d
	}
	d.Hidden, d.TooLong = len(payload) == 0, a.Rule.StepUp || lengthOf(payload) > maxInDialog
	d.Buttons = []dialogButton{{Decision: approval.Deny, Label: dialogLabels()[approval.Deny]}}
	if d.TooLong {
		d.Call = nil
	}
	if d.TooLong || d.Hidden {
		return d
	}
	d.Shown = a.Fingerprint
	covers := d.Wider
	for _, offer := range d.Card.Offers {
		b := dialogButton{Decision: offer, Label: dialogLabels()[offer]}
		if offer != approval.AllowOnce && len(covers) > 0 {
			b.Covers, covers = covers[0], covers[1:]
		}
		d.Buttons = append(d.Buttons, b)
	}
	return d
}

// lengthOf is how many characters a call has on a page, about.
func lengthOf(payload []card.Fact) (n int) {
	for _, f := range payload {
		n += len([]rune(f.Name)) + len([]rune(f.Value))
	}
	return n
}

// decide counts what a dialog's form says. Without a script that watches over the
// window's focus, and of an R4 call, it asks once more first, on another page.
func (p *dialogPages) decide(out http.ResponseWriter, r *http.Request, s signin.Session) {
	r.Body = http.MaxBytesReader(out, r.Body, 16<<10)
	decision := approval.Decision(r.PostFormValue("decision"))
	a, err := p.dialogOf(r.Context(), s, r.PathValue("code"))
	if err != nil {
		p.noDialog(out, r, s, err)
		return
	}
	allows := decision.Allows() && !a.Final()
	watched := r.PostFormValue("armed") != "" || r.PostFormValue("confirm") != ""
	again := decision == approval.AllowOnce && !a.Final() && core.ConfirmsTwice(a) && r.PostFormValue("confirm") == ""
	switch {
	case again || !watched || !inTime(r.PostFormValue("made"), time.Now()):
		p.showDialog(out, r, s, a, func(d *dialog) { d.confirm(decision) })
	case allows && r.PostFormValue("shown") != a.Fingerprint:
		p.showDialog(out, r, s, a, func(d *dialog) { d.Sentence = "Read the whole call first." })
	default:
		after, err := p.castVote(r.Context(), s, a.Code, decision, "", "")
		p.answerDialog(out, r, s, after, decision, err)
	}
}

// inTime reports whether a form is old enough to be read, and no older than it may be.
func inTime(made string, now time.Time) bool {
	ms, err := strconv.ParseInt(made, 10, 64)
	age := now.Sub(time.UnixMilli(ms))
	return err == nil && age >= dialogRest && age <= dialogLife
}

// confirm leaves the one button that was chosen, on a page that explains it.
func (d *dialog) confirm(chosen approval.Decision) {
	i := slices.IndexFunc(d.Buttons, func(b dialogButton) bool { return b.Decision == chosen })
	if i >= 0 {
		d.Chosen = &d.Buttons[i]
	}
}

// dialogAnswer is what the window that opened a dialog is told: what the person has decided, and
// the present state of the approval.
type dialogAnswer struct {
	Type     string            `json:"type"`
	Code     string            `json:"code"`
	Decision approval.Decision `json:"decision"`
	Status   approval.Status   `json:"status"`
}

// answerDialog shows the result of a vote. The opener of the window is told only a vote that
// counted, and only in answer to it: opening the window does not reveal how an approval
// ended.
func (p *dialogPages) answerDialog(
	out http.ResponseWriter, r *http.Request, s signin.Session, a approval.Approval, decision approval.Decision, err error,
) {
	var no *approval.Error
	switch {
	case err != nil && !errors.As(err, &no):
		p.noDialog(out, r, s, err)
		return
	case err != nil:
		now, missing := p.dialogOf(r.Context(), s, r.PathValue("code"))
		if missing != nil {
			p.noDialog(out, r, s, missing)
			return
		}
		p.showDialog(out, r, s, now, func(d *dialog) { d.Sentence = no.Message })
		return
	}
	text, _ := json.Marshal(dialogAnswer{"approvalbot", a.Code, decision, a.Status}) // plain values always marshal
	p.showDialog(out, r, s, a, func(d *dialog) {
		d.Answer, d.Buttons = string(text), nil
		if d.Sentence = "Your vote counts."; !a.Final() {
			d.Sentence = "Your vote counts. Others are to decide, too."
		}
	})
}
