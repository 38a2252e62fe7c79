package main

import (
	"github.com/spf13/cobra"

	"approvalbot/api"
)

func newRevokeCommand(a *app) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "revoke ID",
		Short: "Take an approval back, as long as it is unclaimed",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.desk(cmd.Context())
			if err != nil {
				return err
			}
			got, err := c.Revoke(cmd.Context(), args[0], api.RevokeRequest{Reason: reason})
			return a.printChanged(got, shortID(got), err)
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why")
	return cmd
}
