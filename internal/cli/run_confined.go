package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"approvalbot/api"
	"approvalbot/internal/cli/answer"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/confine"
)

// asksConfined are the profiles that run offers the desk: v1 if this machine seems to be able to enforce it, and no other
// command runs unconfined now.
func asksConfined(a *app.App, unconfined bool) []string {
	if unconfined || !confine.Possible() {
		return nil
	}
	once, end := context.WithCancel(context.Background())
	end()
	leave, err := enters(once, a, true)
	if err != nil {
		return nil
	}
	leave()
	return []string{"v1"}
}

// enters waits until the command runs beside none of the other kind, see [confine.Enter]. An unconfined one waits for
// nothing if nothing can be confined here.
func enters(ctx context.Context, a *app.App, confined bool) (leave func(), err error) {
	state, err := confine.State(a.Env["HOME"], a.Env["XDG_STATE_HOME"])
	if !confined && (err != nil || !confine.Possible()) {
		return func() {}, nil
	} else if err != nil {
		return nil, err
	}
	kind := confine.Unconfined
	if confined {
		kind = confine.Confined
	}
	leave, err = confine.Enter(ctx, state, kind, a.Stderr, nil)
	if _, none := os.Stat(state); err != nil && none != nil && !confined { // no folder for the state can be made
		return func() {}, nil
	}
	return leave, err
}

// cannotConfine reports that nothing can be confined here in one of the folders.
func cannotConfine(ctx context.Context, a *app.App, writable []string) bool {
	state, err := confine.State(a.Env["HOME"], a.Env["XDG_STATE_HOME"])
	return err != nil || slices.ContainsFunc(writable, func(dir string) bool { return confine.Check(ctx, state, dir) != nil })
}

// runConfined runs the claimed command so that it can change only the folders that the desk names, reports how it
// went and gives its exit status.
func runConfined(ctx context.Context, a *app.App, c *api.Client, id string, claim api.Claim, what call) error {
	state, err := confine.State(a.Env["HOME"], a.Env["XDG_STATE_HOME"])
	if err != nil {
		return confinedNotRun(ctx, a, c, id, claim.ClaimID, err)
	}
	run := confine.Call{State: state, Workspaces: append([]string{}, claim.Confined.Writable...), Dir: what.Workdir, Argv: what.Argv, Env: what.environ,
		Stdin: a.Stdin, Stdout: a.Stdout, Stderr: a.Stderr}
	for _, shown := range claim.Confined.Readonly {
		if filepath.IsAbs(shown) {
			run.Show = append(run.Show, shown)
		} else {
			run.Readable = append(run.Readable, shown)
		}
	}
	status, changed, err := confine.Run(ctx, run)
	if status == confine.NotConfined && err != nil {
		return confinedNotRun(ctx, a, c, id, claim.ClaimID, err)
	}
	result := api.ResultRequest{ClaimID: claim.ClaimID, Status: "succeeded", ExitCode: &status, Confined: &api.RanConfined{}}
	if status != 0 || err != nil {
		result.Status, result.Confined.Changed = "failed", changed
	}
	for refused := range confine.AllRefused(err) {
		result.Confined.Blocked = append(append(result.Confined.Blocked, refused.Names...), refused.Lost...)
		result.Summary = "nothing of its work was kept" + refused.Because()
	}
	result.Confined.Blocked = atMost(result.Confined.Blocked, 16<<10)
	reportResult(ctx, a, c, id, result)
	if err != nil {
		fmt.Fprintf(a.Stderr, "approvalbot: %s\n", app.Sentence(err))
	}
	if status == 0 {
		return nil
	}
	fmt.Fprintln(a.Stderr, answer.AgainAsks)
	return app.ExitCode(status)
}

// atMost gives the first names that have no more bytes together, of which JSON makes six times as many at most: a report that is too large would not arrive, and then
// the same command would run confined again.
func atMost(names []string, bytes int) []string {
	for i, name := range names {
		if bytes -= len(name); bytes < 0 || i == 1000 { // as the API takes
			return names[:i]
		}
	}
	return names
}

// confinedNotRun prints why a command that may run confined alone did not run.
func confinedNotRun(ctx context.Context, a *app.App, c *api.Client, id, claimID string, why error) error {
	reportResult(ctx, a, c, id, api.ResultRequest{ClaimID: claimID, Status: "failed", Summary: "not run: it could not be confined"})
	return notRun(a, app.ExitCode(app.ExitError), fmt.Errorf("the command may only run confined, but this machine "+
		"could not confine it: %w", why))
}
