package cli

import (
	"github.com/spf13/cobra"

	"approvalbot/api"
	"approvalbot/internal/cli/app"
)

func newWithdrawCommand(a *app.App) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "withdraw ID",
		Short: "Take back a pending request of yours",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.Desk(cmd.Context())
			if err != nil {
				return err
			}
			got, err := c.Withdraw(cmd.Context(), args[0], api.WithdrawRequest{Reason: reason})
			return printChanged(a, got, got.ID, err)
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why it is no longer needed")
	return cmd
}
