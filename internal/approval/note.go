package approval

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"approvalbot/internal/display"
)

// MaxNote is how many characters (Unicode code points) a note may have.
const MaxNote = 500

// Note is what a person said to the agent with a vote that counted.
type Note struct {
	By   string `json:"by"` // as in DecidedBy
	Text string `json:"text"`
}

// Draft is a note that waits for its person's second step, on an R4 call.
type Draft struct {
	Channel  string   `json:"channel"`
	UserID   string   `json:"userId"`
	Decision Decision `json:"decision"`
	Note     string   `json:"note"`
}

// ReadNote reads what a person wrote for the agent: one line, single spaces, secrets redacted. It refuses what is
// longer than MaxNote, and characters that its writer does not see. Line ends and other spaces become blanks, and
// a variation selector, which phones put behind emoji, is left out. Read again, a note stays as it is.
func ReadNote(text string) (string, *Error) {
	refuse := func(format string, args ...any) (string, *Error) {
		e := Refuse(CodeInvalidRequest, format, args...)
		e.Fields = []FieldError{{Field: "note", Problem: "must be at most 500 characters, all of them visible"}}
		return "", e
	}
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), emojiStyle, "")
	text = strings.Join(strings.Fields(text), " ")
	if r, at := display.Concealed(text); at > 0 {
		return refuse("The note has a character that cannot be seen, U+%04X, at place %d, so your answer was not "+
			"counted. Write it again.", r, at)
	}
	note := display.Redact(text)
	if n := max(utf8.RuneCountInString(text), utf8.RuneCountInString(note)); n > MaxNote {
		return refuse("The note has %d characters; at most %d reach the agent, so your answer was not counted. Shorten it.", n, MaxNote)
	}
	return note, nil
}

// emojiStyle is the selector by which a keyboard asks for the coloured form of a sign.
const emojiStyle = "\uFE0F"

// Notes are what people said to the agent with the votes that count. If the approval is allowed, these are the
// votes that allowed it, after a retry the last retry's; if it is denied, the vote that denied it. It is nil
// while the approval is pending, and after it was taken back.
func (a Approval) Notes() []Note {
	verdict := Approve
	switch {
	case a.Status == Denied:
		verdict = Reject
	case a.Status != Approved || a.RevokedAtMs != 0:
		return nil
	}
	var out []Note
	for _, v := range a.Votes {
		if v.Note != "" && v.Verdict == verdict && v.Voter != nil && slices.Contains(a.DecidedBy, v.Voter.Name()) {
			out = append(out, Note{v.Voter.Name(), v.Note})
		}
	}
	return out
}

// NotesHash names notes: SHA-256 of their list as RFC 8785 JSON, in lower-case hex; empty if there are no
// notes.
func NotesHash(notes []Note) string {
	if len(notes) == 0 {
		return ""
	}
	form, err := json.Marshal(notes, jsontext.AllowInvalidUTF8(true))
	if err == nil {
		err = (*jsontext.Value)(&form).Canonicalize()
	}
	if err != nil { // texts always marshal
		panic(err)
	}
	sum := sha256.Sum256(form)
	return hex.EncodeToString(sum[:])
}

// DraftOf is the note that the voter's second step to that decision would carry; empty if
// there is no draft.
func (a Approval) DraftOf(v Voter, d Decision) string {
	for _, x := range a.Drafts {
		if x.Channel == v.Channel && x.UserID == v.UserID && x.Decision == d {
			return x.Note
		}
	}
	return ""
}

// WithDraft is the approval with that note as the only draft of its writer.
func (a Approval) WithDraft(v Voter, d Decision, note string) Approval {
	a.Drafts = slices.DeleteFunc(slices.Clone(a.Drafts), func(x Draft) bool {
		return x.Channel == v.Channel && x.UserID == v.UserID
	})
	a.Drafts = append(a.Drafts, Draft{v.Channel, v.UserID, d, note})
	return a
}
