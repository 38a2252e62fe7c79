package setup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"approvalbot/core"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/cli/show"
	"approvalbot/internal/config"
	"approvalbot/internal/config/effective"
	"approvalbot/internal/display"
	"approvalbot/internal/hook/live"
)

// Bounds of what doctor looks at: how long one thing may take, and how many are
// looked at together.
const (
	lookTime    = 10 * time.Second
	looksAtOnce = 8
)

func newDoctorCommand(a *app.App) *cobra.Command {
	var offline bool
	var runtime string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look at everything that the desk depends on, and say what is wrong and how to mend it",
		Long: "Look at the configuration, the store, the clock, each chat, each approver, who could be asked now, the verifier, the classifier and the\n" +
			"running desk, and each runtime's hook that install has written for this user, this folder or this machine (is it as\n" +
			"install writes it, trusted and not switched off; its program, client file and desk; when it last asked), and say on one\n" +
			"line each how it is. It posts no message and changes no file, so a running desk is not disturbed. Exit status: 0, or 1\n" +
			"if something would stop an approval or let a call run without one (a line begins with FAIL), such as that no desk\n" +
			"runs. Before the first start, and while it is stopped on purpose, leave that out with --offline. health asks only\n" +
			"whether the running desk is ready, without a token, for probes: exit status 0 if it is, else 1.\n" +
			"With --live it looks at one runtime's hook, and tries it if it is in force: the runtime's own client, with that hook's\n" +
			"program, a fake model, a folder that is thrown away and a desk of doctor's own, must run an allowed command and not a\n" +
			"denied one, and it is said what becomes of one while the desk is down. Your own files stay as they are. Runtimes: " + strings.Join(live.Runtimes(), ", ") + ".",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runtime != "" {
				return doctorLive(cmd.Context(), a, runtime)
			}
			return examine(cmd.Context(), a, offline)
		},
	}
	cmd.Flags().BoolVar(&offline, "offline", false, "look for no running desk")
	cmd.Flags().StringVar(&runtime, "live", "", "look at this agent runtime's hook alone, and try it with its own client")
	return cmd
}

func examine(ctx context.Context, a *app.App, offline bool) error {
	cfg, found, err := checkedConfig(a)
	if errors.Is(err, effective.ErrNone) { // an agent's machine may have no desk
		if found = append(hooksFindings(ctx, a, nil, offline), ownKeyFindings(ctx, a, offline)...); len(found) > 0 {
			found = append(found, confineFindings(ctx, a)...)
			found, err = append(found, core.Warn("config", "no configuration was found, so no desk was "+
				"checked", "name one with --config")), nil
		}
	}
	if err != nil {
		return err
	}
	if cfg != nil {
		found = append(found, core.Gather(looksAtOnce,
			func() []core.Diagnostic { return clientFindings(a, *cfg) },
			func() []core.Diagnostic { return ownKeyFindings(ctx, a, offline) },
			func() []core.Diagnostic { return hooksFindings(ctx, a, cfg, offline) },
			func() []core.Diagnostic { return storeFindings(ctx, *cfg) },
			func() []core.Diagnostic { return certificateFindings(*cfg) },
			func() []core.Diagnostic { return serverFindings(ctx, *cfg, offline) },
			func() []core.Diagnostic { return publicFindings(ctx, *cfg) },
			func() []core.Diagnostic { return webFindings(ctx, *cfg, offline) },
			func() []core.Diagnostic { return chatFindings(ctx, *cfg) },
			func() []core.Diagnostic { return peopleFindings(ctx, *cfg) },
			func() []core.Diagnostic { return passkeyFindings(ctx, *cfg) },
			func() []core.Diagnostic { return verifierFindings(ctx, *cfg) },
			func() []core.Diagnostic { return classifierFindings(ctx, *cfg) },
			func() []core.Diagnostic { return confineFindings(ctx, a) },
		)...)
		found = weigh(found, *cfg)
	}
	return report(a, found)
}

// checkedConfig loads the configuration and says what is wrong with it. The configuration
// is nil if the further checks cannot use it. The error says that there is no file to
// look at.
func checkedConfig(a *app.App) (*config.Config, []core.Diagnostic, error) {
	cfg, warnings, err := effective.Load(a.Config, a.Environ, nil)
	var mistakes config.Mistakes
	var found []core.Diagnostic
	switch {
	case errors.As(err, &mistakes):
		for _, m := range mistakes {
			found = append(found, core.Fail("config", m.String(), "the desk does not start with this"))
		}
		return nil, found, nil
	case err != nil:
		return nil, nil, err
	}
	for _, w := range warnings {
		found = append(found, core.Warn("config", w.String(), ""))
	}
	found = append(found, core.OK("config", cfg.File+" can be used"))
	return &cfg, append(found, policyFindings(cfg)...), nil
}

// policyFindings says whether at least one person could approve.
func policyFindings(cfg config.Config) []core.Diagnostic {
	if !cfg.Approvals.Enabled() {
		return []core.Diagnostic{core.Fail("policy", "approvals are disabled, so every request is refused", "set approvals.tools.enabled: true")}
	}
	classes, err := effective.Classes(cfg)
	if err != nil {
		return []core.Diagnostic{core.Fail("policy", err.Error(), "see approvalbot config check")}
	}
	var found []core.Diagnostic
	for _, c := range classes {
		if c.Outcome == "ask" && !c.Reachable {
			found = append(found, core.Fail("policy",
				fmt.Sprintf("%s needs %s to approve, and those who could are %s", c.Class, show.ClassNeeds(c.View()), show.ClassWho(c.View())),
				"name more people with accounts in allowedUserIds, or lower minApprovals"))
		}
	}
	if len(found) == 0 {
		found = append(found, core.OK("policy", "enough people could approve every class that asks"))
	}
	return found
}

// printFindings prints one line for each.
func printFindings(a *app.App, found []core.Diagnostic) error {
	if a.JSON {
		return a.PrintJSON(found)
	}
	out, p := a.Plain(), a.Paint()
	for _, f := range found {
		level := fmt.Sprintf("%-4s", f.Level)
		switch f.Level {
		case core.LevelOK:
			level = p.With("32", level)
		case core.LevelWarn:
			level = p.With("33", level)
		default:
			level = p.With("1;31", level)
		}
		line := display.Escape(f.What + ": " + f.Text)
		if f.Fix != "" {
			line += " — " + display.Escape(f.Fix)
		}
		if _, err := fmt.Fprintf(out, "%s  %s\n", level, line); err != nil {
			return err
		}
	}
	return nil
}
