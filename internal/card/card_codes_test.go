package card_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/policy/finding"
)

// What cards say of reasons is about codes that there are.
func TestReasonsOnCardsAreFindings(t *testing.T) {
	for code := range card.ReasonsOnCards() {
		if code != approval.ReasonTriedConfined { // which the Gate knows
			require.NotEmpty(t, finding.Sentence(code), code)
		}
	}
}
