package core_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/people"
)

// T3: a clamped round is met by the people there are, though each vote judges it anew.
func TestAdversary_T3_AClampedRoundIsMet(t *testing.T) {
	d, ctx := newFixture(t), t.Context()
	d.use(func(r *core.Rules) { r.Clamp = true })
	a := d.allowed(t, "many") // nine, clamped to two
	require.Equal(t, approval.Approved, a.Status)
	d.ran(t, a, "1", "failed")
	got, err := d.Retry(ctx, alice, a.Code, false, 0)
	require.NoError(t, err)
	require.Equal(t, 2, got.Round.Rule.MinApprovals)
	got, err = d.Retry(ctx, bob, a.Code, false, 0)
	require.NoError(t, err)
	require.Len(t, got.RetriedBy, 1)
	require.Equal(t, []string{"person:alice", "person:bob"}, got.RetriedBy[0].By)
}

// T3: a round whose quorum was clamped leaves the rule's own to the next one, also if policy
// allows the call since.
func TestAdversary_T3_AClampedQuorumDoesNotStay(t *testing.T) {
	for name, policy := range map[string]core.Policy{
		"the same": byName{hash: "1"}, "it allows": allowsNow{byName{hash: "2"}},
	} {
		t.Run(name, func(t *testing.T) {
			d, ctx := newFixture(t), t.Context()
			d.use(func(r *core.Rules) { r.Clamp, r.RetryWindowMs = true, time.Hour.Milliseconds() })
			a := d.allowed(t, "two")
			d.ran(t, a, "1", "failed")
			both := d.rules.People
			d.only(t, "alice")
			a, err := d.Retry(ctx, alice, a.Code, false, 0)
			require.NoError(t, err)
			require.Equal(t, 1, a.Retries)
			d.ran(t, a, "2", "failed")
			d.use(func(r *core.Rules) { r.People, r.Policy = both, policy })
			a, err = d.Retry(ctx, alice, a.Code, false, 1)
			require.NoError(t, err)
			require.NotNil(t, a.Round, "it was asked under a rule that wants two")
			require.Equal(t, 2, a.Round.Rule.MinApprovals)
		})
	}
}

type allowsNow struct{ byName }

func (p allowsNow) Judge(ctx context.Context, c approval.Call) approval.Judgement {
	j := p.byName.Judge(ctx, c)
	j.Outcome = approval.OutcomeAllow
	return j
}

// T3: the verifier's people that policy wants since may say yes and no to one more run.
func TestAdversary_T3_TheVerifiersOwnPeopleVoteInARound(t *testing.T) {
	zoe := approval.Voter{Channel: approval.WebChannel, UserID: "zoe"}
	fromChat := approval.Voter{Channel: "telegram", UserID: "9"}
	for name, c := range map[string]struct {
		voter approval.Voter
		say   approval.Decision
	}{"yes on the web": {zoe, approval.Retry}, "no on the web": {zoe, approval.Deny}, "no in a chat": {fromChat, approval.Deny}} {
		t.Run(name, func(t *testing.T) {
			d, ctx := newFixture(t), t.Context()
			with, err := people.NewDirectory(people.Rights{
				People: []people.Person{{Name: "alice", Accounts: map[string]string{"telegram": "1"}},
					{Name: "bob", Accounts: map[string]string{"telegram": "2"}},
					{Name: "zoe", Accounts: map[string]string{"telegram": "9"}}},
				AllowedUsers: map[string][]string{"telegram": {"1", "2"}},
				Tokens:       map[string]string{"alice-laptop": "alice", "bob-laptop": "bob"},
				Verifiers:    map[string][]string{"": {"telegram:9"}},
			})
			require.NoError(t, err)
			d.use(func(r *core.Rules) { r.People = with })
			a := d.allowed(t, "ask")
			d.ran(t, a, "1", "failed")
			d.use(func(r *core.Rules) { r.Policy = asksZoe{byName{hash: "2"}} })
			got, err := d.Retry(ctx, alice, a.Code, false)
			require.NoError(t, err)
			require.NotNil(t, got.Round)
			require.True(t, got.Round.Rule.AsksVerifier())
			require.True(t, people.Concerns(got, c.voter, d.Rules().People), "pages and words ask this")
			b := core.Ballot{Voter: c.voter, Decision: c.say, Opens: true, ReceivedMs: time.Now().UnixMilli()}
			if c.voter.Channel == "telegram" {
				b.Chat = &ops
			}
			got, err = d.Vote(ctx, a.Key, b)
			require.NoError(t, err, "she is the one whose word is wanted")
			require.Nil(t, got.Round)
		})
	}
}

// asksZoe is byName where the verifier's own people must say yes, too.
type asksZoe struct{ byName }

func (p asksZoe) Judge(ctx context.Context, c approval.Call) approval.Judgement {
	j := p.byName.Judge(ctx, c)
	j.Rule.Verifier = &approval.VerifierNeed{Accounts: []string{"telegram:9"}, Chats: []approval.Target{ops}}
	return j
}

// T3: a chat that has only shown an earlier round's message votes in no later one.
func TestAdversary_T3_OnlyItsOwnMessageShowsARound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, ctx := newFixture(t), t.Context()
		a := d.allowed(t, "two")
		d.ran(t, a, "1", "failed")
		show := func() (n int) {
			a, err := d.ByKey(ctx, a.Key)
			require.NoError(t, err)
			for _, x := range a.Deliveries {
				if x.Kind != approval.RetryAskedDelivery {
					continue
				}
				n++
				what, err := d.Draw(ctx, x)
				require.NoError(t, err)
				require.NoError(t, d.store.Record(ctx, approval.Delivered{ID: x.ID, Key: x.Key, Was: x, Revision: x.Revision,
					State: approval.Sent, MessageID: x.ID, Shown: what.Shown}))
			}
			return n
		}
		said := func() error {
			_, err := d.Vote(ctx, a.Key, core.Ballot{Voter: approval.Voter{Channel: "telegram", UserID: "2"}, Decision: approval.Retry,
				Chat: &ops, ReceivedMs: time.Now().UnixMilli()})
			return err
		}
		_, err := d.Retry(ctx, alice, a.Code, false)
		require.NoError(t, err)
		require.Equal(t, 1, show())
		time.Sleep(time.Second)
		_, err = d.Retry(ctx, bob, a.Code, false)
		require.NoError(t, err)
		d.ran(t, a, "2", "failed")
		time.Sleep(time.Second)
		_, err = d.Retry(ctx, alice, a.Code, false)
		require.NoError(t, err)
		require.Equal(t, "unseen_payload", why(said()))
		require.Equal(t, 2, show(), "told anew, though within the hour")
		require.NoError(t, said())
	})
}

// T3: a deny that the platform dates by the second, of the second in which the round was opened.
func TestAdversary_T3_ADenyOfTheSecondInWhichTheRoundWasOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, ctx := newFixture(t), t.Context()
		a := d.allowed(t, "two")
		d.ran(t, a, "1", "failed")
		time.Sleep(700 * time.Millisecond)
		a, err := d.Retry(ctx, alice, a.Code, false)
		require.NoError(t, err)
		time.Sleep(200 * time.Millisecond)
		_, err = d.Vote(ctx, a.Key, core.Ballot{Voter: approval.Voter{Channel: "telegram", UserID: "2"}, Decision: approval.Deny,
			Chat: &ops, ReceivedMs: time.Now().UnixMilli() / 1000 * 1000})
		require.NoError(t, err)
	})
}

// T3: a deny by API, page or chat right after the round was opened by an instance whose clock is half a
// minute ahead (the store reckons with a minute, internal/store/sweep.go) is a deny of it.
func TestAdversary_T3_ADenyOnAnInstanceWithASlowerClock(t *testing.T) {
	for name, deny := range map[string]func(*fixture, approval.Approval) (approval.Approval, error){
		"api": func(d *fixture, a approval.Approval) (approval.Approval, error) {
			return d.VoteAs(context.Background(), bob, a.Code, approval.Deny, "", "")
		},
		"web": func(d *fixture, a approval.Approval) (approval.Approval, error) {
			return d.Pages().Vote(context.Background(), signedInAs("bob"), a.Code, core.WebBallot{Decision: approval.Deny})
		},
		"chat": func(d *fixture, a approval.Approval) (approval.Approval, error) {
			return d.Vote(context.Background(), a.Key, core.Ballot{Voter: approval.Voter{Channel: "telegram", UserID: "2"},
				Decision: approval.Deny, Chat: &ops, ReceivedMs: time.Now().UnixMilli()})
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, ctx := newFixture(t), t.Context()
			a := d.allowed(t, "two")
			d.ran(t, a, "1", "failed")
			_, err := d.Retry(ctx, alice, a.Code, false)
			require.NoError(t, err)
			a, err = d.store.Update(ctx, a.Key, func(a approval.Approval) (core.Change, error) { // as that instance writes it
				round := *a.Round
				round.OpenedAtMs, round.ExpiresAtMs = round.OpenedAtMs+30_000, round.ExpiresAtMs+30_000
				a.Round = &round
				return core.Change{Approval: a}, nil
			})
			require.NoError(t, err)
			got, err := deny(d, a)
			require.NoError(t, err)
			require.Nil(t, got.Round)
		})
	}
}
