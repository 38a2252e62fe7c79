package proof

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"

	"approvalbot/internal/approval"
)

// Checkpoint says which record was the log's last one at some time. Its hash
// covers every record up to it.
type Checkpoint struct {
	Seq  int64  `json:"seq"`
	Hash string `json:"hash"` // of that record: approval.Entry.Hash
	AtMs int64  `json:"atMs"`
}

// A checkpoint is due when new records are there and the last one is
// CheckpointEveryMs old, and at once after CheckpointRecords records.
const (
	CheckpointEveryMs = 60 * 60 * 1000
	CheckpointRecords = 1000
)

// Due reports whether the desk owes a checkpoint. lastSeq and lastAtMs are those
// of its last [Checkpoint] (0, 0 if there is none yet), headSeq is the number of
// the log's last record. The record that holds the last checkpoint does not
// count as new: a quiet log gets no more of them.
func Due(lastSeq, lastAtMs, headSeq, nowMs int64) bool {
	fresh := headSeq - lastSeq
	if lastSeq > 0 {
		fresh--
	}
	return fresh >= CheckpointRecords || fresh > 0 && nowMs-lastAtMs >= CheckpointEveryMs
}

// checkpointTime has milliseconds, always in UTC.
const checkpointTime = "2006-01-02T15:04:05.000Z"

const (
	originWords = "approvalbot log "
	cutWords    = "approvalbot log-cut " // so that a checkpoint cannot pass as a cut
	keyName     = "approvalbot-"         // the verifier key's name, before the log's id
)

// logID names a log by its checkpoint key.
func logID(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:8])
}

// VerifierKey gives the public key in the form of golang.org/x/mod/sumdb/note
// ("approvalbot-<log id>+<hash>+<key>"): an auditor needs it to check
// checkpoints; it may be printed and published.
func (s Signer) VerifierKey() (string, error) {
	if err := s.may(Checkpoints); err != nil {
		return "", err
	}
	return note.NewEd25519VerifierKey(keyName+logID(s.public), s.public)
}

// SignCheckpoint gives the checkpoint as a signed note. Its text has four lines:
// "approvalbot log <log id>", the record's number, its hash in base64, the time
// in UTC. The same checkpoint gives the same text. The key's purpose must be
// [Checkpoints]; an empty log has no checkpoint.
func (s Signer) SignCheckpoint(c Checkpoint) (string, error) { return s.signNote(originWords, c) }

func (s Signer) signNote(origin string, c Checkpoint) (string, error) {
	vkey, err := s.VerifierKey()
	if err != nil {
		return "", err
	}
	v, err := note.NewVerifier(vkey)
	if err != nil {
		return "", err
	}
	text, err := c.text(origin, logID(s.public))
	if err != nil {
		return "", err
	}
	signed, err := note.Sign(&note.Note{Text: text}, noteSigner{v, s})
	return string(signed), err
}

// noteSigner signs notes under the verifier's name and hash.
type noteSigner struct {
	note.Verifier
	key Signer
}

func (n noteSigner) Sign(message []byte) ([]byte, error) { return n.key.sign(message), nil }

// text writes what is signed.
func (c Checkpoint) text(origin, log string) (string, error) {
	at := time.UnixMilli(c.AtMs).UTC()
	isTime := c.AtMs >= 0 && at.Year() <= 9999
	if c.Seq < 1 || !isHash(c.Hash) || !isTime {
		return "", errors.New("a checkpoint needs a record's number, its SHA-256 in lower-case hex and a time")
	}
	hash, err := hex.DecodeString(c.Hash)
	return fmt.Sprintf("%s%s\n%d\n%s\n%s\n", origin, log, c.Seq, base64.StdEncoding.EncodeToString(hash),
		at.Format(checkpointTime)), err
}

// readText is the reverse of text: it reads only what text writes.
func readText(origin, s string) (c Checkpoint, log string, err error) {
	lines := strings.Split(s, "\n")
	bad := errors.New("this is not a checkpoint of an approvalbot log")
	if len(lines) != 5 {
		return Checkpoint{}, "", bad
	}
	log, ok := strings.CutPrefix(lines[0], origin)
	seq, err1 := strconv.ParseInt(lines[1], 10, 64)
	hash, err2 := base64.StdEncoding.DecodeString(lines[2])
	at, err3 := time.Parse(checkpointTime, lines[3])
	if !ok || errors.Join(err1, err2, err3) != nil {
		return Checkpoint{}, "", bad
	}
	c = Checkpoint{seq, hex.EncodeToString(hash), at.UnixMilli()}
	if again, err := c.text(origin, log); err != nil || again != s {
		return Checkpoint{}, "", bad
	}
	return c, log, nil
}

// OpenCheckpoint reads a signed checkpoint and checks its signature against the
// verifier keys; one of them must have signed it, under the name of the log
// that the text names. Further signatures by others are allowed.
func OpenCheckpoint(text string, verifierKeys ...string) (Checkpoint, error) {
	known, err := verifiers(verifierKeys)
	if err != nil {
		return Checkpoint{}, err
	}
	return openNote(originWords, text, known)
}

func openNote(origin, text string, known note.Verifiers) (Checkpoint, error) {
	n, err := note.Open(oneEnd(text), known)
	if unsigned := (*note.UnverifiedNoteError)(nil); errors.As(err, &unsigned) {
		return Checkpoint{}, errors.New("the checkpoint is not signed by a known key")
	} else if bad := (*note.InvalidSignatureError)(nil); errors.As(err, &bad) {
		return Checkpoint{}, errors.New("the checkpoint's signature does not fit: the checkpoint was changed or " +
			"forged")
	} else if err != nil {
		return Checkpoint{}, errors.New("this is not a signed checkpoint")
	}
	c, log, err := readText(origin, n.Text)
	if err != nil {
		return Checkpoint{}, err
	}
	if !slices.ContainsFunc(n.Sigs, func(s note.Signature) bool { return s.Name == keyName+log }) {
		return Checkpoint{}, errors.New("the checkpoint names one log, but the key of another log signed it")
	}
	return c, nil
}

// oneEnd is the text with one line end at its end: a checkpoint that went through
// a file or a mail may have got more of them or lost it.
func oneEnd(text string) []byte { return []byte(strings.TrimRight(text, "\r\n") + "\n") }

// ReadCheckpoint reads what a checkpoint says without checking any signature, which
// [OpenCheckpoint] does.
func ReadCheckpoint(text string) (Checkpoint, error) {
	_, err := note.Open(oneEnd(text), nil)
	var n *note.UnverifiedNoteError
	if !errors.As(err, &n) {
		return Checkpoint{}, errors.New("this is not a signed checkpoint")
	}
	c, _, err := readText(originWords, n.Note.Text)
	return c, err
}

// checkpointData is the data of a [approval.EventCheckpoint].
type checkpointData struct {
	Note string `json:"checkpoint"`
}

// CheckpointEvent signs the checkpoint and gives the log record that keeps it:
// a desk appends it when one is [Due].
func (s Signer) CheckpointEvent(c Checkpoint) (approval.Event, error) {
	signed, err := s.SignCheckpoint(c)
	if err != nil {
		return approval.Event{}, err
	}
	data, err := json.Marshal(checkpointData{signed})
	return approval.Event{AtMs: c.AtMs, Type: approval.EventCheckpoint, Data: data}, err
}

// cutData is the data of a [approval.EventCut].
type cutData struct {
	Note string `json:"cut"`
}

// CutEvent signs that the log is cut, and gives the log record of that: retention
// forgets every record up to c's, at the time c.AtMs.
func (s Signer) CutEvent(c Checkpoint) (approval.Event, error) {
	signed, err := s.signNote(cutWords, c)
	if err != nil {
		return approval.Event{}, err
	}
	data, err := json.Marshal(cutData{signed})
	return approval.Event{AtMs: c.AtMs, Type: approval.EventCut, Data: data}, err
}

// verifiers reads verifier keys; one that is given twice counts once.
func verifiers(keys []string) (note.Verifiers, error) {
	var list []note.Verifier
	for i, key := range keys {
		v, err := note.NewVerifier(strings.TrimSpace(key))
		if err != nil {
			return nil, fmt.Errorf("verifier key %d is not valid: it must read approvalbot-<log id>+<hash>+<key>", i+1)
		}
		same := func(o note.Verifier) bool { return o.Name() == v.Name() && o.KeyHash() == v.KeyHash() }
		if !slices.ContainsFunc(list, same) {
			list = append(list, v)
		}
	}
	return note.VerifierList(list...), nil
}

// CheckpointOf reads what a checkpoint's log entry says, without checking its
// signature. note is the signed text.
func CheckpointOf(e approval.Entry) (c Checkpoint, note string, err error) {
	var data checkpointData
	if err := json.Unmarshal(e.Data, &data); err != nil {
		return Checkpoint{}, "", fmt.Errorf("log record %d holds no checkpoint: %w", e.Seq, err)
	}
	c, err = ReadCheckpoint(data.Note)
	return c, data.Note, err
}
