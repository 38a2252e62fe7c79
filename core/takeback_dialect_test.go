package core_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// Of a gateway's call, which runs by its events without a claim, no person is told that it "does not run".
func TestAdversary_NoTakeBackOfAGatewaysCall(t *testing.T) {
	d := newFixture(t)
	a := d.submit(t, "ask", func(c *approval.Call) { c.Dialect = approval.DialectExec })
	a, err := d.VoteAs(t.Context(), alice, a.Code, approval.AllowOnce, "", "")
	require.NoError(t, err)
	require.False(t, d.shown(t, a).TakeBack)
	_, err = d.takeBack(t, a, "1")
	require.Error(t, err, "typed takeback CODE")
}
