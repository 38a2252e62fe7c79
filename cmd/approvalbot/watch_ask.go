package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"approvalbot/api"
	"approvalbot/core"
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
	{"n", "no", "[n]o", api.Deny, "deny it; a reason is asked for"},
	{"k", "skip", "s[k]ip", "", "leave it to somebody else, or for later"},
}

// offered gives the answers that make sense for a request.
func offered(a api.Approval) []answer {
	return slices.DeleteFunc(slices.Clone(answers), func(x answer) bool {
		return x.decision != "" && !slices.Contains(a.Offers, x.decision)
	})
}

// handle shows one request and sees to it until it is decided or skipped. One
// that somebody else decides meanwhile is told with their name, and the next
// line is not taken for an answer to anything.
func (w *watcher) handle(ctx context.Context, a api.Approval) error {
	w.show(a)
	if w.looksOn {
		w.skipped[a.Code] = true // so that its end is told
		return nil
	}
	w.drain()
	choices := offered(a)
	for {
		w.left(a, false)
		fmt.Fprintf(w.stdout, "%s ", w.paint().bold(promptOf(choices)))
		line, ended, err := w.read(ctx, &a)
		switch {
		case err != nil:
			return err
		case ended != nil:
			fmt.Fprintln(w.stdout)
			w.tell(*ended)
			return w.swallow(ctx)
		}
		word, reason, _ := strings.Cut(line, ":")
		word = strings.ToLower(strings.TrimSpace(word))
		i := slices.IndexFunc(choices, func(x answer) bool { return word == x.key || word == x.word })
		if i < 0 {
			if slices.ContainsFunc(answers, func(x answer) bool { return word == x.key || word == x.word }) {
				fmt.Fprintln(w.stdout, "That is not offered for this request.")
			} else if word != "" {
				w.explain(choices)
			}
			continue
		}
		if choices[i].decision == "" {
			w.skipped[a.Code] = true
			return nil
		}
		return w.vote(ctx, a, choices[i].decision, strings.TrimSpace(reason))
	}
}

// explain says what each key does, after one that does nothing.
func (w *watcher) explain(choices []answer) {
	fmt.Fprintln(w.stdout, "That is none of the keys:")
	for _, x := range choices {
		fmt.Fprintf(w.stdout, "  %s, %-8s %s\n", x.key, x.word, x.does)
	}
	fmt.Fprintln(w.stdout, "A reason may follow after a colon, as in y: looks fine. Ctrl-C ends watching.")
}

func promptOf(choices []answer) string {
	words := make([]string, len(choices))
	for i, x := range choices {
		words[i] = x.prompt
	}
	return "Approve? " + strings.Join(words, " / ") + ":"
}

// voteTime is how long a vote may take.
const voteTime = 10 * time.Second

// vote gives the answer to the desk and says what became of it. A deny without a
// reason is asked for one.
func (w *watcher) vote(ctx context.Context, a api.Approval, d api.Decision, reason string) error {
	if d == api.Deny && reason == "" {
		fmt.Fprint(w.stdout, "Reason (Enter for none): ")
		select {
		case reason = <-w.lines: // empty at the end of the input
			w.endPrompt()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	// Ctrl-C does not cut a vote that is on its way: nobody could say whether it counts.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), voteTime)
	defer cancel()
	got, err := w.client.Resolve(ctx, a.Code, api.ResolveRequest{Decision: d, Reason: strings.TrimSpace(reason)})
	if err != nil {
		fmt.Fprintf(w.stdout, "Not counted: %s\n", sentence(err))
		var refused *api.Problem
		if errors.As(err, &refused) && refused.Code == string(core.CodeForbidden) {
			fmt.Fprintln(w.stdout, "Requests are shown here from now on, and no answer is asked for.")
			w.looksOn, w.skipped[a.Code] = true, true
		}
		return nil
	}
	w.tell(got)
	if got.Status == api.Pending {
		w.skipped[a.Code] = true // so that its end is told
	}
	return nil
}

// tell says how a request stands.
func (w *watcher) tell(a api.Approval) {
	fmt.Fprintf(w.stdout, "%s: %s\n", safe(a.Code), standing(a))
}

// read gives the next line, or the approval once it has ended without one. Votes
// of others are told meanwhile, and noted in a.
func (w *watcher) read(ctx context.Context, a *api.Approval) (string, *api.Approval, error) {
	look := time.NewTimer(w.news.interval())
	defer look.Stop()
	count := time.NewTicker(countingEvery)
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
		case got.Status.Final():
			return "", &got, nil
		case len(got.Votes) != len(a.Votes):
			*a = got
			fmt.Fprintf(w.stdout, "\n%s: %s\n", safe(got.Code), votes(got))
			w.left(got, false)
			fmt.Fprintf(w.stdout, "%s ", w.paint().bold(promptOf(offered(got))))
		}
	}
}

// left counts down on the line above the prompt, on a terminal. Again, it goes
// back there, so that what is being typed stays.
func (w *watcher) left(a api.Approval, again bool) {
	if !w.counts {
		return
	}
	text := fmt.Sprintf("%s left", max(time.Until(time.UnixMilli(a.ExpiresAtMs)), 0).Round(time.Second))
	if again {
		fmt.Fprintf(w.stdout, "\x1b7\x1b[1A\r\x1b[2K%s\x1b8", w.paint().dim(text))
		return
	}
	fmt.Fprintf(w.stdout, "%s\n", w.paint().dim(text))
}

// endPrompt ends a prompt's line where nobody's Enter did.
func (w *watcher) endPrompt() {
	if !isTerminal(w.stdin) {
		fmt.Fprintln(w.stdout)
	}
}

// swallow takes the line that was being typed for a request that is gone.
func (w *watcher) swallow(ctx context.Context) error {
	fmt.Fprint(w.stdout, "(Enter to go on) ")
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
func (w *watcher) drain() { w.app.drain(w.lines) }

func (a *app) drain(lines <-chan string) {
	if !isTerminal(a.stdin) {
		return
	}
	for {
		select {
		case _, ok := <-lines:
			if !ok {
				return
			}
		case <-time.After(50 * time.Millisecond):
			return
		}
	}
}

// idleLines gives the lines typed while nothing waits for an answer: only a
// person's, since a program's are answers to what comes next.
func (w *watcher) idleLines() <-chan string {
	if !isTerminal(w.stdin) {
		return nil
	}
	return w.lines
}

// readLines hands out the lines of r one at a time, and closes both channels when the
// last one was taken. It stops with ctx, as soon as r lets go of it.
func readLines(ctx context.Context, r io.Reader) (<-chan string, <-chan struct{}) {
	lines, over := make(chan string), make(chan struct{})
	go func() {
		defer close(over)
		defer close(lines)
		in := bufio.NewScanner(r)
		for in.Scan() {
			select {
			case lines <- in.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines, over
}
