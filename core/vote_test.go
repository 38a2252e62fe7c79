package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/card"
)

// What each voter may say to a request that alice asked, and why not.
func TestWhoMayVote(t *testing.T) {
	chat := approval.Target{Channel: "telegram", To: "-1"}
	card := func(shown, denyOnly bool) func(*approval.Approval) {
		return func(a *approval.Approval) {
			a.Deliveries = []approval.Delivery{{Kind: approval.CardDelivery, Target: chat, Shown: shown, DenyOnly: denyOnly}}
		}
	}
	for name, c := range map[string]struct {
		a     func(*approval.Approval)
		voter approval.Voter
		say   approval.Decision
		chat  *approval.Target
		want  approval.Code
	}{
		"an approver may allow": {voter: on("telegram", "2"), say: approval.AllowOnce},
		"an approver may deny":  {voter: on("telegram", "2"), say: approval.Deny},
		"a stranger may not deny": {
			voter: on("telegram", "9"), say: approval.Deny, want: approval.CodeNotAnApprover,
		},
		"whoever asked may not allow": {
			voter: on("telegram", "1"), say: approval.AllowOnce, want: approval.CodeSelfApproval,
		},
		"under no account": {
			voter: on("discord", "11"), say: approval.AllowOnce, want: approval.CodeSelfApproval,
		},
		"where selfApproval is solo they may": {
			a: func(a *approval.Approval) { a.Solo = true }, voter: on("telegram", "1"), say: approval.AllowOnce,
		},
		"what is not offered is not allowed": {
			a: func(a *approval.Approval) { a.Offers = []approval.Decision{approval.AllowOnce} }, voter: on("telegram", "2"), say: approval.AllowAlways,
			want: approval.CodeDecisionNotOffered,
		},
		"what is no decision is not offered": {
			voter: on("telegram", "2"), say: "yes", want: approval.CodeDecisionNotOffered,
		},
		"where people may not decide nobody may": {
			a: func(a *approval.Approval) { a.Rule.Effective = nil }, voter: on("telegram", "2"), say: approval.AllowOnce,
			want: approval.CodeDecisionNotOffered,
		},
		"an account of nobody is enough alone": {voter: on("telegram", "3"), say: approval.AllowOnce},
		"and not in a quorum": {
			a: func(a *approval.Approval) { a.Rule.MinApprovals = 2 }, voter: on("telegram", "3"), say: approval.AllowOnce,
			want: approval.CodeNotAnApprover,
		},
		"the verifier's people allow once": {
			a: func(a *approval.Approval) { a.Rule.Verifier = verifierNeed("") }, voter: on("telegram", "7"), say: approval.AllowOnce,
		},
		"and nothing wider": {
			a: func(a *approval.Approval) { a.Rule.Verifier = verifierNeed("") }, voter: on("telegram", "7"), say: approval.AllowAlways,
			want: approval.CodeDecisionNotOffered,
		},
		"where only they are asked an approver may deny": {
			a: func(a *approval.Approval) { a.Rule.Verifier = verifierNeed("policy") }, voter: on("telegram", "2"), say: approval.Deny,
		},
		"and not allow": {
			a: func(a *approval.Approval) { a.Rule.Verifier = verifierNeed("policy") }, voter: on("telegram", "2"),
			say: approval.AllowOnce, want: approval.CodeNotAnApprover,
		},
		"from a chat that has seen all they may allow": {
			a: card(true, false), voter: on("telegram", "2"), say: approval.AllowOnce, chat: &chat,
		},
		"from one that has not they may not": {
			a: card(false, false), voter: on("telegram", "2"), say: approval.AllowOnce, chat: &chat, want: approval.CodeUnseenPayload,
		},
		"nor where it cannot be shown": {
			a: card(false, true), voter: on("telegram", "2"), say: approval.AllowOnce, chat: &chat, want: approval.CodeUnseenPayload,
		},
		"they may deny unseen": {a: card(false, false), voter: on("telegram", "2"), say: approval.Deny, chat: &chat},
	} {
		t.Run(name, func(t *testing.T) {
			d := twoLists(t)
			a := needing(1, nil)
			a.Askers = []approval.Requester{{Person: "alice"}}
			if c.a != nil {
				c.a(&a)
			}
			ballot := Ballot{
				Voter: c.voter, Decision: c.say, Chat: c.chat, ReceivedMs: 500, Handled: &approval.InboundRef{ID: 7},
			}
			got := vote(a, ballot, nil, nil, &Rules{People: d, Solo: a.Solo}, 500)
			require.Equal(t, int64(7), got.Handled.ID, "whatever comes of it, its update is handled")
			if c.want != "" {
				require.NotNil(t, got.Refusal)
				require.Equal(t, c.want, got.Refusal.Code)
				require.Equal(t, []approval.EventType{approval.EventRefused}, eventTypes(got), "it is on record")
				require.Equal(t, approval.Pending, got.Approval.Status)
				require.Empty(t, got.Approval.Votes)
				return
			}
			require.Nil(t, got.Refusal)
			require.Contains(t, eventTypes(got), approval.EventVote)
			require.Len(t, got.Approval.Votes, 1)
		})
	}
}

// How a ballot changes the approval: the rule in a row each.
func TestWhatABallotDoes(t *testing.T) {
	rules := &Rules{People: twoLists(t)}
	say := func(user string, d approval.Decision) Ballot {
		return Ballot{Voter: on("telegram", user), Decision: d, Reason: "r"}
	}
	for name, c := range map[string]struct {
		quorum  int
		ballots []Ballot
		want    approval.Status
		by      []string
		last    func(*testing.T, Change)
	}{
		"one yes of one": {
			quorum: 1, ballots: []Ballot{say("1", approval.AllowOnce)}, want: approval.Approved, by: []string{"person:alice"},
		},
		"one yes of two": {quorum: 2, ballots: []Ballot{say("1", approval.AllowOnce)}, want: approval.Pending},
		"two of two": {
			quorum: 2, ballots: []Ballot{say("1", approval.AllowOnce), say("2", approval.AllowOnce)}, want: approval.Approved,
			by: []string{"person:alice", "person:dan"},
		},
		"one person twice is one": {
			quorum: 2, ballots: []Ballot{say("1", approval.AllowOnce), {Voter: on("discord", "11"), Decision: approval.AllowOnce}},
			want: approval.Pending,
		},
		"the same again changes nothing": {
			quorum: 2, ballots: []Ballot{say("1", approval.AllowOnce), say("1", approval.AllowOnce)}, want: approval.Pending,
			last: func(t *testing.T, c Change) { require.True(t, c.Unchanged) },
		},
		"a changed mind counts": {
			quorum: 2, ballots: []Ballot{say("1", approval.AllowAlways), say("1", approval.AllowOnce)}, want: approval.Pending,
			last: func(t *testing.T, c Change) { require.Len(t, c.Approval.Votes, 1) },
		},
		"one no ends it": {
			quorum: 2, ballots: []Ballot{say("1", approval.AllowOnce), say("2", approval.Deny)}, want: approval.Denied,
			by: []string{"person:dan"},
		},
		"a no leaves a cool-down": {quorum: 1, ballots: []Ballot{
			say("1", approval.Deny),
		}, want: approval.Denied, by: []string{"person:alice"}, last: func(t *testing.T, c Change) {
			require.Equal(t, approval.CoolDown, c.Grants[0].Kind)
			require.Equal(t, int64(500+approval.CoolDownMs), c.Grants[0].ExpiresAtMs)
		}},
		"a yes for the session leaves a grant of twelve hours": {quorum: 1, ballots: []Ballot{
			say("1", approval.AllowSession),
		}, want: approval.Approved, by: []string{"person:alice"}, last: func(t *testing.T, c Change) {
			require.Equal(t, approval.SessionGrant, c.Grants[0].Kind)
			require.Equal(t, int64(500+approval.SessionGrantMs), c.Grants[0].ExpiresAtMs)
		}},
		"a yes for always leaves one without an end": {quorum: 1, ballots: []Ballot{
			say("1", approval.AllowAlways),
		}, want: approval.Approved, by: []string{"person:alice"}, last: func(t *testing.T, c Change) {
			require.Equal(t, approval.AlwaysGrant, c.Grants[0].Kind)
			require.Zero(t, c.Grants[0].ExpiresAtMs)
		}},
		"the narrowest scope is what all agree on": {quorum: 2, ballots: []Ballot{
			say("1", approval.AllowAlways), say("2", approval.AllowOnce),
		}, want: approval.Approved, by: []string{"person:alice", "person:dan"}, last: func(t *testing.T, c Change) {
			require.Equal(t, approval.AllowOnce, c.Approval.Decision)
			require.Empty(t, c.Grants)
		}},
		"a ballot after the end is told how it ended": {quorum: 1, ballots: []Ballot{
			say("1", approval.AllowOnce), say("2", approval.Deny),
		}, want: approval.Approved, by: []string{"person:alice"}, last: func(t *testing.T, c Change) {
			require.Equal(t, approval.CodeAlreadyResolved, c.Refusal.Code)
		}},
		"the vote that ended it, again, is fine": {quorum: 1, ballots: []Ballot{
			say("1", approval.AllowOnce), say("1", approval.AllowOnce),
		}, want: approval.Approved, by: []string{"person:alice"}, last: func(t *testing.T, c Change) {
			require.Nil(t, c.Refusal)
		}},
		"a ballot that comes too late finds it expired": {
			quorum: 1, ballots: []Ballot{{Voter: on("telegram", "1"), Decision: approval.AllowOnce, ReceivedMs: 1000}},
			want: approval.Expired,
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := needing(c.quorum, nil)
			var got Change
			for _, b := range c.ballots {
				got = vote(a, b, nil, nil, rules, 500)
				a = got.Approval
			}
			require.Equal(t, c.want, a.Status)
			require.Equal(t, c.by, a.DecidedBy)
			if c.last != nil {
				c.last(t, got)
			}
		})
	}
}

func TestAReasonIsGivenAfterTheDeny(t *testing.T) {
	rules := &Rules{People: twoLists(t)}
	alice := rules.People.Identify(on("telegram", "1"))
	a := vote(needing(1, nil), Ballot{Voter: alice, Decision: approval.Deny}, nil, nil, rules, 500).Approval
	got, err := addReason(a, alice, "not on a Friday", 600)
	require.NoError(t, err)
	require.Equal(t, "not on a Friday", got.Approval.Reason)
	require.Equal(t, []approval.EventType{approval.EventReason}, eventTypes(got))
	_, err = addReason(a, rules.People.Identify(on("telegram", "2")), "neither", 600)
	require.Equal(t, approval.CodeNotFound, approval.CodeOf(err), "who has not denied has no reason to give")

	own := withdraw(needing(1, nil), "person:alice", approval.WithdrawnByRequester, 500).Approval
	got, err = addReason(own, alice, "no longer needed", 600)
	require.NoError(t, err)
	require.Equal(t, "no longer needed", got.Approval.Reason, "their deny withdrew it")
}

// A deny of whoever asked takes the request back, and is no vote.
func TestADenyOfTheAskerWithdraws(t *testing.T) {
	a := needing(2, nil)
	a.Askers = []approval.Requester{{Person: "alice"}}
	got := vote(a, Ballot{Voter: on("telegram", "1"), Decision: approval.Deny}, nil, nil, &Rules{People: twoLists(t)}, 500)
	require.Equal(t, approval.Withdrawn, got.Approval.Status)
	require.Equal(t, []string{"person:alice"}, got.Approval.DecidedBy)
	require.Equal(t, approval.CoolDown, got.Grants[0].Kind, "the agent does not ask for it again at once")
}

// A tapped card that was not known is adopted with the vote, once.
func TestAnUnknownCardIsAdoptedWithTheVote(t *testing.T) {
	chat := approval.Target{Channel: "telegram", To: "-1"}
	card := approval.Delivery{Kind: approval.CardDelivery, Target: chat, MessageID: "5", Shown: true, State: approval.Sent}
	rules := &Rules{People: twoLists(t)}
	a := needing(2, nil)
	got := vote(a,
		Ballot{Voter: on("telegram", "1"), Decision: approval.AllowOnce, Chat: &chat}, []approval.Delivery{card}, nil, rules, 500,
	)
	require.Nil(t, got.Refusal, "it counts as shown")
	require.Equal(t, []approval.Delivery{card}, got.Deliveries)
	a = got.Approval
	a.Deliveries = []approval.Delivery{card}
	got = vote(a,
		Ballot{Voter: on("telegram", "2"), Decision: approval.AllowOnce, Chat: &chat}, []approval.Delivery{card}, nil, rules, 500,
	)
	require.NotContains(t, kinds(got.Deliveries), approval.CardDelivery)
}

func TestWithdraw(t *testing.T) {
	a := needing(1, nil)
	a.CallbackURL = "https://example.com"
	got := withdraw(a, "token:agent", "done\nelsewhere", 500)
	require.Equal(t, approval.Withdrawn, got.Approval.Status)
	require.Equal(t, []string{"token:agent"}, got.Approval.DecidedBy)
	require.True(t, got.Unseal, "what never ran is deleted")
	require.Equal(t, []approval.EventType{approval.EventWithdrawn}, eventTypes(got))
	require.Equal(t, []approval.DeliveryKind{approval.CallbackDelivery}, kinds(got.Deliveries))

	got = supersede(a, approval.Approval{Names: approval.Names{Code: "K7QX2M"}}, 500)
	require.Equal(t, "K7QX2M", got.Approval.SupersededBy)
	require.Empty(t, got.Approval.Votes, "votes on the old call are none on the new one")
	require.Equal(t, "withdrawn: superseded by K7QX2M", card.Ending(got.Approval))
}

// Who stands behind a call, and so may not decide it.
func TestWhoAsked(t *testing.T) {
	d := twoLists(t)
	for name, c := range map[string]struct {
		who  Caller
		call approval.Call
		want []approval.Requester
	}{
		"nobody":             {},
		"the token's person": {who: Caller{Person: "dan"}, want: []approval.Requester{{Person: "dan"}}},
		"the requester that is stated": {
			call: approval.Call{Requester: &approval.Requester{Channel: "telegram", UserID: "1"}},
			want: []approval.Requester{{Channel: "telegram", UserID: "1", Person: "alice"}},
		},
		"whose private chat it is": {
			call: approval.Call{Origin: &approval.Target{Channel: "telegram", To: "2"}},
			want: []approval.Requester{{Channel: "telegram", UserID: "2", Person: "dan"}},
		},
		"also on Discord": {
			call: approval.Call{Origin: &approval.Target{Channel: "discord", To: "dm:11"}},
			want: []approval.Requester{{Channel: "discord", UserID: "11", Person: "alice"}},
		},
		"not everybody in a group": {call: approval.Call{Origin: &approval.Target{Channel: "telegram", To: "-2"}}},
		"each of them, where they differ": {
			who: Caller{Person: "dan"}, call: approval.Call{Requester: &approval.Requester{Person: "alice"}},
			want: []approval.Requester{{Person: "dan"}, {Person: "alice"}},
		},
		"and each once": {
			who: Caller{Person: "dan"}, call: approval.Call{Requester: &approval.Requester{Person: "dan"}},
			want: []approval.Requester{{Person: "dan"}},
		},
	} {
		require.Equal(t, c.want, askers(c.who, c.call, d), name)
	}
}
