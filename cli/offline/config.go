package offline

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"approvalbot/cli/app"
	"approvalbot/config"
	"approvalbot/config/effective"
)

func newConfigCommand(a *app.App) *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Look at the desk's configuration"}
	cmd.AddCommand(&cobra.Command{
		Use:   "check [FILE]",
		Short: "Print every mistake of the configuration, or what it means",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			path := a.Config
			if len(args) > 0 {
				path = args[0]
			}
			return checkConfig(a, path)
		},
	})
	return cmd
}

// unitSets are variables that systemd sets for the packages' unit alone, and what they are there. The
// credentials are where it takes them from.
var unitSets = map[string]string{
	"RUNTIME_DIRECTORY": "/run/approvalbot", "STATE_DIRECTORY": "/var/lib/approvalbot",
	"CREDENTIALS_DIRECTORY": "/etc/approvalbot/credentials",
}

// likeTheUnit sets those of them that a configuration names and a shell has not, and says which.
func likeTheUnit(env config.Environ, text string) (assumed []string) {
	for _, name := range slices.Sorted(maps.Keys(unitSets)) {
		if _, set := env[name]; !set && strings.Contains(text, "${"+name+"}") {
			env[name] = unitSets[name]
			assumed = append(assumed, name)
		}
	}
	return assumed
}

// checkConfig prints the mistakes on stderr and fails, or prints warnings, the
// effective policy, and who could approve each class now.
func checkConfig(a *app.App, path string) error {
	env := config.NewEnviron(a.Environ)
	var cfg config.Config
	var warnings []config.Warning
	var assumed []string
	file, text, err := config.Find(path, env)
	if err == nil {
		assumed = likeTheUnit(env, string(text))
		cfg, warnings, err = effective.Parse(file, text, env, nil, effective.Certificate, effective.KeyFolder, effective.Calendars)
	}
	if err == nil {
		_, err = effective.Rules(cfg, effective.Table(cfg))
	}
	if a.JSON {
		return printCheckJSON(a, cfg, warnings, err)
	}
	for _, variable := range assumed {
		fmt.Fprintf(a.Stderr, "approvalbot: %s is not set here; it is taken to be %s, as in the packages' unit\n", variable, env[variable])
	}
	if err != nil {
		return err
	}
	for _, w := range warnings {
		fmt.Fprintf(a.Stdout, "warning: %s\n", w)
	}
	if len(warnings) > 0 {
		fmt.Fprintln(a.Stdout)
	}
	return printPolicy(a, cfg)
}

func printCheckJSON(a *app.App, cfg config.Config, warnings []config.Warning, err error) error {
	type line struct {
		Where string `json:"where"`
		Key   string `json:"key"`
		Text  string `json:"text"`
	}
	lines := func(list []config.Mistake) []line {
		out := []line{}
		for _, m := range list {
			out = append(out, line{m.Where.String(), m.Key, m.Text})
		}
		return out
	}
	var mistakes config.Mistakes
	if err != nil && !errors.As(err, &mistakes) {
		mistakes = config.Mistakes{{Text: err.Error(), Where: config.Position{Source: cfg.File}}}
	}
	out := map[string]any{"mistakes": lines(mistakes), "warnings": lines(warnings)}
	if err == nil {
		classes, err := effective.Classes(cfg)
		if err != nil {
			return err
		}
		rules, err := ruleLines(cfg)
		if err != nil {
			return err
		}
		out["classes"], out["layers"], out["agents"], out["rules"] = classes, layerLines(cfg), agentLines(cfg), rules
		out["local"] = placeLines(cfg)
		if out["undecided"], err = undecidedLines(cfg); err != nil {
			return err
		}
	}
	if printed := a.PrintJSON(out); printed != nil || err == nil {
		return printed
	}
	return app.ExitCode(app.ExitError)
}
