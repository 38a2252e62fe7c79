package core_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// A person's no ends the session's yes for the same subject, also if it is a no to running the
// call once more; a yes that is given after it counts.
func TestAdversary_T10_ANoEndsTheSessionsYes(t *testing.T) {
	path := func(file string) func(*approval.Call) {
		return func(c *approval.Call) { c.Params = json.RawMessage(`{"path":"` + file + `"}`) }
	}
	for name, refuse := range map[string]func(*fixture, approval.Approval) error{
		"to a call": func(d *fixture, first approval.Approval) error {
			_, err := d.VoteAs(t.Context(), bob, first.Code, approval.Deny, "", "")
			return err
		},
		"to a retry": func(d *fixture, first approval.Approval) error {
			for _, who := range []core.Caller{alice, bob} {
				if _, err := d.VoteAs(t.Context(), who, first.Code, approval.AllowOnce, "", ""); err != nil {
					return err
				}
			}
			d.ran(t, first, "1", "failed")
			if _, err := d.Retry(t.Context(), alice, first.Code, false); err != nil {
				return err
			}
			_, err := d.VoteAs(t.Context(), bob, first.Code, approval.Deny, "", "")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newFixture(t)
			first := d.submit(t, "two", path("first"))
			sessions := func(file string) {
				a := d.submit(t, "two", path(file))
				for _, who := range []core.Caller{alice, bob} {
					_, err := d.VoteAs(t.Context(), who, a.Code, approval.AllowSession, "", "")
					require.NoError(t, err)
				}
			}
			sessions("a")
			passed := d.submit(t, "two", path("b"))
			require.Equal(t, approval.Approved, passed.Status)
			require.NoError(t, refuse(d, first))
			_, err := d.Claim(t.Context(), agent, passed.ID, core.ClaimInput{ClaimID: "b"})
			require.Error(t, err, "what it let pass and was not claimed")
			require.Equal(t, approval.Pending, d.submit(t, "two", path("c")).Status)
			sessions("d")
			require.Equal(t, approval.Approved, d.submit(t, "two", path("e")).Status)
		})
	}
}
