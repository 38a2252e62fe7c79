package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"approvalbot/api"
)

// pairingLook is how often the desk is asked whether somebody gave the code.
const pairingLook = 500 * time.Millisecond

// newPairCommand lets a chat and a person make themselves known.
func newPairCommand(a *app) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "pair",
		Short: "Show a code, and who gives it in a chat: the way to a first chat",
		Long: "Show a code for /pair CODE in a chat, wait until somebody gives it there, and show who it was and what the desk's\n" +
			"configuration lacks to let them decide in that chat. The code counts once, for five minutes, and ends with the fifth\n" +
			"wrong one. A configuration that serve --local generated and nobody edited is written after a question; it knows one\n" +
			"chat and one account of each platform, and new ones take their place. Any other is yours to edit.\n" +
			"It needs a token with operator.admin.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			return a.pair(cmd.Context(), c, yes)
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "write the generated configuration without asking")
	return cmd
}

func (a *app) pair(ctx context.Context, c *api.Client, yes bool) error {
	made, err := c.StartPairing(ctx)
	if err != nil {
		return err
	}
	if err := a.showCode(made); err != nil {
		return err
	}
	typed, _ := readLines(ctx, a.stdin)
	p, err := awaitPairing(ctx, c, made.ID)
	if err != nil {
		return err
	}
	if a.json {
		if err := a.printJSON(p); err != nil || p.File == "" || !yes {
			return err
		}
	} else if done, err := a.showPairing(ctx, p, yes, typed); err != nil || done {
		return err
	}
	r, err := c.AcceptPairing(ctx, p.ID)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(r)
	}
	_, err = fmt.Fprintln(a.stdout, "It is written and in force.")
	return err
}

// showCode shows the code, in two parts that are easy to type.
func (a *app) showCode(made api.PairingCode) error {
	if a.json {
		return a.printJSON(made)
	}
	half := len(made.Code) / 2
	_, err := fmt.Fprintf(a.stdout, `Send this in the chat where you decide (in a Telegram group with the bot's name: /pair@name …):

  /pair %s

It holds until %s.
`, safe(made.Code[:half]+"-"+made.Code[half:]), when(made.ExpiresAtMs))
	return err
}

// awaitPairing waits until somebody has given the code.
func awaitPairing(ctx context.Context, c *api.Client, id string) (api.Pairing, error) {
	for {
		p, err := c.Pairing(ctx, id)
		var refused *api.Problem
		switch {
		case ctx.Err() != nil: // it needs no word
			return p, exitCode(exitError)
		case errors.As(err, &refused) && refused.Code == "not_found":
			return p, errors.New("another pairing was asked for meanwhile, which ended this one")
		case err != nil:
			return p, err
		case p.Status == api.PairingFailed:
			return p, errors.New("five wrong codes were tried, which ended the pairing; " +
				"approvalbot audit list --type refused says by whom, approvalbot pair asks for another code")
		case p.Status == api.PairingExpired:
			return p, errors.New("nobody gave the code in time; approvalbot pair asks for another one")
		case p.Status == api.PairingAnswered && p.Answer != nil:
			return p, nil
		}
		select {
		case <-time.After(pairingLook):
		case <-ctx.Done():
		}
	}
}

// showPairing shows who gave the code and what is to be done, and asks for a yes where
// the desk would do it. done: it is not to do anything.
func (a *app) showPairing(ctx context.Context, p api.Pairing, yes bool, typed <-chan string) (done bool, err error) {
	who := p.Answer
	fmt.Fprintf(a.stdout, "\n%s user %s gave the code in the chat %s.\n",
		safe(who.Channel), safe(who.UserID), safe(who.Chat))
	fmt.Fprintf(a.stdout, "They call themselves: %s\n", cmp.Or(safe(who.Name), "(nothing)"))
	if who.Person != "" {
		fmt.Fprintf(a.stdout, "The configuration knows them as: %s\n", safe(who.Person))
	}
	switch {
	case p.Lines == "":
		_, err = fmt.Fprintln(a.stdout, "The configuration lets them decide there already.")
		return true, err
	case p.File == "":
		_, err = fmt.Fprintf(a.stdout, "\nIf that is right, add to the desk's configuration what it lacks, and have it read\n"+
			"(approvalbot policy reload):\n\n%s", lines(p.Lines))
		return true, err
	case yes:
		return false, nil
	}
	a.drain(typed) // what was typed before says nothing of it
	fmt.Fprintf(a.stdout, "\nLet them decide there, and write it into %s? [y/N] ", safe(p.File))
	select {
	case answer := <-typed: // the end of the input is no
		if word := strings.ToLower(strings.TrimSpace(answer)); word == "y" || word == "yes" {
			return false, nil
		}
	case <-ctx.Done():
	}
	fmt.Fprintln(a.stdout, "Nothing was written.")
	return true, exitCode(exitError)
}

// lines escapes a text of several lines.
func lines(text string) string {
	all := strings.Split(text, "\n")
	for i := range all {
		all[i] = safe(all[i])
	}
	return strings.Join(all, "\n")
}
