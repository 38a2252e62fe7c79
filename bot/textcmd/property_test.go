package textcmd

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"approvalbot/internal/approval"
)

var (
	anyCode  = rapid.StringMatching(`[0-9A-HJKMNP-TV-Z]{6}`).Filter(ValidCode)
	anyDeny  = rapid.SampledFrom([]string{"deny", "reject", "block", "cancel", "DENY", "Deny!", "reject.", "❌deny"})
	anyAllow = rapid.SampledFrom([]string{"once", "allow", "session", "always", "allow-always", "Allow-Once"})
	anyWord  = rapid.OneOf(anyDeny, anyAllow, rapid.String(),
		rapid.SampledFrom([]string{"fine", ":", "once:", "deny:x", code, "/deny", "approve", "\n"}))
	anyReason = rapid.Map(rapid.SliceOfN(anyWord, 0, 8), func(w []string) string { return OneLine(strings.Join(w, " ")) })
	anyVote   = rapid.Custom(func(t *rapid.T) Command {
		d := rapid.SampledFrom([]approval.Decision{approval.AllowOnce, approval.AllowSession, approval.AllowAlways, approval.Deny}).Draw(t, "decision")
		verb := Approve
		if d == approval.Deny {
			verb = Deny
		}
		return Command{Verb: verb, Code: anyCode.Draw(t, "code"), Decision: d, Reason: anyReason.Draw(t, "reason")}
	})
	anyOther = rapid.Custom(func(t *rapid.T) Command {
		cmd := Command{Verb: rapid.SampledFrom([]Verb{Pending, WhoAmI, Pair, Duty, Away, Return, Help, Show, More, Back, Details, DenyReason, Unclear}).Draw(t, "verb")}
		switch cmd.Verb {
		case Pending, WhoAmI, Duty, Return, Help:
			return cmd
		case Away:
			cmd.Reason = anyReason.Draw(t, "how long")
			return cmd
		case Pair:
			cmd.Code = rapid.StringMatching(`[0-9A-HJKMNP-TV-Z]{8}|\?|`).Draw(t, "pairing code")
			return cmd
		case DenyReason:
			cmd.Decision = approval.Deny
		}
		cmd.Code = anyCode.Draw(t, "code")
		return cmd
	})
	anyContext = rapid.Custom(func(t *rapid.T) Context {
		return Context{
			BotName:  rapid.SampledFrom([]string{"", "approval_bot"}).Draw(t, "bot"),
			Mention:  rapid.Bool().Draw(t, "mention"),
			CardCode: rapid.OneOf(rapid.Just(""), anyCode).Draw(t, "card"),
			IsCode:   pending(code),
		}
	})
)

func TestParseReadsBackWhatStringWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cmd := rapid.OneOf(anyVote, anyOther).Draw(t, "command")
		got, ok := Parse(cmd.String(), anyContext.Draw(t, "context"))
		require.True(t, ok)
		require.Equal(t, cmd, got)
		got, ok = ParsePayload(cmd.String())
		require.Equal(t, cmd.Reason == "" && ValidCode(cmd.Code), ok)
		if ok {
			require.Equal(t, cmd, got)
			require.LessOrEqual(t, len(cmd.String()), 64)
		}
	})
}

// A deny in decision position, among any other decisions on either side of the
// code, is a deny, whatever reason follows.
func TestNoDenyIsReadAsApprove(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(anyAllow, 0, 3).Draw(t, "allows")
		words = insert(t, words, anyDeny.Draw(t, "deny"))
		words = insert(t, words, anyCode.Draw(t, "code"))
		verb := rapid.SampledFrom([]string{"/approve ", "/allow ", "/deny "}).Draw(t, "verb")
		cmd, ok := Parse(verb+strings.Join(words, " ")+" "+anyReason.Draw(t, "reason"), Context{})
		require.True(t, ok)
		require.Equal(t, Deny, cmd.Verb)
		require.Equal(t, approval.Deny, cmd.Decision)
	})
}

// In a reply to a card no line without a slash allows more than once unless it names the card, and none that
// begins or ends with a deny word allows at all.
func TestNoReplyIsReadAsMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.SampledFrom([]string{"yes", "ok", "approve", "retry", "Yes:", "OK:", "approve:", "retry:", "yes :"}).Draw(t, "word")
		words := rapid.SliceOfN(rapid.OneOf(anyWord, rapid.SampledFrom([]string{"no", "No!", "yes", "ok"})), 0, 6).Draw(t, "words")
		line := strings.Join(append([]string{first}, words...), " ")
		cmd, ok := Parse(line, Context{CardCode: code, IsCode: pending(code)})
		checkParse(t, line, Context{CardCode: code, IsCode: pending(code)})
		fields := strings.Fields(strings.TrimPrefix(strings.TrimPrefix(line, first), ":"))
		if !ok || !cmd.Decision.Allows() && cmd.Decision != approval.Retry || strings.Contains(upper(line), code) {
			return
		}
		require.True(t, cmd.Decision == approval.AllowOnce || cmd.Decision == approval.Retry, line)
		require.Empty(t, cmd.Reason)
		for _, word := range []string{first, fieldAt(fields, 0), fieldAt(fields, len(fields)-1)} {
			require.False(t, saysDeny(word) || saysNo([]string{word}), line)
		}
	})
}

func fieldAt(words []string, i int) string {
	if i < 0 || i >= len(words) {
		return "-"
	}
	return words[i]
}

func insert(t *rapid.T, words []string, word string) []string {
	return slices.Insert(slices.Clone(words), rapid.IntRange(0, len(words)).Draw(t, "at"), word)
}

func TestParseHoldsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.SampledFrom([]string{"/approve", "approve", "/deny", "deny", "/show", "/approve@approval_bot", "/more", "x"}).Draw(t, "verb")
		words := rapid.SliceOfN(rapid.OneOf(anyWord, anyCode), 0, 8).Draw(t, "words")
		checkParse(t, first+" "+strings.Join(words, " "), anyContext.Draw(t, "context"))
	})
}
