package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"approvalbot/api"
	"approvalbot/internal/cli/app"
)

// deskGrace is how long a verb waits beyond an approval's expiry, so that a
// desk that is just restarting can still tell how it ended.
const deskGrace = 30 * time.Second

func newWaitCommand(a *app.App) *cobra.Command {
	var patience time.Duration
	cmd := &cobra.Command{
		Use:   "wait ID",
		Short: "Wait until a request of yours is decided",
		Long:  "Wait until a request is decided. Exit status: 0 allowed, 10 denied, 11 expired, 12 withdrawn, 13 still pending, 1 error.",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.Desk(cmd.Context())
			if err != nil {
				return err
			}
			got, err := c.Get(cmd.Context(), args[0], 0)
			if err != nil {
				return err
			}
			if !got.Status.Final() {
				if got, err = awaitFinal(cmd.Context(), c, got, patience); err != nil {
					return err
				}
			}
			return printStanding(a, got)
		},
	}
	cmd.Flags().DurationVar(&patience, "for", 0, "wait at most so long (0: until it is decided)")
	return cmd
}

// awaitFinal waits for the end of an approval, at most for patience if that is
// above zero, and gives it as last seen: still pending when patience ran out or
// ctx ended. A desk that stays away for longer than the approval lives is an error.
func awaitFinal(ctx context.Context, c *api.Client, a api.Approval, patience time.Duration) (api.Approval, error) {
	life := time.Duration(max(a.ExpiresAtMs-a.CreatedAtMs, 0))*time.Millisecond + deskGrace
	limited, cancel := context.WithTimeoutCause(ctx, life, errDeskAway)
	defer cancel()
	if patience > 0 {
		limited, cancel = context.WithTimeoutCause(limited, patience, errPatience)
		defer cancel()
	}
	got, err := c.WaitFinal(limited, a.ID)
	switch {
	case err == nil:
		return got, nil
	case ctx.Err() != nil || errors.Is(err, errPatience):
		if got.ID == "" { // not seen again since
			got = a
		}
		return got, nil
	}
	return a, err
}

var (
	errDeskAway = errors.New("the desk did not report in time how the request ended")
	errPatience = errors.New("the time to wait is over")
)
