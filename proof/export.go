package proof

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"unicode/utf8"

	"approvalbot/internal/approval"
)

// exportFormat is the first word of every export.
const exportFormat = "approvalbot-audit-export/1"

// maxLine bounds one line of an export, in bytes.
const maxLine = 4 << 20

// Header is the first line of an export. The chain does not cover it: From, To
// and PrevHash must fit the records, ExportedAtMs and Keys are the exporter's
// word.
type Header struct {
	Format       string   `json:"format"`
	From         int64    `json:"from"`     // number of the first record, from 1
	To           int64    `json:"to"`       // and of the last one; From-1: no records
	PrevHash     string   `json:"prevHash"` // hash of the record before From; empty at the log's start
	ExportedAtMs int64    `json:"exportedAtMs"`
	Keys         []string `json:"keys"` // verifier keys of the log's checkpoints
}

// line is one record of an export, in this order of members.
type line struct {
	Seq   int64              `json:"seq"`
	AtMs  int64              `json:"atMs"`
	Type  approval.EventType `json:"type"`
	Key   string             `json:"key"`
	Owner string             `json:"owner"`
	Data  json.RawMessage    `json:"data"`
	Hash  string             `json:"hash"`
}

// WriteExport writes the records as JSON lines: h, whose Format and PrevHash it
// fills in, then one record per line, as they come. entries are those from
// h.From to h.To in order. Faults of the log itself are written unchanged, for
// [VerifyExport] to find; a record outside the range, one whose data is not
// JSON on one line, and an error of entries end the export with an error.
func WriteExport(w io.Writer, h Header, entries iter.Seq2[approval.Entry, error]) error {
	if h.From < 1 || h.To < h.From-1 {
		return fmt.Errorf("cannot export record %d to record %d: the first must be 1 or more, and the last not "+
			"before it", h.From, h.To)
	}
	h.Format = exportFormat
	if h.Keys == nil {
		h.Keys = []string{}
	}
	out := bufio.NewWriter(w)
	begun := false
	begin := func(before string) error {
		begun, h.PrevHash = true, before
		head, err := json.Marshal(h)
		if err == nil {
			_, err = out.Write(append(head, '\n'))
		}
		return err
	}
	for e, err := range entries {
		if err != nil {
			return errors.Join(err, out.Flush())
		}
		if e.Seq < h.From || e.Seq > h.To {
			return fmt.Errorf("record %d is outside the export's range %d to %d", e.Seq, h.From, h.To)
		}
		if !begun {
			if err := begin(e.PrevHash); err != nil {
				return err
			}
		}
		if err := writeEntry(out, e); err != nil {
			return err
		}
	}
	if !begun {
		if err := begin(""); err != nil {
			return err
		}
	}
	return out.Flush()
}

func writeEntry(w io.Writer, e approval.Entry) error {
	b, err := appendEntry(nil, e)
	if err != nil {
		return err
	}
	oneLine := len(b) < maxLine && bytes.IndexByte(b, '\n') < 0
	isText := json.Valid(e.Data) && utf8.ValidString(string(e.Type)+e.Key+e.Owner)
	if !oneLine || !isText {
		return fmt.Errorf("record %d cannot be exported: its data is not JSON on one line of at most %d bytes",
			e.Seq, maxLine)
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// appendEntry writes a record's one spelling. Data is copied unchanged: a
// marshaller would respell it, and the hash is over its very bytes.
func appendEntry(b []byte, e approval.Entry) ([]byte, error) {
	const empty = `{}`
	l, err := json.Marshal(line{e.Seq, e.AtMs, e.Type, e.Key, e.Owner, json.RawMessage(empty), e.Hash})
	if err != nil {
		return nil, err
	}
	// No text member can hold this unescaped, so the first place is the member's.
	const mark = `"data":`
	at := bytes.Index(l, []byte(mark)) + len(mark)
	b = append(b, l[:at]...)
	b = append(b, e.Data...)
	return append(b, l[at+len(empty):]...), nil
}

// VerifyExport checks an export as [VerifyEntries] does a log, against the
// records that its header announces. A cut tail and a log that was written anew
// are found only against [Options].Expect, or by a checkpoint in the export. With
// no Options.Keys the keys that the export itself names are used, and
// Report.OwnKeys is set.
func VerifyExport(r io.Reader, o Options) (Report, error) {
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxLine)
	in.Split(wholeLine)
	h, err := readHeader(in)
	if err != nil {
		return Report{}, err
	}
	ownKeys := len(o.Keys) == 0
	if ownKeys {
		o.Keys = h.Keys
	}
	w, err := newWalk(h.From, h.PrevHash, o)
	w.report.OwnKeys = ownKeys
	if err == nil {
		err = w.run(lines(in, h.To))
	}
	if err == nil && w.next <= h.To {
		err = w.bad(fmt.Sprintf("is missing: the export ends before it, and says that it goes to record %d", h.To))
	}
	return w.report, err
}

// readHeader reads the first line and refuses one that contradicts itself.
func readHeader(in *bufio.Scanner) (h Header, err error) {
	b, err := readLine(in)
	if bad := badLine(""); err != nil && !errors.As(err, &bad) && !errors.Is(err, io.EOF) {
		return h, err
	}
	if err != nil || json.Unmarshal(b, &h) != nil || h.Format != exportFormat {
		return h, errors.New("this is not an audit export: its first line must be a header of format " + exportFormat)
	}
	if again, err := json.Marshal(h); err != nil || !bytes.Equal(again, b) {
		return h, errors.New("the export's header was changed: a member is there twice, unknown, missing or " +
			"misspelt")
	}
	switch {
	case h.From < 1 || h.To < h.From-1:
		return h, errors.New("the export's header was changed: its range must begin at 1 or more and not end " +
			"before it begins")
	case h.From == 1 && h.PrevHash != "":
		return h, errors.New("the export's header was changed: no record comes before record 1")
	case h.From > 1 && h.From <= h.To && h.PrevHash == "":
		return h, &approval.BadRecord{Seq: h.From - 1, Problem: "was missing from the log when it was exported"}
	}
	return h, nil
}

// lines gives the records; a line that is not a record is a badLine.
func lines(in *bufio.Scanner, to int64) iter.Seq2[approval.Entry, error] {
	return func(yield func(approval.Entry, error) bool) {
		for {
			b, err := readLine(in)
			if errors.Is(err, io.EOF) {
				return
			}
			var e approval.Entry
			if err == nil {
				e, err = parseLine(b)
			}
			if err == nil && e.Seq > to {
				err = badLine(fmt.Sprintf("is not the next one, or should not be there: record %d is there, "+
					"after the end that the export names", e.Seq))
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// parseLine reads a record in its one spelling only, so that no byte of a line
// can change unseen.
func parseLine(b []byte) (approval.Entry, error) {
	var l line
	if json.Unmarshal(b, &l) != nil {
		return approval.Entry{}, badLine("was changed: its line is not a record")
	}
	e := approval.Entry{Event: approval.Event{Seq: l.Seq, AtMs: l.AtMs, Type: l.Type, Key: l.Key, Owner: l.Owner,
		Data: l.Data}, Hash: l.Hash}
	if again, err := appendEntry(nil, e); err != nil || !bytes.Equal(again, b) {
		return approval.Entry{}, badLine("was changed: its line is not written as a desk writes it")
	}
	return e, nil
}

// readLine gives the next line without its end; the bytes are good until the
// next call. io.EOF only if no bytes are left.
func readLine(in *bufio.Scanner) ([]byte, error) {
	if in.Scan() {
		return in.Bytes(), nil
	}
	switch err := in.Err(); {
	case err == nil:
		return nil, io.EOF
	case errors.Is(err, bufio.ErrTooLong):
		return nil, badLine("was changed: its line is too long")
	default:
		return nil, err
	}
}

// wholeLine splits lines that have an end.
func wholeLine(data []byte, atEOF bool) (int, []byte, error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return 0, nil, badLine("was cut: its line has no end")
	}
	return 0, nil, nil
}
