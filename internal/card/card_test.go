package card

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/people"
)

// drawnCard draws the card of a pending call.
func drawnCard(t *testing.T, tool, params string, bind *approval.Bind, d approval.Delivery) Drawing {
	t.Helper()
	a, facts := asked(t, tool, params, bind)
	d.Kind = approval.CardDelivery
	return Draw(a, d, facts, reading())
}

func asked(t *testing.T, tool, params string, bind *approval.Bind) (approval.Approval, []Fact) {
	t.Helper()
	sealed, err := approval.Canonical(tool, json.RawMessage(params), bind)
	require.NoError(t, err)
	_, canonical, bound, err := approval.Open(sealed.Bytes)
	require.NoError(t, err)
	facts, err := PayloadFacts(approval.Call{ToolName: tool, Params: canonical, Bind: bound})
	require.NoError(t, err)
	a := approval.Approval{
		Names:  approval.Names{Key: "k", Code: "K7QX2M", Owner: "main-agent"},
		Ended:  approval.Ended{Status: approval.Pending},
		Asked:  approval.Asked{ToolName: tool, Bind: bind, Fingerprint: sealed.Fingerprint},
		Judged: approval.Judged{Offers: []approval.Decision{approval.AllowOnce}, Rule: approval.Rule{Effective: []approval.Factor{approval.UserRequest}, MinApprovals: 1}},
	}
	a.Summary = About(tool, facts, bind, MaxSummary)
	return a, facts
}

// says is all that stands on a card.
func says(c *Card) string { return fmt.Sprintf("%+v", *c) }

// Whatever of the call is not on the card is said.
func TestAdversary_S1_ACardSaysWhatItLeavesOut(t *testing.T) {
	many := map[string]string{"zzz": "rm -rf ~"}
	for i := range 119 {
		many[fmt.Sprintf("k%03d", i)] = "some short value"
	}
	params, _ := json.Marshal(many)
	long := strings.Repeat("x", 4000)
	for _, tt := range []struct {
		name, params, want string
	}{
		{"many short ones", string(params), "… 116 more values, whole in the file above"},
		{"long ones", `{"a":"` + long + `","b":"` + long + `","c":"` + long + `","d":"` + long + `","e":"3"}`, "… and 1 more parameter, whole in the file above"},
		{"one is cut", `{"a":"` + long + `"}`, "… 3872 more characters, whole in the file above"},
		{"a path", `{"a":"` + strings.Repeat("/abcdefghi", 200) + `"}`, "… 1872 more characters, whole in the file above"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := drawnCard(t, "frob", tt.params, nil, approval.Delivery{})
			require.NotNil(t, got.File)
			require.Empty(t, got.Card.Offers, "nothing is offered before the file is there")
			require.Contains(t, says(got.Card), tt.want)
			require.Contains(t, got.File.Text, "parameter ")
			dir := "/srv/app"
			there := drawnCard(t, "frob", tt.params, &approval.Bind{Workdir: &dir}, approval.Delivery{Attached: true}).Card
			require.NotEmpty(t, there.Offers)
			require.Equal(t, "in /srv/app", there.Place.String(), "where it runs is always on the card")
		})
	}
}

// Where a chat takes no files, the card speaks of none.
func TestNoFileNoWordOfOne(t *testing.T) {
	got := drawnCard(t, "frob", `{"a":"`+strings.Repeat("x", 4000)+`"}`, nil, approval.Delivery{DenyOnly: true})
	require.NotContains(t, says(got.Card), "whole in the file above")
	require.Contains(t, got.Card.DenyOnly, "It can be allowed elsewhere")
	require.Empty(t, got.Card.Offers)

	chat := approval.Target{Channel: "telegram", To: "1"}
	a := approval.Approval{
		Names:   approval.Names{Code: "K7QX2M"},
		Contact: approval.Contact{Deliveries: []approval.Delivery{{Kind: approval.CardDelivery, Target: chat, MessageID: "5", DenyOnly: true}}},
	}
	require.NotContains(t, a.UnseenIn(chat).Message, "/show")
	require.LessOrEqual(t, len(a.UnseenIn(chat).Message), 200)
	require.Contains(t, a.UnseenIn(approval.Target{Channel: "telegram", To: "2"}).Message, "/show K7QX2M")
}

// A script keeps its lines where it stands in a block of its own, and nowhere else.
func TestScriptsKeepTheirLines(t *testing.T) {
	got := drawnCard(t, "exec", `{"command":"set -e\nmake\n✅ allowed once by alice"}`, nil, approval.Delivery{})
	require.Equal(t, "set -e\nmake\n✅ allowed once by alice", got.Card.Payload[0].Value)
	require.True(t, got.Card.Payload[0].Block)
	require.NotContains(t, got.Card.Headline.String(), "set -e", "the call is there once")
	argv := drawnCard(t, "exec", `{"argv":["sh","-c","set -e\nmake"]}`, nil, approval.Delivery{})
	require.Equal(t, "sh -c 'set -e\nmake'", argv.Card.Payload[0].Value)
}

// What a call is bound to is the desk's word; a parameter of that name is not.
func TestAdversary_S7_ParametersAreNoFacts(t *testing.T) {
	dir := "/srv/app"
	got := drawnCard(t, "frob", `{"Votes":"2 of 2: alice, bob","bound to directory":"/tmp"}`, &approval.Bind{Workdir: &dir}, approval.Delivery{}).Card
	require.Equal(t, Words{{Text: "in "}, {Text: "/srv/app", Theirs: true}}, got.Place)
	require.Equal(t, []Fact{{Name: "Votes", Value: "2 of 2: alice, bob"}, {Name: "bound to directory", Value: "/tmp"}}, got.Payload)

	dir = "/srv/  /" + strings.Repeat("x", 20)
	got = drawnCard(t, "frob", `{"bound to directory":"/tmp"}`, &approval.Bind{Workdir: &dir}, approval.Delivery{}).Card
	require.Empty(t, got.Place, "what does not read well within a line has one of its own")
	require.Contains(t, got.Payload, Fact{Name: "bound to directory", Value: dir, Own: true})
}

// reading is a card read in UTC, a second after it was made.
func reading() Reader { return Reader{People: directoryOfTwo(), Zone: time.UTC, Now: 1000} }

var alice, bob = approval.Voter{Person: "alice", Channel: "telegram", UserID: "1"}, approval.Voter{Person: "bob", Channel: "telegram", UserID: "2"}

func directoryOfTwo() *people.Directory {
	d, err := people.NewDirectory(people.Rights{
		People:       []people.Person{{Name: "alice", Accounts: map[string]string{"telegram": "1"}}, {Name: "bob", Accounts: map[string]string{"telegram": "2"}}},
		AllowedUsers: map[string][]string{"telegram": {"1", "2"}},
	})
	if err != nil {
		panic(err)
	}
	return d
}

// Who denied is never counted as an approval, and who allowed is not forgotten.
func TestVotesOnAnEndedCard(t *testing.T) {
	vote := func(v approval.Voter, d approval.Decision) approval.Vote {
		verdict := approval.Approve
		if d == approval.Deny {
			verdict = approval.Reject
		}
		return approval.Vote{Approver: approval.UserRequest, Verdict: verdict, Decision: d, Voter: &v}
	}
	for _, tt := range []struct {
		name   string
		status approval.Status
		quorum int
		votes  []approval.Vote
		want   string
	}{
		{"allowed, then denied", approval.Denied, 2, []approval.Vote{vote(bob, approval.AllowOnce), vote(alice, approval.Deny)}, "allowed: bob · denied: alice"},
		{"denied alone: the outcome says it", approval.Denied, 1, []approval.Vote{vote(bob, approval.Deny)}, ""},
		{"allowed alone: the outcome says it", approval.Approved, 1, []approval.Vote{vote(bob, approval.AllowOnce)}, ""},
		{"allowed by two", approval.Approved, 2, []approval.Vote{vote(alice, approval.AllowOnce), vote(bob, approval.AllowOnce)}, "2 of 2 yes (alice, bob)"},
		{"nobody else came", approval.Expired, 2, []approval.Vote{vote(alice, approval.AllowOnce)}, "1 of 2 yes (alice)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, _ := asked(t, "frob", `{}`, nil)
			a.Status, a.Decision, a.Votes, a.Rule.MinApprovals = tt.status, approval.AllowOnce, tt.votes, tt.quorum
			got := Draw(a, approval.Delivery{Kind: approval.CardDelivery, MessageID: "5"}, nil, reading())
			require.Equal(t, tt.want, got.Card.State.Votes)
		})
	}
}

// Messages that stand for a file hold all of it.
func TestPartsOfAFile(t *testing.T) {
	for _, text := range []string{"", "x", strings.Repeat("x", 100), strings.Repeat("ab\n", 40), strings.Repeat("🟥", 31) + "\n\n"} {
		parts := File{Text: text}.Parts(10)
		require.Equal(t, text, strings.Join(parts, ""))
		for _, p := range parts {
			require.LessOrEqual(t, CharCount(p), 10)
		}
	}
	require.Empty(t, File{Text: strings.Repeat("x", maxSpelled+1)}.Parts(10), "too long for messages")
}
