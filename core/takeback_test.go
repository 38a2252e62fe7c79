package core_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

func (d *fixture) takeBack(t *testing.T, a approval.Approval, user string) (approval.Approval, error) {
	t.Helper()
	return d.Chats().TakeBack(t.Context(), a.Key, core.Ballot{Voter: approval.Voter{Channel: "telegram", UserID: user}})
}

// An allow that was not claimed is taken back in a chat by each who may deny the call, or asked for it: then nothing runs.
func TestTakeBack(t *testing.T) {
	for name, user := range map[string]string{"who allowed it": "1", "who asked for it": "2"} {
		t.Run(name, func(t *testing.T) {
			d := newFixture(t)
			a := d.submit(t, "ask", func(c *approval.Call) { c.Requester = &approval.Requester{Person: "bob"} })
			require.False(t, d.shown(t, a).TakeBack, "it waits")
			a, err := d.VoteAs(t.Context(), alice, a.Code, approval.AllowOnce, "", "")
			require.NoError(t, err)
			require.True(t, d.shown(t, a).TakeBack)
			_, err = d.takeBack(t, a, "3")
			require.Equal(t, approval.CodeNotAnApprover, approval.CodeOf(err))
			d.told(t, a, approval.EventRefused, 1)
			for range 2 { // a second tap changes nothing
				after, err := d.takeBack(t, a, user)
				require.NoError(t, err)
				require.NotZero(t, after.RevokedAtMs)
				require.False(t, d.shown(t, after).TakeBack)
			}
			d.told(t, a, approval.EventRevoked, 1)
			_, err = d.Claim(t.Context(), agent, a.ID, core.ClaimInput{})
			require.Equal(t, approval.CodeNotClaimable, approval.CodeOf(err))
		})
	}
}

// The button goes when the call is claimed or the time for that is over; then nothing is taken back.
func TestTakeBack_TooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFixture(t)
		a := d.submit(t, "ask")
		_, err := d.takeBack(t, a, "1")
		require.Equal(t, approval.CodeNotClaimable, approval.CodeOf(err), "it waits")
		a, err = d.VoteAs(t.Context(), alice, a.Code, approval.AllowOnce, "", "")
		require.NoError(t, err)
		claimed, err := d.Claim(t.Context(), agent, a.ID, core.ClaimInput{})
		require.NoError(t, err)
		require.False(t, d.shown(t, claimed.Approval).TakeBack)
		_, err = d.takeBack(t, a, "1")
		require.Equal(t, approval.CodeAlreadyUsed, approval.CodeOf(err))

		b, err := d.VoteAs(t.Context(), alice, d.submit(t, "ask").Code, approval.AllowOnce, "", "")
		require.NoError(t, err)
		time.Sleep(time.Duration(approval.ClaimWindowMs) * time.Millisecond)
		require.False(t, d.shown(t, b).TakeBack)
	})
}
