package textcmd

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/card"
)

// A question's answers are above the other buttons in every menu, so a second tap in the same place never lands on
// another kind of yes; Discord takes five rows.
func TestButtonsOfAQuestionStayInTheirPlace(t *testing.T) {
	t.Parallel()
	for n := range 9 {
		c := card.Card{Code: code, Status: approval.Pending, Offers: []approval.Decision{approval.AllowOnce, approval.AllowSession,
			approval.AllowAlways, approval.Deny}}
		for range n {
			c.Answers = append(c.Answers, "an answer")
		}
		plain, more := Buttons(c, MenuMain), Buttons(c, MenuMore)
		confirm := append(answerRows(c), confirmRows(c.Code, Button{})...)
		first := len(answerRows(c))
		require.Equal(t, plain[:first+1], more[:first+1])
		require.Equal(t, plain[:first], confirm[:first])
		require.Equal(t, "Back", confirm[first][0].Label, "Allow once was here")
		require.Equal(t, "More", plain[first+1][0].Label)
		require.NotContains(t, []string{"Allow session", "Always"}, more[first+1][0].Label)
		require.LessOrEqual(t, max(len(plain), len(more), len(confirm)), 5)
	}
}

// An answer is what allows a question: to allow it without one is behind More. The one tap for an R4 call is neither green
// nor as plain as others.
func TestAllowIsAsItsCallIs(t *testing.T) {
	labels := func(rows [][]Button) (out []string) {
		for _, row := range rows {
			for _, b := range row {
				out = append(out, b.Label+" "+string(b.Style))
			}
		}
		return out
	}
	c := card.Card{Code: code, Status: approval.Pending, Offers: []approval.Decision{approval.AllowOnce, approval.Deny}}
	require.Equal(t, []string{"Allow once allow", "Deny deny", "More neutral"}, labels(Buttons(c, MenuMain)))
	c.Risk = approval.R4
	require.Equal(t, []string{"Allow once neutral", "Deny deny", "More neutral"}, labels(Buttons(c, MenuMain)))
	c.Risk, c.Answers = approval.R0, []string{"a"}
	require.Equal(t, []string{"1. a allow", "Deny deny", "More neutral"}, labels(Buttons(c, MenuMain)))
	require.Equal(t, []string{"1. a allow", "Deny deny", "Deny with a reason deny", "Details neutral", "Back neutral", "Allow unanswered neutral"},
		labels(Buttons(c, MenuMore)))
}

// An allowed card can be taken back as long as nothing has run by it.
func TestTakeBackIsOnAnAllowedCard(t *testing.T) {
	c := card.Card{Code: "7KQ2AB", Status: approval.Approved, TakeBack: true}
	require.Equal(t, [][]Button{{{"Take back", "/takeback 7KQ2AB", Denying}}}, Buttons(c, MenuMain))
	cmd, ok := ParsePayload("/takeback 7KQ2AB")
	require.True(t, ok)
	require.Equal(t, Command{Verb: TakeBack, Code: "7KQ2AB"}, cmd)
	c.TakeBack = false
	require.Empty(t, Buttons(c, MenuMain))
}
