package proof

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"golang.org/x/mod/sumdb/note"

	"approvalbot/internal/approval"
)

// Options select what a log is checked against.
type Options struct {
	// Keys are the verifier keys (see [Signer.VerifierKey]) that checkpoints in
	// the log may be signed with: the desk's present one and those before it.
	Keys []string
	// Expect, if not empty, is the text of a checkpoint that was kept out of the
	// desk's reach: one of the keys must have signed it, and the log must have its
	// record with its hash.
	Expect string
	// First is the number of the log's first record, and PrevHash the hash of the
	// one before it, if retention has cut the log. 0 is 1.
	First    int64
	PrevHash string
}

// Report describes the part that was checked and found good.
type Report struct {
	From        int64  `json:"from"`        // number of the first record
	To          int64  `json:"to"`          // and of the last one; From-1 if there are no records
	Head        string `json:"head"`        // hash of the last one, hex
	Checkpoints int    `json:"checkpoints"` // how many in it were signed by a known key and fit their record
	Covered     int64  `json:"covered"`     // records up to this one are covered by those checkpoints; 0: no record is
	Expected    bool   `json:"expected"`    // Options.Expect was given and met
	Cut         bool   `json:"cut"`         // a signed record in it says that retention cut the log right before From
	OwnKeys     bool   `json:"ownKeys"`     // signatures were checked only against keys that the export itself names
}

// VerifyEntries checks a log from [Options].First on: that the chain is unbroken, that
// every checkpoint in it is signed by a known key and names a record that is in the
// log unchanged, and that it has the record that [Options].Expect names. A
// [*approval.BadRecord] is the first record that was changed after it was written;
// every other error means that the check could not be finished. Even then the report
// tells how far it came.
//
// It keeps 32 bytes per record. An iterator that ends early looks like a log
// that ends there: give Expect, or compare the report's Head.
//
// If the log does not begin at record 1, Report.Cut says whether the log itself
// accounts for that. If not, something other than retention cut it.
func VerifyEntries(entries iter.Seq2[approval.Entry, error], o Options) (Report, error) {
	w, err := newWalk(max(1, o.First), o.PrevHash, o)
	if err != nil {
		return Report{}, err
	}
	err = w.run(entries)
	return w.report, err
}

// hashPage has the hashes of so many records. One slice of all would be copied as it grows, and take three times the room.
type hashPage [hashesAPage][32]byte

const hashesAPage = 4096

// walk goes along a chain.
type walk struct {
	first  int64
	before string // hash of the record before the first
	next   int64  // the record that must come now
	hashes []*hashPage
	known  note.Verifiers
	expect *Checkpoint
	report Report
}

func newWalk(first int64, before string, o Options) (*walk, error) {
	known, err := verifiers(o.Keys)
	w := &walk{first: first, before: before, next: first, known: known,
		report: Report{From: first, To: first - 1, Head: before}}
	if err == nil && o.Expect != "" {
		err = w.expects(o.Expect)
	}
	return w, err
}

// expects takes the checkpoint that was kept.
func (w *walk) expects(text string) error {
	c, err := openNote(originWords, text, w.known)
	if err != nil {
		return fmt.Errorf("the expected checkpoint cannot be trusted: %w", err)
	}
	if c.Seq < w.first-1 {
		return fmt.Errorf("the log begins at record %d here, but the expected checkpoint is for record %d: export "+
			"from there, or give a later checkpoint", w.first, c.Seq)
	}
	w.expect = &c
	return w.meets(w.first-1, w.before)
}

// run checks the records one by one. After a gap it reads on only to tell
// whether the missing record was removed or moved.
func (w *walk) run(entries iter.Seq2[approval.Entry, error]) error {
	var gap *approval.BadRecord
	for e, err := range entries {
		switch {
		case gap != nil && err != nil:
			return gap
		case gap != nil && e.Seq == gap.Seq:
			gap.Problem = "is not in its place: records were reordered"
			return gap
		case gap != nil:
		case err != nil:
			if line := badLine(""); errors.As(err, &line) {
				return w.bad(string(line))
			}
			return err
		case e.Seq > w.next:
			gap = &approval.BadRecord{Seq: w.next, Problem: fmt.Sprintf("is missing: record %d is in its place", e.Seq)}
		default:
			if err := w.add(e); err != nil {
				return err
			}
		}
	}
	if gap != nil {
		return gap
	}
	if c := w.expect; c != nil && w.next <= c.Seq {
		return w.bad(fmt.Sprintf("is missing: the log ends before it, but the expected checkpoint is for record %d",
			c.Seq))
	}
	w.report.Expected = w.expect != nil
	return nil
}

// add takes the next record.
func (w *walk) add(e approval.Entry) error {
	if e.Seq >= w.first && e.Seq < w.next && approval.ChainHash(w.hash(e.Seq-1), e.Event) == e.Hash {
		return &approval.BadRecord{Seq: e.Seq, Problem: "is there twice: one of them was put in"}
	}
	if e.Seq < w.next {
		return w.bad(fmt.Sprintf("is not in its place: record %d is there, out of order or put in", e.Seq))
	}
	if approval.ChainHash(w.report.Head, e.Event) != e.Hash {
		return w.bad("was changed, or put in: its hash does not fit")
	}
	if err := w.meets(e.Seq, e.Hash); err != nil {
		return err
	}
	if e.Type == approval.EventCheckpoint || e.Type == approval.EventCut {
		if problem := w.checkpoint(e); problem != "" {
			return w.bad(problem)
		}
	}
	page, at := (e.Seq-w.first)/hashesAPage, (e.Seq-w.first)%hashesAPage
	if at == 0 {
		w.hashes = append(w.hashes, new(hashPage))
	}
	hex.Decode(w.hashes[page][at][:], []byte(e.Hash)) // a hash that we computed is hex
	w.next++
	w.report.To, w.report.Head = e.Seq, e.Hash
	return nil
}

// meets compares a record with the expected checkpoint.
func (w *walk) meets(seq int64, hash string) error {
	c := w.expect
	if c == nil || c.Seq != seq || c.Hash == hash {
		return nil
	}
	return &approval.BadRecord{Seq: seq, Problem: fmt.Sprintf("does not fit the checkpoint of %s: that record, or "+
		"one before it, was written anew",
		time.UnixMilli(c.AtMs).UTC().Format(time.RFC3339))}
}

// checkpoint gives the mistake of a record that has a checkpoint, or "".
func (w *walk) checkpoint(e approval.Entry) string {
	c, err := w.signed(e)
	switch {
	case errors.Is(err, errNothing):
		return "should keep a checkpoint and does not"
	case err != nil:
		return "keeps a checkpoint that cannot be trusted: " + err.Error()
	case c.Seq >= e.Seq:
		return fmt.Sprintf("keeps a checkpoint of record %d, which is not before it", c.Seq)
	case c.Seq < w.first-1:
		return "" // of a record before this stretch: signed, and it cannot be compared
	case w.hash(c.Seq) != c.Hash:
		return fmt.Sprintf("keeps a checkpoint of record %d with another hash than that record has: the log was "+
			"written anew", c.Seq)
	}
	if c.Seq == w.first-1 && c.Seq > 0 && e.Type == approval.EventCut {
		w.report.Cut = true
	}
	if e.Type == approval.EventCheckpoint {
		w.report.Checkpoints++
	}
	w.report.Covered = max(w.report.Covered, c.Seq)
	return ""
}

// signed gives what a record keeps that was signed.
func (w *walk) signed(e approval.Entry) (Checkpoint, error) {
	var data struct {
		checkpointData
		cutData
	}
	if json.Unmarshal(e.Data, &data) != nil {
		return Checkpoint{}, errNothing
	}
	if e.Type == approval.EventCut {
		return openNote(cutWords, data.cutData.Note, w.known)
	}
	return openNote(originWords, data.checkpointData.Note, w.known)
}

var errNothing = errors.New("it should contain a signed text and does not")

// hash gives the hash of a record that was passed.
func (w *walk) hash(seq int64) string {
	if seq < w.first {
		return w.before
	}
	at := seq - w.first
	return hex.EncodeToString(w.hashes[at/hashesAPage][at%hashesAPage][:])
}

func (w *walk) bad(problem string) error { return &approval.BadRecord{Seq: w.next, Problem: problem} }

// badLine is the error of a line that is no record.
type badLine string

// Error names the line's mistake.
func (b badLine) Error() string { return string(b) }
