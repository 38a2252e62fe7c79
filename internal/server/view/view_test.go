package view

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/approval"
)

func TestCards(t *testing.T) {
	place, err := approval.ParseTarget("telegram:-1001:42")
	require.NoError(t, err)
	a := approval.Approval{
		Ended:  approval.Ended{Status: approval.Pending},
		Judged: approval.Judged{Assessment: approval.Assessment{ReasonCodes: []string{"exec", approval.ReasonUnreached}}},
		Contact: approval.Contact{Deliveries: []approval.Delivery{
			{Kind: approval.CardDelivery, Target: place, State: approval.Failed, Error: "chat not found"},
			{Kind: approval.OutcomeDelivery, Target: place, State: approval.Sent},
		}},
	}
	got := ApprovalOf(a, "", nil)
	require.Equal(t, []api.Delivery{{Target: "telegram:-1001:42", State: "failed", Error: "chat not found"}}, got.Deliveries)
	require.False(t, got.Reached)
	require.Equal(t, []string{"exec", approval.ReasonUnreached}, got.ReasonCodes)
	a.Deliveries[0].State, a.Deliveries[0].MessageID = approval.Sent, "7"
	got = ApprovalOf(a, "", nil)
	require.Equal(t, "7", got.Deliveries[0].MessageID)
	require.True(t, got.Reached, "a card has arrived after all")
	require.Equal(t, []string{"exec"}, got.ReasonCodes)
	a.Status = approval.Approved
	require.False(t, ApprovalOf(a, "", nil).Reached, "it ended when nobody was asked")
}
