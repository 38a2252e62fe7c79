package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"approvalbot/api"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/cli/show"
	"approvalbot/internal/display"
)

// settled is how long a screen must have been unchanged before a key counts: people do not read faster.
const settled = 800 * time.Millisecond

// dialog is one request at a terminal whose keys act at once.
type dialog struct {
	of      api.Approval
	choices []answer
	asked   *wish  // what a second press confirms; nil if not asked
	typing  bool   // a line is being typed
	line    []rune // of it, so far
	hint    string // behind the prompt, until the next key
}

// byKeys shows a request and stays with it until a key decides or skips it, or another person decides.
func (w *watcher) byKeys(ctx context.Context, a api.Approval) error {
	d := &dialog{of: a, choices: offered(a)}
	w.drew()
	look := time.NewTimer(w.news.interval())
	defer look.Stop()
	count := time.NewTicker(app.CountingEvery)
	defer count.Stop()
	for {
		w.ask(d)
		select {
		case p, ok := <-w.keys.pressed:
			if !ok {
				return errDone
			}
			if over, err := w.press(ctx, d, p); over || err != nil {
				return err
			}
			continue
		case <-count.C:
			w.checkAllowed(ctx)
			continue
		case <-w.keys.resumed:
			w.show(d.of)
			w.drew()
			continue
		case <-look.C:
		case <-w.news.come:
		case <-ctx.Done():
			w.wipe()
			return ctx.Err()
		}
		look.Reset(w.news.interval())
		if ended := w.look(ctx, d); ended {
			return w.rest(ctx, d)
		}
	}
}

// look asks how the request is now, tells new votes, and reports whether it has ended, told too.
func (w *watcher) look(ctx context.Context, d *dialog) (ended bool) {
	w.checkAllowed(ctx)
	got, err := w.client.Get(ctx, d.of.Code, 0)
	switch {
	case err != nil:
		return false
	case over(got), got.Status != d.of.Status:
		w.wipe()
		w.tell(got)
		return true
	case len(got.Votes) != len(d.of.Votes) && !got.Status.Final():
		d.of, d.choices, d.asked = got, offered(got), nil
		w.wipe()
		fmt.Fprintf(w.Stdout, "%s: %s\n", display.Escape(got.Code), show.Votes(got))
		w.drew()
	}
	return false
}

// rest takes what was being typed for a request that is gone, up to its Enter.
func (w *watcher) rest(ctx context.Context, d *dialog) error {
	if !d.typing {
		return nil
	}
	w.bottom("Enter goes on; what you were typing is not taken as an answer.")
	for {
		select {
		case p, ok := <-w.keys.pressed:
			if !ok {
				return errDone
			}
			if strings.ContainsAny(p.text, "\r\n") {
				w.wipe()
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// press takes a key and reports whether the request is seen to.
func (w *watcher) press(ctx context.Context, d *dialog, p press) (over bool, err error) {
	d.hint = ""
	if p.at.Sub(w.drawn) < settled {
		if !d.typing { // a line is not lost for that, but its Enter is
			d.hint = "(too early, not counted)"
			return false, nil
		}
		if key, _ := keyOf(p.text); key == "" {
			return false, nil
		}
		p.text = strings.Map(withoutControls, p.text)
	}
	if d.typing {
		return w.typed(ctx, d, p.text)
	}
	key, one := keyOf(p.text)
	switch {
	case key == "":
		return false, nil
	case !one:
		d.asked, d.hint = nil, "(several keys at once: not counted)"
		return false, nil
	case d.asked != nil:
		again := *d.asked
		if d.asked = nil; key == again.key {
			return true, w.give(ctx, d.of, again)
		}
		w.drew()
		return false, nil
	}
	switch i := slices.IndexFunc(d.choices, func(x answer) bool { return x.key == key }); {
	case i >= 0:
		return w.choose(ctx, d, wish{answer: d.choices[i]})
	case key == "t":
		d.typing, d.line = true, nil
	case key == "u" && w.allowed != nil:
		w.takeBack(ctx)
	case key == "d":
		w.wipe()
		show.Details(w.column(), d.of)
		w.drew()
	case key == "u":
		d.hint = "(no decision to take back)"
	case slices.ContainsFunc(answers, func(x answer) bool { return x.key == key }):
		d.hint = notOffered
	default:
		w.wipe()
		w.explainKeys(d.choices)
		w.drew()
	}
	return false, nil
}

// keyOf is the key of what came at once; empty if it has no meaning. Capitals are other keys, since
// arrow keys end in them. one is false if there was more than a key and its Enter.
func keyOf(text string) (key string, one bool) {
	if strings.HasPrefix(text, keyEscape) {
		return "", true // an arrow, a function key, or Esc
	}
	text = strings.Trim(text, "\r\n")
	return text, utf8.RuneCountInString(text) <= 1
}

func withoutControls(r rune) rune {
	if unicode.IsControl(r) {
		return -1
	}
	return r
}

// typed takes what was typed into the line.
func (w *watcher) typed(ctx context.Context, d *dialog, text string) (over bool, err error) {
	if strings.HasPrefix(text, keyEscape) {
		if text == keyEscape {
			d.typing = false
		}
		return false, nil
	}
	for _, r := range text {
		switch {
		case r == '\r', r == '\n':
			return w.enter(ctx, d)
		case r == '\x7f', r == '\b':
			d.line = d.line[:max(0, len(d.line)-1)]
		case r == '\x15': // Ctrl-U
			d.line = nil
		case unicode.IsPrint(r):
			d.line = append(d.line, r)
		}
	}
	return false, nil
}

// enter takes the line for the answer that it is.
func (w *watcher) enter(ctx context.Context, d *dialog) (over bool, err error) {
	line := string(d.line)
	d.typing = false
	x, no := answerOf(line, d.choices)
	switch {
	case strings.TrimSpace(line) == "":
		return false, nil
	case errors.Is(no, errNotOffered):
		d.hint = notOffered
		return false, nil
	case no != nil:
		w.wipe()
		w.explainKeys(d.choices)
		w.drew()
		return false, nil
	}
	return w.choose(ctx, d, x)
}

// choose carries an answer out. An allow of an R4 call takes a second press of its key, below what
// would run and the worst reason.
func (w *watcher) choose(ctx context.Context, d *dialog, x wish) (over bool, err error) {
	if d.of.RiskClass != worstClass || x.decision == "" || x.decision == api.Deny {
		return true, w.give(ctx, d.of, x)
	}
	d.asked = &x
	w.wipe()
	out := w.column()
	out.Own(out.Paint.Bold, show.Headline(d.of))
	if c := d.of.Card; c != nil {
		out.Own(out.Paint.Red, display.Escape(c.Risk))
	}
	w.drew()
	return false, nil
}

// notOffered is the hint about a key of another request.
const notOffered = "(not offered for this one)"

// worstClass is the class of calls that take two presses.
const worstClass = "R4"

// give gives the answer to the desk, or leaves the request.
func (w *watcher) give(ctx context.Context, a api.Approval, x wish) error {
	w.wipe()
	if x.decision == "" {
		w.skipped[a.Code] = true
		return nil
	}
	return w.vote(ctx, a, x)
}

// drew notes that the screen has changed: keys that were pressed before count no more.
func (w *watcher) drew() {
	if w.keys != nil {
		w.drawn = w.keys.now()
	}
}

// ask draws the prompt on the bottom line, with the time left.
func (w *watcher) ask(d *dialog) {
	switch {
	case d.typing:
		w.bottom("Answer, then Enter (Esc: back): "+string(d.line), "> "+string(d.line))
	case d.asked != nil:
		again := fmt.Sprintf("%s again: %s", d.asked.key, d.asked.does)
		if d.hint != "" {
			again += " " + d.hint
		}
		w.bottom("Press "+again+". Any other key goes back.", "Press "+again, again)
	default:
		w.bottom(keyPrompts(d, w.allowed)...)
	}
}

// keyPrompts are the prompt in a long and in a short form.
func keyPrompts(d *dialog, allowed *api.Approval) []string {
	var words, keys []string
	for _, x := range append(slices.Clone(d.choices), detailsKey, typeKey, helpKey) {
		words, keys = append(words, x.prompt), append(keys, x.key)
	}
	if allowed != nil {
		words, keys = append(words, "[u]ndo"), append(keys, "u")
	}
	question := "Press "
	if d.of.RetryRound != nil {
		question = "Run it again? Press "
	}
	tail := " · " + timeLeft(d.of)
	if d.hint != "" {
		tail = " " + d.hint
	}
	return []string{question + strings.Join(words, " ") + tail, question + strings.Join(keys, " ") + tail,
		strings.Join(keys, "") + tail}
}

var (
	detailsKey = answer{key: "d", word: "details", prompt: "[d]etails", does: "show what else is known"}
	typeKey    = answer{key: "t", word: "text", prompt: "[t]ext", does: "type the answer with a reason or a note, then Enter"}
	helpKey    = answer{key: "?", word: "help", prompt: "[?]", does: "this"}
)

// explainKeys says what each key does.
func (w *watcher) explainKeys(choices []answer) {
	fmt.Fprintln(w.Stdout, "Keys act at once, without Enter:")
	for _, x := range append(slices.Clone(choices), detailsKey, typeKey) {
		does := x.does
		if x.decision == api.Deny {
			does = "deny it"
		}
		fmt.Fprintf(w.Stdout, "  %s  %s\n", x.key, does)
	}
	fmt.Fprintln(w.Stdout, "  u  take back what you just allowed, until it is claimed")
	fmt.Fprintln(w.Stdout, "After t: y: looks fine gives a reason, n: wrong host too;\ny note: run the tests first is for the agent. Ctrl-C ends watching.")
}

// bottom draws the last line anew: the first of the texts that fits, or the end of the last.
func (w *watcher) bottom(texts ...string) {
	room := w.width() - 1
	text := texts[len(texts)-1]
	for _, t := range texts {
		if utf8.RuneCountInString(t) <= room {
			text = t
			break
		}
	}
	runes := []rune(text)
	runes = runes[max(0, len(runes)-room):]
	fmt.Fprintf(w.Stdout, "\r\x1b[K%s", w.Paint().Bold(string(runes)))
}

// wipe clears the bottom line for what comes in its place. Without keys there is no bottom line.
func (w *watcher) wipe() {
	if w.keys != nil {
		fmt.Fprint(w.Stdout, "\r\x1b[K")
	}
}

// say writes a line in place of the bottom line.
func (w *watcher) say(line string) {
	w.wipe()
	fmt.Fprintln(w.Stdout, line)
}
