// Package audit keeps the audit log provable: it signs checkpoints and receipts with the
// keys of the store, checks the whole log against its head, and forgets what retention
// lets go of.
package audit

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/store"
	"approvalbot/proof"
)

const (
	checkpointLook = 30 * time.Second
	cutEvery       = time.Hour // at most, old records are forgotten
	dayMs          = 24 * 60 * 60 * 1000
	verifySays     = 10 * time.Second
	busyFor        = 100 * time.Millisecond // a desk is, after each change
)

// Desk is what an Auditor works for.
type Desk struct {
	Store  *store.Store
	Log    *slog.Logger
	Keep   time.Duration            // how long records are kept; 0: for ever
	Issuer func() string            // how receipts call this desk
	Chats  func() []approval.Target // get the day's first checkpoint
	// Tell posts a text in chats, as far as they can be reached, and does not wait for it.
	Tell func(ctx context.Context, chats []approval.Target, text string)
}

// Auditor signs receipts and checkpoints, and deletes records that are past the
// retention.
type Auditor struct {
	Desk
	Signing
	Look time.Duration // how often is looked whether a checkpoint is due
	jwks []byte

	checking atomic.Pointer[[2]int64] // how far a check of the log is: at a record, of so many
}

// New makes the auditor of a desk, which signs with the keys of its store.
func New(ctx context.Context, desk Desk) (*Auditor, error) {
	a := &Auditor{Desk: desk, Look: checkpointLook}
	var err error
	if a.Signing, err = SigningIn(ctx, desk.Store); err != nil {
		return nil, err
	}
	a.jwks, err = proof.JWKS(a.Public...)
	return a, err
}

// Keys are the verifier keys of the log's checkpoints, the present one first.
func (a *Auditor) Keys() []string { return a.Verifiers }

// JWKS is the public keys of receipts, as a JSON Web Key Set.
func (a *Auditor) JWKS() []byte { return a.jwks }

// Pins is what clients of this desk pin, and what leads to it from keys before.
func (a *Auditor) Pins() api.DeskKeys {
	keys := api.DeskKeys{Successions: append([]string{}, a.Successions...)}
	for _, k := range a.DeskKeys() {
		keys.DeskKeys = append(keys.DeskKeys, api.DeskKey(k))
	}
	return keys
}

// Receipt signs that an approval allows its call, and names the claim if it had a name.
func (a *Auditor) Receipt(of approval.Approval) (string, error) {
	r, err := proof.ReceiptFor(of, a.Issuer())
	if err != nil {
		return "", err
	}
	return a.Receipts.Sign(r)
}

// Verify checks the whole log. A record that is not as it was written is part of
// the report, not an error.
func (a *Auditor) Verify(ctx context.Context) (api.AuditReport, error) {
	found, err := VerifyLog(ctx, paced{a.Store, a.busy}, proof.Options{Keys: a.Keys()}, a.passed())
	return a.report(ctx, found, err)
}

// busy makes a check for which a caller waits rest as long as it works if others ask and decide meanwhile, so that
// these wait less.
func (a *Auditor) busy() int {
	if a.Store.WroteWithin(busyFor) {
		return 1
	}
	return 0
}

// VerifyNew checks what came after the checkpoint up to which the last check found all good; if there was no such
// check, it checks the whole log.
func (a *Auditor) VerifyNew(ctx context.Context) (api.AuditReport, error) {
	seq, hash, err := a.Store.Verified(ctx)
	if err != nil {
		return api.AuditReport{}, err
	}
	if first, _, err := a.Store.First(ctx); err != nil || seq < first {
		return a.Verify(ctx)
	}
	found, err := VerifyNew(ctx, a.Store, proof.Options{Keys: a.Keys()}, Mark{seq, hash}, a.passed())
	out, err := a.reportNew(ctx, found, err)
	out.New = true
	return out, err
}

// Checking says how far a check of the log is: at record seq of head; false: no check is under way.
func (a *Auditor) Checking() (seq, head int64, is bool) {
	if at := a.checking.Load(); at != nil {
		return at[0], at[1], true
	}
	return 0, 0, false
}

// passed says how far a check is.
func (a *Auditor) passed() func(seq, head int64) {
	said := time.Now()
	return func(seq, head int64) {
		a.checking.Store(&[2]int64{seq, head})
		if time.Since(said) > verifySays {
			said = time.Now()
			a.Log.Info("the audit log is being checked", "record", seq, "of", head)
		}
	}
}

// report says what a check of the whole log found, and notes that.
func (a *Auditor) report(ctx context.Context, found proof.Report, err error) (api.AuditReport, error) {
	out, err := a.reportNew(ctx, found, err)
	if err == nil {
		a.noteChecked(ctx, out.Problem)
	}
	return out, err
}

// reportNew says what a check found, and notes how far all is good.
func (a *Auditor) reportNew(ctx context.Context, found proof.Report, err error) (api.AuditReport, error) {
	a.checking.Store(nil)
	out := api.AuditReport{OK: err == nil, From: found.From, Records: found.To - found.From + 1, HeadHash: found.Head,
		Checkpoints: found.Checkpoints, Covered: found.Covered}
	if bad := (*approval.BadRecord)(nil); errors.As(err, &bad) {
		out.BadSeq, out.Problem = bad.Seq, err.Error()
		return out, nil
	}
	if bad := (*core.BadRows)(nil); errors.As(err, &bad) {
		out.Problem = bad.Error()
		return out, nil
	}
	if err == nil && found.Covered > 0 {
		if err := a.Store.NoteVerified(ctx, found.Covered); err != nil { // the next check begins further back
			a.Log.Warn("could not store how far the audit log was checked; the next check begins further back", "reason", err)
		}
	}
	return out, err
}

// RecordLoss puts on record what the store had lost when it was opened.
func (a *Auditor) RecordLoss(ctx context.Context) error {
	lost := a.Store.Lost()
	if lost == nil {
		return nil
	}
	data, err := json.Marshal(map[string]any{"frame": lost.Frame, "frames": lost.Frames, "commits": lost.Commits})
	if err != nil {
		return err
	}
	return a.Store.Append(ctx, nil, approval.Event{AtMs: time.Now().UnixMilli(), Type: approval.EventDamaged, Data: data})
}

// Run signs the log's head whenever a checkpoint is due and forgets what is older
// than the retention, until ctx ends; of several instances, one does. It looks every
// a.look, and not at once: so a desk that restarts in a loop does not sign more often.
func (a *Auditor) Run(ctx context.Context) error {
	return a.Store.Hold(ctx, "audit", func(ctx context.Context, _ int64) error {
		for cutAt := time.Now(); ; {
			select {
			case <-time.After(a.Look):
			case <-ctx.Done():
				return nil
			}
			if err := a.Checkpoint(ctx); err != nil && ctx.Err() == nil {
				a.Log.Error("could not write a checkpoint of the audit log; trying again", "reason", err)
			}
			if now := time.Now(); !now.Before(cutAt) {
				cutAt = now.Add(cutEvery)
				if err := a.Cut(ctx, now, a.Keep); err != nil && ctx.Err() == nil {
					a.Log.Error("could not delete old records from the audit log; they stay until the next try", "reason", err)
				}
			}
		}
	})
}

// Cut forgets the records up to the newest checkpoint that is older than keep (0: keep
// all). A log that is not whole up to there is left as it is: what is wrong with it is
// evidence.
func (a *Auditor) Cut(ctx context.Context, now time.Time, keep time.Duration) error {
	s := a.Store
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
			if _, err := proof.VerifyEntries(s.Entries(ctx, first, at),
				proof.Options{Keys: a.Keys(), First: first, PrevHash: before}); err != nil {
				return err
			}
			why, err := a.Checkpoints.CutEvent(proof.Checkpoint{Seq: c.Seq, Hash: c.Hash, AtMs: now.UnixMilli()})
			if err != nil {
				return err
			}
			if err := s.CutLog(ctx, c.Seq, c.Hash, why); err != nil {
				return err
			}
			a.Log.Info("deleted the records of the audit log that are older than "+
				"store.retention.audit; the field first is the oldest that is left", "first", c.Seq+1)
		}
	}
	_, err := s.DropCut(ctx) // also what a crash left of an earlier one
	return err
}

// oldEnough finds the newest checkpoint of that time or before among the log's
// oldest records; at is the record that keeps it, 0: there is no such checkpoint.
func (a *Auditor) oldEnough(ctx context.Context, first, untilMs int64) (at int64, c proof.Checkpoint, err error) {
	head, _, err := a.Store.Head(ctx)
	if err != nil {
		return 0, c, err
	}
	for e, err := range a.Store.Entries(ctx, first, head) {
		if err != nil || e.AtMs > untilMs {
			return at, c, err
		}
		if e.Type != approval.EventCheckpoint {
			continue
		}
		if found, _, err := proof.CheckpointOf(e); err == nil && found.Seq >= first && found.AtMs <= untilMs {
			at, c = e.Seq, found
		}
	}
	return at, c, nil
}

// Checkpoint appends a signed checkpoint if one is due.
func (a *Auditor) Checkpoint(ctx context.Context) error {
	head, hash, err := a.Store.Head(ctx)
	if err != nil {
		return err
	}
	last, err := a.last(ctx, head)
	now := time.Now().UnixMilli()
	if err != nil || !proof.Due(last.Seq, last.AtMs, head, now) {
		return err
	}
	e, err := a.Checkpoints.CheckpointEvent(proof.Checkpoint{Seq: head, Hash: hash, AtMs: now})
	if err != nil {
		return err
	}
	if err := a.Store.Append(ctx, nil, e); err != nil || last.AtMs/dayMs == now/dayMs {
		return err
	}
	_, note, err := proof.CheckpointOf(approval.Entry{Event: e})
	if err == nil {
		a.Tell(context.WithoutCancel(ctx), a.Chats(), note)
	}
	return err
}

// last finds the newest checkpoint in the log; the zero value: the log has no checkpoint
// yet.
func (a *Auditor) last(ctx context.Context, head int64) (last proof.Checkpoint, err error) {
	err = a.Store.Checkpoints(ctx, head, func(e approval.Event) (more bool) {
		c, _, err := proof.CheckpointOf(approval.Entry{Event: e})
		if err == nil {
			last = c
		}
		return err != nil
	})
	return last, err
}
