package audit

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"
	"unicode"

	"approvalbot/internal/approval"
	"approvalbot/internal/store"
	"approvalbot/proof"
)

const (
	// checkEvery is how old the last check of the whole log becomes before the desk checks it by itself.
	checkEvery = 7 * 24 * time.Hour
	// checkLook is how often the desk looks whether a check is due. It does not look at once: a start has other work,
	// and a desk that restarts in a loop would only check.
	checkLook = time.Hour
	// restShare is how much longer than its work each page of the desk's own check rests, so that askers do not wait
	// for the check.
	restShare = 4
	// restPage is how many records are between two rests.
	restPage = 250
	// maxSaid is how many letters of the findings are kept; the check itself names all of
	// them.
	maxSaid = 300
)

// RunChecks checks the whole log and the rows whenever the last check is a week old, until ctx ends; of several
// instances, one does.
func (a *Auditor) RunChecks(ctx context.Context) error { return a.runChecks(ctx, checkLook) }

func (a *Auditor) runChecks(ctx context.Context, look time.Duration) error {
	return a.Store.Hold(ctx, "audit check", func(ctx context.Context, _ int64) error {
		for {
			select {
			case <-time.After(look):
			case <-ctx.Done():
				return nil
			}
			if err := a.checkIfDue(ctx); err != nil && ctx.Err() == nil {
				a.Log.Error("could not finish the weekly check of the audit log; it begins again later", "reason", err)
			}
		}
	})
}

// checkIfDue checks the whole log, with rests, if the last check is a week old.
func (a *Auditor) checkIfDue(ctx context.Context) error {
	last, err := a.Store.LastChecked(ctx)
	if err != nil || time.Since(time.UnixMilli(last.AtMs)) < checkEvery {
		return err
	}
	a.Log.Info("the weekly check of the whole audit log has begun")
	found, err := VerifyLog(ctx, paced{a.Store, func() int { return restShare }}, proof.Options{Keys: a.Keys()}, func(int64, int64) {})
	report, err := a.report(ctx, found, err)
	if err != nil {
		return err
	}
	if report.OK {
		a.Log.Info("the weekly check found every record of the audit log "+
			"unchanged", "records", report.Records, "checkpoints", report.Checkpoints)
		return nil
	}
	a.Log.Error("the weekly check of the audit log found records that the desk did not write; for details run: "+
		"approvalbot audit verify",
		"problem", report.Problem)
	a.Tell(context.WithoutCancel(ctx), a.Chats(), "⚠️ The weekly check of this approval desk's log and store found something that the desk did "+
		"not write. What it is: approvalbot audit verify")
	return nil
}

// noteChecked notes what a check of the whole log found.
func (a *Auditor) noteChecked(ctx context.Context, problem string) {
	problem = strings.Map(func(r rune) rune { // the keys of rows that somebody made may be anything
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, problem)
	c := store.Checked{AtMs: time.Now().UnixMilli(), Problem: fmt.Sprintf("%.*s", maxSaid, problem)}
	if err := a.Store.NoteChecked(ctx, c); err != nil { // the next one comes early
		a.Log.Warn("could not store the result of the audit log check; the next check comes early", "reason", err)
	}
}

// paced is a store that is checked with rests.
type paced struct {
	*store.Store
	// rests is how many times longer than its work each page rests, now.
	rests func() int
}

// Entries is the store's, with a rest after each page.
func (p paced) Entries(ctx context.Context, from, to int64) iter.Seq2[approval.Entry, error] {
	return func(yield func(approval.Entry, error) bool) {
		rest := p.resting()
		for e, err := range p.Store.Entries(ctx, from, to) {
			if !yield(e, err) {
				return
			}
			if e.Seq%restPage == 0 {
				if err := rest(ctx); err != nil {
					yield(approval.Entry{}, err)
					return
				}
			}
		}
	}
}

// CheckRows is the store's, with a rest after each page that is read when the log has ended: until then the log's rests
// are those of both.
func (p paced) CheckRows(
	ctx context.Context, afterMs int64, log <-chan []approval.Entry, found func(string),
) (unlogged string, err error) {
	return p.CheckRowsAt(ctx, afterMs, log, found, p.resting())
}

// resting gives what rests, measured by the work since its last rest.
func (p paced) resting() func(context.Context) error {
	began := time.Now()
	return func(ctx context.Context) error {
		if n := p.rests(); n > 0 {
			select {
			case <-time.After(time.Duration(n) * time.Since(began)):
			case <-ctx.Done():
			}
		}
		began = time.Now()
		return ctx.Err()
	}
}
