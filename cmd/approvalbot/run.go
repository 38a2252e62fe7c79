package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"approvalbot/api"
)

// Budgets of run: how long it keeps trying when the desk does not answer.
const (
	claimPatience    = 30 * time.Second
	reportPatience   = 10 * time.Second
	withdrawPatience = 5 * time.Second
)

func newRunCommand(a *app) *cobra.Command {
	var ask askFlags
	cmd := &cobra.Command{
		Use:   "run [flags] -- CMD [ARG...]",
		Short: "Ask for a command, and run it only if it is allowed",
		Long: "Ask for a command, and run it only if it is allowed. Exit status: the command's own, or, when it did not run,\n" +
			"10 denied, 11 expired, 12 withdrawn, 1 error. Interrupting it while it waits withdraws the request.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, argv []string) error {
			return a.run(cmd.Context(), ask, argv)
		},
	}
	cmd.Flags().SetInterspersed(false)
	ask.add(cmd)
	return cmd
}

// execParams is what run asks for: the params of tool exec.
type execParams struct {
	Argv    []string `json:"argv"`
	Workdir string   `json:"workdir"`
}

func (a *app) run(ctx context.Context, ask askFlags, argv []string) error {
	c, err := a.client()
	if err != nil {
		return a.notRun(exitCode(exitError), err)
	}
	call, err := newCall(argv)
	if err != nil {
		return a.notRun(exitCode(exitError), err)
	}
	req, err := ask.request("exec", call.params)
	if err != nil {
		return a.notRun(exitCode(exitError), err)
	}
	req.Bind = &api.Bind{Workdir: new(call.Workdir)}
	got, err := c.Create(ctx, req, api.CreateOptions{})
	if err != nil {
		return a.notRun(exitCode(exitError), err)
	}
	if got, err = a.awaitDecision(ctx, c, got); err != nil {
		return err
	}
	if code := exitStatus(got); code != nil {
		return a.notRun(code, errors.New(ending(got)))
	}
	if err := a.claim(ctx, c, got.ID, call); err != nil {
		return err
	}
	return a.runClaimed(ctx, c, got.ID, call)
}

// call is the command that was asked for, and its params as they were sent.
type call struct {
	execParams
	params json.RawMessage
}

// newCall makes the call for a command in the working directory. What JSON could
// not carry unchanged is refused.
func newCall(argv []string) (call, error) {
	dir, err := os.Getwd()
	if err != nil {
		return call{}, err
	}
	for _, s := range append([]string{dir}, argv...) {
		if !utf8.ValidString(s) {
			return call{}, errors.New("the command or its working directory is not UTF-8 text, so it cannot be shown to anybody")
		}
	}
	c := call{execParams: execParams{Argv: argv, Workdir: dir}}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err = enc.Encode(c.execParams)
	c.params = bytes.TrimSpace(b.Bytes())
	return c, err
}

// notRun says why the command did not run and gives the exit status for it.
func (a *app) notRun(code error, why error) error {
	fmt.Fprintf(a.stderr, "approvalbot: not run: %s\n", a.failure(why))
	return code
}

// awaitDecision waits for the end of the approval and says where it waits and how
// long it has. When ctx ends first, the request is withdrawn.
func (a *app) awaitDecision(ctx context.Context, c *api.Client, got api.Approval) (api.Approval, error) {
	if got.Status.Final() {
		return got, nil
	}
	a.tellWaiting(got)
	got = a.tellCards(ctx, c, got)
	if got.Status.Final() {
		return got, nil
	}
	stop := a.countdown(got.ExpiresAtMs)
	last, err := awaitFinal(ctx, c, got, 0)
	stop()
	switch {
	case err != nil:
		return last, a.notRun(exitCode(exitError), err)
	case last.Status.Final():
		return last, nil
	}
	return last, a.interrupted(ctx, c, last)
}

// interrupted withdraws a request that nobody waits for any more.
func (a *app) interrupted(ctx context.Context, c *api.Client, got api.Approval) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawPatience)
	defer cancel()
	after, err := c.Withdraw(ctx, got.ID, api.WithdrawRequest{Reason: "interrupted"})
	switch {
	case err == nil && after.Status == api.Withdrawn:
		return a.notRun(exitCode(exitWithdrawn), errors.New("interrupted; the request is withdrawn"))
	case err == nil:
		err = errors.New(ending(after))
	}
	return a.notRun(exitCode(exitError), fmt.Errorf("interrupted; the request could not be withdrawn: %w", err))
}

// claim fetches the approved call, once, and checks that it is the very one that
// was asked for. A lost answer is asked for again under the same claim id.
func (a *app) claim(ctx context.Context, c *api.Client, id string, want call) error {
	req := api.ClaimRequest{ClaimID: uuid.NewString(), Params: want.params, Bind: &api.Bind{Workdir: new(want.Workdir)}}
	var got api.Claim
	err := persist(ctx, claimPatience, func(ctx context.Context) (err error) {
		got, err = c.Claim(ctx, id, req)
		return err
	})
	if err != nil && ctx.Err() == nil {
		return a.notRun(claimStatus(err), err)
	}
	if ctx.Err() == nil && want.is(got) {
		return nil
	}
	why := errors.New("interrupted")
	if ctx.Err() == nil {
		why = errors.New("the desk handed out another call than was asked for")
	}
	if err == nil {
		a.report(ctx, c, id, api.ResultRequest{Status: "failed", Summary: "not run: " + why.Error()})
	}
	return a.notRun(exitCode(exitError), why)
}

// is reports whether a claimed call is exactly the one that was asked for.
func (c call) is(got api.Claim) bool {
	var p execParams
	d := json.NewDecoder(bytes.NewReader(got.Params))
	d.DisallowUnknownFields()
	return d.Decode(&p) == nil && got.ToolName == "exec" && p.Workdir == c.Workdir && slices.Equal(p.Argv, c.Argv)
}

// claimStatus is the exit status for a refused claim.
func claimStatus(err error) error {
	var refused *api.Problem
	if errors.As(err, &refused) && refused.Code == "not_claimable" {
		switch refused.Why {
		case "denied", "revoked", "policy":
			return exitCode(exitDenied)
		case "late":
			return exitCode(exitExpired)
		}
	}
	return exitCode(exitError)
}
