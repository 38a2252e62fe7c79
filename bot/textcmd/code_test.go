package textcmd

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

func TestNormalCode(t *testing.T) {
	for typed, want := range map[string]string{
		"K7QX2M": "K7QX2M", "k7qx2m": "K7QX2M", "K7Q-X2M": "K7QX2M", "k7-qx-2m": "K7QX2M",
		"oOiIlL": "001111", "banana": "BANANA",
	} {
		got, ok := NormalCode(typed)
		require.True(t, ok, typed)
		require.Equal(t, want, got)
	}
	for _, typed := range []string{
		"", "K7QX2", "K7QX2MM", "K7QX2U", "-K7QX2M", "K7QX2M-", "K7QX 2M", "K7QX2M\u200b",
		"\u200bK7QX2M", "К7QX2M" /* Cyrillic */, "K7QX2Ｍ", "K7QX2M?", "reject", "REJECT", "always", "cancel",
	} {
		got, ok := NormalCode(typed)
		require.False(t, ok, "%q", typed)
		require.Empty(t, got)
	}
}

func TestValidCode(t *testing.T) {
	require.True(t, ValidCode("K7QX2M"))
	require.True(t, ValidCode("A1WAYS"))
	for _, s := range []string{"", "k7qx2m", "K7Q-X2M", "K7QXIM", "K7QX2", "REJECT"} {
		require.False(t, ValidCode(s), s)
	}
}

func TestUnknownWordAfterASlashIsKept(t *testing.T) {
	unknown := func(word, reason string) Command {
		return Command{Verb: Approve, Code: word, Decision: approval.AllowOnce, Reason: reason}
	}
	table{
		{"/approve nonsense", unknown("NONSENSE", "")},
		{"/approve looks fine", unknown("LOOKS", "fine")},
		{"/approve K7QX2M\u200b", unknown("K7QX2M\u200b", "")},
		{"/approve K7QX2U please", unknown("K7QX2U", "please")},
		{"/approve " + strings.Repeat("x", 33), unknown("?", "")},
		{"/approve", unknown("", "")},
		{"/approve session", Command{Verb: Approve, Decision: approval.AllowSession}},
		{"/deny", Command{Verb: Deny, Decision: approval.Deny}},
		{"/deny always", Command{Verb: Deny, Decision: approval.Deny}},
		{"/show a1b2c3d4-5e6f", Command{Verb: Show, Code: "A1B2C3D4-5E6F"}},
	}.check(t, Context{})
}

func TestReasonIsOneShortLine(t *testing.T) {
	long := strings.Repeat("ä", MaxReason+1)
	table{
		{"/deny K7QX2M  too\n\trisky \u2028 today  ", denied("too risky today")},
		{"/approve\nK7QX2M\nfine", once("fine")},
		{"/deny K7QX2M " + long, denied(strings.Repeat("ä", MaxReason))},
		{"/approve K7QX2M " + long + " always", always(strings.Repeat("ä", MaxReason))},
		{"/deny K7QX2M \xff", denied("\uFFFD")},
	}.check(t, Context{})
	notForUs(t, Context{}, "/deny K7QX2M "+strings.Repeat("x", 16<<10))
	require.Equal(t, "a b", OneLine(" a\r\n b "))
}
