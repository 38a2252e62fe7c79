package textcmd

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

const (
	code  = "K7QX2M"
	other = "A1B2C3"
)

func once(reason string) Command {
	return Command{Verb: Approve, Code: code, Decision: approval.AllowOnce, Reason: reason}
}
func session(reason string) Command {
	return Command{Verb: Approve, Code: code, Decision: approval.AllowSession, Reason: reason}
}
func always(reason string) Command {
	return Command{Verb: Approve, Code: code, Decision: approval.AllowAlways, Reason: reason}
}
func denied(reason string) Command {
	return Command{Verb: Deny, Code: code, Decision: approval.Deny, Reason: reason}
}
func unclear() Command { return Command{Verb: Unclear, Code: code} }

// table maps what was typed to what it means.
type table []struct {
	typed string
	want  Command
}

func (rows table) check(t *testing.T, c Context) {
	t.Helper()
	for _, row := range rows {
		got, ok := Parse(row.typed, c)
		require.True(t, ok, "%q must be for us", row.typed)
		require.Equal(t, row.want, got, "%q", row.typed)
		back := Context{}
		if got.Note != "" { // only a reply to its card says so
			back = c
		}
		again, ok := Parse(got.String(), back)
		require.True(t, ok, "%q", got)
		require.Equal(t, got, again, "%q", got)
	}
}

func notForUs(t *testing.T, c Context, typed ...string) {
	t.Helper()
	for _, text := range typed {
		cmd, ok := Parse(text, c)
		require.False(t, ok, "%q read as %q", text, cmd)
		require.Zero(t, cmd)
	}
}

func TestApproveAndDeny(t *testing.T) {
	table{
		{"/approve K7QX2M", once("")},
		{"/approve K7QX2M looks fine", once("looks fine")},
		{"/approve K7QX2M session", session("")},
		{"/approve K7QX2M always", always("")},
		{"/approve K7QX2M session: until the deploy is done", session("until the deploy is done")},
		{"/approve K7QX2M always:trusted", always("trusted")},
		{"/approve K7QX2M always : trusted", always("trusted")},
		{"/approve K7QX2M once: this holds for always", once("this holds for always")},
		{"/approve K7QX2M session is fine", once("session is fine")},
		{"/approve K7QX2M looks fine always", always("looks fine")},
		{"/approve K7QX2M fine for this session.", once("fine for this session.")},
		{"/approve K7QX2M I saw this once", once("I saw this once")},
		{"/deny K7QX2M", denied("")},
		{"/deny K7QX2M too risky", denied("too risky")},
		{"/deny K7QX2M: too risky", denied("too risky")},
		{"/deny K7QX2M always", denied("always")},
	}.check(t, Context{})
}

func TestEitherOrderOfCodeAndDecision(t *testing.T) {
	table{
		{"/approve allow-once K7QX2M", once("")},
		{"/approve K7QX2M allow-once", once("")},
		{"/approve always K7QX2M", always("")},
		{"/approve session K7QX2M looks fine", session("looks fine")},
		{"/approve session: K7QX2M looks fine", session("looks fine")},
		{"/approve K7QX2M deny", denied("")},
		{"/approve deny K7QX2M", denied("")},
		{"/deny once K7QX2M", denied("")},
	}.check(t, Context{})
}

func TestAliases(t *testing.T) {
	for word, want := range map[string]Command{
		"allow": once(""), "once": once(""), "allow-once": once(""), "allowonce": once(""),
		"session": session(""), "allow-session": session(""), "allowsession": session(""),
		"always": always(""), "allow-always": always(""), "allowalways": always(""),
		"deny": denied(""), "reject": denied(""), "block": denied(""), "cancel": denied(""),
	} {
		table{
			{"/approve " + code + " " + word, want},
			{"/approve " + word + " " + code, want},
			{"/approve " + strings.ToUpper(word) + " " + code, want},
			{"/deny " + word + " " + code, denied("")},
		}.check(t, Context{})
	}
	table{{"/allow K7QX2M", once("")}, {"/reject K7QX2M no", denied("no")}, {"/APPROVE K7QX2M", once("")}}.check(t, Context{})
	notForUs(t, Context{}, "/block K7QX2M", "/cancel", "/approved K7QX2M", "/unknown", "/", "")
}

func TestDenyBesideTheCodeWins(t *testing.T) {
	table{
		{"/approve K7QX2M deny too risky", denied("too risky")},
		{"/approve K7QX2M deny: too risky", denied("too risky")},
		{"/approve K7QX2M deny : too risky", denied("too risky")},
		{"/approve K7QX2M: deny", denied("")},
		{"/approve K7QX2M Deny!", denied("")},
		{"/approve K7QX2M deny, please", denied("please")},
		{"/approve K7QX2M reject,no", denied("no")},
		{"/approve K7QX2M ❌deny", denied("")},
		{"/approve K7QX2M de\u200bny", denied("")},
		{"/approve K7QX2M always deny", denied("")},
		{"/approve K7QX2M deny always", denied("always")},
		{"/approve always deny K7QX2M fine", denied("fine")},
		{"/approve deny K7QX2M session", denied("session")},
		{"/deny K7QX2M approve", denied("approve")},
	}.check(t, Context{})
}

func TestSeveralScopesGiveTheNarrowest(t *testing.T) {
	table{
		{"/approve once always K7QX2M", once("")},
		{"/approve K7QX2M always session", session("")},
		{"/approve session K7QX2M always", session("")},
		{"/approve always K7QX2M session: short", session("short")},
		{"/approve always K7QX2M fine for this session", session("fine for this")},
		{"/approve session K7QX2M good for always", session("good for always")},
		{"/approve K7QX2M session is fine always", session("session is fine always")},
		{"/approve K7QX2M allow this always", once("allow this always")},
	}.check(t, Context{})
}

func TestWhatWouldBeAGuessIsUnclear(t *testing.T) {
	table{
		{"/approve K7QX2M looks bad, deny", unclear()},
		{"/approve K7QX2M no reason to block", unclear()},
		{"/approve K7QX2M on second thought deny: too risky", unclear()},
		{"/approve K7QX2M\n/deny A1B2C3", unclear()},
		{"/approve K7QX2M\n\n  /approve A1B2C3 always", unclear()},
		{"/show K7QX2M\n/approve K7QX2M", unclear()},
		{"/approve K7QX2M once: no reason to block", once("no reason to block")},
		{"/approve K7QX2M cancel the old job", denied("the old job")},
		{"/approve K7QX2M it will cancel the old job", once("it will cancel the old job")},
	}.check(t, Context{})
}

// T3: retry is a vote of its own, which nothing else is taken for; a deny beside it wins.
func TestAdversary_T3_WordsForARetry(t *testing.T) {
	retry := func(reason string) Command {
		return Command{Verb: Retry, Code: code, Decision: approval.Retry, Reason: reason}
	}
	voted := Context{IsCode: func(c string) bool { return c == code }}
	for _, row := range []struct {
		typed string
		want  Command
		ok    bool
	}{
		{"/retry " + code, retry(""), true},
		{"/retry k7qx-2m it works now", retry("it works now"), true},
		{"retry " + code, retry(""), true},
		{"retry " + code + "?", Command{}, false},
		{"retry " + code + " ok?", Command{}, false},
		{"retry A1B2C3", Command{}, false},
		{"retry the build", Command{}, false},
		{"/retry " + code + " deny", denied(""), true},
		{"/retry " + code + " please do not deny", unclear(), true},
		{"/retry " + code + " always", retry("always"), true},
		{"/approve " + code + " retry", once("retry"), true},
		{"/deny " + code + " retry", denied("retry"), true},
		{"/deny " + code + "\nretry " + code, unclear(), true},
	} {
		got, ok := Parse(row.typed, voted)
		require.Equal(t, row.ok, ok, row.typed)
		require.Equal(t, row.want, got, row.typed)
		if ok && got.Verb == Retry {
			again, ok := Parse(got.String(), voted)
			require.True(t, ok)
			require.Equal(t, got, again, row.typed)
		}
	}
}
