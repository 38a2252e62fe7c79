package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"approvalbot/api"
	"approvalbot/internal/approval"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/cli/show"
	"approvalbot/internal/display"
)

// answer is one thing that may be typed at the prompt.
type answer struct {
	key, word string
	prompt    string
	decision  api.Decision // empty: skip
	does      string
}

var answers = []answer{
	{"y", "yes", "[y]es", api.AllowOnce, "allow this call, once"},
	{"s", "session", "[s]ession", api.AllowSession, "allow what the line above says in this session"},
	{"a", "always", "[a]lways", api.AllowAlways, "allow this very call from now on"},
	{"r", "retry", "[r]etry", api.Retry, "vote that it runs once more"},
	{"n", "no", "[n]o", api.Deny, "deny it; a reason is asked for"},
	{"k", "skip", "s[k]ip", "", "leave it to somebody else, or for later"},
}

// offered gives the answers that make sense for a request.
func offered(a api.Approval) []answer {
	offers := a.Offers
	if a.RetryRound != nil {
		offers = []api.Decision{api.Retry, api.Deny}
	}
	return slices.DeleteFunc(slices.Clone(answers), func(x answer) bool {
		return x.decision != "" && !slices.Contains(offers, x.decision)
	})
}

// over reports whether a request is decided, and one more run of it is not asked for.
func over(a api.Approval) bool { return a.Status.Final() && a.RetryRound == nil }

// handle shows one request and stays with it until it is decided or skipped. If
// another person decides it meanwhile, their name is shown, and the next typed
// line is ignored.
func (w *watcher) handle(ctx context.Context, a api.Approval) error {
	w.show(a)
	switch {
	case w.looksOn:
		w.skipped[a.Code] = true // so that its end is told
		return nil
	case w.keys != nil:
		return w.byKeys(ctx, a)
	}
	w.drain()
	choices := offered(a)
	for {
		w.left(a, false)
		fmt.Fprintf(w.Stdout, "%s ", w.Paint().Bold(promptOf(a, choices)))
		line, ended, err := w.read(ctx, &a)
		switch {
		case err != nil:
			return err
		case ended != nil:
			fmt.Fprintln(w.Stdout)
			w.tell(*ended)
			return w.swallow(ctx)
		}
		x, no := answerOf(line, choices)
		switch {
		case errors.Is(no, errNotOffered):
			fmt.Fprintln(w.Stdout, "That is not offered for this request.")
		case strings.TrimSpace(line) == "":
		case no != nil:
			w.explain(choices)
		case x.decision == "":
			w.skipped[a.Code] = true
			return nil
		default:
			return w.vote(ctx, a, x)
		}
	}
}

// wish is an answer with the words that go with it.
type wish struct {
	answer
	reason, note string
}

// The errors of a line that is no answer.
var (
	errNotOffered = errors.New("the request does not offer this answer")
	errNoAnswer   = errors.New("not one of the answers")
)

// answerOf reads a line: an answer's key or word, and behind a colon a reason, or a note after the
// word note.
func answerOf(line string, choices []answer) (wish, error) {
	word, words, _ := strings.Cut(line, ":")
	word, noted := strings.CutSuffix(strings.ToLower(strings.TrimSpace(word)), " note")
	is := func(x answer) bool { return word == x.key || word == x.word }
	i := slices.IndexFunc(choices, is)
	switch {
	case i < 0 && slices.ContainsFunc(answers, is):
		return wish{}, errNotOffered
	case i < 0:
		return wish{}, errNoAnswer
	case noted:
		return wish{answer: choices[i], note: strings.TrimSpace(words)}, nil
	}
	return wish{answer: choices[i], reason: strings.TrimSpace(words)}, nil
}

// explain lists what each key does, after one without effect.
func (w *watcher) explain(choices []answer) {
	fmt.Fprintln(w.Stdout, "That key has no effect. The keys are:")
	for _, x := range choices {
		fmt.Fprintf(w.Stdout, "  %s, %-8s %s\n", x.key, x.word, x.does)
	}
	fmt.Fprintln(w.Stdout, "A reason may follow after a colon, as in y: looks fine; y note: run the tests first is for the agent. Ctrl-C ends watching.")
}

func promptOf(a api.Approval, choices []answer) string {
	words := make([]string, len(choices))
	for i, x := range choices {
		words[i] = x.prompt
	}
	question := "Approve? "
	if a.RetryRound != nil {
		question = "Let it run again? "
	}
	return question + strings.Join(words, " / ") + ":"
}

// voteTime is how long a vote may take.
const voteTime = 10 * time.Second

// vote gives the answer to the desk and prints the result. It asks for the
// reason of a deny without one, except after a deny by a key.
func (w *watcher) vote(ctx context.Context, a api.Approval, x wish) error {
	reason := x.reason
	if x.decision == api.Deny && reason == "" && x.note == "" && w.keys == nil {
		fmt.Fprint(w.Stdout, "Reason (Enter for none): ")
		select {
		case reason = <-w.lines: // empty at the end of the input
			w.endPrompt()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	// Ctrl-C does not cut a vote that is on its way: it would not be known whether it
	// counts.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), voteTime)
	defer cancel()
	req := api.ResolveRequest{Decision: x.decision, Reason: strings.TrimSpace(reason), Note: x.note}
	if x.decision == api.Retry {
		req.After = new(len(a.Retries)) // of the run that was shown
	}
	got, err := w.client.Resolve(ctx, a.Code, req)
	if err != nil {
		fmt.Fprintf(w.Stdout, "Not counted: %s\n", app.Sentence(err))
		var refused *api.Problem
		if errors.As(err, &refused) && refused.Code == string(approval.CodeForbidden) {
			fmt.Fprintln(w.Stdout, "Requests are shown here from now on, and no answer is asked for.")
			w.looksOn, w.skipped[a.Code] = true, true
		}
		w.drew()
		return nil
	}
	w.tell(got)
	for _, n := range got.Notes {
		fmt.Fprintf(w.Stdout, "%s\n", show.Note(n))
	}
	w.offerBack(got)
	if !over(got) {
		w.skipped[a.Code] = true // so that its end is told
	}
	return nil
}

// tell prints the state of a request.
func (w *watcher) tell(a api.Approval) {
	fmt.Fprintf(w.Stdout, "%s: %s\n", display.Escape(a.Code), show.Standing(a))
	w.drew()
}

// read gives the next line, or the approval once it has ended without one. Votes
// of others are told meanwhile, and noted in a.
func (w *watcher) read(ctx context.Context, a *api.Approval) (string, *api.Approval, error) {
	look := time.NewTimer(w.news.interval())
	defer look.Stop()
	count := time.NewTicker(app.CountingEvery)
	defer count.Stop()
	for {
		select {
		case line, ok := <-w.lines:
			if !ok {
				return "", nil, errDone
			}
			w.endPrompt()
			return line, nil, nil
		case <-count.C:
			w.left(*a, true)
			continue
		case <-look.C:
		case <-w.news.come:
		case <-ctx.Done():
			return "", nil, ctx.Err()
		}
		look.Reset(w.news.interval())
		got, err := w.client.Get(ctx, a.Code, 0)
		switch {
		case err != nil:
		case over(got), got.Status != a.Status:
			return "", &got, nil
		case len(got.Votes) != len(a.Votes) && !got.Status.Final():
			*a = got
			fmt.Fprintf(w.Stdout, "\n%s: %s\n", display.Escape(got.Code), show.Votes(got))
			w.left(got, false)
			fmt.Fprintf(w.Stdout, "%s ", w.Paint().Bold(promptOf(got, offered(got))))
		}
	}
}

// left counts down on the line above the prompt, on a terminal. Again, it goes
// back there, so that what is being typed stays.
func (w *watcher) left(a api.Approval, again bool) {
	if !w.counts {
		return
	}
	text := timeLeft(a)
	if again {
		fmt.Fprintf(w.Stdout, "\x1b7\x1b[1A\r\x1b[2K%s\x1b8", w.Paint().Dim(text))
		return
	}
	fmt.Fprintf(w.Stdout, "%s\n", w.Paint().Dim(text))
}

// timeLeft tells how long a request can still be decided.
func timeLeft(a api.Approval) string {
	ends := a.ExpiresAtMs
	if a.RetryRound != nil {
		ends = a.RetryRound.ExpiresAtMs
	}
	return fmt.Sprintf("%s left", max(time.Until(time.UnixMilli(ends)), 0).Round(time.Second))
}

// endPrompt ends a prompt's line if no Enter has.
func (w *watcher) endPrompt() {
	if !show.IsTerminal(w.Stdin) {
		fmt.Fprintln(w.Stdout)
	}
}

// swallow takes the line that was being typed for a request that is gone.
func (w *watcher) swallow(ctx context.Context) error {
	fmt.Fprint(w.Stdout, "(Enter to go on) ")
	select {
	case _, ok := <-w.lines:
		if !ok {
			return errDone
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// drain drops what a person typed before the request was shown. A program that
// feeds the answers is taken at its word.
func (w *watcher) drain() { w.App.Drain(w.lines) }

// idleLines gives the lines typed while no question is open: only if a person
// types, since a program's lines are answers to the next questions.
func (w *watcher) idleLines() <-chan string {
	if !show.IsTerminal(w.Stdin) {
		return nil
	}
	return w.lines
}
