package tool

import (
	"slices"
	"strings"

	"approvalbot/policy/finding"
	"approvalbot/policy/words"
	"approvalbot/policy/workspace"
)

// Extent is what a session's yes for a call of a tool is bound to, beside the tool.
type Extent struct {
	Said   []string         // "key=value" of members that say what is done, to whom, or run
	Places []workspace.Word // what may be a file
	Each   bool             // every call is another thing: no session's yes
}

var (
	// saidKeys say what a call does, where deedKeys do not.
	saidKeys = words.Set("request kind event type function tool toolname api commandtype cmdtype runtime")
	// moneyKeys are sums, and whose they are.
	moneyKeys = words.Set(`amount amounts price total sum cost currency quantity qty iban bic card cardnumber accountnumber invoice
		invoiceid payee payer payment paymentid paymentintent charge chargeid balance budget wallet`)
	// screenKeys are how much or where of a list or a screen.
	screenKeys = words.Set("limit offset page pagesize perpage cursor count ref x y coordinate coordinates timeout")
	// freeKeys are what one may say otherwise in a message, and in a call of a tool that nobody knows: prose
	// besides. All else names what it is about.
	freeKeys = words.Set(`title text body message content contents description details summary subject comment comments note
		notes explanation reason limit offset page pagesize perpage cursor count timeout`)
	// runsKeys are commands and statements, beside codeKeys and statementKeys.
	runsKeys = words.Set("expression expr eval js javascript function cmdline commandline cli bash stdin cypher filter where")
)

// What a card can show of what a tool is told: more, or longer, and each call asks.
const (
	mostSaid = 6
	maxSaid  = 80 // bytes
)

// Extent reads the members of a call that runs no command by what they may name.
func (x *Reading) Extent() (e Extent) {
	list, ok := x.Fields()
	kind := x.Tool.Kind
	e.Each = !ok || kind == Payer || x.Found.Has(finding.KeywordPay) || kind == Actor && x.Found.Any(finding.Of(finding.OtherHost, finding.FeedsProcess))
	files, free := kind.Group() == "fs", screenKeys
	if kind == Other || kind == Messenger {
		free = freeKeys
	}
	var addresses []*field
	deed := false
	for i := range list {
		f := &list[i]
		if f.absent() {
			continue
		}
		runs := codeKeys[f.Key] || statementKeys[f.Key] || runsKeys[f.Key]
		switch {
		case deedKeys[f.Key], saidKeys[f.Key] && !files, strings.HasSuffix(f.Key, "method"), kind == Editor && f.Key == "command":
			deed = true
			e.say(f)
		case files:
			if kind == Deleter && strings.ContainsAny(f.Text, "*?[{") {
				e.Each = true // a tool may take it for a pattern
			}
			if f.Str && (placeKeys[f.Key] || outKeys[f.Key] || globKeys[f.Key]) {
				e.Places = append(e.Places, workspace.PathWord(f.Text))
			}
		case kind == Other && (moneyKeys[f.Key] || runs), f.Key == "subject" && strings.ContainsAny(f.Text, "\r\n"):
			e.Each = true
		case (kind == Other || kind == Web) && f.Str && strings.Contains(f.Text, "://"): // whose host is bound
			addresses = append(addresses, f)
		case f.Str && namesFile(f):
			e.Places = append(e.Places, workspace.PathWord(f.Text))
			e.Each = e.Each || kind == Other
			e.say(f)
		case !free[f.Key]:
			e.say(f)
		}
	}
	for _, f := range addresses {
		if deed {
			e.say(f)
		}
	}
	slices.Sort(e.Said)
	e.Said = slices.Compact(e.Said)
	long := func(said string) bool { return len(said) > maxSaid }
	e.Each = e.Each || !files && (len(e.Said) > mostSaid || slices.ContainsFunc(e.Said, long))
	return e
}

// say binds a member, by its own name and that of the param in which it is.
func (e *Extent) say(f *field) {
	name := f.Key
	if f.root != "" && f.root != f.Key {
		name = f.root + "." + f.Key
	}
	e.Said = append(e.Said, name+"="+f.Text)
}

// namesFile reports text that a tool of which nothing is known may take for a file: by the
// member's name, by a slash, or because a secret or a start-up file is called so.
func namesFile(f *field) bool {
	if strings.Contains(f.Text, "://") && !strings.HasPrefix(strings.ToLower(f.Text), "file:") {
		return false // a host, which is bound as one
	}
	lower := workspace.FoldPath(f.Text)
	return placeKeys[f.Key] || outKeys[f.Key] || strings.ContainsAny(f.Text, `/\~`) || strings.HasPrefix(f.Text, ".") ||
		workspace.Apart(lower)
}
