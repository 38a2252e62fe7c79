package textcmd

import (
	"testing"

	"approvalbot/internal/approval"
)

func pending(codes ...string) func(string) bool {
	return func(s string) bool {
		for _, c := range codes {
			if c == s {
				return true
			}
		}
		return false
	}
}

func TestPlainWordsNeedThePendingCode(t *testing.T) {
	c := Context{IsCode: pending(code)}
	table{
		{"approve K7QX2M", once("")},
		{"Approve k7q-x2m, looks fine", once("looks fine")},
		{"approve: K7QX2M session", session("")},
		{"approve always K7QX2M", always("")},
		{"approve K7QX2M deny", denied("")},
		{"deny K7QX2M too risky", denied("too risky")},
		{"deny K7QX2M, why now?", denied("why now?")},
		{"reject K7QX2M", denied("")},
		{"approve K7QX2M\ndeny K7QX2M", unclear()},
	}.check(t, c)
	notForUs(t, c,
		"approve A1B2C3", "approve banana", "approve", "deny", "approve the budget K7QX2M",
		"I approve K7QX2M", "allow K7QX2M", "approve K7QX2M?", "approve K7QX2M, are you sure?",
		"approve K7QX2M\u200b", "approveK7QX2M", "pending", "show K7QX2M", "help", "whoami", "more K7QX2M")
	notForUs(t, Context{}, "approve K7QX2M", "deny K7QX2M")
}

func TestReplyToACard(t *testing.T) {
	c := Context{CardCode: code, IsCode: pending(code, other)}
	table{
		{"approve", once("")},
		{"approve K7QX2M", once("")},
		{"approve k7qx2m session", session("")},
		{"approve K7QX2M: looks fine", once("looks fine")},
		{"approve deny", denied("")},
		{"deny", denied("")},
		{"deny too risky", denied("too risky")},
		{"deny once more", denied("once more")},
		{"/approve", once("")},
		{"/approve thanks", once("thanks")},
		{"/approve always", always("")},
		{"/deny K7QX2M no", denied("no")},
		{"/deny no", denied("no")},
		{"/show", Command{Verb: Show, Code: code}},
		{"/show please", Command{Verb: Show, Code: code}},
		{"/details", Command{Verb: Details, Code: code}},
	}.check(t, c)
	notForUs(t, c, "I approve", "allow me to think", "approve this?", "more", "show")
}

// A slash-less yes in a reply is the word alone, or with a colon and a note to the agent; a no takes any words.
func TestAYesInAReplyIsStrict(t *testing.T) {
	c := Context{CardCode: code, IsCode: pending(code, other)}
	noted := func(note string) Command {
		return Command{Verb: Approve, Code: code, Decision: approval.AllowOnce, Note: note}
	}
	again := func(note string) Command {
		return Command{Verb: Retry, Code: code, Decision: approval.Retry, Note: note}
	}
	unclear := Command{Verb: Unclear, Code: code}
	table{
		{"yes", once("")},
		{"Yes!", once("")},
		{"OK.", once("")},
		{"yes:", once("")},
		{"yes: run the tests first", noted("run the tests first")},
		{"ok :on staging", noted("on staging")},
		{"approve: use\n  the  staging database", noted("use the staging database")},
		{"yes: A1B2C3", noted("A1B2C3")}, // the handler asks which one is meant
		{"yes: once it is green", noted("once it is green")},
		{"retry", again("")},
		{"retry: with --force", again("with --force")},
		{"no", denied("")},
		{"No, use staging", denied("use staging")},
		{"no: why?", denied("why?")},
		{"no idea", denied("idea")},
		{"yes: deny", denied("")},
		{"yes: cancel that", denied("that")},
		{"yes: go on, or rather deny", unclear},
		{"yes: no", unclear},
		{"ok: no, wait", unclear},
		{"yes: but then no", unclear},
		{"yes: please\nno", unclear},
		{"yes: no… wait", unclear}, {"yes: no,wait", unclear}, {"yes: no—wait", unclear}, {"yes: (no)", unclear},
		{"yes: no👎", unclear}, {"yes: go on, or no…", unclear}, {"yes: nope", unclear}, {"yes: don't", unclear},
		{"yes: not yet", unclear}, {"yes: wait for Bob", unclear}, {"yes: stop", unclear},
		{"yes: stop the old server first, then run it", noted("stop the old server first, then run it")},
		{"yes: don't forget to push the tags", noted("don't forget to push the tags")},
		{"yes: see https://x.org/?a=b", noted("see https://x.org/?a=b")},
		{"yes: fine\nno… wait", unclear}, {"yes: fine\r\nno,wait", unclear}, {"yes: fine\u2028no, wait", unclear}, {"yes: fine\rdeny", unclear},
		{"/approve\nno", unclear}, {"approve K7QX2M\nno", unclear},
		{"yes: please\ndeny K7QX2M", unclear},
	}.check(t, c)
	notForUs(t, c, "yes please", "ok then", "approve looks fine", "approve session", "approve A1B2C3", "yes session", "yes: always",
		"yes: session once", "yes?", "yes: really?", "yes: run it?!", "yes: really？", "yes: are you sure? 🤔", "Ok...", "OK,", "yes!!", "yes K7QX2M", "yess", "yes no", "\u200byes", "ｙｅｓ", "block", "👍")
	notForUs(t, Context{IsCode: pending(code)}, "yes", "ok K7QX2M", "yes: K7QX2M", "no K7QX2M", "no")
}

func TestExplicitCodeBeatsTheCardAfterASlash(t *testing.T) {
	c := Context{CardCode: code, IsCode: pending(code, "BANANA")}
	table{
		{"/approve A1B2C3", Command{Verb: Approve, Code: "A1B2C3", Decision: approval.AllowOnce}},
		{"/approve THANKS", Command{Verb: Approve, Code: "THANKS", Decision: approval.AllowOnce}}, // written like a code: unknown, not a reason
		{"/approve banana", Command{Verb: Approve, Code: "BANANA", Decision: approval.AllowOnce}},
		{"/deny a1b2c3 no", Command{Verb: Deny, Code: "A1B2C3", Decision: approval.Deny, Reason: "no"}},
		{"/show A1B2C3", Command{Verb: Show, Code: "A1B2C3"}},
	}.check(t, c)
}

func TestMentionStandsForTheSlash(t *testing.T) {
	c := Context{Mention: true}
	table{
		{"approve K7QX2M session", session("")},
		{"deny K7QX2M no", denied("no")},
		{"approve nope", Command{Verb: Approve, Code: "NOPE", Decision: approval.AllowOnce}},
		{"pending", Command{Verb: Pending}},
		{"show K7QX2M", Command{Verb: Show, Code: code}},
		{"whoami", Command{Verb: WhoAmI}},
		{"pair k7qx-2m4p", Command{Verb: Pair, Code: "K7QX2M4P"}},
		{"Help!", Command{Verb: Help}},
		{"/approve K7QX2M", once("")},
	}.check(t, c)
	notForUs(t, c, "thanks", "what is pending", "allow me to explain", "more info", "unclear what you mean", "approve this?", "pair up", "pair")
}

func TestAddressedToABot(t *testing.T) {
	c := Context{BotName: "approval_bot", IsCode: pending(code)}
	table{
		{"/approve@approval_bot K7QX2M", once("")},
		{"/approve@Approval_Bot K7QX2M", once("")},
		{"/pending@approval_bot", Command{Verb: Pending}},
	}.check(t, c)
	notForUs(t, c, "/approve@other_bot K7QX2M", "/approve@ K7QX2M", "/help@other_bot")
	notForUs(t, Context{}, "/approve@approval_bot K7QX2M", "/approve@ K7QX2M")
}

func TestOtherVerbs(t *testing.T) {
	table{
		{"/pending", Command{Verb: Pending}},
		{"  /pending everything  ", Command{Verb: Pending}},
		{"/show k7qx2m", Command{Verb: Show, Code: code}},
		{"/show", Command{Verb: Show}},
		{"/WhoAmI", Command{Verb: WhoAmI}},
		{"/pair K7QX2M4P", Command{Verb: Pair, Code: "K7QX2M4P"}},
		{"/pair k7qx-2m4p", Command{Verb: Pair, Code: "K7QX2M4P"}},
		{"/pair  k7qx 2m4p ", Command{Verb: Pair, Code: "K7QX2M4P"}},
		{"/pair oil12345", Command{Verb: Pair, Code: "01112345"}},
		{"/pair K7QX2M4", Command{Verb: Pair, Code: "?"}},
		{"/pair K7QX2M4PU", Command{Verb: Pair, Code: "?"}},
		{"/pair \u200bK7QX2M4P", Command{Verb: Pair, Code: "?"}},
		{"/pair", Command{Verb: Pair}},
		{"/help", Command{Verb: Help}},
		{"/start", Command{Verb: Help}},
		{"/more K7QX2M", Command{Verb: More, Code: code}},
		{"/back K7QX2M", Command{Verb: Back, Code: code}},
		{"/details K7QX2M", Command{Verb: Details, Code: code}},
		{"/denyreason K7QX2M", Command{Verb: DenyReason, Code: code, Decision: approval.Deny}},
		{"/denyreason K7QX2M too risky", denied("too risky")},
	}.check(t, Context{})
	notForUs(t, Context{}, "/more", "/back to work", "/details about it", "/denyreason")
}
