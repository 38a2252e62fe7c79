package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"approvalbot/api"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/cli/show"
	"approvalbot/internal/display"
)

// newLoginCommand makes a link that signs a person in to the desk's pages.
func newLoginCommand(a *app.App) *cobra.Command {
	var enrol string
	cmd := &cobra.Command{
		Use:   "login",
		Short: "Make a link that signs you in to the desk's pages",
		Long: "Make a link that signs you in to the desk's pages: once, within five minutes. Any person who opens it and clicks is\n" +
			"signed in as you, so keep it to yourself; your own chats are told, with a button that ends the session. It needs a token with\n" +
			"operator.approvals that names you.\n" +
			"With --enrol it signs that person in, who may then make a first passkey; this needs operator.admin.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.Client()
			if err != nil {
				return err
			}
			l, err := c.LoginLink(cmd.Context(), api.LoginRequest{Person: enrol, Enrol: enrol != ""})
			if err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(l)
			}
			_, err = fmt.Fprintf(a.Stdout, "%s\nIt works once, until %s.\n", display.Escape(l.URL), show.When(l.ExpiresAtMs))
			return err
		},
	}
	cmd.Flags().StringVar(&enrol, "enrol", "", "sign this `PERSON` in, who may make a first passkey")
	return cmd
}
