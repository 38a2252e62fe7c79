package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"approvalbot/api"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/display"
	"approvalbot/internal/schedule"
)

func newDutyCommand(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "duty",
		Short: "Say who is on duty, until when, and who follows",
		Long: "Say who is on duty by each roster (approvals.tools.onDuty), until when, and who follows. If that is not known, as with\n" +
			"a calendar that cannot be read, all of the roster are. It needs a token with any of the operator scopes.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.Client()
			if err != nil {
				return err
			}
			duty, err := c.Duty(cmd.Context())
			if err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(duty)
			}
			if len(duty.Rosters) == 0 {
				_, err = fmt.Fprintln(a.Stdout, "There is no roster (approvals.tools.onDuty).")
			}
			for _, d := range duty.Rosters {
				_, err = fmt.Fprintf(a.Stdout, "%s: %s\n", display.Escape(d.Name), display.Escape(dutyText(d, time.Now())))
			}
			return err
		},
	}
}

// dutyText tells who is on duty, with times in the roster's zone if this machine
// knows it.
func dutyText(d api.Duty, now time.Time) string {
	on := schedule.OnDuty{People: d.OnDuty, Next: d.Next, Unknown: d.Unknown}
	if d.UntilMs != 0 {
		on.Until = time.UnixMilli(d.UntilMs)
	}
	zone, err := schedule.Zone(d.Timezone)
	if err != nil {
		zone = time.Local
	}
	return on.String(now, zone)
}
