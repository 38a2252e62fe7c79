package tool

import (
	"strings"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/words"
)

// form says what a call of a tool cannot be without. Only tools whose calls are R3 or
// worse, or run a command, have one. A call is refused if such a part is missing or has the
// wrong type, because it is not known what a yes would run.
type form struct {
	needs *lazy.Set         // one of these members must hold a value; nil: any member must
	value func(*field) bool // whether it is one
	flat  bool              // it is in the member itself, or in a list, not in an object
	top   bool              // it is in the member itself
	known [3]*lazy.Set      // members that are never such a part; any other one might be, so such a call asks
}

var (
	// amountKeys say how much is paid.
	amountKeys = lazy.Words("amount amounts amountcents amountminor amountmicros value total totalamount sum price unitamount")
	// messageKeys hold what is sent to people.
	messageKeys = lazy.Words(`text message body content contents subject html markdown caption msg
		messagetext textbody htmlbody`)
	// statementKeys hold what a database is to run.
	statementKeys = lazy.Words("sql query queries statement statements command cmd script code q text")
	// commandKeys hold what a tool that runs commands is to run; see gather.
	commandKeys = lazy.Words("command cmd script argv args")
	// workdirKeys say in which directory it runs.
	workdirKeys = lazy.Words("workdir cwd dirpath directory workingdirectory")
	// removedKeys name what is deleted.
	removedKeys = lazy.Union(PathKeys, dirKeys)
)

// formOf gives the form of a tool's calls. It reports false if they have no form, or if
// policy does not know the tool's params.
func formOf(t Tool) (form, bool) {
	switch t.Kind {
	case Deleter:
		known := [3]*lazy.Set{contentKeys, writerKeys, deedKeys}
		return form{needs: removedKeys, value: isText, flat: true, known: known}, true
	case Messenger:
		return form{needs: messageKeys, value: isText}, true
	case Payer:
		return form{needs: amountKeys, value: isAmount}, true
	case Database:
		return form{needs: statementKeys, value: isText}, true
	case Exec:
		return form{needs: commandKeys, value: isText, flat: true, known: [3]*lazy.Set{quietKeys, dirKeys}}, true
	case Actor:
		if t.Name == "sessionsspawn" || t.Name == "enterworktree" {
			return form{}, false // none of their members is needed
		}
		f := form{value: isText, top: true, known: [3]*lazy.Set{actionKeys()[t.Name]}}
		if key := actionTools()[t.Name].key; key != "" {
			f.needs = lazy.Words(key)
		}
		return f, true
	}
	return form{}, false
}

func isText(f *field) bool { return f.Str && f.Text != "" }

// isAmount reports a number, or text with a digit in it.
func isAmount(f *field) bool {
	if !strings.ContainsAny(f.Text, "0123456789") {
		return false
	}
	return f.Str || f.Text[0] == '-' || words.Digits(f.Text[:1])
}

// malformed reports a call that lacks what it cannot be without, or has something of
// another type there.
func (x form) malformed(list []field) bool {
	satisfied, given, unknown := false, false, false
	for i := range list {
		f := &list[i]
		is := x.needs.Has(f.Key) && x.needs.Has(f.root) && !f.odd
		within := is || x.needs.Has(f.root)
		placed, objects := f.top || !x.top, !x.flat && !x.top
		switch {
		case x.needs == nil:
			satisfied = satisfied || !f.absent()
		case is && placed && x.value(f):
			satisfied = true
		case is && !f.absent(),
			is && !f.Str && f.nest > 0:
			return true // another type
		case within && objects && !f.absent():
			satisfied = true // an object counts as one
		case within:
			given = true
		case !f.absent() && !x.knows(f):
			unknown = true
		}
	}
	return !satisfied && (given || !unknown)
}

func (x form) knows(f *field) bool {
	for _, keys := range x.known {
		if keys.Has(f.Key) && !f.odd {
			return true
		}
	}
	return false
}
