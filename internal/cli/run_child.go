package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"approvalbot/api"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/cli/show"
)

// runClaimed runs the claimed command on this process's own streams, reports how
// it went and gives its exit status.
func runClaimed(ctx context.Context, a *app.App, c *api.Client, id, claim string, what call) error {
	cmd := exec.Command(what.Argv[0], what.Argv[1:]...)
	cmd.Dir, cmd.Env = what.Workdir, what.environ
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.Stdin, a.Stdout, a.Stderr
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		reportResult(ctx, a, c, id, api.ResultRequest{ClaimID: claim, Status: "failed", Summary: "could not be started"})
		return notRun(a, app.ExitCode(app.ExitError), err)
	}
	err := attend(a, cmd, signals)
	code, summary := app.ChildStatus(cmd, err)
	result := api.ResultRequest{ClaimID: claim, Status: "succeeded", ExitCode: &code, Summary: summary}
	if code != 0 {
		result.Status = "failed"
	}
	reportResult(ctx, a, c, id, result)
	if code != 0 {
		return app.ExitCode(code)
	}
	return nil
}

// attend waits for the command and passes signals on to it. A terminal sends
// its interrupts to the command by itself.
func attend(a *app.App, cmd *exec.Cmd, signals <-chan os.Signal) error {
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case err := <-done:
			return err
		case s := <-signals:
			if s != os.Interrupt || !show.IsTerminal(a.Stdin) {
				_ = cmd.Process.Signal(s) // it may have ended by now
			}
		}
	}
}

// reportResult tells the desk how it went, as well as it can: the command has run, and
// its exit status counts more.
func reportResult(ctx context.Context, a *app.App, c *api.Client, id string, r api.ResultRequest) {
	err := persist(context.WithoutCancel(ctx), reportPatience, func(ctx context.Context) error {
		_, err := c.Result(ctx, id, r)
		return err
	})
	if err != nil {
		fmt.Fprintf(a.Stderr, "approvalbot: the result could not be reported: %s\n", app.Sentence(err))
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
		if err == nil || errors.As(err, &refused) && !app.Passing(refused) || errors.Is(err, api.ErrNotBelieved) {
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
