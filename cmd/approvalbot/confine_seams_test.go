package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
)

// confining has an agent whose word counts that it can run commands confined.
func confining(tools string) func(*rig) {
	return func(r *rig) {
		r.agentHas = ", agentId: main, mayConfine: true"
		r.top = "agents: {list: [{id: main, workspace: [/srv/app]}]}\n"
		r.tools = tools
	}
}

const unsureIsConfined = "    confine: {mode: unsure}\n"

// tries asks for a command as a program does that can run it confined.
func (r *rig) tries(command string) api.Approval {
	r.t.Helper()
	a, err := r.agent().Create(r.ctx(), api.CreateRequest{ToolName: "exec", Context: &api.Context{Confine: []string{"v1"}},
		Params: fmt.Appendf(nil, `{"command":%q,"workdir":"/srv/app"}`, command)}, api.CreateOptions{})
	require.NoError(r.t, err)
	return a
}

func (r *rig) claimsConfined(a api.Approval) (api.Claim, error) {
	return r.agent().Claim(r.ctx(), a.ID, api.ClaimRequest{ClaimID: a.ID + " runs", Confine: []string{"v1"}})
}

// failsConfined has a command run confined and fail, and asks for it again.
func (r *rig) failsConfined(command string) (again api.Approval) {
	r.t.Helper()
	a := r.tries(command)
	claim, err := r.claimsConfined(a)
	require.NoError(r.t, err)
	require.NotNil(r.t, claim.Confined)
	_, err = r.agent().Result(r.ctx(), a.ID, api.ResultRequest{ClaimID: a.ID + " runs", Status: "failed", ExitCode: new(7),
		Summary: "no such host", Confined: &api.RanConfined{}})
	require.NoError(r.t, err)
	return r.tries(command)
}

// Where one instance says confined, no other hands it out as it is, and that it failed counts at all.
func TestFlow_ConfinedByTwoInstances(t *testing.T) {
	t.Parallel()
	a := newRig(t, onPostgres(t), confining(unsureIsConfined))
	b := a.another()
	x := a.tries("./frob")
	require.NotNil(t, x.Confined)
	_, err := b.agent().Claim(b.ctx(), x.ID, api.ClaimRequest{ClaimID: "as it is"})
	requireProblem(t, err, "not_claimable")
	claim, err := b.claimsConfined(x)
	require.NoError(t, err)
	require.NotNil(t, claim.Confined)
	_, err = a.agent().Claim(a.ctx(), x.ID, api.ClaimRequest{ClaimID: "another", Confine: []string{"v1"}})
	require.Error(t, err)
	again := a.failsConfined("./other")
	require.EqualValues(t, "pending", b.get(again).Status)
	require.NotNil(t, b.get(again).TriedConfined)
	_, err = b.operator().Resolve(b.ctx(), again.Code, api.ResolveRequest{Decision: api.AllowOnce})
	require.NoError(t, err)
	claim, err = a.claimsConfined(again)
	require.NoError(t, err)
	require.Nil(t, claim.Confined)
}

// What was allowed confined is not handed out by rules that confine nothing any more, nor is it allowed by those.
func TestFlow_ConfinedAndAReload(t *testing.T) {
	t.Parallel()
	r := newRig(t, confining(unsureIsConfined))
	x := r.tries("./frob")
	require.NotNil(t, x.Confined)
	r.rules("    confine: {mode: \"off\"}\n")
	r.reloaded()
	_, err := r.claimsConfined(x)
	requireProblem(t, err, "not_claimable")
	asked := r.tries("./frob")
	require.EqualValues(t, "pending", asked.Status)
	require.Nil(t, asked.Confined)
	r.rules(unsureIsConfined)
	r.reloaded()
	require.EqualValues(t, "pending", r.get(asked).Status, "people are asked; they decide")
}

// The card that a digest opens says that the command was tried, and no digest allows anything.
func TestFlow_TriedConfinedInADigest(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, r *rig, c chat) {
		var all []api.Approval
		for i := range 4 {
			all = append(all, r.failsConfined(fmt.Sprintf("./frob%d", i)))
		}
		folded := all[2:]
		digest := listed(c, folded...)
		require.Equal(t, []string{"Open 1", "Open 2", "Deny all 2"}, digest.labels)
		require.Equal(t, "Here is "+folded[0].Code+".", c.tap("alice", digest.id, "Open 1"))
		r.until(folded[0], "its card is posted", func(a api.Approval) bool { return a.Deliveries[0].State == "sent" })
		posted := c.fromBot()
		card := posted[slices.IndexFunc(posted, func(m shown) bool {
			return strings.Contains(m.text, folded[0].Code) && slices.Contains(m.labels, "Allow once")
		})]
		require.Contains(t, card.text, "Tried confined: exit 7")
		c.tap("alice", card.id, "Allow once")
		require.EqualValues(t, "approved", r.final(folded[0]).Status)
		claim, err := r.claimsConfined(folded[0])
		require.NoError(t, err)
		require.Nil(t, claim.Confined)
		require.EqualValues(t, "pending", r.get(folded[1]).Status)
	}, confining(unsureIsConfined), foldsAbove(2))
}

// A rule that wants a yes signed wants it also of what then runs confined.
func TestFlow_ConfinedAfterASignedYes(t *testing.T) {
	t.Parallel()
	r := newRig(t, confining("    rules: [{name: signed, match: {tool: exec}, outcome: ask, stepUp: true, confine: true}]\n"), func(r *rig) {
		r.tokens = "  publicUrl: \"https://desk.example.org\"\n"
	})
	r.enrolled("alice")
	a := r.tries("./frob")
	require.EqualValues(t, "pending", a.Status)
	require.NotNil(t, a.Confined)
	card := r.card(a)
	require.Contains(t, r.tap(r.alice, r.group, card.ID, "Allow once").Text, "A yes to this counts only when your passkey signs it")
	_, err := r.client(aliceSecret).Resolve(r.ctx(), a.Code, api.ResolveRequest{Decision: api.AllowOnce})
	requireProblem(t, err, "step_up_required")
	_, err = r.claimsConfined(a)
	requireProblem(t, err, "not_claimable")
}

// A delegate's yes to what a rule has run confined is a yes to the confined call alone, as any other person's is.
func TestFlow_ConfinedAfterADelegatesYes(t *testing.T) {
	t.Parallel()
	r := newRig(t, confining(""))
	r.people = fmt.Sprintf("  - {name: alice, telegram: %d, roles: [ops]}\n  - {name: bob, telegram: %d}\n", r.alice.ID, r.bob.ID)
	r.tools = "    rules: [{name: by-ops, match: {tool: exec}, outcome: ask, role: ops, confine: true}]\n"
	r.write(r.yaml())
	r.reloaded()
	_, err := r.operator().SetAway(r.ctx(), "alice", api.AwayRequest{UntilMs: time.Now().Add(time.Hour).UnixMilli(), To: "bob"})
	require.NoError(t, err)
	a := r.tries("./frob")
	r.tap(r.bob, r.group, r.card(a).ID, "Allow once")
	require.Equal(t, []string{"person:bob"}, r.final(a).DecidedBy)
	_, err = r.agent().Claim(r.ctx(), a.ID, api.ClaimRequest{ClaimID: "as it is"})
	requireProblem(t, err, "not_claimable")
	claim, err := r.claimsConfined(a)
	require.NoError(t, err)
	require.NotNil(t, claim.Confined)
}
