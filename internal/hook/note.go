package hook

import (
	"slices"
	"strings"

	"approvalbot/api"
)

// Note is what a person said to the model.
type Note struct {
	By   string // for people: alice in Telegram
	Text string
}

// notesOf reads the notes of an approval. Those of an allow are the claim's, which the receipt is of.
func notesOf(a api.Approval, notes []api.Note) (out []Note) {
	for _, n := range notes {
		out = append(out, Note{person(n.By, a.Votes), n.Text})
	}
	return out
}

// NotesText is what the model reads of an allowed call's notes, a line each; empty if there are no notes.
func NotesText(a api.Approval, notes []api.Note) string {
	return Verdict{Allow: true, Notes: notesOf(a, notes)}.note()
}

// note is what the model reads of the notes. A note has no line ends, so it cannot be taken for another person's.
func (v Verdict) note() string {
	did := "allowed"
	if !v.Allow {
		did = "denied"
	}
	var lines []string
	for _, n := range v.Notes {
		lines = append(lines, line("Note from "+n.By+", who "+did+" this call: ")+" "+line(n.Text))
	}
	return strings.Join(lines, "\n")
}

// behind is a deny's reason with its note.
func behind(why, note string) string { return strings.TrimSuffix(why, ".") + ". " + note }

// handsNotes reports whether the runtime hands its model the notes of calls that the event asks for, at once or
// once they have run.
func (r Runtime) handsNotes(e Event) bool {
	return e.HandsNotes() || e.Phase != Permission && slices.ContainsFunc(r.Events, func(o Event) bool {
		return o.Phase == After && o.HandsNotes()
	})
}

// unheard is a decoder of a runtime's bodies that says that the runtime hands its model no notes.
func unheard(d decoder, title string) decoder {
	return func(raw []byte) (Call, error) {
		c, err := d(raw)
		if err == nil {
			c.Unheard = title
		}
		return c, err
	}
}
