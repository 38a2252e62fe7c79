package api

import (
	"context"
	"errors"
	"time"
)

const (
	pollWait     = 55 * time.Second // below the desk's minute, and below common proxies'
	firstBackoff = 100 * time.Millisecond
	maxBackoff   = 5 * time.Second
)

// WaitFinal waits until the approval has ended and gives it. If the desk is
// down, restarting or busy, it retries until ctx ends; then it returns the
// approval as last seen and ctx's error. If the desk refuses, it returns at
// once.
func (c *Client) WaitFinal(ctx context.Context, id string) (Approval, error) {
	var last Approval
	backoff := firstBackoff
	for {
		asked := time.Now()
		a, err := c.Get(ctx, id, pollWait)
		pause := time.Duration(0)
		var refused *Problem
		switch {
		case err == nil && a.Status.Final():
			return a, nil
		case ctx.Err() != nil:
			return last, context.Cause(ctx)
		case err == nil:
			last = a
			if time.Since(asked) >= pollWait/2 {
				backoff = firstBackoff
				continue
			}
		case errors.As(err, &refused) && !refused.passing():
			return last, err
		case refused != nil:
			pause = refused.RetryAfter
		}
		if !sleep(ctx, max(pause, backoff)) {
			return last, context.Cause(ctx)
		}
		backoff = min(2*backoff, maxBackoff)
	}
}

// sleep waits for d and reports whether ctx has not ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
