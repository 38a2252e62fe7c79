package cli

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"approvalbot/api"
	"approvalbot/internal/cli/answer"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/cli/show"
)

// Budgets of run: how long it keeps trying when the desk does not answer.
const (
	claimPatience    = 30 * time.Second
	reportPatience   = 10 * time.Second
	withdrawPatience = 5 * time.Second
)

func newRunCommand(a *app.App) *cobra.Command {
	var ask askFlags
	var unconfined bool
	cmd := &cobra.Command{
		Use:   "run [flags] -- CMD [ARG...]",
		Short: "Ask for a command, and run it only if it is allowed",
		Long: "Ask for a command, and run it only if it is allowed. Exit status: the command's own, or, when it did not run,\n" +
			"10 denied, 11 expired, 12 withdrawn, 1 error. Interrupting it while it waits withdraws the request.\n" +
			"A yes for later calls is for this directory and this environment. Variables that say in which window the caller is,\n" +
			"such as TMUX, are not handed on.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, argv []string) error {
			// An id outlives this command: a program that asks with it later may be unable to confine
			// the call.
			return runCommand(cmd.Context(), a, ask, argv, asksConfined(a, unconfined || ask.id != ""))
		},
	}
	cmd.Flags().SetInterspersed(false)
	ask.add(cmd)
	cmd.Flags().BoolVar(&unconfined, "unconfined", false, "do not offer to run it confined, so that it asks if the desk does not understand it")
	return cmd
}

// execParams is what run asks for: the params of tool exec.
type execParams struct {
	Argv    []string `json:"argv"`
	Workdir string   `json:"workdir"`
}

func runCommand(ctx context.Context, a *app.App, ask askFlags, argv, confined []string) error {
	c, err := a.Client()
	if err != nil {
		return notRun(a, app.ExitCode(app.ExitError), err)
	}
	call, err := newCall(argv, a.Environ, c.Token)
	if err != nil {
		return notRun(a, app.ExitCode(app.ExitError), err)
	}
	req, err := ask.request("exec", call.params)
	if err != nil {
		return notRun(a, app.ExitCode(app.ExitError), err)
	}
	req.Bind = call.bind
	path := answer.PathOf(call.environ)
	around, err := answer.Look(ctx, call.Workdir, path, argv...)
	req.MustAsk = req.MustAsk || err != nil
	tells := around.Untracked != nil || around.Programs != nil
	if confined != nil || tells {
		req.Context = &api.Context{Confine: confined, Untracked: around.Untracked, Programs: around.Programs}
	}
	asking, leave := api.Lingering(ctx, withdrawPatience)
	defer leave()
	got, err := c.Create(asking, req, api.CreateOptions{})
	if tells && (knowsNo("context.untracked", err) || knowsNo("context.programs", err)) { // a desk of an older version
		req.Context, req.MustAsk = &api.Context{Confine: confined}, req.MustAsk || around.Untracked.Any() || around.Programs != nil
		got, err = c.Create(asking, req, api.CreateOptions{})
	}
	if confined != nil && knowsNo("context.confine", err) {
		return runCommand(ctx, a, ask, argv, nil)
	}
	if err != nil {
		return notRun(a, app.ExitCode(app.ExitError), err)
	}
	if got, err = awaitDecision(ctx, a, c, got); err != nil {
		return err
	}
	if got.Confined != nil && cannotConfine(ctx, a, got.Confined.Writable) { // it looked as if it could; a person is asked then
		fmt.Fprintln(a.Stderr, "approvalbot: the command may run confined, but this machine cannot confine it "+
			"(approvalbot doctor says why)")
		return runCommand(ctx, a, ask, argv, nil)
	}
	if code := app.ExitStatus(got); code != nil {
		return notRun(a, code, errors.New(show.Ending(got)))
	}
	claim, err := claimCall(ctx, a, c, got.ID, call, confined)
	if err != nil {
		return err
	}
	exit, err := enters(ctx, a, claim.Confined != nil) // behind the claim, for which there are five minutes
	if err != nil {
		reportResult(ctx, a, c, got.ID, api.ResultRequest{ClaimID: claim.ClaimID, Status: "failed",
			Summary: "not run: another command ran meanwhile"})
		return notRun(a, app.ExitCode(app.ExitError), err)
	}
	defer exit()
	if err := around.Grew(ctx, call.Workdir, path, argv...); err != nil {
		reportResult(ctx, a, c, got.ID, api.ResultRequest{ClaimID: claim.ClaimID, Status: "failed",
			Summary: "not run: git could take more files with secrets than before, or more of its programs are the project's"})
		return notRun(a, app.ExitCode(app.ExitError), err)
	}
	if claim.Confined != nil {
		return runConfined(ctx, a, c, got.ID, claim, call)
	}
	return runClaimed(ctx, a, c, got.ID, claim.ClaimID, call)
}

// knowsNo reports the answer of a desk that is too old to know a member of the request.
func knowsNo(member string, err error) bool {
	var refused *api.Problem
	return errors.As(err, &refused) && slices.ContainsFunc(refused.Fields, func(f api.Field) bool { return f.Field == member })
}

// call is the command that was asked for, its params as they were sent, and what it
// is bound to: its directory, and the environment that it is started with.
type call struct {
	execParams
	params  json.RawMessage
	bind    *api.Bind
	environ []string
}

// newCall makes the call for a command in the working directory, which the token asks
// for. Text that JSON could not carry unchanged is refused.
func newCall(argv, environ []string, token string) (call, error) {
	dir, err := os.Getwd()
	if err != nil {
		return call{}, err
	}
	for _, s := range append([]string{dir}, argv...) {
		if !utf8.ValidString(s) {
			return call{},
				errors.New("the command or its working directory is not UTF-8 text, so it cannot be shown to people")
		}
	}
	c := call{execParams: execParams{Argv: argv, Workdir: dir}, environ: app.Environment(environ, dir)}
	c.bind = &api.Bind{Workdir: &dir, EnvHash: new(app.EnvironmentHash(token, c.environ))}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err = enc.Encode(c.execParams)
	c.params = bytes.TrimSpace(b.Bytes())
	return c, err
}

// notRun prints why the command did not run and gives the exit status for it.
func notRun(a *app.App, code error, why error) error {
	fmt.Fprintf(a.Stderr, "approvalbot: not run: %s\n", a.Failure(why))
	return code
}

// awaitDecision waits for the end of the approval and says which chats have it
// and how long it has. When ctx ends first, the request is withdrawn.
func awaitDecision(ctx context.Context, a *app.App, c *api.Client, got api.Approval) (api.Approval, error) {
	if got.Status.Final() {
		return got, nil
	}
	tellWaiting(a, got)
	got = tellCards(ctx, a, c, got)
	if got.Status.Final() {
		return got, nil
	}
	stop := countdown(a, got.ExpiresAtMs)
	last, err := awaitFinal(ctx, c, got, 0)
	stop()
	switch {
	case err != nil:
		return last, notRun(a, app.ExitCode(app.ExitError), err)
	case last.Status.Final():
		return last, nil
	}
	return last, interrupted(ctx, a, c, last)
}

// interrupted withdraws a request that is not waited for any more.
func interrupted(ctx context.Context, a *app.App, c *api.Client, got api.Approval) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawPatience)
	defer cancel()
	after, err := c.Withdraw(ctx, got.ID, api.WithdrawRequest{Reason: "interrupted"})
	switch {
	case err == nil && after.Status == api.Withdrawn:
		return notRun(a, app.ExitCode(app.ExitWithdrawn), errors.New("interrupted; the request is withdrawn"))
	case err == nil:
		err = errors.New(show.Ending(after))
	}
	return notRun(a, app.ExitCode(app.ExitError),
		fmt.Errorf("interrupted; the request could not be withdrawn: %w", err))
}

// claimCall fetches the approved call, once, and checks that it is the very one that
// was asked for. A lost answer is asked for again under the same claim id.
func claimCall(ctx context.Context, a *app.App, c *api.Client, id string, want call, confined []string) (got api.Claim, err error) {
	req := api.ClaimRequest{ClaimID: rand.Text(), ToolName: "exec", Params: want.params, Bind: want.bind, Confine: confined}
	err = persist(ctx, claimPatience, func(ctx context.Context) (err error) {
		got, err = c.Claim(ctx, id, req)
		return err
	})
	if err != nil && ctx.Err() == nil {
		return got, notRun(a, claimStatus(err), err)
	}
	if ctx.Err() == nil && want.is(got) {
		for _, n := range got.Notes {
			fmt.Fprintf(a.Stderr, "approvalbot: %s\n", show.Note(n))
		}
		return got, nil
	}
	why := errors.New("interrupted")
	if ctx.Err() == nil {
		why = errors.New("the desk handed out a different call from the one that was asked for")
	}
	if err == nil {
		reportResult(ctx, a, c, id, api.ResultRequest{ClaimID: got.ClaimID, Status: "failed", Summary: "not run: " + why.Error()})
	}
	return got, notRun(a, app.ExitCode(app.ExitError), why)
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
			return app.ExitCode(app.ExitDenied)
		case "late":
			return app.ExitCode(app.ExitExpired)
		}
	}
	return app.ExitCode(app.ExitError)
}
