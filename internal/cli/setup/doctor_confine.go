package setup

import (
	"context"
	"time"

	"approvalbot/core"
	"approvalbot/internal/confine"
)

// confineFindings says what this machine lacks for approvalbot confine. Approvals work without it.
func confineFindings(ctx context.Context) []core.Diagnostic {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := confine.Check(ctx); err != nil {
		return []core.Diagnostic{core.OK("confine", "approvalbot confine cannot run commands here: "+err.Error())}
	}
	return []core.Diagnostic{core.OK("confine", "approvalbot confine can confine commands here")}
}
