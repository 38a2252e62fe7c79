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
	"approvalbot/internal/cli/app"
	"approvalbot/internal/cli/show"
	"approvalbot/internal/display"
)

// pairingLook is how often the desk is asked whether the code was given.
const pairingLook = 500 * time.Millisecond

// newPairCommand lets a chat and a person make themselves known.
func newPairCommand(a *app.App) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "pair",
		Short: "Show a code, and who gives it in a chat: the way to a first chat",
		Long: "Show a code for /pair CODE in a chat, wait until somebody gives it there, and show who it was and what the desk's\n" +
			"configuration lacks to let them decide in that chat. The code counts once, for five minutes, and ends with the fifth\n" +
			"wrong one. A configuration that serve --local generated and that is unedited is written after a question; it knows one\n" +
			"chat and one account of each platform, and new ones take their place. Any other is yours to edit.\n" +
			"It needs a token with operator.admin.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if said := a.TrustFirst(cmd.Context()); said != "" {
				fmt.Fprintln(a.Stderr, said)
			}
			c, err := a.Client()
			if err != nil {
				return err
			}
			return runPairing(cmd.Context(), a, c, yes)
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "write the generated configuration without asking")
	return cmd
}

func runPairing(ctx context.Context, a *app.App, c *api.Client, yes bool) error {
	made, err := c.StartPairing(ctx)
	if err != nil {
		return err
	}
	if err := showCode(a, made); err != nil {
		return err
	}
	typed, _ := app.ReadLines(ctx, a.Stdin)
	p, err := awaitPairing(ctx, c, made.ID)
	if err != nil {
		return err
	}
	if a.JSON {
		if err := a.PrintJSON(p); err != nil || p.File == "" || !yes {
			return err
		}
	} else if done, err := showPairing(ctx, a, p, yes, typed); err != nil || done {
		return err
	}
	r, err := c.AcceptPairing(ctx, p.ID)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(r)
	}
	_, err = fmt.Fprintln(a.Stdout, "It is written and applied.")
	return err
}

// showCode shows the code, in two parts that are easy to type.
func showCode(a *app.App, made api.PairingCode) error {
	if a.JSON {
		return a.PrintJSON(made)
	}
	half := len(made.Code) / 2
	_, err := fmt.Fprintf(a.Stdout, `Send this in the chat in which you decide (in a Telegram group with the bot's name: /pair@name …):

  /pair %s

The code is valid until %s.
`, display.Escape(made.Code[:half]+"-"+made.Code[half:]), show.When(made.ExpiresAtMs))
	return err
}

// awaitPairing waits until the code was given.
func awaitPairing(ctx context.Context, c *api.Client, id string) (api.Pairing, error) {
	for {
		p, err := c.Pairing(ctx, id)
		var refused *api.Problem
		switch {
		case ctx.Err() != nil: // it needs no word
			return p, app.ExitCode(app.ExitError)
		case errors.As(err, &refused) && refused.Code == "not_found":
			return p, errors.New("this pairing ended, because another one was begun")
		case err != nil:
			return p, err
		case p.Status == api.PairingFailed:
			return p, errors.New("five wrong codes ended the pairing; approvalbot audit list --type refused says " +
				"who tried them, and approvalbot pair asks for a new code")
		case p.Status == api.PairingExpired:
			return p, errors.New("the code was not given in a chat in time; approvalbot pair asks for a new code")
		case p.Status == api.PairingAnswered && p.Answer != nil:
			return p, nil
		}
		select {
		case <-time.After(pairingLook):
		case <-ctx.Done():
		}
	}
}

// showPairing shows who gave the code and what remains to be done, and asks for a yes
// if the desk would do it. done says that the desk has no more to do.
func showPairing(ctx context.Context, a *app.App, p api.Pairing, yes bool, typed <-chan string) (done bool, err error) {
	who := p.Answer
	fmt.Fprintf(a.Stdout, "\n%s user %s gave the code in the chat %s.\n",
		display.Escape(who.Channel), display.Escape(who.UserID), display.Escape(who.Chat))
	fmt.Fprintf(a.Stdout, "They call themselves: %s\n", cmp.Or(display.Escape(who.Name), "(no name)"))
	if who.Person != "" {
		fmt.Fprintf(a.Stdout, "The configuration knows them as: %s\n", display.Escape(who.Person))
	}
	switch {
	case p.Lines == "":
		_, err = fmt.Fprintln(a.Stdout, "The configuration lets them decide there already.")
		return true, err
	case p.File == "":
		_, err = fmt.Fprintf(a.Stdout,
			"\nIf that is right, add to the desk's configuration what it lacks, and have it read\n"+
				"(approvalbot policy reload):\n\n%s", lines(p.Lines))
		return true, err
	case yes:
		return false, nil
	}
	a.Drain(typed) // earlier lines are no answer to it
	fmt.Fprintf(a.Stdout, "\nLet them decide there, and write it into %s? [y/N] ", display.Escape(p.File))
	select {
	case answer := <-typed: // the end of the input is no
		if word := strings.ToLower(strings.TrimSpace(answer)); word == "y" || word == "yes" {
			return false, nil
		}
	case <-ctx.Done():
	}
	fmt.Fprintln(a.Stdout, "No file was written.")
	return true, app.ExitCode(app.ExitError)
}

// lines escapes a text of several lines.
func lines(text string) string {
	all := strings.Split(text, "\n")
	for i := range all {
		all[i] = display.Escape(all[i])
	}
	return strings.Join(all, "\n")
}
