package core

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What each voter may say to a request that alice asked, and why not.
func TestWhoMayVote(t *testing.T) {
	chat := Target{Channel: "telegram", To: "-1"}
	card := func(shown, denyOnly bool) func(*Approval) {
		return func(a *Approval) {
			a.Deliveries = []Delivery{{Kind: CardDelivery, Target: chat, Shown: shown, DenyOnly: denyOnly}}
		}
	}
	for name, c := range map[string]struct {
		a     func(*Approval)
		voter Voter
		say   Decision
		chat  *Target
		want  Code
	}{
		"an approver may allow": {voter: on("telegram", "2"), say: AllowOnce},
		"an approver may deny":  {voter: on("telegram", "2"), say: Deny},
		"a stranger may not deny": {
			voter: on("telegram", "9"), say: Deny, want: CodeNotAnApprover,
		},
		"whoever asked may not allow": {
			voter: on("telegram", "1"), say: AllowOnce, want: CodeSelfApproval,
		},
		"under no account": {
			voter: on("discord", "11"), say: AllowOnce, want: CodeSelfApproval,
		},
		"where selfApproval is solo they may": {
			a: func(a *Approval) { a.Solo = true }, voter: on("telegram", "1"), say: AllowOnce,
		},
		"what is not offered is not allowed": {
			a: func(a *Approval) { a.Offers = []Decision{AllowOnce} }, voter: on("telegram", "2"), say: AllowAlways,
			want: CodeDecisionNotOffered,
		},
		"what is no decision is not offered": {
			voter: on("telegram", "2"), say: "yes", want: CodeDecisionNotOffered,
		},
		"where people may not decide nobody may": {
			a: func(a *Approval) { a.Rule.Effective = nil }, voter: on("telegram", "2"), say: AllowOnce,
			want: CodeDecisionNotOffered,
		},
		"an account of nobody is enough alone": {voter: on("telegram", "3"), say: AllowOnce},
		"and not in a quorum": {
			a: func(a *Approval) { a.Rule.MinApprovals = 2 }, voter: on("telegram", "3"), say: AllowOnce,
			want: CodeNotAnApprover,
		},
		"the verifier's people allow once": {
			a: func(a *Approval) { a.Rule.Verifier = verifierNeed("") }, voter: on("telegram", "7"), say: AllowOnce,
		},
		"and nothing wider": {
			a: func(a *Approval) { a.Rule.Verifier = verifierNeed("") }, voter: on("telegram", "7"), say: AllowAlways,
			want: CodeDecisionNotOffered,
		},
		"where only they are asked an approver may deny": {
			a: func(a *Approval) { a.Rule.Verifier = verifierNeed("policy") }, voter: on("telegram", "2"), say: Deny,
		},
		"and not allow": {
			a: func(a *Approval) { a.Rule.Verifier = verifierNeed("policy") }, voter: on("telegram", "2"),
			say: AllowOnce, want: CodeNotAnApprover,
		},
		"from a chat that has seen all they may allow": {
			a: card(true, false), voter: on("telegram", "2"), say: AllowOnce, chat: &chat,
		},
		"from one that has not they may not": {
			a: card(false, false), voter: on("telegram", "2"), say: AllowOnce, chat: &chat, want: CodeUnseenPayload,
		},
		"nor where it cannot be shown": {
			a: card(false, true), voter: on("telegram", "2"), say: AllowOnce, chat: &chat, want: CodeUnseenPayload,
		},
		"they may deny unseen": {a: card(false, false), voter: on("telegram", "2"), say: Deny, chat: &chat},
	} {
		t.Run(name, func(t *testing.T) {
			d := twoLists(t)
			a := needing(1, nil)
			a.Askers = []Requester{{Person: "alice"}}
			if c.a != nil {
				c.a(&a)
			}
			ballot := Ballot{
				Voter: c.voter, Decision: c.say, Chat: c.chat, ReceivedMs: 500, Handled: &InboundRef{ID: 7},
			}
			got := a.vote(ballot, nil, nil, &Rules{People: d, Solo: a.Solo}, 500)
			require.Equal(t, int64(7), got.Handled.ID, "whatever comes of it, its update is handled")
			if c.want != "" {
				require.NotNil(t, got.Refusal)
				require.Equal(t, c.want, got.Refusal.Code)
				require.Equal(t, []EventType{EventRefused}, eventTypes(got), "it is on record")
				require.Equal(t, Pending, got.Approval.Status)
				require.Empty(t, got.Approval.Votes)
				return
			}
			require.Nil(t, got.Refusal)
			require.Contains(t, eventTypes(got), EventVote)
			require.Len(t, got.Approval.Votes, 1)
		})
	}
}

// How a ballot changes the approval: the rule in a row each.
func TestWhatABallotDoes(t *testing.T) {
	rules := &Rules{People: twoLists(t)}
	say := func(user string, d Decision) Ballot {
		return Ballot{Voter: on("telegram", user), Decision: d, Reason: "r"}
	}
	for name, c := range map[string]struct {
		quorum  int
		ballots []Ballot
		want    Status
		by      []string
		last    func(*testing.T, Change)
	}{
		"one yes of one": {
			quorum: 1, ballots: []Ballot{say("1", AllowOnce)}, want: Approved, by: []string{"person:alice"},
		},
		"one yes of two": {quorum: 2, ballots: []Ballot{say("1", AllowOnce)}, want: Pending},
		"two of two": {
			quorum: 2, ballots: []Ballot{say("1", AllowOnce), say("2", AllowOnce)}, want: Approved,
			by: []string{"person:alice", "person:dan"},
		},
		"one person twice is one": {
			quorum: 2, ballots: []Ballot{say("1", AllowOnce), {Voter: on("discord", "11"), Decision: AllowOnce}},
			want: Pending,
		},
		"the same again changes nothing": {
			quorum: 2, ballots: []Ballot{say("1", AllowOnce), say("1", AllowOnce)}, want: Pending,
			last: func(t *testing.T, c Change) { require.True(t, c.Unchanged) },
		},
		"a changed mind counts": {
			quorum: 2, ballots: []Ballot{say("1", AllowAlways), say("1", AllowOnce)}, want: Pending,
			last: func(t *testing.T, c Change) { require.Len(t, c.Approval.Votes, 1) },
		},
		"one no ends it": {
			quorum: 2, ballots: []Ballot{say("1", AllowOnce), say("2", Deny)}, want: Denied,
			by: []string{"person:dan"},
		},
		"a no leaves a cool-down": {quorum: 1, ballots: []Ballot{
			say("1", Deny),
		}, want: Denied, by: []string{"person:alice"}, last: func(t *testing.T, c Change) {
			require.Equal(t, CoolDown, c.Grants[0].Kind)
			require.Equal(t, int64(500+coolDownMs), c.Grants[0].ExpiresAtMs)
		}},
		"a yes for the session leaves a grant of twelve hours": {quorum: 1, ballots: []Ballot{
			say("1", AllowSession),
		}, want: Approved, by: []string{"person:alice"}, last: func(t *testing.T, c Change) {
			require.Equal(t, SessionGrant, c.Grants[0].Kind)
			require.Equal(t, int64(500+sessionGrantMs), c.Grants[0].ExpiresAtMs)
		}},
		"a yes for always leaves one without an end": {quorum: 1, ballots: []Ballot{
			say("1", AllowAlways),
		}, want: Approved, by: []string{"person:alice"}, last: func(t *testing.T, c Change) {
			require.Equal(t, AlwaysGrant, c.Grants[0].Kind)
			require.Zero(t, c.Grants[0].ExpiresAtMs)
		}},
		"the narrowest scope is what all agree on": {quorum: 2, ballots: []Ballot{
			say("1", AllowAlways), say("2", AllowOnce),
		}, want: Approved, by: []string{"person:alice", "person:dan"}, last: func(t *testing.T, c Change) {
			require.Equal(t, AllowOnce, c.Approval.Decision)
			require.Empty(t, c.Grants)
		}},
		"a ballot after the end is told how it ended": {quorum: 1, ballots: []Ballot{
			say("1", AllowOnce), say("2", Deny),
		}, want: Approved, by: []string{"person:alice"}, last: func(t *testing.T, c Change) {
			require.Equal(t, CodeAlreadyResolved, c.Refusal.Code)
		}},
		"the vote that ended it, again, is fine": {quorum: 1, ballots: []Ballot{
			say("1", AllowOnce), say("1", AllowOnce),
		}, want: Approved, by: []string{"person:alice"}, last: func(t *testing.T, c Change) {
			require.Nil(t, c.Refusal)
		}},
		"a ballot that comes too late finds it expired": {
			quorum: 1, ballots: []Ballot{{Voter: on("telegram", "1"), Decision: AllowOnce, ReceivedMs: 1000}},
			want: Expired,
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := needing(c.quorum, nil)
			var got Change
			for _, b := range c.ballots {
				got = a.vote(b, nil, nil, rules, 500)
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
	a := needing(1, nil).vote(Ballot{Voter: alice, Decision: Deny}, nil, nil, rules, 500).Approval
	got, err := a.addReason(alice, "not on a Friday", 600)
	require.NoError(t, err)
	require.Equal(t, "not on a Friday", got.Approval.Reason)
	require.Equal(t, []EventType{EventReason}, eventTypes(got))
	_, err = a.addReason(rules.People.Identify(on("telegram", "2")), "neither", 600)
	require.Equal(t, CodeNotFound, CodeOf(err), "who has not denied has no reason to give")

	own := needing(1, nil).withdraw("person:alice", withdrawnByRequester, 500).Approval
	got, err = own.addReason(alice, "no longer needed", 600)
	require.NoError(t, err)
	require.Equal(t, "no longer needed", got.Approval.Reason, "their deny withdrew it")
}

// A deny of whoever asked takes the request back, and is no vote.
func TestADenyOfTheAskerWithdraws(t *testing.T) {
	a := needing(2, nil)
	a.Askers = []Requester{{Person: "alice"}}
	got := a.vote(Ballot{Voter: on("telegram", "1"), Decision: Deny}, nil, nil, &Rules{People: twoLists(t)}, 500)
	require.Equal(t, Withdrawn, got.Approval.Status)
	require.Equal(t, []string{"person:alice"}, got.Approval.DecidedBy)
	require.Equal(t, CoolDown, got.Grants[0].Kind, "the agent does not ask for it again at once")
}

// A tapped card that was not known is adopted with the vote, once.
func TestAnUnknownCardIsAdoptedWithTheVote(t *testing.T) {
	chat := Target{Channel: "telegram", To: "-1"}
	card := Delivery{Kind: CardDelivery, Target: chat, MessageID: "5", Shown: true, State: Sent}
	rules := &Rules{People: twoLists(t)}
	a := needing(2, nil)
	got := a.vote(
		Ballot{Voter: on("telegram", "1"), Decision: AllowOnce, Chat: &chat}, []Delivery{card}, nil, rules, 500,
	)
	require.Nil(t, got.Refusal, "it counts as shown")
	require.Equal(t, []Delivery{card}, got.Deliveries)
	a = got.Approval
	a.Deliveries = []Delivery{card}
	got = a.vote(
		Ballot{Voter: on("telegram", "2"), Decision: AllowOnce, Chat: &chat}, []Delivery{card}, nil, rules, 500,
	)
	require.NotContains(t, kinds(got.Deliveries), CardDelivery)
}

func TestWithdraw(t *testing.T) {
	a := needing(1, nil)
	a.CallbackURL = "https://example.com"
	got := a.withdraw("token:agent", "done\nelsewhere", 500)
	require.Equal(t, Withdrawn, got.Approval.Status)
	require.Equal(t, []string{"token:agent"}, got.Approval.DecidedBy)
	require.True(t, got.Unseal, "what never ran is deleted")
	require.Equal(t, []EventType{EventWithdrawn}, eventTypes(got))
	require.Equal(t, []DeliveryKind{CallbackDelivery}, kinds(got.Deliveries))

	got = a.supersede(Approval{Code: "K7QX2M"}, 500)
	require.Equal(t, "K7QX2M", got.Approval.SupersededBy)
	require.Empty(t, got.Approval.Votes, "votes on the old call are none on the new one")
	require.Equal(t, "withdrawn: superseded by K7QX2M", got.Approval.Ending())
}

// Who stands behind a call, and so may not decide it.
func TestWhoAsked(t *testing.T) {
	d := twoLists(t)
	for name, c := range map[string]struct {
		who  Caller
		call Call
		want []Requester
	}{
		"nobody":             {},
		"the token's person": {who: Caller{Person: "dan"}, want: []Requester{{Person: "dan"}}},
		"the requester that is stated": {
			call: Call{Requester: &Requester{Channel: "telegram", UserID: "1"}},
			want: []Requester{{Channel: "telegram", UserID: "1", Person: "alice"}},
		},
		"whose private chat it is": {
			call: Call{Origin: &Target{Channel: "telegram", To: "2"}},
			want: []Requester{{Channel: "telegram", UserID: "2", Person: "dan"}},
		},
		"also on Discord": {
			call: Call{Origin: &Target{Channel: "discord", To: "dm:11"}},
			want: []Requester{{Channel: "discord", UserID: "11", Person: "alice"}},
		},
		"not everybody in a group": {call: Call{Origin: &Target{Channel: "telegram", To: "-2"}}},
		"each of them, where they differ": {
			who: Caller{Person: "dan"}, call: Call{Requester: &Requester{Person: "alice"}},
			want: []Requester{{Person: "dan"}, {Person: "alice"}},
		},
		"and each once": {
			who: Caller{Person: "dan"}, call: Call{Requester: &Requester{Person: "dan"}},
			want: []Requester{{Person: "dan"}},
		},
	} {
		require.Equal(t, c.want, askers(c.who, c.call, d), name)
	}
}
