package textcmd

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/card"
)

// Eight answers are two rows above the others, each a payload that is read back; where nothing is offered there are none.
func TestAnswersAreButtons(t *testing.T) {
	c := card.Card{Code: code, Status: approval.Pending, Offers: []approval.Decision{approval.AllowOnce}, Answers: []string{strings.Repeat("long ", 20), "b", "c", "d", "e", "f", "g", "h"}}
	rows := Buttons(c, MenuMain)
	require.Len(t, rows, 4)
	for i, b := range append(rows[0], rows[1]...) {
		require.LessOrEqual(t, len([]rune(b.Label)), maxAnswerTag)
		cmd, ok := ParsePayload(b.Data)
		require.True(t, ok)
		require.Equal(t, Command{Verb: Answer, Code: code, Decision: approval.AllowOnce, Version: int64(i + 1)}, cmd)
	}
	c.Offers = nil
	require.Len(t, Buttons(c, MenuMain), 2)
	_, ok := Parse("/answer K7QX2M 2", Context{})
	require.False(t, ok, "it is on buttons only")
}
