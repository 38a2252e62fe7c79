package server

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/approval"
)

// Who wants a person to decide gets one also where an approval answers that was asked
// without that wish.
func TestMustAskOfWhatWasAskedBefore(t *testing.T) {
	must := func(r *api.CreateRequest) { r.MustAsk = true }
	t.Run("a rule's own yes", func(t *testing.T) {
		d := newDesk(t)
		d.judge.change("ask", func(j *approval.Judgement) {
			j.Rule.RequiresHuman = false
			j.Votes = []approval.Vote{{Approver: approval.RulesBased, Verdict: approval.Approve}}
		})
		require.Equal(t, []string{"rules_based"}, d.ask("ask", `{}`, asID("job")).DecidedBy)
		_, err := d.agent.Create(t.Context(), request("ask", `{}`, asID("job"), must), api.CreateOptions{})
		refusal(t, err, approval.CodeIDConflict)
	})
	t.Run("the verifier's people alone", func(t *testing.T) {
		d := newDesk(t)
		d.verifying("111", "333")
		a := d.ask("read", `{}`, asID("job"))
		for range 2 {
			_, err := d.agent.Create(t.Context(), request("read", `{}`, asID("job"), must), api.CreateOptions{})
			refusal(t, err, approval.CodeIDConflict)
			stored, err := d.store.Keys(t.Context(), core.NameQuery{Owner: "agent", ID: a.ID})
			require.NoError(t, err)
			d.allows(stored[0].Key, "777")
		}
	})
	t.Run("askFallback", func(t *testing.T) {
		for name, as := range map[string]func(*api.CreateRequest){"its id": asID("job"), "its session": inSession("s")} {
			d := newDesk(t)
			d.judge.change("ask", failsOpen)
			a := d.ask("ask", `{}`, as)
			require.Equal(t, a.Code, d.ask("ask", `{}`, as, must).Code)
			stored, err := d.store.Keys(t.Context(), core.NameQuery{Owner: "agent", ID: a.ID})
			require.NoError(t, err)
			d.lost(stored[0].Key)
			require.Equal(t, approval.Pending, d.tick(stored[0].Key).Status, name)
		}
	})
}
