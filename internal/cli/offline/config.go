package offline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"approvalbot/internal/cli/app"
	"approvalbot/internal/config"
	"approvalbot/internal/config/effective"
	"approvalbot/internal/display"
)

func newConfigCommand(a *app.App) *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Look at the desk's configuration"}
	against := ""
	check := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Print every mistake of the configuration, or what it means",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := a.Config
			if len(args) > 0 {
				path = args[0]
			}
			if against != "" {
				return compareConfigs(cmd.Context(), a, against, path)
			}
			return checkConfig(a, path)
		},
	}
	check.Flags().StringVar(&against, "against", "", "print what a reload from that file to this one changes, and which of the\n"+
		"desk's examples it judges otherwise")
	cmd.AddCommand(check)
	return cmd
}

// unitSets are variables that systemd sets for the packages' unit alone, with the values that it sets. For the
// credentials it is the directory from which systemd reads them.
var unitSets = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"RUNTIME_DIRECTORY": "/run/approvalbot", "STATE_DIRECTORY": "/var/lib/approvalbot",
		"CREDENTIALS_DIRECTORY": "/etc/approvalbot/credentials",
	}
})

// likeTheUnit sets those of unitSets that a configuration names and the shell does not set, and
// gives their names.
func likeTheUnit(env config.Environ, text string) (assumed []string) {
	for _, name := range slices.Sorted(maps.Keys(unitSets())) {
		if _, set := env[name]; !set && strings.Contains(text, "${"+name+"}") {
			env[name] = unitSets()[name]
			assumed = append(assumed, name)
		}
	}
	return assumed
}

// compareConfigs prints what changes if a desk replaces one configuration by another.
func compareConfigs(ctx context.Context, a *app.App, old, path string) error {
	was, err := parsed(a, old)
	if err != nil {
		return err
	}
	is, err := parsed(a, path)
	if err != nil {
		return err
	}
	found, err := effective.Otherwise(ctx, was, is)
	if err != nil {
		return err
	}
	out := map[string][]string{"looser": effective.Looser(was, is), "changed": effective.Unproved(was, is),
		"tighter": effective.Tighter(was, is), "otherwise": found.Lines()}
	if a.JSON {
		return a.PrintJSON(out)
	}
	for _, kind := range []string{"looser", "changed", "tighter"} {
		for _, line := range out[kind] {
			fmt.Fprintf(a.Stdout, "%s: %s\n", kind, display.Escape(line))
		}
	}
	for _, line := range out["otherwise"] {
		fmt.Fprintln(a.Stdout, display.Escape(line))
	}
	return nil
}

// parsed is a configuration without mistakes.
func parsed(a *app.App, path string) (config.Config, error) {
	env := config.NewEnviron(a.Environ)
	file, text, err := effective.Find(path, env)
	if err != nil {
		return config.Config{}, err
	}
	likeTheUnit(env, string(text))
	cfg, _, err := effective.Parse(file, text, env, nil, effective.Certificate, effective.KeyFolder, effective.Calendars)
	return cfg, err
}

// checkConfig prints the mistakes on stderr and fails, or prints warnings, the
// effective policy, and who could approve each class now.
func checkConfig(a *app.App, path string) error {
	env := config.NewEnviron(a.Environ)
	var cfg config.Config
	var warnings []config.Warning
	var assumed []string
	file, text, err := effective.Find(path, env)
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
