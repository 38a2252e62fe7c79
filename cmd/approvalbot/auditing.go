package main

import (
	"cmp"
	"context"
	"errors"
	"time"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/proof"
	"approvalbot/server"
)

const (
	checkpointLook = 30 * time.Second // how often is looked whether a checkpoint is due
	checkpointBack = 4000             // records looked through for the last one, which is at most so far back
)

// auditor signs what can be proved later: receipts and checkpoints.
type auditor struct {
	desk        *desk
	receipts    proof.Signer
	checkpoints proof.Signer
	verifier    string // of the checkpoints
	jwks        []byte
}

func (d *desk) newAuditor() (*auditor, error) {
	a := &auditor{desk: d}
	var err error
	if a.receipts, err = proof.NewSigner(d.store.Seed(), proof.Receipts); err != nil {
		return nil, err
	}
	if a.checkpoints, err = proof.NewSigner(d.store.Seed(), proof.Checkpoints); err != nil {
		return nil, err
	}
	if a.verifier, err = a.checkpoints.VerifierKey(); err != nil {
		return nil, err
	}
	a.jwks, err = proof.JWKS(a.receipts.Public())
	return a, err
}

// api is the auditor as the server needs it.
func (a *auditor) api() *server.Audit {
	return &server.Audit{Log: a.desk.store, Head: a.desk.store.Head, Keys: a.keys, Verify: a.verify,
		Receipt: a.receipt, JWKS: func() []byte { return a.jwks }}
}

func (a *auditor) keys() []string { return []string{a.verifier} }

// receipt signs that an approval was claimed.
func (a *auditor) receipt(of core.Approval) (string, error) {
	r, err := proof.ReceiptFor(of, cmp.Or(a.desk.cfg.Server.PublicURL, "approvalbot"))
	if err != nil {
		return "", err
	}
	return a.receipts.Sign(r)
}

// verify checks the whole log. A record that is not as it was written is part of
// the report, not an error.
func (a *auditor) verify(ctx context.Context) (api.AuditReport, error) {
	head, hash, err := a.desk.store.Head(ctx)
	if err != nil {
		return api.AuditReport{}, err
	}
	found, err := proof.VerifyEntries(a.desk.store.Entries(ctx, 1, head), proof.Options{Keys: a.keys()})
	out := api.AuditReport{OK: err == nil, From: found.From, Records: found.To - found.From + 1, HeadHash: found.Head, Checkpoints: found.Checkpoints, Covered: found.Covered}
	var bad *core.BadRecord
	switch {
	case errors.As(err, &bad):
		out.BadSeq, out.Problem = bad.Seq, bad.Error()
		return out, nil
	case err != nil:
		return out, err
	case found.Head != hash:
		out.OK, out.BadSeq, out.Problem = false, head, "the log's last record is not what its head says was written last"
	}
	return out, nil
}

// Run signs the log's head whenever a checkpoint is due, until ctx ends.
func (a *auditor) Run(ctx context.Context) error {
	for {
		if err := a.checkpoint(ctx); err != nil && ctx.Err() == nil {
			a.desk.log.Error("no checkpoint of the audit log could be written", "reason", err)
		}
		select {
		case <-time.After(checkpointLook):
		case <-ctx.Done():
			return nil
		}
	}
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
	return a.desk.store.Append(ctx, nil, e)
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
