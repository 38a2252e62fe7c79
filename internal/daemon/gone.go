package daemon

import (
	"context"
	"strings"
	"time"

	"approvalbot/internal/signin"
)

// endGone ends the sign-ins of people that the configuration in force does not name, and
// reports it to the log and the chats. If that waits for other instances, or fails, it is
// tried again.
func (d *Daemon) endGone(ctx context.Context) (signin.Gone, error) {
	gone, err := d.SignIn.EndGone(ctx)
	lines := strings.Join(gone.Lines(), "; ")
	switch {
	case ctx.Err() != nil: // the next start does it
	case err != nil:
		d.log.Error("could not end the sign-ins of removed people yet; trying again", "people", lines, "reason", err)
	case gone.Waits:
		d.log.Info("the configuration no longer names these people; their sign-ins end when all instances have "+
			"this configuration", "people", lines)
	case lines != "":
		d.log.Info("the configuration no longer names these people; their sign-ins were ended and their passkeys "+
			"suspended", "people", lines)
		d.announce(ctx, "The configuration no longer names these people, so their sign-ins are ended and their passkeys "+
			"are suspended: "+lines+".")
	}
	if err != nil || gone.Waits {
		select {
		case d.lingering <- struct{}{}:
		default:
		}
	}
	return gone, err
}

// keepEndingGone tries again what could not be ended.
func (d *Daemon) keepEndingGone(ctx context.Context) error {
	for {
		select {
		case <-d.lingering:
		case <-ctx.Done():
			return nil
		}
		select {
		case <-time.After(followEvery):
		case <-ctx.Done():
			return nil
		}
		d.reloading.Lock()
		_, _ = d.endGone(ctx) // it has said why, and is tried again
		d.reloading.Unlock()
	}
}
