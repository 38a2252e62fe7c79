package main

import (
	"encoding/json"
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/approval"
	"approvalbot/internal/config"
)

const letDeploy = "    rules:\n      - {name: let-deploy, match: {tool: deploy}, outcome: allow}\n"

const denyOther = "    rules:\n      - {name: other, match: {tool: other}, outcome: deny}\n"

// rules replaces further keys of approvals.tools in the file that all instances
// read.
func (r *rig) rules(text string) {
	r.t.Helper()
	r.tools = text
	r.write(r.yaml())
}

// keepsFile has an instance go on reading the file as it is now.
func (r *rig) keepsFile() {
	cfg, warnings, err := r.load()
	require.NoError(r.t, err)
	r.reads.Store(func() (config.Config, []config.Warning, error) { return cfg, warnings, nil })
}

// becomes waits until an instance has the policy that counts, or has it not.
func (r *rig) becomes(agreed bool) {
	r.t.Helper()
	require.Eventually(r.t, func() bool { return (r.desk.Store.Agreed(r.desk.Gate.PolicyHash()) == nil) == agreed }, patient, 5*time.Millisecond)
}

// An instance whose policy does not count judges nothing, hands nothing out and
// lets nobody say yes; what takes away, reports or reads goes on.
func TestCluster_AnOddInstanceOnlyTakesAway(t *testing.T) {
	t.Parallel()
	a := newRig(t, onPostgres(t))
	a.becomes(true)
	open, denied, given, taken := a.ask(`{"n":1}`), a.ask(`{"n":2}`), a.ask(`{"n":3}`), a.ask(`{"n":4}`)
	for _, x := range []api.Approval{given, taken} {
		_, err := a.operator().Resolve(a.ctx(), x.Code, api.ResolveRequest{Decision: api.AllowOnce})
		require.NoError(t, err)
	}
	a.keepsFile()
	a.rules(letDeploy)
	b := a.another()
	b.keepsFile()
	b.becomes(false)

	ask := api.CreateRequest{ToolName: "deploy", Params: []byte(`{}`), AgentID: "main"}
	_, err := b.agent().Create(b.ctx(), ask, api.CreateOptions{})
	requireProblem(t, err, "unavailable")
	require.ErrorContains(t, err, "Give all instances the same configuration file, then reload one")
	_, err = b.agent().Evaluate(b.ctx(), ask)
	requireProblem(t, err, "unavailable")
	_, err = b.operator().Resolve(b.ctx(), open.Code, api.ResolveRequest{Decision: api.AllowOnce})
	requireProblem(t, err, "unavailable")
	_, err = b.agent().Claim(b.ctx(), given.ID, api.ClaimRequest{})
	requireProblem(t, err, "unavailable")
	_, err = b.operator().Retry(b.ctx(), given.Code)
	requireProblem(t, err, "unavailable")
	_, err = b.operator().AddGrant(b.ctx(), api.GrantRequest{Owner: "agent", ToolName: "exec", Pattern: []string{"git", "push"}, MaxRiskClass: "R2"})
	requireProblem(t, err, "unavailable")

	got, err := b.operator().Resolve(b.ctx(), denied.Code, api.ResolveRequest{Decision: api.Deny})
	require.NoError(t, err)
	require.Equal(t, api.Denied, got.Status)
	_, err = b.operator().Revoke(b.ctx(), taken.Code, api.RevokeRequest{})
	require.NoError(t, err)
	got, err = b.agent().Withdraw(b.ctx(), open.ID, api.WithdrawRequest{})
	require.NoError(t, err)
	require.Equal(t, api.Withdrawn, got.Status)
	_, err = b.operator().List(b.ctx(), api.Filter{})
	require.NoError(t, err)

	_, err = a.agent().Claim(a.ctx(), given.ID, api.ClaimRequest{})
	require.NoError(t, err)
	_, err = b.agent().Result(b.ctx(), given.ID, api.ResultRequest{Status: "succeeded"})
	require.NoError(t, err)
}

// An instance whose policy does not count any more lets another take updates in
// and look after the time: a yes in a chat counts, and who judged it knows why.
func TestCluster_AnOddInstanceGivesItsLeasesUp(t *testing.T) {
	t.Parallel()
	a := newRig(t, onPostgres(t))
	require.Eventually(t, func() bool { return a.desk.Receives("telegram") }, patient, 5*time.Millisecond)
	b := a.another()
	x := a.ask(`{}`)
	card := a.card(x)
	a.keepsFile()
	a.rules(denyOther)
	_, err := b.operator().Reload(b.ctx())
	require.NoError(t, err)
	a.becomes(false)

	a.alice.Tap(a.group, card.ID, "Allow once")
	require.EqualValues(t, "approved", b.final(x).Status)
	got, err := b.operator().Get(b.ctx(), x.Code, 0)
	require.NoError(t, err)
	require.Equal(t, b.desk.Gate.PolicyHash(), got.PolicyHash)
	require.False(t, a.desk.Receives("telegram"), "it does not take updates in any more")
	y := b.exec("git push origin main", func(r *api.CreateRequest) { r.TimeoutMs = 1000 })
	require.EqualValues(t, "expired", b.final(y).Status)
}

// A configuration that was loaded at one instance is in force at all that find it
// in their files, what is no policy too, and on record for each; one that does not
// find it says so, and goes on looking.
func TestCluster_InstancesFollowAReload(t *testing.T) {
	t.Parallel()
	a := newRig(t, onPostgres(t))
	b, c := a.another(), a.another()
	for _, r := range []*rig{a, b, c} {
		r.becomes(true)
	}
	c.keepsFile()
	a.rules(letDeploy)
	_, err := a.operator().Reload(a.ctx())
	require.NoError(t, err)
	require.Eventually(t, func() bool { return b.desk.Gate.PolicyHash() == a.desk.Gate.PolicyHash() }, patient, 5*time.Millisecond)
	x, err := b.agent().Create(b.ctx(), api.CreateRequest{ToolName: "deploy", Params: []byte(`{}`)}, api.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, api.Approved, x.Status)
	require.Eventually(t, func() bool {
		got, err := c.agent().Ready(c.ctx())
		return err == nil && !got.Ready && strings.Contains(got.Policy, "The file was read again and does not say it either")
	}, patient, 5*time.Millisecond)

	c.reads.Store(b.load) // its file arrives
	c.becomes(true)
	got, err := c.agent().Ready(c.ctx())
	require.NoError(t, err)
	require.True(t, got.Ready)
	require.Equal(t, "ok", got.Policy)

	a.tokens = "    - {name: third, token: third-agent-secret-0123456789, scopes: [approvals.request]}\n"
	a.write(a.yaml())
	_, err = a.operator().Reload(a.ctx())
	require.NoError(t, err)
	for _, r := range []*rig{b, c} {
		require.Eventually(t, func() bool {
			_, err := r.client("third-agent-secret-0123456789").List(r.ctx(), api.Filter{})
			return err == nil
		}, patient, 50*time.Millisecond)
	}
	require.Eventually(t, func() bool {
		by := map[string]int{}
		for e, err := range a.desk.Store.Entries(a.ctx(), 1, math.MaxInt64) {
			var said struct{ By string }
			if err == nil && e.Type == approval.EventPolicy && json.Unmarshal(e.Data, &said) == nil {
				by[said.By]++
			}
		}
		return maps.Equal(by, map[string]int{"person:olga": 2, "instance": 4})
	}, patient, 50*time.Millisecond)
}

// What another policy has allowed without anybody is handed out only if today's
// would allow it, too.
func TestCluster_WhatAnotherPolicyAllowedIsJudgedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, onPostgres(t), func(r *rig) { r.tools = letDeploy })
	r.becomes(true)
	var allowed []api.Approval
	for _, params := range []string{`{"n":1}`, `{"n":2}`} {
		x, err := r.agent().Create(r.ctx(), api.CreateRequest{ToolName: "deploy", Params: []byte(params), AgentID: "main"}, api.CreateOptions{})
		require.NoError(t, err)
		require.Equal(t, api.Approved, x.Status)
		allowed = append(allowed, x)
	}
	r.rules(letDeploy + "      - {name: other, match: {tool: other}, outcome: deny}\n")
	_, err := r.operator().Reload(r.ctx())
	require.NoError(t, err)
	_, err = r.agent().Claim(r.ctx(), allowed[0].ID, api.ClaimRequest{})
	require.NoError(t, err)
	r.rules("")
	_, err = r.operator().Reload(r.ctx())
	require.NoError(t, err)
	_, err = r.agent().Claim(r.ctx(), allowed[1].ID, api.ClaimRequest{})
	requireProblem(t, err, "not_claimable", "policy")
	require.ErrorContains(t, err, "the rules now require a person's decision")
	_, err = r.operator().Retry(r.ctx(), allowed[1].Code)
	requireProblem(t, err, "not_claimable", "pending") // its time is not over, so nothing is opened again
}
