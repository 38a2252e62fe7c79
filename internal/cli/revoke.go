package cli

import (
	"github.com/spf13/cobra"

	"approvalbot/api"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/cli/show"
)

func newRevokeCommand(a *app.App) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "revoke ID",
		Short: "Take an approval back, as long as it is unclaimed",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.Desk(cmd.Context())
			if err != nil {
				return err
			}
			got, err := c.Revoke(cmd.Context(), args[0], api.RevokeRequest{Reason: reason})
			return printChanged(a, got, show.ShortID(got), err)
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why")
	return cmd
}
