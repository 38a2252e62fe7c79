package core_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// Who sees what: an asker its own, an operator all.
func TestWhoSeesWhat(t *testing.T) {
	d := newFixture(t)
	a := d.submit(t, "ask", func(c *approval.Call) { c.ID = "mine" })
	b := d.submit(t, "two")
	other := core.Caller{Token: "other", MayRequest: true}
	nobody := core.Caller{Token: "nobody"}
	for name, c := range map[string]struct {
		who  core.Caller
		ref  string
		want approval.Code
	}{
		"its owner by the key":       {who: agent, ref: b.Key},
		"an operator by the key":     {who: alice, ref: b.Key},
		"another owner by none":      {who: other, ref: b.Key, want: approval.CodeNotFound},
		"no scope, no key":           {who: nobody, ref: b.Key, want: approval.CodeForbidden},
		"its owner by its own id":    {who: agent, ref: "mine"},
		"not by the key it replaced": {who: agent, ref: a.Key, want: approval.CodeNotFound},
		"an operator by the code":    {who: alice, ref: strings.ToLower(a.Code)},
		"nor by the key it replaced": {who: alice, ref: a.Key, want: approval.CodeNotFound},
		"another owner does not":     {who: other, ref: "mine", want: approval.CodeNotFound},
		"nor by the code":            {who: other, ref: a.Code, want: approval.CodeNotFound},
		"nobody without a scope":     {who: nobody, ref: "mine", want: approval.CodeForbidden},
		"nobody what there is not":   {who: alice, ref: "nothing-there", want: approval.CodeNotFound},
	} {
		got, err := d.Get(t.Context(), c.who, c.ref)
		require.Equal(t, c.want, approval.CodeOf(err), name)
		w, err := d.FindAndWatch(t.Context(), c.who, c.ref)
		require.Equal(t, c.want, approval.CodeOf(err), name)
		if c.want == "" {
			require.Equal(t, map[bool]string{true: b.Key, false: a.Key}[c.ref == b.Key], got.Key, name)
			seen, err := w.Look(t.Context(), true)
			require.NoError(t, err)
			require.Equal(t, got, *seen, name)
			w.Stop()
		}
	}
	mine, err := d.List(t.Context(), other, core.Filter{Limit: 9, Owner: "agent"})
	require.NoError(t, err)
	require.Empty(t, mine.Items, "an asker lists its own, whatever it asks for")
	all, err := d.List(t.Context(), alice, core.Filter{Limit: 9})
	require.NoError(t, err)
	require.Len(t, all.Items, 2)
	_, err = d.List(t.Context(), nobody, core.Filter{Limit: 9})
	require.Equal(t, approval.CodeForbidden, approval.CodeOf(err))
	pending, err := d.Chats().PendingCards(t.Context(), 9)
	require.NoError(t, err)
	require.Len(t, pending, 2)
	byCode, err := d.ByCode(t.Context(), strings.ToLower(a.Code))
	require.NoError(t, err)
	require.Equal(t, a.Key, byCode.Key)
	_, err = d.ByCode(t.Context(), "000000")
	require.Equal(t, approval.CodeNotFound, approval.CodeOf(err))

	// An own id that looks like the beginning of another's key answers for neither.
	_, _, err = d.Submit(t.Context(), other, call("two", func(c *approval.Call) { c.ID = "shared"; c.SessionKey = "x" }))
	require.NoError(t, err)
	d.submit(t, "two", func(c *approval.Call) { c.ID = "shared" })
	_, err = d.Get(t.Context(), alice, "shared")
	require.Equal(t, approval.CodeAmbiguousID, approval.CodeOf(err))
}

// An operator votes by the server's id without a look-up, and by an id of the asker's that looks like one, but not by the
// key that such an id has replaced. Who waits by the server's id after the end hears of it at once.
func TestVoteByWhatLooksLikeAKey(t *testing.T) {
	d := newFixture(t)
	own := "0badcafe-0000-4000-8000-000000000000"
	a := d.submit(t, "ask", func(c *approval.Call) { c.ID = own })
	_, err := d.VoteAs(t.Context(), alice, a.Key, approval.AllowOnce, "", "")
	require.Equal(t, approval.CodeNotFound, approval.CodeOf(err))
	_, err = d.VoteAs(t.Context(), alice, own, "perhaps", "", "")
	require.Equal(t, approval.CodeInvalidRequest, approval.CodeOf(err))
	voted, err := d.VoteAs(t.Context(), alice, own, approval.AllowOnce, "", "")
	require.NoError(t, err)
	require.Equal(t, approval.Approved, voted.Status)

	b := d.submit(t, "open")
	before := d.store.Statements()
	w, err := d.FindAndWatch(t.Context(), agent, b.Key)
	require.NoError(t, err)
	defer w.Stop()
	require.EqualValues(t, 1, d.store.Statements()-before, "its first look finds it too")
	_, err = d.VoteAs(t.Context(), alice, b.Key, approval.Deny, "", "")
	require.NoError(t, err)
	<-w.Changed()
	late, err := d.FindAndWatch(t.Context(), agent, b.Key)
	require.NoError(t, err)
	defer late.Stop()
	got, err := late.Wait(t.Context(), func() (<-chan struct{}, error) { return nil, nil })
	require.NoError(t, err)
	require.Equal(t, approval.Denied, got.Status)
	require.NotEmpty(t, got.Deliveries, "it is given whole")
}

// Who waits hears of the end at once, and of nothing after they leave.
func TestWhoWaitsHearsOfTheEnd(t *testing.T) {
	d := newFixture(t)
	a, created, w, err := d.SubmitAndWatch(t.Context(), agent, call("ask"))
	require.NoError(t, err)
	require.True(t, created)
	defer w.Stop()
	type answer struct {
		a   *approval.Approval
		err error
	}
	answers := make(chan answer, 2)
	still := func() (<-chan struct{}, error) { return nil, nil }
	go func() {
		got, err := w.Wait(t.Context(), still)
		answers <- answer{got, err}
	}()
	go func() {
		got, err := d.Wait(t.Context(), a.Key, still)
		answers <- answer{got, err}
	}()
	_, err = d.VoteAs(t.Context(), alice, a.Code, approval.AllowOnce, "", "")
	require.NoError(t, err)
	for range 2 {
		got := <-answers
		require.NoError(t, got.err)
		require.Equal(t, approval.Approved, got.a.Status)
	}
	_, err = d.Wait(
		t.Context(), a.Key,
		func() (<-chan struct{}, error) { return nil, approval.Refuse(approval.CodeUnauthorized, "gone") },
	)
	require.Equal(t, approval.CodeUnauthorized, approval.CodeOf(err), "who has lost their right hears nothing")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := d.submit(t, "two")
	got, err := d.Wait(ctx, b.Key, still)
	require.NoError(t, err)
	require.Equal(t, approval.Pending, got.Status, "whose time is over hears how it stands")
	d.Upkeep().Wake(t.Context(), b.Key)
}

// Cards are drawn from what is newest, once for those that look alike.
func TestDrawShowsTheNewestState(t *testing.T) {
	d := newFixture(t)
	a := d.submit(t, "ask")
	card := a.Deliveries[0]
	card.Version = a.Version
	for range 2 {
		drawn, err := d.Draw(t.Context(), card)
		require.NoError(t, err)
		require.Equal(t, []approval.Decision{approval.AllowOnce, approval.AllowSession, approval.AllowAlways}, drawn.Card.Offers)
		require.True(t, drawn.Shown)
	}
	unreached := approval.Delivery{Key: a.Key, Kind: approval.UnreachedDelivery}
	drawn, err := d.Draw(t.Context(), unreached)
	require.NoError(t, err)
	require.NotEmpty(t, drawn.Skip, "somebody was reached")
	_, err = d.VoteAs(t.Context(), alice, a.Code, approval.Deny, "no", "")
	require.NoError(t, err)
	card.MessageID, card.Version = "5", 0
	drawn, err = d.Draw(t.Context(), card)
	require.NoError(t, err)
	require.True(t, drawn.Done)
	require.Contains(t, drawn.Card.Outcome.String(), "⛔ Denied by alice, ")
	facts, err := d.Cards().Payload(t.Context(), a)
	require.NoError(t, err)
	require.Empty(t, facts, "the call is deleted with the deny")
	_, _, _, err = d.Cards().Stored(t.Context(), a.Key)
	require.Equal(t, approval.CodeRetryDataGone, approval.CodeOf(err))
}

// What a commit gives for drawing is what the store gives to those who look.
func TestWhatIsDrawnIsWhatIsOnDisk(t *testing.T) {
	d := newFixture(t)
	a := d.submit(t, "ask")
	same := func() {
		t.Helper()
		want, err := d.store.Bare(t.Context(), a.Key)
		require.NoError(t, err)
		got, err := d.store.Newest(t.Context(), a.Key)
		require.NoError(t, err)
		require.Equal(t, string(approval.StoredJSON(want)), string(approval.StoredJSON(got)))
		require.Equal(t, want.Version, got.Version)
		require.Equal(t, want.Status, got.Status)
		require.Empty(t, got.Deliveries)
	}
	same()
	_, err := d.VoteAs(t.Context(), alice, a.Code, approval.AllowAlways, "fine", "")
	require.NoError(t, err)
	same()
	_, err = d.Claim(t.Context(), agent, a.ID, core.ClaimInput{})
	require.NoError(t, err)
	same()
}

// A chat reads times in the zone that its target names, another one in UTC.
func TestDrawSaysTimesInTheChatsZone(t *testing.T) {
	d := newFixture(t)
	d.use(func(r *core.Rules) {
		r.Zones = map[approval.Target]*time.Location{ops: time.FixedZone("HOME", 3600)}
	})
	a := d.submit(t, "ask")
	for target, want := range map[approval.Target]string{
		ops: " HOME (15 min)", {Channel: "telegram", To: "-100", ThreadID: "7"}: " HOME (15 min)", {Channel: "telegram", To: "-101"}: " UTC (15 min)",
	} {
		drawn, err := d.Draw(t.Context(), approval.Delivery{Key: a.Key, Kind: approval.CardDelivery, Target: target, Version: a.Version})
		require.NoError(t, err)
		require.Contains(t, drawn.Card.State.Until, want)
	}
}
