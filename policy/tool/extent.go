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
	// toKeys say who is spoken to, or paid.
	toKeys = words.Set(`to recipient recipients cc bcc target targets channel channelid chat chatid thread threadid room
		conversation conversationid user userid userids email emails phone number address audience session sessionid sessionkey
		label agent agentid account accountid payee iban`)
	// seenKeys are what people read of a thing on a screen that is acted upon, if it is said.
	seenKeys = words.Set("element text label button title")
	// moneyKeys are sums, and whose they are.
	moneyKeys = words.Set(`amount amounts price total sum cost currency quantity qty iban bic card cardnumber accountnumber invoice
		invoiceid payee payer payment paymentid paymentintent charge chargeid balance budget wallet`)
	// freeKeys are what one may say otherwise in a call of a tool that nobody knows: prose, and how much
	// or where of a list or a screen. All else names what it is about.
	freeKeys = words.Set(`title text body message content contents description details summary subject comment comments note notes
		prompt explanation reason limit offset page pagesize perpage cursor count ref x y coordinate coordinates timeout`)
	// runsKeys are commands and statements, beside codeKeys and statementKeys.
	runsKeys = words.Set("expression expr eval js javascript function cmdline commandline cli bash stdin cypher filter where")
)

// What a card can show of what an unknown tool is told: more, or longer, and each call asks.
const (
	mostSaid = 6
	maxSaid  = 80 // bytes
)

// Extent reads the members of a call that runs no command by what they may name.
func (x *Reading) Extent() (e Extent) {
	list, ok := x.Fields()
	kind := x.Tool.Kind
	e.Each = !ok || kind == Payer || x.Found.Has(finding.KeywordPay) || kind == Actor && x.Found.Any(finding.Of(finding.OtherHost, finding.FeedsProcess))
	for i := range list {
		f := &list[i]
		if f.absent() {
			continue
		}
		runs := codeKeys[f.Key] || statementKeys[f.Key] || runsKeys[f.Key]
		files := kind.Group() == "fs"
		switch {
		case deedKeys[f.Key], saidKeys[f.Key] && !files, kind == Editor && f.Key == "command":
			e.say(f)
		case toKeys[f.Key] && (kind == Messenger || kind == Actor), seenKeys[f.Key] && kind == Actor:
			e.say(f)
		case moneyKeys[f.Key] && kind == Other:
			e.Each = true
		case files:
			if f.Str && (placeKeys[f.Key] || outKeys[f.Key] || globKeys[f.Key]) {
				e.Places = append(e.Places, workspace.PathWord(f.Text))
			}
		case runs && kind == Other:
			e.Each = true
		case runs && kind != Messenger:
			e.say(f)
		case f.Str && namesFile(f):
			e.Places = append(e.Places, workspace.PathWord(f.Text))
			e.Each = e.Each || kind == Other
		case kind == Other && !freeKeys[f.Key] && !(f.Str && strings.Contains(f.Text, "://")): // whose host is bound
			e.say(f)
		}
	}
	slices.Sort(e.Said)
	e.Said = slices.Compact(e.Said)
	long := func(said string) bool { return len(said) > maxSaid }
	e.Each = e.Each || kind == Other && (len(e.Said) > mostSaid || slices.ContainsFunc(e.Said, long))
	return e
}

func (e *Extent) say(f *field) { e.Said = append(e.Said, f.Key+"="+f.Text) }

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
