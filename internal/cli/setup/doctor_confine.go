package setup

import (
	"context"
	"os"
	"time"

	"approvalbot/core"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/confine"
)

// confineFindings says what this machine lacks for approvalbot confine in the working directory. Approvals work without it.
func confineFindings(ctx context.Context, a *app.App) []core.Diagnostic {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	state, err := confine.State(a.Env["HOME"], a.Env["XDG_STATE_HOME"])
	if err == nil {
		var dir string
		if dir, err = os.Getwd(); err == nil {
			err = confine.Check(ctx, state, dir)
		}
	}
	if err != nil {
		return []core.Diagnostic{core.OK("confine", "approvalbot confine cannot run commands here: "+err.Error())}
	}
	return []core.Diagnostic{core.OK("confine", "approvalbot confine can confine commands here")}
}
