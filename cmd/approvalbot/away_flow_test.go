package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/platform"
)

// opsDeploy has a deploy need somebody of ops, which alice is.
func (r *rig) opsDeploy() {
	r.t.Helper()
	r.people = fmt.Sprintf("  - {name: alice, telegram: %d%s, roles: [ops], timezone: Asia/Tokyo}\n  - {name: bob, telegram: %d%s}\n",
		r.alice.ID, r.discordOf("alice"), r.bob.ID, r.discordOf("bob"))
	r.tools = "    rules: [{name: deploys, match: {tool: deploy}, outcome: ask, role: ops}]\n"
	r.write(r.yaml())
	_, err := r.desk.Reload(r.ctx(), "token:test")
	require.NoError(r.t, err)
}

func (r *rig) deploy(n int) api.Approval {
	return r.ask(fmt.Sprintf(`{"n":%d}`, n), func(c *api.CreateRequest) { c.ToolName = "deploy" })
}

// Somebody goes, another stands in, and they come back: in either chat.
func TestFlow_AwayAndBack(t *testing.T) {
	t.Parallel()
	for _, name := range platform.Names() {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, withDiscord)
			r.opsDeploy()
			here := r.chatOn(name)
			here.card(r.deploy(0)) // who spoke last in a group is meant by a command
			require.Contains(t, here.say("mallory", "/away 2h to bob"), "You are not authorized")
			require.Contains(t, here.say("alice", "/away soon"), "Say how long or until when: 2h")
			require.Contains(t, here.say("alice", "/away 2h to carol"), "To must be an approver already")
			require.Contains(t, here.say("alice", "/away 2h to alice"), "To must be another person")
			said := here.say("alice", "/away 2h to bob")
			require.Regexp(t, `alice is away until \w+ \d\d:\d\d JST; the delegate is bob\.`, said)
			require.Contains(t, here.say("bob", "/away 2h to alice"), "bob, alice would be each other's delegates")

			a := r.deploy(1)
			card := here.card(a)
			require.Contains(t, here.tap("bob", card.id, "Allow once"), "Allowed. It may run once")
			done := r.final(a)
			require.Equal(t, []string{"person:bob"}, done.DecidedBy)
			require.Equal(t, []string{"alice"}, done.Votes[0].For)

			require.Contains(t, here.say("alice", "/back"), "Welcome back")
			require.Contains(t, here.say("alice", "/back"), "You were not away.")
			b := r.deploy(2)
			card = here.card(b)
			require.Contains(t, here.tap("bob", card.id, "Allow once"), "1 of 1 yes (bob); needs 1 with role ops")
			require.EqualValues(t, "pending", r.get(b).Status)
			require.Contains(t, here.tap("alice", card.id, "Allow once"), "Allowed. It may run once")

			audit, err := r.operator().Audit(r.ctx(), api.AuditOptions{Limit: 200})
			require.NoError(t, err)
			var types []string
			for _, e := range audit.Items {
				if strings.HasPrefix(e.Type, "person.") {
					types = append(types, e.Type)
				}
			}
			require.Equal(t, []string{"person.back", "person.away"}, types)
			report, err := r.operator().VerifyAudit(r.ctx())
			require.NoError(t, err)
			require.True(t, report.OK, report.Problem)
		})
	}
}

// The same from a terminal; what nobody present can allow is said, on the request too.
func TestFlow_AwayByCommandLine(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.opsDeploy()
	waiting := r.deploy(1)
	said := r.cli(aliceSecret, nil, "away", "2h")
	require.Zero(t, said.code, said.errors)
	require.Regexp(t, `^alice is away until .*\. Of the waiting requests, no available approver can allow `+waiting.Code+`\.\n$`, said.out)
	require.Regexp(t, `^alice until .*; delegate: none\n$`, r.cli(operatorSecret, nil, "away").out)
	asked := r.deploy(2)
	require.Contains(t, asked.ReasonCodes, "approvers-away")
	require.Contains(t, r.card(asked).Text, "No available approver can allow this: away are alice until ")

	require.NotZero(t, r.cli(aliceSecret, nil, "away", "2h", "--person", "bob").code)
	require.Zero(t, r.cli(operatorSecret, nil, "away", "until", "tomorrow", "to", "bob", "--person", "alice").code)
	p, err := r.operator().Policy(r.ctx())
	require.NoError(t, err)
	require.Len(t, p.Away, 1)
	require.Equal(t, "bob", p.Away[0].To)
	require.Equal(t, "person:olga", p.Away[0].By)
	require.Equal(t, "alice is back.\n", r.cli(aliceSecret, nil, "back").out)
	require.Equal(t, "alice was not away.\n", r.cli(aliceSecret, nil, "back").out)
	require.Equal(t, "No person is away.\n", r.cli(aliceSecret, nil, "away").out)
}

// What is said at one instance holds at every other one by the time that it is answered.
func TestAdversary_D3_BackAtOneInstanceVoteAtAnother(t *testing.T) {
	t.Parallel()
	a := newRig(t, onPostgres(t), func(r *rig) {
		r.tokens = "    - {name: bob-laptop, token: " + bobSecret + ", scopes: [operator.approvals], person: bob}\n"
	})
	a.opsDeploy()
	b := a.another()
	until := time.Now().Add(time.Hour).UnixMilli()
	for i := range 5 {
		asked := a.deploy(i)
		_, err := a.operator().SetAway(a.ctx(), "alice", api.AwayRequest{UntilMs: until, To: "bob"})
		require.NoError(t, err)
		lent := a.deploy(100 + i)
		voted, err := b.client(bobSecret).Resolve(b.ctx(), lent.Code, api.ResolveRequest{Decision: api.AllowOnce})
		require.NoError(t, err)
		require.Equal(t, api.Approved, voted.Status)
		_, err = a.operator().SetBack(a.ctx(), "alice")
		require.NoError(t, err)
		voted, err = b.client(bobSecret).Resolve(b.ctx(), asked.Code, api.ResolveRequest{Decision: api.AllowOnce})
		require.NoError(t, err)
		require.Equal(t, api.Pending, voted.Status)
	}
}

const bobSecret = "bob-laptop-secret-0123456789"
