package cli

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
)

func TestEvaluateSaysThatAToolIsUnknown(t *testing.T) {
	t.Parallel()
	require.Equal(t, "unknown: the desk does not know this tool", touches(api.Assessment{ReasonCodes: []string{"unknown-tool"}, SideEffects: []string{"none"}}))
	require.Equal(t, "payment", touches(api.Assessment{ReasonCodes: []string{"unknown-tool"}, SideEffects: []string{"payment"}}))
	require.Equal(t, "none", touches(api.Assessment{ReasonCodes: []string{"think"}, SideEffects: []string{"none"}}))
}
