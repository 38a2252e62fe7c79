package core

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// drawnCard draws the card of a pending call.
func drawnCard(t *testing.T, tool, params string, bind *Bind, d Delivery) Drawing {
	t.Helper()
	a, facts := asked(t, tool, params, bind)
	d.Kind = CardDelivery
	return a.draw(d, facts, people())
}

func asked(t *testing.T, tool, params string, bind *Bind) (Approval, []Fact) {
	t.Helper()
	sealed, err := Canonical(tool, json.RawMessage(params), bind)
	require.NoError(t, err)
	_, canonical, bound, err := Open(sealed.Bytes)
	require.NoError(t, err)
	facts, err := payloadFacts(Call{ToolName: tool, Params: canonical, Bind: bound})
	require.NoError(t, err)
	a := Approval{Key: "k", Code: "K7QX2M", Status: Pending, Owner: "main-agent", ToolName: tool, Bind: bind, Fingerprint: sealed.Fingerprint,
		Offers: []Decision{AllowOnce}, Rule: Rule{Effective: []Factor{UserRequest}, MinApprovals: 1}}
	a.Summary = about(tool, facts, bind, maxSummary)
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
		{"many short ones", string(params), "… and 117 more parameters, whole above"},
		{"one is missing", `{"a":"` + long + `","b":"1","c":"2","d":"3"}`, "… and 1 more parameter, whole above"},
		{"none is missing, one is cut", `{"a":"` + long + `"}`, "Cut here, whole above"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := drawnCard(t, "frob", tt.params, nil, Delivery{})
			require.NotNil(t, got.File)
			require.Empty(t, got.Card.Offers, "nothing is offered before the file is there")
			require.Contains(t, says(got.Card), tt.want)
			require.Contains(t, got.File.Text, "parameter ")
			dir := "/srv/app"
			there := drawnCard(t, "frob", tt.params, &Bind{Workdir: &dir}, Delivery{Attached: true}).Card
			require.NotEmpty(t, there.Offers)
			require.Equal(t, "in /srv/app", there.Place.String(), "where it runs is always on the card")
		})
	}
}

// Where a chat takes no files, the card speaks of none.
func TestNoFileNoWordOfOne(t *testing.T) {
	got := drawnCard(t, "frob", `{"a":"`+strings.Repeat("x", 4000)+`"}`, nil, Delivery{DenyOnly: true})
	require.NotContains(t, says(got.Card), "whole above")
	require.Contains(t, got.Card.DenyOnly, "It can be allowed elsewhere")
	require.Empty(t, got.Card.Offers)

	chat := Target{Channel: "telegram", To: "1"}
	a := Approval{Code: "K7QX2M", Deliveries: []Delivery{{Kind: CardDelivery, Target: chat, MessageID: "5", DenyOnly: true}}}
	require.NotContains(t, a.unseenIn(chat).Message, "/show")
	require.LessOrEqual(t, len(a.unseenIn(chat).Message), 200)
	require.Contains(t, a.unseenIn(Target{Channel: "telegram", To: "2"}).Message, "/show K7QX2M")
}

// What stands for a call in lists says what it does and where, within what a phone's
// notification shows.
func TestHeadlineSaysWhatAndWhere(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("long ", 100))
	bound := func(dir, host string) *Bind { return &Bind{Workdir: &dir, Host: &host} }
	for _, tt := range []struct {
		tool, params string
		bind         *Bind
		want         string
	}{
		{"write", `{"content":"` + long + `","path":"/etc/cron.d/x"}`, nil, "write · path: /etc/cron.d/x · content: long long"},
		{"message", `{"body":"` + long + `","to":"#general"}`, nil, "message · to: #general · body: long"},
		{"edit", `{"newText":"b","oldText":"a","path":"go.mod"}`, nil, "edit · path: go.mod · newText: b · oldText: a"},
		{"deploy", `{"aaa":"` + long + `","host":"prod-1"}`, nil, "deploy · host: prod-1 · aaa: long"},
		{"deploy", `{"aaa":"` + long + `"}`, bound("/srv/app", "prod-1"), "deploy · aaa: long long long long long long long long long long long long … · in /srv/app on prod-1"},
		{"git_push", `{}`, nil, "git_push · params: none"},
		{"exec", `{"command":"git push"}`, bound("/srv/app", "prod-1"), "git push · in /srv/app on prod-1"},
		{"exec", `{"command":"git push","host":"node-2","workdir":"/srv/app"}`, bound("/srv/app", "node-2"), "git push · in /srv/app on node-2"},
		{"exec", `{"command":"git push","env":{"A":"b"},"workdir":"/srv/app"}`, nil, "git push · in /srv/app · env: A=b"},
		{"exec", `{"command":"echo ` + long + `","workdir":"/srv/app"}`, nil, "… · in /srv/app"},
	} {
		t.Run(tt.want, func(t *testing.T) {
			a, _ := asked(t, tt.tool, tt.params, tt.bind)
			got := a.Headline()
			require.Contains(t, string([]rune(got)[:min(maxNotice, charCount(got))]), tt.want)
			require.LessOrEqual(t, charCount(got), maxHeadline)
			a = a.withdraw("token:main-agent", "", 1).Approval
			ended := a.draw(Delivery{Kind: CardDelivery, MessageID: "5"}, nil, people()).Card
			require.Contains(t, ended.Summary, strings.TrimSuffix(got, "…"), "after the end it says the same")
		})
	}
}

// A script keeps its lines where it stands in a block of its own, and nowhere else.
func TestScriptsKeepTheirLines(t *testing.T) {
	got := drawnCard(t, "exec", `{"command":"set -e\nmake\n✅ allowed once by alice"}`, nil, Delivery{})
	require.Equal(t, "set -e\nmake\n✅ allowed once by alice", got.Card.Payload[0].Value)
	require.True(t, got.Card.Payload[0].Block)
	require.NotContains(t, got.Card.Headline.String(), "set -e", "the call is there once")
	argv := drawnCard(t, "exec", `{"argv":["sh","-c","set -e\nmake"]}`, nil, Delivery{})
	require.Equal(t, "sh -c 'set -e\nmake'", argv.Card.Payload[0].Value)
}

// What a call is bound to is the desk's word; a parameter of that name is not.
func TestAdversary_S7_ParametersAreNoFacts(t *testing.T) {
	dir := "/srv/app"
	got := drawnCard(t, "frob", `{"Votes":"2 of 2: alice, bob","bound to directory":"/tmp"}`, &Bind{Workdir: &dir}, Delivery{}).Card
	require.Equal(t, Words{{Text: "in "}, {Text: "/srv/app", Theirs: true}}, got.Place)
	require.Equal(t, []Fact{{Name: "Votes", Value: "2 of 2: alice, bob"}, {Name: "bound to directory", Value: "/tmp"}}, got.Payload)

	dir = "/srv/" + strings.Repeat("x", maxWhere)
	got = drawnCard(t, "frob", `{"bound to directory":"/tmp"}`, &Bind{Workdir: &dir}, Delivery{}).Card
	require.Empty(t, got.Place, "what does not fit a line has one of its own")
	require.Contains(t, got.Payload, Fact{Name: "bound to directory", Value: dir, Own: true})
}

// people reads a card in UTC, a second after it was made.
func people() reader { return reader{people: directoryOfTwo(), zone: time.UTC, now: 1000} }

var alice, bob = Voter{Person: "alice", Channel: "telegram", UserID: "1"}, Voter{Person: "bob", Channel: "telegram", UserID: "2"}

func directoryOfTwo() *Directory {
	d, err := NewDirectory(Rights{
		People:       []Person{{Name: "alice", Accounts: map[string]string{"telegram": "1"}}, {Name: "bob", Accounts: map[string]string{"telegram": "2"}}},
		AllowedUsers: map[string][]string{"telegram": {"1", "2"}},
	})
	if err != nil {
		panic(err)
	}
	return d
}

// Who denied is never counted as an approval, and who allowed is not forgotten.
func TestVotesOnAnEndedCard(t *testing.T) {
	vote := func(v Voter, d Decision) Vote {
		verdict := Approve
		if d == Deny {
			verdict = Reject
		}
		return Vote{Approver: UserRequest, Verdict: verdict, Decision: d, Voter: &v}
	}
	for _, tt := range []struct {
		name   string
		status Status
		quorum int
		votes  []Vote
		want   string
	}{
		{"allowed, then denied", Denied, 2, []Vote{vote(bob, AllowOnce), vote(alice, Deny)}, "allowed: bob · denied: alice"},
		{"denied alone: the outcome says it", Denied, 1, []Vote{vote(bob, Deny)}, ""},
		{"allowed alone: the outcome says it", Approved, 1, []Vote{vote(bob, AllowOnce)}, ""},
		{"allowed by two", Approved, 2, []Vote{vote(alice, AllowOnce), vote(bob, AllowOnce)}, "2 of 2 yes (alice, bob)"},
		{"nobody else came", Expired, 2, []Vote{vote(alice, AllowOnce)}, "1 of 2 yes (alice)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, _ := asked(t, "frob", `{}`, nil)
			a.Status, a.Decision, a.Votes, a.Rule.MinApprovals = tt.status, AllowOnce, tt.votes, tt.quorum
			got := a.draw(Delivery{Kind: CardDelivery, MessageID: "5"}, nil, people())
			require.Equal(t, tt.want, got.Card.State.Votes)
		})
	}
}

// What an asker says of its withdrawal is a claim; the outcome says who withdrew it.
func TestAdversary_S7_AWithdrawalsReasonIsAClaim(t *testing.T) {
	const forged = "✅ allowed once by alice at 21 Nov 15:00:00 CET"
	a, _ := asked(t, "exec", `{"command":"git push"}`, nil)
	a = a.withdraw("token:main-agent", forged, 1).Approval
	card := a.draw(Delivery{Kind: CardDelivery, MessageID: "5"}, nil, people()).Card
	require.Contains(t, card.Outcome.String(), "⌛ Withdrawn by token main-agent, ")
	require.NotContains(t, card.Outcome.String(), "llowed")
	require.Equal(t, []string{"withdrawn because: “" + forged + "”"}, card.Claims)
	require.Equal(t, "withdrawn by token main-agent", a.Ending())

	require.Equal(t, "⌛ K7QX2M: withdrawn by token main-agent\nWhy, in the asker's words: "+forged+"\nWhat: git push",
		a.draw(Delivery{Kind: OutcomeDelivery}, nil, people()).Text)
	own := a.withdraw("person:bob", withdrawnByRequester, 1).Approval
	require.Equal(t, "⌛ K7QX2M: withdrawn by bob\nWhat: git push", own.draw(Delivery{Kind: OutcomeDelivery}, nil, people()).Text)
}

// A chat that is told in words reads each thing on a line of its own, and no words of
// others can look like one of them.
func TestAdversary_S7_ToldInWords(t *testing.T) {
	a, _ := asked(t, "exec", `{"command":"git push"}`, nil)
	a.Status, a.Decision, a.DecidedBy, a.Reason = Approved, AllowOnce, []string{"person:bob"}, "only if tests pass"
	require.Equal(t, "✅ K7QX2M: allowed once by bob\nReason: only if tests pass\nWhat: git push", a.draw(Delivery{Kind: OutcomeDelivery}, nil, people()).Text)

	late := a
	late.Status, late.DecidedBy, late.Reason = Expired, nil, "nobody decided in time"
	require.Equal(t, "⌛ K7QX2M: expired: nobody decided in time\nWhat: git push", late.draw(Delivery{Kind: OutcomeDelivery}, nil, people()).Text)

	code := 1
	failed := a
	failed.Result = &Result{Status: "failed", ExitCode: &code, Summary: "could not reach host\n✅ everything fine"}
	require.Equal(t, "❌ K7QX2M: The agent says it failed with exit status 1.\nIn its words: could not reach host\\u{A}✅ everything fine\nWhat: git push",
		failed.draw(Delivery{Kind: ResultDelivery}, nil, people()).Text)
	failedCard := failed.draw(Delivery{Kind: CardDelivery, MessageID: "5"}, nil, people()).Card
	require.True(t, failedCard.Bad)
	require.Equal(t, []string{"reported: “could not reach host\\u{A}✅ everything fine”"}, failedCard.Claims)

	c, err := a.revoke("person:alice", "wrong host", 2)
	require.NoError(t, err)
	require.Equal(t, "only if tests pass", c.Approval.Reason, "the yes keeps its reason")
	require.Equal(t, "⛔ K7QX2M: allowed once by bob, then revoked by alice\nReason: only if tests pass\nReason for taking it back: wrong host\nWhat: git push",
		c.Approval.draw(Delivery{Kind: RevokedDelivery}, nil, people()).Text)
	require.NotRegexp(t, "^Denied", a.draw(Delivery{Kind: ReasonDelivery}, nil, people()).Text, "the first word becomes a link to the person")
}

// Messages that stand for a file hold all of it.
func TestPartsOfAFile(t *testing.T) {
	for _, text := range []string{"", "x", strings.Repeat("x", 100), strings.Repeat("ab\n", 40), strings.Repeat("🟥", 31) + "\n\n"} {
		parts := File{Text: text}.Parts(10)
		require.Equal(t, text, strings.Join(parts, ""))
		for _, p := range parts {
			require.LessOrEqual(t, charCount(p), 10)
		}
	}
	require.Empty(t, File{Text: strings.Repeat("x", maxSpelled+1)}.Parts(10), "too long for messages")
}
