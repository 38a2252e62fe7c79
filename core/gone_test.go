package core_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
)

// A program that goes after the yes takes the yes with it: nothing claims it later, not even the same call of its
// session, and the card says that it will not run.
func TestAnAllowForAnAskerThatIsGone(t *testing.T) {
	d := newFixture(t)
	inSession := func(c *approval.Call) { c.SessionKey, c.Resume = "s", true }
	a := d.submit(t, "ask", inSession)
	_, err := d.VoteAs(t.Context(), alice, a.Code, approval.AllowOnce, "", "")
	require.NoError(t, err)
	for range 2 { // again is fine
		a, err = d.Withdraw(t.Context(), agent, a.ID, "the agent's own words")
		require.NoError(t, err)
	}
	require.Equal(t, approval.Approved, a.Status)
	require.Equal(t, "allowed once by alice, but the agent that asked is gone: it will not run", card.Ending(a))
	require.NotContains(t, card.MessageText(a, approval.RevokedDelivery), "own words", "they are no word of the desk's")
	_, err = d.Claim(t.Context(), agent, a.ID, core.ClaimInput{})
	require.Equal(t, approval.WhyRevoked, err.(*approval.Error).Why)
	again := d.submit(t, "ask", inSession)
	require.NotEqual(t, a.Key, again.Key, "the same call is asked for anew")
	require.Equal(t, approval.Pending, again.Status)
	_, err = d.Retry(t.Context(), alice, a.Code, false)
	require.Equal(t, approval.WhyRevoked, err.(*approval.Error).Why)
}

// What has been handed out cannot be withdrawn.
func TestWhatAnAskerCannotTakeBack(t *testing.T) {
	d := newFixture(t)
	ran := d.submit(t, "ask")
	_, err := d.VoteAs(t.Context(), alice, ran.Code, approval.AllowSession, "", "")
	require.NoError(t, err)
	_, err = d.Claim(t.Context(), agent, ran.ID, core.ClaimInput{})
	require.NoError(t, err)
	_, err = d.Withdraw(t.Context(), agent, ran.ID, "")
	require.Equal(t, approval.CodeAlreadyResolved, approval.CodeOf(err))
}

// A yes that nothing claims in its time says so on its cards, once, and a repeated call may claim it until then.
func TestAYesThatNothingClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFixture(t)
		inSession := func(c *approval.Call) { c.SessionKey, c.Resume = "s", true }
		a := d.submit(t, "ask", inSession)
		a, err := d.VoteAs(t.Context(), alice, a.Code, approval.AllowOnce, "", "")
		require.NoError(t, err)
		require.Equal(t, a.ClaimUntilMs, core.TimerMs(a))
		time.Sleep(4 * time.Minute)
		require.NoError(t, d.Tick(t.Context(), a.Key))
		again := d.submit(t, "ask", inSession)
		require.Equal(t, a.Key, again.Key, "as a runtime does that does not wait so long")

		time.Sleep(time.Minute)
		before, err := d.ByKey(t.Context(), a.Key)
		require.NoError(t, err)
		require.NoError(t, d.Tick(t.Context(), a.Key))
		a, err = d.ByKey(t.Context(), a.Key)
		require.NoError(t, err)
		require.Zero(t, core.TimerMs(a))
		require.Zero(t, a.RevokedAtMs, "people may still vote for a retry")
		require.Contains(t, d.Cards().Of(a, nil).Outcome.String(), "but the agent did not take it in 5 min: it did not run")
		require.Greater(t, a.Version, before.Version)
		require.NoError(t, d.Tick(t.Context(), a.Key))
		once, err := d.ByKey(t.Context(), a.Key)
		require.NoError(t, err)
		require.Equal(t, a.Version, once.Version)

		claimed := d.submit(t, "ask", func(c *approval.Call) { c.Params = []byte(`{"path":"b"}`) })
		_, err = d.VoteAs(t.Context(), alice, claimed.Code, approval.AllowOnce, "", "")
		require.NoError(t, err)
		got, err := d.Claim(t.Context(), agent, claimed.ID, core.ClaimInput{})
		require.NoError(t, err)
		require.Zero(t, core.TimerMs(got.Approval))
	})
}

// A take-back is of the one run that waits: of a retry it holds, after the run it is refused, and who took it back is
// said as it is.
func TestATakeBackOfARetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFixture(t)
		unclaimedThenRetried := func(path string) approval.Approval {
			a := d.submit(t, "ask", func(c *approval.Call) { c.Params = []byte(`{"path":"` + path + `"}`) })
			_, err := d.VoteAs(t.Context(), alice, a.Code, approval.AllowOnce, "", "")
			require.NoError(t, err)
			time.Sleep(5*time.Minute + time.Second)
			require.NoError(t, d.Tick(t.Context(), a.Key))
			a, err = d.Retry(t.Context(), alice, a.Code, false)
			require.NoError(t, err)
			require.Zero(t, a.GoneAtMs)
			return a
		}
		a := unclaimedThenRetried("a")
		a, err := d.Withdraw(t.Context(), agent, a.ID, "")
		require.NoError(t, err)
		require.NotZero(t, a.RevokedAtMs)
		_, err = d.Claim(t.Context(), agent, a.ID, core.ClaimInput{ClaimID: "2"})
		require.Equal(t, approval.WhyRevoked, err.(*approval.Error).Why)

		b := unclaimedThenRetried("b")
		b, err = d.Revoke(t.Context(), core.Caller{Token: "ops", MayDecide: true}, b.Code, "wrong host")
		require.NoError(t, err)
		require.Contains(t, card.Ending(b), "wrong host")
		require.NotContains(t, card.Ending(b), "gone")

		ran := unclaimedThenRetried("c")
		d.ran(t, ran, "1", "failed")
		_, err = d.Withdraw(t.Context(), agent, ran.ID, "")
		require.Equal(t, approval.CodeAlreadyResolved, approval.CodeOf(err))
	})
}

// A yes is not its asker's to give back if another request waits for it, if it is for later calls too, or if what
// asked runs by an event.
func TestAYesThatIsNotOneAskersToGiveBack(t *testing.T) {
	for name, c := range map[string]struct {
		decision approval.Decision
		asked    func(*approval.Call)
		joined   bool
	}{
		"another waits": {approval.AllowOnce, func(c *approval.Call) { c.ID, c.SessionKey = "one", "s" }, true},
		"a session":     {approval.AllowSession, func(c *approval.Call) { c.SessionKey = "s" }, false},
		"always":        {approval.AllowAlways, func(*approval.Call) {}, false},
		"a gateway's":   {approval.AllowOnce, func(c *approval.Call) { c.Dialect = approval.DialectExec }, false},
	} {
		d := newFixture(t)
		a := d.submit(t, "ask", c.asked)
		id := a.ID
		if c.joined {
			id = "two"
			require.Equal(t, a.Key, d.submit(t, "ask", func(call *approval.Call) { call.ID, call.SessionKey = "two", "s" }).Key)
		}
		_, err := d.VoteAs(t.Context(), alice, a.Code, c.decision, "", "")
		require.NoError(t, err, name)
		_, err = d.Withdraw(t.Context(), agent, id, "")
		require.Equal(t, approval.CodeAlreadyResolved, approval.CodeOf(err), name)
		now, err := d.ByKey(t.Context(), a.Key)
		require.NoError(t, err)
		require.Zero(t, now.RevokedAtMs, name)
	}
}
