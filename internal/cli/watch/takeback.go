package watch

import (
	"context"
	"fmt"
	"time"

	"approvalbot/api"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/cli/show"
	"approvalbot/internal/display"
)

// unclaimed reports whether an allowed call can still be taken back.
func unclaimed(a api.Approval) bool {
	return a.Status == api.Approved && a.ClaimedAtMs == 0 && !show.Revoked(a) && time.Now().UnixMilli() < a.ClaimUntilMs
}

// offerBack remembers the call that was just allowed here, as long as it is
// unclaimed.
func (w *watcher) offerBack(a api.Approval) {
	w.allowed = nil
	if w.keys != nil && unclaimed(a) {
		w.allowed = &a
	}
}

// checkAllowed forgets what was allowed once it is claimed, taken back or late.
func (w *watcher) checkAllowed(ctx context.Context) {
	if w.allowed == nil {
		return
	}
	if got, err := w.client.Get(ctx, w.allowed.Code, 0); err == nil {
		w.offerBack(got)
	}
}

// takeBack takes back the call that was just allowed, and prints the result.
func (w *watcher) takeBack(ctx context.Context) {
	code := w.allowed.Code
	w.allowed = nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), voteTime)
	defer cancel()
	got, err := w.client.Revoke(ctx, code, api.RevokeRequest{})
	w.wipe()
	if err != nil {
		fmt.Fprintf(w.Stdout, "%s: not taken back: %s\n", display.Escape(code), app.Sentence(err))
	} else {
		w.tell(got)
	}
	w.drew()
}

// idle is the bottom line while no question is open.
func (w *watcher) idle() {
	if w.allowed != nil {
		code := display.Escape(w.allowed.Code)
		w.bottom("[u] takes "+code+" back while it is unclaimed", "[u] takes "+code+" back")
		return
	}
	w.wipe()
}

// pressIdle takes a key while no question is open.
func (w *watcher) pressIdle(ctx context.Context, p press) {
	key, one := keyOf(p.text)
	switch {
	case key == "", p.at.Sub(w.drawn) < settled:
		return
	case one && key == "u" && w.allowed != nil:
		w.takeBack(ctx)
	case key == "?":
		w.wipe()
		w.explainKeys(answers)
	default:
		w.bottom("No request is waiting for an answer.")
		return
	}
	w.idle()
}
