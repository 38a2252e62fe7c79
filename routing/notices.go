package routing

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

const (
	noticesAtOnce = 16
	noticeLife    = 24 * time.Hour // after which it would only puzzle
	noticeLook    = 2 * time.Second
)

// NoticeBox keeps the notices that wait; the store implements it.
type NoticeBox interface {
	// Notices gives at most limit that wait, those that are due first before the others.
	Notices(ctx context.Context, limit int) ([]core.Notice, error)
	// NoticeTried writes down that one is gone (dueMs 0), or to be tried again then.
	NoticeTried(ctx context.Context, n core.Notice, dueMs int64) error
}

// Notices posts notices to people about themselves in their own chats. After a crash
// one may be posted twice; it is never lost as long as its chat accepts messages.
type Notices struct {
	box  NoticeBox
	post func(context.Context, approval.Target, core.Posting) (core.Posted, error)
	due  <-chan struct{}
	log  *slog.Logger
}

// NewNotices makes the carrier. post puts a message into a chat; due gets a value when
// this instance has written a notice.
func NewNotices(
	box NoticeBox, post func(context.Context, approval.Target, core.Posting) (core.Posted, error), due <-chan struct{},
	log *slog.Logger,
) *Notices {
	return &Notices{box: box, post: post, due: due, log: log}
}

// Run posts notices until ctx ends, and returns when the last call has come back.
func (n *Notices) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := n.round(ctx); err != nil && ctx.Err() == nil {
			n.log.Warn("could not read the sign-in notices to send; trying again", "reason", err)
		}
		select {
		case <-n.due:
		case <-time.After(noticeLook): // another instance may have written one
		case <-ctx.Done():
		}
	}
	return nil
}

// round makes one try at each notice that is due.
func (n *Notices) round(ctx context.Context) error {
	all, err := n.box.Notices(ctx, noticesAtOnce)
	if err != nil {
		return err
	}
	var tries sync.WaitGroup
	for _, x := range all {
		if now := time.Now().UnixMilli(); x.DueMs <= now {
			tries.Go(func() { n.try(ctx, x) })
		}
	}
	tries.Wait()
	return nil
}

func (n *Notices) try(ctx context.Context, x core.Notice) {
	_, err := n.post(ctx, x.Target, core.Posting{Text: x.Text, Session: x.Session, SinceMs: x.CreatedMs,
		Nonce: nonce(approval.Delivery{ID: x.ID})})
	if ctx.Err() != nil && err != nil {
		return // it is tried again at the next start
	}
	due := n.after(x, err, time.Now())
	if err != nil {
		said := "could not notify a person of a sign-in; the notice was given up"
		if due != 0 {
			said = "could not notify a person of a sign-in; trying again later"
		}
		n.log.Warn(said, "target", x.Target.String(), "reason", err, "again", due != 0)
	}
	if err := n.box.NoticeTried(context.WithoutCancel(ctx), x, due); err != nil {
		n.log.Error("could not record that a sign-in notice was sent; it may be sent a second time",
			"target", x.Target.String(), "reason", err)
	}
}

// after says when to try again, in Unix milliseconds; 0 means never.
func (n *Notices) after(x core.Notice, err error, now time.Time) int64 {
	var refusal *core.DeliveryError
	wait := min(firstWait<<min(x.Attempts, 10), longestWait)
	switch {
	case err == nil, now.UnixMilli()-x.CreatedMs > noticeLife.Milliseconds():
		return 0
	case errors.As(err, &refusal):
		if wait = refusal.RetryAfter; wait <= 0 {
			return 0
		}
	}
	return now.Add(wait).UnixMilli()
}
