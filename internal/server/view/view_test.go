package view

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/core"
)

func TestCards(t *testing.T) {
	place, err := core.ParseTarget("telegram:-1001:42")
	require.NoError(t, err)
	a := core.Approval{Status: core.Pending, Assessment: core.Assessment{ReasonCodes: []string{"exec", core.ReasonUnreached}}, Deliveries: []core.Delivery{
		{Kind: core.CardDelivery, Target: place, State: core.Failed, Error: "chat not found"},
		{Kind: core.OutcomeDelivery, Target: place, State: core.Sent},
	}}
	got := ApprovalOf(a, "", nil)
	require.Equal(t, []api.Delivery{{Target: "telegram:-1001:42", State: "failed", Error: "chat not found"}}, got.Deliveries)
	require.False(t, got.Reached)
	require.Equal(t, []string{"exec", core.ReasonUnreached}, got.ReasonCodes)
	a.Deliveries[0].State, a.Deliveries[0].MessageID = core.Sent, "7"
	got = ApprovalOf(a, "", nil)
	require.Equal(t, "7", got.Deliveries[0].MessageID)
	require.True(t, got.Reached, "a card has arrived after all")
	require.Equal(t, []string{"exec"}, got.ReasonCodes)
	a.Status = core.Approved
	require.False(t, ApprovalOf(a, "", nil).Reached, "it ended when nobody was asked")
}
