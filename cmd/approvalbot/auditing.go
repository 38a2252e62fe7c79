package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"time"

	"approvalbot/api"
	"approvalbot/config"
	"approvalbot/core"
	"approvalbot/proof"
	"approvalbot/server"
)

const (
	checkpointLook = 30 * time.Second
	dayMs          = 24 * 60 * 60 * 1000
	checkpointBack = 4000 // records looked through for the last one, which is at most so far back
	verifyPage     = 1000 // records between two looks at how far a check is
	verifySays     = 10 * time.Second
)

// auditor signs what can be proved later, and forgets what is too old.
type auditor struct {
	desk *desk
	signing
	jwks []byte
	look time.Duration // how often is looked whether a checkpoint is due
}

func (d *desk) newAuditor(ctx context.Context) (*auditor, error) {
	a := &auditor{desk: d, look: checkpointLook}
	var err error
	if a.signing, err = signingIn(ctx, d.store); err != nil {
		return nil, err
	}
	a.jwks, err = proof.JWKS(a.public...)
	return a, err
}

// api is the auditor as the server needs it.
func (a *auditor) api() *server.Audit {
	return &server.Audit{Log: a.desk.store, Head: a.desk.store.Head, Keys: a.keys, Verify: a.verify,
		Receipt: a.receipt, JWKS: func() []byte { return a.jwks }}
}

func (a *auditor) keys() []string { return a.verifiers }

// receipt signs that an approval was claimed.
func (a *auditor) receipt(of core.Approval) (string, error) {
	r, err := proof.ReceiptFor(of, a.issuer())
	if err != nil {
		return "", err
	}
	return a.receipts.Sign(r)
}

// chats get the day's first checkpoint.
func (a *auditor) chats() []core.Target {
	return config.Targets(a.desk.live.Load().ApprovalTools().Routing.AuditChats)
}

// issuer is how receipts call this desk.
func (a *auditor) issuer() string {
	return cmp.Or(a.desk.live.Load().Server.PublicURL, "approvalbot")
}

// verify checks the whole log. A record that is not as it was written is part of
// the report, not an error.
func (a *auditor) verify(ctx context.Context) (api.AuditReport, error) {
	said := time.Now()
	found, err := verifyLog(ctx, a.desk.store, proof.Options{Keys: a.keys()}, func(seq, head int64) {
		if time.Since(said) > verifySays {
			said = time.Now()
			a.desk.log.Info("the audit log is being checked", "record", seq, "of", head)
		}
	})
	out := api.AuditReport{OK: err == nil, From: found.From, Records: found.To - found.From + 1, HeadHash: found.Head, Checkpoints: found.Checkpoints, Covered: found.Covered}
	if bad := (*core.BadRecord)(nil); errors.As(err, &bad) {
		out.BadSeq, out.Problem = bad.Seq, bad.Error()
		return out, nil
	}
	return out, err
}

// wholeLog is a log from its first record to its head: a store's, or a running
// desk's.
type wholeLog interface {
	Head(context.Context) (seq int64, hash string, err error)
	First(context.Context) (seq int64, prevHash string, err error)
	Entries(ctx context.Context, from, to int64) iter.Seq2[core.Entry, error]
	// Unlogged gives the key of an approval that was asked for after that time, and of
	// which the log has no record; empty if there is none.
	Unlogged(ctx context.Context, afterMs int64) (key string, err error)
}

// verifyLog checks a whole log against its head, that only retention has cut it, and that
// every approval is in it. It reads page by page and stops when ctx ends; passed hears of
// every thousandth record, and of the head.
func verifyLog(ctx context.Context, s wholeLog, o proof.Options, passed func(seq, head int64)) (proof.Report, error) {
	found, err := verifyLogOnce(ctx, s, o, passed)
	bad := (*core.BadRecord)(nil)
	if first, _, again := s.First(ctx); again == nil && errors.As(err, &bad) && first != found.From {
		return verifyLogOnce(ctx, s, o, passed) // it was cut meanwhile
	}
	return found, err
}

func verifyLogOnce(ctx context.Context, s wholeLog, o proof.Options, passed func(seq, head int64)) (found proof.Report, err error) {
	head, hash, err := s.Head(ctx)
	if err != nil {
		return found, err
	}
	if o.First, o.PrevHash, err = s.First(ctx); err != nil {
		return found, err
	}
	entries := func(yield func(core.Entry, error) bool) {
		for e, err := range s.Entries(ctx, o.First, head) {
			if err == nil && e.Seq%verifyPage == 0 {
				passed(e.Seq, head)
			}
			if !yield(e, err) {
				return
			}
		}
	}
	found, err = proof.VerifyEntries(entries, o)
	switch {
	case err != nil:
		return found, err
	case found.To < head:
		err = &core.BadRecord{Seq: found.To + 1, Problem: fmt.Sprintf("is missing: the log ends before it, and its head says that it goes to record %d", head)}
	case found.Head != hash:
		err = &core.BadRecord{Seq: head, Problem: "is not what the log's head says was written last"}
	case o.First > 1 && !found.Cut:
		err = &core.BadRecord{Seq: o.First - 1, Problem: "is missing: the log begins after it, and no signed record says that retention cut it there"}
	}
	if err == nil {
		err = behindHead(ctx, s, head)
	}
	if err == nil {
		err = leftOut(ctx, s, found)
	}
	return found, err
}

// behindHead finds a record that stands behind the log's head. The head moves together
// with the records, so one that was read before the head is not behind it.
func behindHead(ctx context.Context, s wholeLog, head int64) error {
	for e, err := range s.Entries(ctx, head+1, math.MaxInt64) {
		if err != nil {
			return err
		}
		now, _, err := s.Head(ctx)
		if err != nil || e.Seq <= now {
			return err
		}
		return &core.BadRecord{Seq: e.Seq, Problem: fmt.Sprintf("stands behind the log's head, which is record %d: it was put in", now)}
	}
	return nil
}

// cutSlack is by how much the times of two records may differ from their order: each
// instance has a clock of its own.
const cutSlack = time.Hour

// leftOut finds an approval that the log has no record of, as one that was emptied. What
// retention has cut off says nothing of approvals of its time.
func leftOut(ctx context.Context, s wholeLog, found proof.Report) error {
	var after int64
	if found.From > 1 {
		for e, err := range s.Entries(ctx, found.From, found.From) {
			if err != nil {
				return err
			}
			after = e.AtMs + cutSlack.Milliseconds()
		}
	}
	key, err := s.Unlogged(ctx, after)
	if err != nil || key == "" {
		return err
	}
	return &core.BadRecord{Seq: found.To + 1, Problem: "is missing: the store has approval " + key + ", and no record of it is in the log, which was emptied or written anew"}
}

// recordLoss puts on record what the store had lost when it was opened.
func (a *auditor) recordLoss(ctx context.Context) error {
	lost := a.desk.store.Lost()
	if lost == nil {
		return nil
	}
	data, err := json.Marshal(map[string]any{"frame": lost.Frame, "frames": lost.Frames, "commits": lost.Commits})
	if err != nil {
		return err
	}
	return a.desk.store.Append(ctx, nil, core.Event{AtMs: time.Now().UnixMilli(), Type: core.EventDamaged, Data: data})
}

// Run signs the log's head whenever a checkpoint is due and forgets what is older
// than the retention, until ctx ends; of several instances, one does. It looks every
// a.look, and not at once: whoever restarts in a loop signs no more for that.
func (a *auditor) Run(ctx context.Context) error {
	return a.desk.store.Hold(ctx, "audit", func(ctx context.Context, _ int64) error {
		for cutAt := time.Now(); ; {
			select {
			case <-time.After(a.look):
			case <-ctx.Done():
				return nil
			}
			if err := a.checkpoint(ctx); err != nil && ctx.Err() == nil {
				a.desk.log.Error("no checkpoint of the audit log could be written", "reason", err)
			}
			if now := time.Now(); !now.Before(cutAt) {
				cutAt = now.Add(sweepEvery)
				if err := a.cut(ctx, now, time.Duration(a.desk.cfg.Store.Retention.Audit)); err != nil && ctx.Err() == nil {
					a.desk.log.Error("the audit log was not cut", "reason", err)
				}
			}
		}
	})
}

// cut forgets the records up to the newest checkpoint that is older than keep (0:
// none is). A log that is not whole up to there is left as it is: what is wrong
// with it is evidence.
func (a *auditor) cut(ctx context.Context, now time.Time, keep time.Duration) error {
	s := a.desk.store
	if keep > 0 {
		first, before, err := s.First(ctx)
		if err != nil {
			return err
		}
		at, c, err := a.oldEnough(ctx, first, now.Add(-keep).UnixMilli())
		if err != nil {
			return err
		}
		if at > 0 {
			if _, err := proof.VerifyEntries(s.Entries(ctx, first, at), proof.Options{Keys: a.keys(), First: first, PrevHash: before}); err != nil {
				return err
			}
			why, err := a.checkpoints.CutEvent(proof.Checkpoint{Seq: c.Seq, Hash: c.Hash, AtMs: now.UnixMilli()})
			if err != nil {
				return err
			}
			if err := s.CutLog(ctx, c.Seq, c.Hash, why); err != nil {
				return err
			}
			a.desk.log.Info("the audit log begins later now: older records are past the retention", "first", c.Seq+1)
		}
	}
	_, err := s.DropCut(ctx) // also what a crash left of an earlier one
	return err
}

// oldEnough finds the newest checkpoint of that time or before among the log's
// oldest records; at is the record that keeps it, 0: there is none.
func (a *auditor) oldEnough(ctx context.Context, first, untilMs int64) (at int64, c proof.Checkpoint, err error) {
	head, _, err := a.desk.store.Head(ctx)
	if err != nil {
		return 0, c, err
	}
	for e, err := range a.desk.store.Entries(ctx, first, head) {
		if err != nil || e.AtMs > untilMs {
			return at, c, err
		}
		if e.Type != core.EventCheckpoint {
			continue
		}
		if found, _, err := proof.CheckpointOf(e); err == nil && found.Seq >= first && found.AtMs <= untilMs {
			at, c = e.Seq, found
		}
	}
	return at, c, nil
}

// checkpoint appends a signed checkpoint if one is due.
func (a *auditor) checkpoint(ctx context.Context) error {
	head, hash, err := a.desk.store.Head(ctx)
	if err != nil {
		return err
	}
	last, err := a.last(ctx, head)
	now := time.Now().UnixMilli()
	if err != nil || !proof.Due(last.Seq, last.AtMs, head, now) {
		return err
	}
	e, err := a.checkpoints.CheckpointEvent(proof.Checkpoint{Seq: head, Hash: hash, AtMs: now})
	if err != nil {
		return err
	}
	if err := a.desk.store.Append(ctx, nil, e); err != nil || last.AtMs/dayMs == now/dayMs {
		return err
	}
	_, note, err := proof.CheckpointOf(core.Entry{Event: e})
	if err == nil {
		a.desk.tell(context.WithoutCancel(ctx), a.chats(), note)
	}
	return err
}

// last finds the newest checkpoint in the log; the zero one: there is none yet.
func (a *auditor) last(ctx context.Context, head int64) (last proof.Checkpoint, err error) {
	for e, err := range a.desk.store.Entries(ctx, max(1, head-checkpointBack), head) {
		if err != nil {
			return last, err
		}
		if e.Type == core.EventCheckpoint {
			if c, _, err := proof.CheckpointOf(e); err == nil {
				last = c
			}
		}
	}
	return last, nil
}
