package textcmd

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// checkParse checks everything that holds for each text and context.
func checkParse(t require.TestingT, text string, c Context) {
	cmd, ok := Parse(text, c)
	if !ok {
		require.Zero(t, cmd)
		return
	}
	again, ok := Parse(cmd.String(), c)
	require.True(t, ok, "%q of %q", cmd, text)
	require.Equal(t, cmd, again, "%q of %q", cmd, text)
	require.LessOrEqual(t, utf8.RuneCountInString(cmd.Reason), MaxReason)
	require.LessOrEqual(t, utf8.RuneCountInString(cmd.Code), maxWord)
	require.Equal(t, OneLine(cmd.Reason), cmd.Reason)
	checkNote(t, cmd, text, c)
	require.Len(t, strings.Fields(cmd.Code), min(1, len(cmd.Code)))
	checkDecision(t, cmd, strings.ToLower(text))
}

// checkDecision checks that verb and decision agree, and that a wide scope was
// really typed.
func checkDecision(t require.TestingT, cmd Command, lower string) {
	switch cmd.Verb {
	case Approve:
		require.True(t, cmd.Decision.Allows())
		reply := strings.HasPrefix(strings.TrimSpace(lower), "yes") || strings.HasPrefix(strings.TrimSpace(lower), "ok")
		require.True(t, strings.Contains(lower, "approve") || strings.Contains(lower, "allow") || reply)
		require.True(t, cmd.Decision != approval.AllowAlways || strings.Contains(lower, "always"))
		require.True(t, cmd.Decision != approval.AllowSession || strings.Contains(lower, "session"))
	case Deny, DenyReason:
		require.Equal(t, approval.Deny, cmd.Decision)
	case Answer:
		require.Equal(t, approval.AllowOnce, cmd.Decision)
		require.Positive(t, cmd.Version)
	case Retry:
		require.Equal(t, approval.Retry, cmd.Decision)
	case Away:
		require.Empty(t, cmd.Decision)
		require.Empty(t, cmd.Code)
	default:
		require.Empty(t, cmd.Decision)
		require.Empty(t, cmd.Reason)
	}
}

// checkNote checks that only a slash-less reply to a card has a note, with a yes for this once, no deny word where one
// would count, and no reason; and that such a reply allows no more than once.
func checkNote(t require.TestingT, cmd Command, text string, c Context) {
	slash := strings.HasPrefix(strings.TrimSpace(text), "/")
	if c.card() == "" || slash {
		require.Empty(t, cmd.Note)
		return
	}
	if cmd.Note == "" {
		return
	}
	require.Equal(t, c.card(), cmd.Code)
	require.True(t, cmd.Decision == approval.AllowOnce || cmd.Decision == approval.Retry)
	require.Empty(t, cmd.Reason)
	words := strings.Fields(cmd.Note)
	require.Equal(t, strings.Join(words, " "), cmd.Note)
	require.False(t, saysDeny(words[0]) || saysDeny(words[len(words)-1]) || saysNo(words), cmd.Note)
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"/approve K7QX2M session: fine", "approve k7q-x2m looks fine always", "/deny@approval_bot K7QX2M no",
		"/approve once deny K7QX2M", "deny", "/approve K7QX2M\n/deny K7QX2M", "/approve \u200bK7QX2M", "approve : K7QX2M:deny",
		"yes: go on", "ok", "no, use staging", "retry: again",
		"/show banana", "/denyreason K7QX2M why", "/approve ſession", "/unclear x",
	} {
		f.Add(text, "approval_bot", true, code)
		f.Add(text, "", false, "")
	}
	f.Fuzz(func(t *testing.T, text, bot string, mention bool, card string) {
		checkParse(t, text, Context{BotName: bot, Mention: mention, CardCode: card, IsCode: pending(code, "BANANA")})
	})
}

func FuzzParsePayload(f *testing.F) {
	for _, data := range []string{"/approve K7QX2M", "/approve K7QX2M always", "/denyreason K7QX2M", "/more K7QX2M", "/deny K7QX2M x", "/answer K7QX2M 2"} {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data string) {
		cmd, ok := ParsePayload(data)
		if !ok {
			require.Zero(t, cmd)
			return
		}
		require.Equal(t, data, cmd.String())
		require.LessOrEqual(t, len(data), 64)
		require.True(t, ValidCode(cmd.Code))
		require.Empty(t, cmd.Reason)
		checkDecision(t, cmd, data)
	})
}
