package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/cli/show"
	"approvalbot/internal/display"
	"approvalbot/internal/people"
)

func newAwayCommand(a *app.App) *cobra.Command {
	var person string
	cmd := &cobra.Command{
		Use:   "away [until] [WHEN [to PERSON]]",
		Short: "Say that you are away, until when, and who is your delegate; or show who is away",
		Long: "Say that you are away: how long (2h, 3d) or until when (18:00, tomorrow 09:00, Fri 16:00, 2026-12-24 09:00), in this\n" +
			"machine's timezone, and who is your delegate: an approver, who may say yes in your stead instead of in their own. It\n" +
			"ends by itself, or with approvalbot back. Without arguments it shows who is away. It needs a token of yours with\n" +
			"operator.approvals; --person needs operator.admin.",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, words []string) error {
			c, err := a.Client()
			if err != nil {
				return err
			}
			if len(words) == 0 {
				return showAway(cmd.Context(), a, c)
			}
			until, to, err := core.ReadLeave(strings.Join(words, " "), time.Now(), time.Local)
			if err != nil {
				return err
			}
			name, err := whose(cmd.Context(), c, person)
			if err != nil {
				return err
			}
			away, err := c.SetAway(cmd.Context(), name, api.AwayRequest{UntilMs: until.UnixMilli(), To: to})
			if err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(away)
			}
			_, err = fmt.Fprintln(a.Stdout, display.Escape(core.Left{Absence: people.Absence(away.Absence), Notes: away.Notes}.Text(time.Local)))
			return err
		},
	}
	cmd.Flags().StringVar(&person, "person", "", "another person's name")
	return cmd
}

func newBackCommand(a *app.App) *cobra.Command {
	var person string
	cmd := &cobra.Command{
		Use:   "back",
		Short: "Say that you are back before your absence is over",
		Long: "Say that you are back: from then on your delegate no longer votes for you. It needs a token of yours with operator.approvals;\n" +
			"--person needs operator.admin.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.Client()
			if err != nil {
				return err
			}
			name, err := whose(cmd.Context(), c, person)
			if err != nil {
				return err
			}
			back, err := c.SetBack(cmd.Context(), name)
			switch {
			case err != nil:
				return err
			case a.JSON:
				return a.PrintJSON(back)
			case !back.Ended:
				_, err = fmt.Fprintf(a.Stdout, "%s was not away.\n", display.Escape(name))
			default:
				_, err = fmt.Fprintf(a.Stdout, "%s is back.\n", display.Escape(name))
			}
			return err
		},
	}
	cmd.Flags().StringVar(&person, "person", "", "another person's name")
	return cmd
}

// whose gives the person that a command is about: the named one, or the token's
// own.
func whose(ctx context.Context, c *api.Client, person string) (string, error) {
	if person != "" {
		return person, nil
	}
	token, err := c.TokenInfo(ctx)
	if err == nil && token.Person == "" {
		err = errors.New("this token belongs to no person; name a person with --person")
	}
	return token.Person, err
}

// showAway lists who is away.
func showAway(ctx context.Context, a *app.App, c *api.Client) error {
	p, err := c.Policy(ctx)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(p.Away)
	}
	if len(p.Away) == 0 {
		_, err = fmt.Fprintln(a.Stdout, "No person is away.")
	}
	for _, x := range p.Away {
		_, err = fmt.Fprintf(a.Stdout, "%s until %s; delegate: %s\n", display.Escape(x.Person), show.When(x.UntilMs),
			display.Escape(cmp.Or(x.To, "none")))
	}
	return err
}
