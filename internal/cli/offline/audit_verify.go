package offline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/audit"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/display"
	"approvalbot/internal/progress"
	"approvalbot/internal/store"
	"approvalbot/proof"
)

// maxNote bounds what is read of a file that holds a checkpoint or a receipt.
const maxNote = 1 << 20

// checking names the log to check, and what it is checked against.
type checking struct {
	file, store, keyFile, expect string
	keys                         []string
	fresh                        bool // only what came since the last check
}

func newAuditVerifyCommand(a *app.App) *cobra.Command {
	var v checking
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check that no record of the log was changed, taken out, put in or moved",
		Long: "Check the log of the running desk, or an export with --file, or a SQLite store with --store (which needs --key or\n" +
			"--key-file). The desk checks its log itself; with --key every record is fetched and checked here, with that key.\n" +
			"The desk, and --store, also find records behind the log's head, approvals that the log does not have, and rows of the store\n" +
			"that the desk did not write.\n" +
			"With --new the desk checks what came after the checkpoint up to which its last check found all good, and no row: in a\n" +
			"moment, however long the log is. What was changed before that it does not see.\n" +
			"Against a checkpoint that was kept elsewhere (--expect) it also finds a log that was cut or written anew.\n" +
			"Exit status: 0, or 1 if a record or a row is not as it was written, which is named.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return auditVerify(cmd.Context(), a, v) },
	}
	fl := cmd.Flags()
	fl.StringVar(&v.file, "file", "", "an export (- is standard input)")
	fl.StringVar(&v.store, "store", "", "a store's URL, sqlite:<path>")
	fl.StringVar(&v.keyFile, "key-file", "", "with --store: its key file")
	fl.StringVar(&v.expect, "expect", "", "a file with a checkpoint that was kept elsewhere")
	fl.BoolVar(&v.fresh, "new", false, "check only what came since the desk's last check, and no row")
	fl.StringArrayVar(&v.keys, "key", nil,
		"verifier key of checkpoints, as audit keys prints it; may be given several times")
	return cmd
}

func auditVerify(ctx context.Context, a *app.App, v checking) error {
	o := proof.Options{Keys: v.keys}
	var kept proof.Checkpoint
	var err error
	if v.expect != "" {
		if o.Expect, kept, err = readCheckpoint(a, v.expect); err != nil {
			return err
		}
	}
	line := started(a, "checking the log")
	defer line.End()
	var r proof.Report
	switch {
	case v.fresh && (v.file != "" || v.store != "" || len(v.keys) > 0 || v.expect != ""):
		return errors.New("--new is for the desk's own check: give it without --file, --store, --key and --expect")
	case v.file != "" && v.store != "" || v.keyFile != "" && v.store == "":
		return errors.New("give one of --file and --store, and --key-file with --store only")
	case v.file != "":
		r, err = verifyFile(a, v.file, o, line)
	case v.store != "":
		r, err = verifyStore(ctx, v, o, checked(line))
	default:
		r, err = verifyDesk(ctx, a, o, v.fresh, line)
	}
	line.End()
	if err = printVerdict(a, r, v.keys, kept, err); err == nil && v.store != "" && v.keyFile == "" && !a.JSON {
		fmt.Fprintln(a.Plain(), "The MACs of the store's rows were not checked: that needs its key (--key-file).")
	}
	return err
}

// readCheckpoint reads a kept checkpoint and what it says. Its signature is checked
// together with the log's, with the same keys.
func readCheckpoint(a *app.App, file string) (text string, c proof.Checkpoint, err error) {
	if text, err = readInput(a, file); err != nil {
		return "", c, fmt.Errorf("the checkpoint cannot be read: %w", err)
	}
	if c, err = proof.ReadCheckpoint(text); err != nil {
		return "", c, fmt.Errorf("--expect %s: %w", file, err)
	}
	return text, c, nil
}

// readInput reads a small file, or standard input for "-".
func readInput(a *app.App, file string) (string, error) {
	in := a.Stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return "", err
		}
		defer f.Close()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, maxNote))
	return string(b), err
}

func verifyFile(a *app.App, file string, o proof.Options, line *progress.Line) (proof.Report, error) {
	if file == "-" {
		return proof.VerifyExport(a.Stdin, o)
	}
	f, err := os.Open(file)
	if err != nil {
		return proof.Report{}, fmt.Errorf("the export cannot be read: %w", err)
	}
	defer f.Close()
	return proof.VerifyExport(countedFile(f, line, "checking the export"), o)
}

// verifyStore checks the log of a store, whether a desk runs on it or not.
func verifyStore(
	ctx context.Context, v checking, o proof.Options, passed func(seq, head int64),
) (r proof.Report, err error) {
	if v.keyFile == "" && len(o.Keys) == 0 {
		return r,
			errors.New("checking a store's checkpoints needs a key: give --key (audit keys prints it) or --key-file")
	}
	s, err := store.OpenToRead(ctx, store.Options{URL: v.store, KeyFile: v.keyFile})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	ownKeys := len(o.Keys) == 0
	if ownKeys {
		own, err := audit.SigningIn(ctx, s)
		if err != nil {
			return r, err
		}
		o.Keys = own.Verifiers
	}
	// A check makes much garbage, and this process does nothing else: so it is collected half as often.
	defer debug.SetGCPercent(debug.SetGCPercent(200))
	r, err = audit.VerifyLog(ctx, s, o, passed)
	r.OwnKeys = ownKeys
	return r, err
}

// verifyDesk has the running desk check its log, and compares here what the desk answers
// for the expected checkpoint's record. If the caller gave keys, every record is fetched
// and checked here, because the desk would use its own keys.
func verifyDesk(
	ctx context.Context, a *app.App, o proof.Options, fresh bool, line *progress.Line,
) (r proof.Report, err error) {
	c, err := a.Client()
	if err != nil {
		return r, err
	}
	if len(o.Keys) > 0 {
		return audit.VerifyLog(ctx, deskLog{c}, o, checked(line))
	}
	verify := c.VerifyAudit
	if fresh {
		verify = c.VerifyNewAudit
	}
	done, followed := make(chan struct{}), make(chan struct{})
	go func() { defer close(followed); follow(ctx, c, line, done) }()
	found, err := verify(ctx)
	close(done)
	<-followed
	if err != nil {
		return r, err
	}
	r = proof.Report{From: found.From, To: found.From + found.Records - 1, Head: found.HeadHash,
		Checkpoints: found.Checkpoints, Covered: found.Covered, OwnKeys: true, Cut: found.From > 1 && !found.New}
	if !found.OK {
		return r, foundBad{found.BadSeq, found.Problem}
	}
	if o.Expect == "" {
		return r, nil
	}
	want, err := proof.ReadCheckpoint(o.Expect)
	if err != nil {
		return r, err
	}
	page, err := auditPage(ctx, c, api.AuditOptions{Oldest: true, Limit: 1, Cursor: strconv.FormatInt(want.Seq-1, 10)})
	if err != nil {
		return r, err
	}
	if _, err := proof.OpenCheckpoint(o.Expect, page.Keys...); err != nil {
		return r, fmt.Errorf("the expected checkpoint cannot be trusted: %w", err)
	}
	switch {
	case len(page.Items) == 0:
		return r, foundBad{want.Seq, fmt.Sprintf("log record %d is missing: "+
			"the log ends before it, but the expected checkpoint is for it", want.Seq)}
	}
	seq, hash := page.Items[0].Seq, page.Items[0].Hash
	if seq == want.Seq+1 { // retention cut the log right there
		seq, hash = want.Seq, page.Items[0].PrevHash
	}
	switch {
	case seq > want.Seq:
		return r, fmt.Errorf("the log begins at record %d, but the expected checkpoint is "+
			"for record %d: give a later checkpoint", seq, want.Seq)
	case hash != want.Hash:
		return r, foundBad{want.Seq, fmt.Sprintf("log record %d does not fit the expected checkpoint: that record, "+
			"or one before it, was written anew", want.Seq)}
	}
	r.Expected = true
	return r, nil
}

// deskLog is a running desk's log.
type deskLog struct{ *api.Client }

func (d deskLog) Head(ctx context.Context) (seq int64, hash string, err error) {
	page, err := auditPage(ctx, d.Client, api.AuditOptions{Limit: 1})
	return page.HeadSeq, page.HeadHash, err
}

func (d deskLog) First(ctx context.Context) (seq int64, prevHash string, err error) {
	page, err := auditPage(ctx, d.Client, api.AuditOptions{Oldest: true, Limit: 1})
	if err != nil || len(page.Items) == 0 {
		return 1, "", err
	}
	return page.Items[0].Seq, page.Items[0].PrevHash, nil
}

func (d deskLog) Entries(ctx context.Context, from, to int64) iter.Seq2[approval.Entry, error] {
	return func(yield func(approval.Entry, error) bool) {
		for r, err := range auditLog(ctx, d.Client,
			api.AuditOptions{Oldest: true, Limit: app.PageSize, Cursor: strconv.FormatInt(from-1, 10)}) {
			if err == nil && r.Seq > to || !yield(entryOf(r), err) {
				return
			}
		}
	}
}

// Unlogged always gives an empty key: only the desk knows which approvals there are.
func (d deskLog) Unlogged(context.Context, int64, int64) (key string, err error) { return "", nil }

// CheckRows never finds a difference: only the desk knows which rows there are.
func (d deskLog) CheckRows(context.Context, int64, <-chan []approval.Entry, func(string)) (unlogged string, err error) {
	return "", nil
}

// foundBad is the error for a bad record or row that a check found.
type foundBad struct {
	seq     int64
	problem string
}

func (b foundBad) Error() string { return b.problem }

// printVerdict prints what was found. A bad record ends with exit status 1.
func printVerdict(a *app.App, r proof.Report, keys []string, kept proof.Checkpoint, err error) error {
	var bad *approval.BadRecord
	var rows *core.BadRows
	var told foundBad
	if errors.As(err, &bad) {
		told = foundBad{bad.Seq, err.Error()}
	} else if errors.As(err, &rows) {
		told = foundBad{0, rows.Error()}
	} else if err != nil && !errors.As(err, &told) {
		return err
	}
	if a.JSON {
		out := struct {
			OK bool `json:"ok"`
			proof.Report
			BadSeq  int64  `json:"badSeq,omitzero"`
			Problem string `json:"problem,omitzero"`
		}{err == nil, r, told.seq, told.problem}
		if printed := a.PrintJSON(out); printed != nil || err == nil {
			return printed
		}
		return app.ExitCode(app.ExitError)
	}
	if err != nil {
		return err
	}
	printChecked(a, r, keys, kept)
	return nil
}

func printChecked(a *app.App, r proof.Report, keys []string, kept proof.Checkpoint) {
	w := a.Plain()
	switch {
	case r.To < r.From && r.From > 1:
		fmt.Fprintf(w, "OK: no record came after record %d. The last check found all records up to it good.\n", r.To)
		return
	case r.To < r.From:
		fmt.Fprintln(w, "OK: there is no record.")
		return
	}
	fmt.Fprintf(w, "OK: records %d to %d are as they were written.\n", r.From, r.To)
	switch {
	case r.From > 1 && r.Cut:
		fmt.Fprintf(w, "The log begins at record %d: retention cut it there, at a checkpoint.\n", r.From)
	case r.From > 1:
		fmt.Fprintf(w, "Records before record %d were not checked.\n", r.From)
	}
	fmt.Fprintf(w, "Head: %s\n", display.Escape(r.Head))
	switch r.Checkpoints {
	case 0:
		fmt.Fprintln(w,
			"No checkpoint among these records fits them. Only a checkpoint that was kept elsewhere (--expect) "+
				"can show whether they were rewritten.")
	case 1:
		fmt.Fprintf(w, "1 signed checkpoint fits; it covers record %d and all before it.\n", r.Covered)
	default:
		fmt.Fprintf(w, "%d signed checkpoints fit; the last one covers record %d and all before it.\n", r.Checkpoints,
			r.Covered)
	}
	if r.Expected {
		fmt.Fprintf(w, "The log fits the expected checkpoint for record %d.\n", kept.Seq)
	}
	switch signed := r.Checkpoints > 0 || r.Expected; {
	case r.OwnKeys:
		fmt.Fprintln(w,
			"Signatures were checked with keys that the log itself names. To use a key that you kept, give --key.")
	case signed:
		fmt.Fprintf(w, "Signatures were checked with the given "+
			"key %s.\n", display.Escape(strings.Join(keys, " and ")))
	default:
		fmt.Fprintf(w, "The records have no signature, so the given key %s was not used.\n",
			display.Escape(strings.Join(keys, " and ")))
	}
}
