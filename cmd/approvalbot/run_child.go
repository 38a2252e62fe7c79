package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"approvalbot/api"
)

// runClaimed runs the claimed command on this process's own streams, reports how
// it went and gives its exit status.
func (a *app) runClaimed(ctx context.Context, c *api.Client, id string, what call) error {
	cmd := exec.Command(what.Argv[0], what.Argv[1:]...)
	cmd.Dir = what.Workdir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.stdin, a.stdout, a.stderr
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		a.report(ctx, c, id, api.ResultRequest{Status: "failed", Summary: "could not be started"})
		return a.notRun(exitCode(exitError), err)
	}
	err := a.attend(cmd, signals)
	code, summary := childStatus(cmd, err)
	result := api.ResultRequest{Status: "succeeded", ExitCode: &code, Summary: summary}
	if code != 0 {
		result.Status = "failed"
	}
	a.report(ctx, c, id, result)
	if code != 0 {
		return exitCode(code)
	}
	return nil
}

// attend waits for the command and passes signals on to it. A terminal sends
// its interrupts to the command by itself.
func (a *app) attend(cmd *exec.Cmd, signals <-chan os.Signal) error {
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case err := <-done:
			return err
		case s := <-signals:
			if s != os.Interrupt || !isTerminal(a.stdin) {
				_ = cmd.Process.Signal(s) // it may have ended by now
			}
		}
	}
}

// childStatus gives the exit status that a shell would give: 128 and the
// signal's number for a command that a signal ended.
func childStatus(cmd *exec.Cmd, err error) (code int, summary string) {
	var exited *exec.ExitError
	if err != nil && !errors.As(err, &exited) {
		return exitError, "its streams could not be copied"
	}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal()), fmt.Sprintf("ended by signal %d", int(ws.Signal()))
	}
	return cmd.ProcessState.ExitCode(), ""
}

// report tells the desk how it went, as well as it can: the command has run, and
// its exit status counts more.
func (a *app) report(ctx context.Context, c *api.Client, id string, r api.ResultRequest) {
	err := persist(context.WithoutCancel(ctx), reportPatience, func(ctx context.Context) error {
		_, err := c.Result(ctx, id, r)
		return err
	})
	if err != nil {
		fmt.Fprintf(a.stderr, "approvalbot: the result could not be reported: %s\n", sentence(err))
	}
}

// persist repeats do until it succeeds, is refused for good, or budget or ctx
// ends.
func persist(ctx context.Context, budget time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		err := do(ctx)
		var refused *api.Problem
		if err == nil || errors.As(err, &refused) && !passing(refused) {
			return err
		}
		if refused != nil {
			pause = max(pause, refused.RetryAfter)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
}

// passing reports whether the same request may succeed a little later.
func passing(p *api.Problem) bool {
	switch p.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusGatewayTimeout:
		return true
	}
	return p.Status == http.StatusServiceUnavailable && p.Code != "approvals_disabled"
}
