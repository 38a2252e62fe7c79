// Package cli is the verbs that speak to a running desk over its API.
package cli

import (
	"github.com/spf13/cobra"

	"approvalbot/internal/cli/app"
)

// Commands are the verbs that speak to a running desk.
func Commands(a *app.App) []*cobra.Command {
	return []*cobra.Command{
		newRequestCommand(a), newWaitCommand(a), newRunCommand(a), newWithdrawCommand(a),
		newPendingCommand(a), newListCommand(a), newViewCommand(a), newStatsCommand(a),
		newApproveCommand(a), newDenyCommand(a), newDecideCommand(a), newRevokeCommand(a), newRetryCommand(a),
		newAllowlistCommand(a), newSessionsCommand(a), newEvaluateCommand(a), newPolicyCommand(a),
		newCallbacksCommand(a),
		newDutyCommand(a), newAwayCommand(a), newBackCommand(a), newDrillCommand(a), newPairCommand(a),
		newLoginCommand(a), newHealthCommand(a),
	}
}
