package textcmd

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAwayAndBack(t *testing.T) {
	left := func(words string) Command { return Command{Verb: Away, Reason: words} }
	back := Command{Verb: Return}
	table{
		{"/away", left("")},
		{"/away 2h", left("2h")},
		{"/away@approval_bot  until 18:00  to bob", left("until 18:00 to bob")},
		{"/AWAY Fri\n16:00", left("Fri 16:00")},
		{"/back", back},
		{"/Back@approval_bot ", back},
	}.check(t, Context{BotName: "approval_bot"})
	table{
		{"/back", back}, // also in a reply to a card: it never is the menu's
		{"/away 2h", left("2h")},
		{"/away K7QX2M", left("K7QX2M")},
		{"/back K7QX2M", Command{Verb: Back, Code: code}}, // as it stands on a button
	}.check(t, Context{CardCode: code, IsCode: pending(code)})
	table{{"back", back}, {"away 2h", left("2h")}}.check(t, Context{Mention: true})
	notForUs(t, Context{BotName: "approval_bot"}, "away 2h", "back", "/away@other_bot 2h", "/back@other_bot", "/return", "/back soon")
	notForUs(t, Context{CardCode: code, IsCode: pending(code)}, "away until noon", "back")
	cmd, ok := Parse("/away 2h\n/approve K7QX2M", Context{})
	require.True(t, ok)
	require.Equal(t, Unclear, cmd.Verb, "two commands are none")
	_, ok = ParsePayload("/away 2h")
	require.False(t, ok, "no button says so")
	_, ok = ParsePayload("/back")
	require.False(t, ok)
	require.LessOrEqual(t, len([]rune(helpText)), maxAnswer)
}
