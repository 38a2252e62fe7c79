package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/display"
	"approvalbot/internal/people"
	"approvalbot/internal/signin"
)

// likeShown is how many requests of the same kind are listed below one.
const likeShown = 5

// approvalView is what the page of one approval shows.
type approvalView struct {
	card.Card
	Key, Status  string
	Final        bool
	Call         []part // the call, while it waits; after the end, while it is kept
	Sure         []part // its telling part, which a confirmation repeats
	Commands     approval.CommandList
	File         string // address of the whole call as a file
	Telling      []part // of a long call the lines that its reasons come from
	Cut          bool   // the page has not all of it
	Offers       []offer
	Confirm      bool // an allow opens a confirmation in place; R4 offers no wider scope
	ConfirmRetry bool
	Sign         bool   // a yes is signed on a page of its own
	Deny         string // what the button against it says; empty: no button
	NotAllowed   string // why there is no allow
	Asked, Ends  stamp
	Reasons      []card.Words    // the sources of the risk, the strongest first
	Long         bool            // the call would push what counts out of sight
	ClaimEnds    stamp           // until when it may be claimed
	Retry        core.RetryOffer // one more run, which they could vote for here
	RetryEnds    stamp
	Votes        []voteView
	Deliveries   []deliveryView
	Line         []moment
	Receipt      string
	Like         []likeView
	Fingerprint  string
	Unheard      string // the asking program, if it does not pass notes to its model
}

// drawn is the call of an approval as every page draws it on which a person decides: who asks for what, its risk, its
// blocks, and its place. If mostBytes is not 0 and the call is longer, only its beginning is drawn.
func drawn(gate *core.Gate, v reader, a approval.Approval, payload []card.Fact, mostBytes int) approvalView {
	c := gate.Cards().In(a, payload, v.zone)
	d := approvalView{Card: c, Key: a.Key, Status: string(a.Status), Final: a.Final(), Asked: v.ago(a.CreatedAtMs),
		Ends: v.left(a.ExpiresAtMs), Reasons: reasonsOf(a, c), Fingerprint: a.Fingerprint}
	if d.Final && len(payload) > 0 { // it is kept, and to be read before it runs again
		var does card.Words
		does, d.Card.Call, d.Place = card.Whole(a, payload)
		d.Headline, d.Summary = append(card.Words{{Text: card.Asker(a) + " asked "}}, does...), ""
	}
	d.Headline = headlineOf(d.Card)
	d.Call, d.Cut = parts(a, d.Card.Call, mostBytes)
	if d.Long = longCall(d.Call); !d.Final {
		d.shorten(a, gate, payload, v)
	}
	return d
}

// shorten notes what the card of a chat has of the call: its telling part, and of a long call the lines that its reasons
// come from.
func (d *approvalView) shorten(a approval.Approval, gate *core.Gate, payload []card.Fact, v reader) {
	short, _ := gate.Cards().Short(a, payload, v.zone)
	if len(short.Call) == 0 {
		return
	}
	first := unclipped(short.Call[0], d.Card.Call)
	if more := linesOf(d.Card.Call) - linesOf(short.Call[:1]); more > 0 {
		first.Cut = fmt.Sprintf("… %s above", counted(more, "more line", "more lines"))
	}
	d.Sure, _ = parts(a, []card.Block{first}, 0)
	first.Lines = slices.DeleteFunc(slices.Clone(first.Lines), func(l card.Line) bool { return !telling(l) || l.Sign == card.Head })
	begins := len(first.Lines) > 0 && first.Lines[0].No == 1 && !strings.HasPrefix(first.Lines[0].Text(), "…") // and is seen first anyway
	if first.Cut = ""; d.Long && len(first.Lines) > 0 && !begins {
		d.Telling, _ = parts(a, []card.Block{first}, 0)
	}
	for _, all := range [][]part{d.Sure, d.Telling} {
		for i := range all {
			all[i].Numbered = d.Long
		}
	}
}

// unclipped is a block with those of its lines whole that the card of a chat had to clip, unless they are very long.
func unclipped(b card.Block, whole []card.Block) card.Block {
	b.Lines = slices.Clone(b.Lines)
	for i, l := range b.Lines {
		for _, of := range whole {
			j := slices.IndexFunc(of.Lines, func(x card.Line) bool { return l.No > 0 && x.No == l.No && x.Sign == l.Sign })
			if of.Name == b.Name && of.Kind == b.Kind && j >= 0 && len(of.Lines[j].Text()) <= shortText {
				b.Lines[i] = of.Lines[j]
			}
		}
	}
	return b
}

// linesOf counts the lines of blocks, without the desk's own.
func linesOf(blocks []card.Block) (n int) {
	for _, b := range blocks {
		for _, l := range b.Lines {
			if l.Sign != card.Folded {
				n++
			}
		}
	}
	return n
}

// telling reports whether a reason comes from the line.
func telling(l card.Line) bool {
	return slices.ContainsFunc(l.Pieces, func(p card.Piece) bool { return p.Marked })
}

// bar reports whether the page has a bar with a decision to be taken.
func (d approvalView) bar() bool { return len(d.Offers) > 0 || d.Deny != "" || d.Sign }

// approvalPages are the page of one approval, and its call as a file.
type approvalPages struct {
	page
	shown   *shown
	entries Entries                                 // nil: no log to look at
	receipt func(approval.Approval) (string, error) // of a claimed approval; nil if receipts are not signed
}

func (p *approvalPages) routes() []route {
	return []route{
		{pattern: "GET /a/{code}", serve: p.open},
		{pattern: "GET /a/{code}/call", serve: p.download},
	}
}

// offer is one allow that may be given.
type offer struct {
	Decision approval.Decision
	Text     string
	Covers   string // what it covers beyond this call; empty if only this call
	Beside   bool   // the answers of a question are what allows it
}

// class is how its button looks.
func (o offer) class() string {
	if o.Decision == approval.AllowOnce && !o.Beside {
		return "allow"
	}
	return "wider"
}

type voteView struct {
	Who, Said, How, Reason string
	At                     stamp
}

// sentence is what they said, and why.
func (v voteView) sentence() string {
	if v.Reason == "" {
		return v.Said
	}
	return v.Said + ": " + v.Reason
}

type deliveryView struct {
	Place, State, Error string
	At                  stamp
}

type likeView struct {
	Code, Summary, Ended, Risk string
	At                         stamp
}

func (p *approvalPages) open(out http.ResponseWriter, r *http.Request, s signin.Session) {
	v := p.reader(s)
	beside := r.Header.Get("HX-Request") != ""
	a, err := p.view(r.Context(), v, r.PathValue("code"))
	switch {
	case err != nil && beside:
		p.notice(out, statusOf(err), textOf(err))
		return
	case err != nil:
		p.refuse(out, r, s, err)
		return
	case beside:
		p.show(out, http.StatusOK, approvalBeside(a))
		return
	}
	notice := p.voted(r.Context(), v, r.URL.Query().Get("voted"), approval.Decision(r.URL.Query().Get("as")))
	p.answer(out, http.StatusOK, v, a, notice)
}

func (p *approvalPages) answer(out http.ResponseWriter, status int, v reader, a approvalView, notice string) {
	h := p.head(v.session, a.Code)
	h.Tab = riskIcons()[a.Risk.String()] + " " + a.Code
	p.show(out, status, approvalPage(h, a, notice))
}

// view looks up all that the page of an approval shows, and records that its
// call was shown if the page has all of it.
func (p *approvalPages) view(ctx context.Context, v reader, code string) (out approvalView, err error) {
	a, err := p.find(ctx, v, code)
	if err != nil {
		return out, err
	}
	payload, err := p.payload(ctx, a)
	if err != nil {
		return out, err
	}
	out = drawn(p.gate, v, a, payload, maxOnPage)
	c := out.Card
	out.Unheard = card.Unheard(a)
	out.Details = slices.DeleteFunc(out.Details, func(f card.Fact) bool { return f.Own && f.Name == "Fingerprint" }) // all of it is there
	out.Card.TakeBack, out.ClaimEnds = v.mayTakeBack(a), v.left(a.ClaimUntilMs)
	if len(payload) > 0 {
		out.File = pathOf(a.Code, "call")
		if a.ToolName == "exec" {
			out.Commands = p.gate.Cards().Commands(ctx, a)
		}
	}
	whole := len(payload) > 0 && !out.Cut
	seen := whole || len(payload) > 0 && p.shown.to(v.session, a)
	offers, deny := v.buttons(a, c, seen)
	if len(c.Answers) > 0 { // an answer is for this once, and so is no answer
		offers = slices.DeleteFunc(slices.Clone(offers), func(d approval.Decision) bool { return d != approval.AllowOnce })
	}
	out.Deny, out.Offers = deny, offersOf(offers, c.Wider)
	for i := range out.Offers {
		if len(c.Answers) > 0 {
			out.Offers[i].Text, out.Offers[i].Beside = "Allow unanswered", true
		}
	}
	out.ConfirmRetry = core.ConfirmsTwice(a)
	out.Confirm = out.ConfirmRetry && len(offers) > 0
	out.Sign = a.Rule.StepUp && v.whyNot(a, len(payload) > 0, true) == "" && !a.Final()
	out.NotAllowed = v.whyNot(a, len(payload) > 0, seen)
	voter := v.people.Identify(v.session.Voter())
	out.Again = c.Again && people.MayBeDecidedBy(a, voter, v.people) && !people.MayNotDecide(a, voter, v.people)
	if len(payload) > 0 {
		if out.Retry, err = p.gate.Pages().RetryOffer(ctx, v.session.WebUser(), a); err != nil {
			return out, err
		}
		out.Retry.May = out.Retry.May && (seen || out.Retry.Sign)
		out.RetryEnds = v.left(out.Retry.UntilMs)
	}
	out.votes(a, v)
	out.deliveries(a, v)
	if out.Line, err = timeline(ctx, p.entries, v, a); err != nil {
		return out, err
	}
	if a.ClaimedAtMs != 0 && p.receipt != nil {
		out.Receipt, err = p.receipt(a)
	}
	if err == nil {
		out.Like, err = p.like(ctx, v, a)
	}
	if err == nil && whole {
		p.shown.note(v.session, a)
	}
	return out, err
}

// classWords is a class as it is written everywhere: "R4 high impact".
func classWords(class approval.RiskClass) string { return class.String() + " " + class.Text() }

// reasonsOf are what the risk comes from, the strongest first.
func reasonsOf(a approval.Approval, c card.Card) (out []card.Words) {
	if len(c.Reasons) > 0 {
		return c.Reasons
	}
	if _, all, some := strings.Cut(card.RiskText(a), ": "); some {
		for reason := range strings.SplitSeq(all, "; ") {
			out = append(out, card.Words{{Text: reason}})
		}
	}
	return out
}

// Limits of a call that a phone shows together with what counts.
const (
	shortLines = 8
	shortText  = 320 // characters
)

// longCall reports whether a call would push what counts out of sight.
func longCall(all []part) bool {
	lines, text := 0, 0
	for _, p := range all {
		lines += len(p.Rows)
		for _, s := range p.Stretches {
			if s.Folded != "" {
				continue
			}
			lines += len(s.Lines)
			for _, l := range s.Lines {
				for _, piece := range l.Pieces {
					text += len(piece.Text)
				}
			}
		}
	}
	return lines > shortLines || text > shortText
}

// mayTakeBack reports whether the person may take the allow back, by the rule of chats: it is not claimed, and they may
// deny it or asked for it.
func (v reader) mayTakeBack(a approval.Approval) bool {
	return a.MayBeTakenBack(v.now.UnixMilli()) && people.Concerns(a, v.people.Identify(v.session.Voter()), v.people)
}

// payload is the whole call as people see it: empty if it was deleted, or if the person may not see it.
func (p *approvalPages) payload(ctx context.Context, a approval.Approval) ([]card.Fact, error) {
	if a.Final() && (a.Status != approval.Approved || a.RevokedAtMs != 0) {
		return nil, nil // its params went when it ended
	}
	return p.gate.Cards().Payload(ctx, a)
}

// offersOf are the buttons of the allows; wider describes those that are wider than once,
// in their order.
func offersOf(list []approval.Decision, wider []string) (out []offer) {
	texts := map[approval.Decision]string{approval.AllowOnce: "Allow once", approval.AllowSession: "Allow session",
		approval.AllowAlways: "Always"}
	for _, d := range list {
		o := offer{Decision: d, Text: texts[d]}
		for _, line := range wider {
			if strings.HasPrefix(line, o.Text+":") {
				o.Covers = line
			}
		}
		out = append(out, o)
	}
	return out
}

// whyNot says why the person has no button to allow it.
func (v reader) whyNot(a approval.Approval, known, seen bool) string {
	voter := v.people.Identify(v.session.Voter())
	switch {
	case a.Final():
		return ""
	case people.MayNotDecide(a, voter, v.people):
		return "You asked for this, so another approver must decide it. You can withdraw it."
	case !people.MayBeDecidedBy(a, voter, v.people):
		return "You may look at this, and others decide it."
	case !known:
		return "The call itself cannot be shown here, so it can only be denied here."
	case !seen && !a.Rule.StepUp:
		return "The call is too long for this page. Download it, and read it, before you allow it."
	}
	return ""
}

func (out *approvalView) votes(a approval.Approval, v reader) {
	verdicts := map[approval.Verdict]string{approval.Approve: "yes", approval.Reject: "no", approval.Abstain: "no opinion",
		approval.Errored: "no answer"}
	for _, x := range a.Votes {
		o := voteView{Who: display.Safe(string(x.Approver)), Said: verdicts[x.Verdict],
			Reason: display.Safe(x.Reason), At: v.ago(x.DecidedAtMs)}
		if x.Voter != nil {
			o.Who, o.How = v.who(x.Voter.Name()), x.Voter.Channel
		}
		if x.Verdict == approval.Approve && x.Decision != "" {
			o.Said = "yes, " + cmp.Or(voteTexts()[x.Decision], string(x.Decision))
		}
		out.Votes = append(out.Votes, o)
	}
}

func (out *approvalView) deliveries(a approval.Approval, v reader) {
	for _, d := range a.Deliveries {
		o := deliveryView{Place: string(d.Kind) + " in " + d.Target.String(), State: string(d.State),
			Error: display.Safe(d.Error)}
		if d.SentMs != 0 {
			o.At = v.ago(d.SentMs)
		}
		out.Deliveries = append(out.Deliveries, o)
	}
}

// like are the last requests of the same asker for the same tool.
func (p *approvalPages) like(ctx context.Context, v reader, a approval.Approval) (out []likeView, err error) {
	items, _, err := p.list(ctx, v, core.Filter{Owner: a.Owner, ToolName: a.ToolName, AgentID: a.AgentID,
		Limit: 4 * likeShown})
	if err != nil {
		return nil, err
	}
	same := func(x approval.Approval) int {
		if x.Fingerprint == a.Fingerprint {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(items, func(x, y approval.Approval) int { return cmp.Compare(same(x), same(y)) })
	for _, x := range items {
		if x.Key == a.Key || len(out) == likeShown {
			continue
		}
		o := likeView{Code: x.Code, Summary: card.Summary(x), Ended: cmp.Or(card.Ending(x), "pending"), At: v.ago(x.CreatedAtMs),
			Risk: x.Assessment.RiskClass.String()}
		if same(x) == 0 {
			o.Ended = "the very same call: " + o.Ended
		}
		out = append(out, o)
	}
	return out, nil
}

// download gives the whole call as a text file, and remembers that it did, unless a page of
// another site had the browser do it.
func (p *approvalPages) download(out http.ResponseWriter, r *http.Request, s signin.Session) {
	v := p.reader(s)
	a, err := p.find(r.Context(), v, r.PathValue("code"))
	var payload []card.Fact
	if err == nil {
		payload, err = p.payload(r.Context(), a)
	}
	if err == nil && len(payload) == 0 {
		err = approval.Refuse(approval.CodeNotFound, "The call of %s is no longer kept, or may not be seen.", a.Code)
	}
	if err != nil {
		p.refuse(out, r, s, err)
		return
	}
	f := card.FileOf(a, payload)
	h := out.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", f.Name))
	asked := slices.Contains([]string{"", "none", "same-origin"}, r.Header.Get("Sec-Fetch-Site"))
	if _, err := out.Write([]byte(f.Text)); err == nil && asked {
		p.shown.downloaded(s, a)
	}
}

// moreCommands tells how many commands of a line the list leaves out.
func moreCommands(l approval.CommandList) string {
	return "The riskiest are listed, the worst first. " + l.Left() + "."
}
