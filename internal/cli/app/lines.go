package app

import (
	"bufio"
	"context"
	"io"
	"time"

	"approvalbot/internal/cli/show"
)

// Drain drops the lines that a person has typed so far. A program that feeds the
// answers is taken at its word.
func (a *App) Drain(lines <-chan string) {
	if !show.IsTerminal(a.Stdin) {
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

// ReadLines hands out the lines of r one at a time, and closes both channels when the
// last one was taken. It stops with ctx, as soon as r lets go of it.
func ReadLines(ctx context.Context, r io.Reader) (<-chan string, <-chan struct{}) {
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
