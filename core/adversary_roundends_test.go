package core_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/people"
)

var carol = core.Caller{Token: "carols", Person: "carol", MayDecide: true}

// three puts alice, bob and carol in force.
func (d *fixture) three(t *testing.T) {
	t.Helper()
	r := people.Rights{AllowedUsers: map[string][]string{"telegram": {"1", "2", "3"}},
		Tokens: map[string]string{"alice-laptop": "alice", "bob-laptop": "bob", "carols": "carol"}}
	for i, n := range []string{"alice", "bob", "carol"} {
		r.People = append(r.People, people.Person{Name: n, Accounts: map[string]string{"telegram": fmt.Sprint(i + 1)}})
	}
	people, err := people.NewDirectory(r)
	require.NoError(t, err)
	d.use(func(r *core.Rules) { r.People = people })
}

// T3: the deny that ended a round may be sent again by any way, and its reason may follow.
func TestAdversary_T3_TheSameDenyOfARoundTwice(t *testing.T) {
	telegram := func(user string) approval.Voter { return approval.Voter{Channel: "telegram", UserID: user} }
	asksAs := func(user string) func(*approval.Call) {
		return func(c *approval.Call) { c.Requester = &approval.Requester{Channel: "telegram", UserID: user} }
	}
	for name, c := range map[string]struct {
		call func(*approval.Call)
		who  string // denies, by the account of bob
	}{
		"an approver": {func(*approval.Call) {}, "2"},
		"the asker":   {asksAs("2"), "2"},
	} {
		t.Run(name, func(t *testing.T) {
			d, ctx := newFixture(t), t.Context()
			d.three(t)
			a := d.submit(t, "two", c.call)
			for _, who := range []core.Caller{alice, carol} {
				_, err := d.VoteAs(ctx, who, a.Code, approval.AllowOnce, "", "")
				require.NoError(t, err)
			}
			d.ran(t, a, "1", "failed")
			_, err := d.Retry(ctx, alice, a.Code, false)
			require.NoError(t, err)
			deny := core.Ballot{Voter: telegram(c.who), Decision: approval.Deny, Chat: &ops}
			_, err = d.Vote(ctx, a.Key, deny)
			require.NoError(t, err)
			before, err := d.store.Log(ctx, 0, 100)
			require.NoError(t, err)

			got, err := d.Vote(ctx, a.Key, deny)
			require.NoError(t, err, "typed again")
			require.Contains(t, card.VotedText(got, approval.Voter{}, approval.Deny, d.rules.People, time.Now().UnixMilli()), "does not run again")
			tapped := deny
			tapped.Code = a.Code
			_, err = d.Vote(ctx, a.Key, tapped)
			require.NoError(t, err, "a tap")
			if name == "an approver" {
				_, err = d.VoteAs(ctx, bob, a.Code, approval.Deny, "", "")
				require.NoError(t, err, "by API")
			}
			_, err = d.VoteAs(ctx, alice, a.Code, approval.Deny, "", "")
			require.Equal(t, "already_resolved", why(err), "hers did not end it")
			after, err := d.store.Log(ctx, 0, 100)
			require.NoError(t, err)
			require.Len(t, after, len(before), "nothing more is on record")

			got, err = d.Chats().AddReason(ctx, a.Key, telegram(c.who), "it broke the build", nil)
			require.NoError(t, err)
			card, err := d.Card(ctx, got)
			require.NoError(t, err)
			if name == "the asker" {
				require.Equal(t, []string{"denied the retry because: “it broke the build”"}, card.Claims[1:], "a claim")
				require.NotContains(t, card.Outcome.String(), "it broke")
			} else {
				require.Contains(t, card.Outcome.String(), "retry denied by bob: it broke the build")
			}
			after, err = d.store.Log(ctx, int64(len(before)), 100)
			require.NoError(t, err)
			require.Equal(t, approval.EventReason, after[len(after)-1].Type)
			require.Contains(t, string(after[len(after)-1].Data), "it broke the build")
			_, err = d.Chats().AddReason(ctx, a.Key, telegram("1"), "not hers", nil)
			require.Equal(t, "not_found", why(err))
		})
	}
}

// T3: what denied one round says nothing of the next.
func TestAdversary_T3_ADenyIsOfOneRound(t *testing.T) {
	d, ctx := newFixture(t), t.Context()
	a := d.allowed(t, "two")
	d.ran(t, a, "1", "failed")
	_, err := d.Retry(ctx, alice, a.Code, false)
	require.NoError(t, err)
	_, err = d.VoteAs(ctx, bob, a.Code, approval.Deny, "not now", "")
	require.NoError(t, err)
	_, err = d.store.DropGrants(ctx, core.GrantFilter{Owner: "agent"}, func(approval.Grant) approval.Event {
		return approval.Event{Type: approval.EventUngranted, Data: json.RawMessage(`{}`)}
	})
	require.NoError(t, err)
	for _, who := range []core.Caller{alice, bob} {
		_, err = d.Retry(ctx, who, a.Code, false)
		require.NoError(t, err)
	}
	got, err := d.VoteAs(ctx, bob, a.Code, approval.Deny, "", "")
	require.Equal(t, "already_resolved", why(err), "the retry is let run")
	require.Nil(t, got.RoundDenied)
	card, err := d.Card(ctx, got)
	require.NoError(t, err)
	require.NotContains(t, card.Outcome.String(), "denied")
}

// between is a store in which something happens between a step's look and its commit.
type between struct {
	core.Changes
	meanwhile func()
}

func (s *between) Update(
	ctx context.Context, key string, fn func(approval.Approval) (core.Change, error),
) (approval.Approval, error) {
	if f := s.meanwhile; f != nil {
		s.meanwhile = nil
		f()
	}
	return s.Changes.Update(ctx, key, fn)
}

// T3: a deny of the very call that is committed between a claim's look and its commit
// keeps the call from being handed out; likewise one between a vote's and its commit.
func TestAdversary_T3_DenyBetweenLookAndCommit(t *testing.T) {
	for _, step := range []string{"claim", "vote"} {
		t.Run(step, func(t *testing.T) {
			d, ctx := newFixture(t), t.Context()
			stores := d.store.CoreStores()
			s := &between{Changes: stores.Changes}
			stores.Changes = s
			gate := core.NewGate(stores, d.rules, slog.New(slog.DiscardHandler))
			require.NoError(t, gate.Absences().Learn(ctx))
			a := d.allowed(t, "ask")
			d.ran(t, a, "1", "failed")
			same := d.submit(t, "ask", func(c *approval.Call) { c.SessionKey = "other" })
			deny := func() {
				_, err := d.VoteAs(ctx, bob, same.Code, approval.Deny, "", "")
				require.NoError(t, err)
			}
			if step == "vote" {
				s.meanwhile = deny
			}
			_, err := gate.Retry(ctx, alice, a.Code, false)
			if step == "vote" {
				require.Equal(t, "not_claimable denied", why(err))
			} else {
				require.NoError(t, err)
				s.meanwhile = deny
			}
			_, err = gate.Claim(ctx, agent, a.ID, core.ClaimInput{ClaimID: "2"})
			require.Error(t, err)
			got, err := d.ByKey(ctx, a.Key)
			require.NoError(t, err)
			if step == "claim" {
				require.Zero(t, got.ClaimedAtMs)
			} else {
				require.Zero(t, got.Retries)
			}
		})
	}
}

// T3b: the record of a join names those who joined by it, and not everybody before them.
func TestAdversary_T3b_AJoinNamesWhoJoined(t *testing.T) {
	for _, ended := range []string{"pending", "approved", "claimed"} {
		t.Run(ended, func(t *testing.T) {
			d, ctx := newFixture(t), t.Context()
			a := d.submit(t, "ask", func(c *approval.Call) { c.ID = "own" })
			if ended != "pending" {
				_, err := d.VoteAs(ctx, alice, a.Code, approval.AllowOnce, "", "")
				require.NoError(t, err)
			}
			if ended == "claimed" {
				d.ran(t, a, "1", "")
			}
			for n := range 5 {
				d.submit(t, "ask", func(c *approval.Call) {
					c.ID, c.Resume = "own", ended == "approved"
					c.Requester = &approval.Requester{Channel: "telegram", UserID: fmt.Sprint(1000 + n)}
				})
				log, err := d.store.Log(ctx, 0, 100)
				require.NoError(t, err)
				last := log[len(log)-1]
				require.Equal(t, approval.EventJoined, last.Type)
				var said struct{ Askers, Joined []approval.Requester }
				require.NoError(t, json.Unmarshal(last.Data, &said))
				require.Empty(t, said.Askers)
				require.Equal(t, []approval.Requester{{Channel: "telegram", UserID: fmt.Sprint(1000 + n)}}, said.Joined)
			}
			got, err := d.ByKey(ctx, a.Key)
			require.NoError(t, err)
			require.Len(t, got.Askers, 5)
		})
	}
}

// A reload that comes between a claim's look and its commit may have taken the token that claims: the claim is
// refused, and who still holds one asks again. A deny counts whatever policy is in force by then.
func TestAReloadOvertakesAClaimAndADeny(t *testing.T) {
	for _, step := range []string{"claim", "deny"} {
		t.Run(step, func(t *testing.T) {
			d, ctx := newFixture(t), t.Context()
			stores := d.store.CoreStores()
			s := &between{Changes: stores.Changes}
			stores.Changes = s
			gate := core.NewGate(stores, d.rules, slog.New(slog.DiscardHandler))
			require.NoError(t, gate.Absences().Learn(ctx))
			a := d.submit(t, "ask")
			if step == "claim" {
				_, err := d.VoteAs(ctx, alice, a.Code, approval.AllowOnce, "", "")
				require.NoError(t, err)
			}
			next := d.rules
			next.Policy = byName{hash: "another"}
			s.meanwhile = func() { gate.Use(next) }
			if step == "deny" {
				got, err := gate.VoteAs(ctx, bob, a.Code, approval.Deny, "", "")
				require.NoError(t, err)
				require.Equal(t, approval.Denied, got.Status)
				return
			}
			_, err := gate.Claim(ctx, agent, a.ID, core.ClaimInput{ClaimID: "1"})
			require.Equal(t, approval.CodeUnavailable, approval.CodeOf(err))
			got, err := d.ByKey(ctx, a.Key)
			require.NoError(t, err)
			require.Zero(t, got.ClaimedAtMs)
		})
	}
}
