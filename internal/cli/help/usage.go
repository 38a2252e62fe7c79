package help

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"approvalbot/internal/cli/app"
	"approvalbot/internal/config"
)

// Plainly has every command report wrong arguments and flags in the program's own
// sentences, and records in a which command runs and with which arguments. The
// root's streams are set by now: completion takes its own from there.
func Plainly(a *app.App, root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	root.SetFlagErrorFunc(flagMistake)
	for _, c := range tree(root) {
		switch {
		case c.Name() == "help" && c.Parent() == root:
			c.Run, c.RunE = nil, helpFor
			c.Flags().Bool("all", false, "with the flags of every command")
		case c.HasSubCommands():
			c.Args, c.RunE = cobra.ArbitraryArgs, group
		default:
			c.Args = noting(a, c.Args)
		}
	}
}

// noting wraps a command's own look at its words.
func noting(a *app.App, fit cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		a.Verb, a.Words = cmd, args
		if err := fit(cmd, args); err != nil {
			return fmt.Errorf("%s; usage: %s", given(len(args)), cmd.UseLine())
		}
		var missing []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if need := f.Annotations[cobra.BashCompOneRequiredFlag]; len(need) > 0 && need[0] == "true" && !f.Changed {
				missing = append(missing, "--"+f.Name)
			}
		})
		if len(missing) > 0 {
			return fmt.Errorf("%s must be given; usage: %s", strings.Join(missing, " and "), cmd.UseLine())
		}
		return nil
	}
}

func given(n int) string {
	switch n {
	case 0:
		return "no word was given"
	case 1:
		return "1 word was given"
	}
	return fmt.Sprintf("%d words were given", n)
}

// group is the run of a command that only holds others.
func group(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	var names []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return fmt.Errorf("unknown command %q%s; %s --help lists the commands", args[0],
		config.DidYouMean(args[0], names), cmd.CommandPath())
}

// helpFor is the run of the command help.
func helpFor(cmd *cobra.Command, args []string) error {
	about, rest, err := cmd.Root().Find(args)
	if err == nil && len(rest) > 0 && about.HasSubCommands() {
		return group(about, rest)
	}
	if err != nil {
		return err
	}
	about.InitDefaultHelpFlag()
	if all, _ := cmd.Flags().GetBool("all"); all {
		_, err = fmt.Fprint(about.OutOrStdout(), helpText(about, true))
		return err
	}
	return about.Help()
}

// flagMistake describes the values that a flag may have.
func flagMistake(cmd *cobra.Command, err error) error {
	var bad *pflag.InvalidValueError
	if !errors.As(err, &bad) {
		return fmt.Errorf("%w; %s --help shows its flags", err, cmd.CommandPath())
	}
	want, known := map[string]string{"int": "a whole number", "int64": "a whole number", "bool": "true or false",
		"duration": "a time span such as 90s, 5m or 12h"}[bad.GetFlag().Value.Type()]
	if !known {
		return err
	}
	return fmt.Errorf("--%s must be %s, and %q is not", bad.GetFlag().Name, want, bad.GetValue())
}
