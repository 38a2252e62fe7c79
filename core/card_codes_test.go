package core_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/policy/finding"
)

// What cards say of reasons is about codes that there are.
func TestReasonsOnCardsAreFindings(t *testing.T) {
	for code := range core.ReasonsOnCards() {
		require.NotEmpty(t, finding.Sentence(code), code)
	}
}
