package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/fakechat"
	"approvalbot/internal/platform"
)

// privateChat is alice's private chat on a platform, as an origin.
func (r *rig) privateChat(platform string) *api.Target {
	if platform == "discord" {
		return &api.Target{Channel: platform, To: "dm:" + r.accounts["alice"].ID}
	}
	return &api.Target{Channel: platform, To: fmt.Sprint(r.alice.ID)}
}

// fromAlicesChats lets the agent's sessions live in alice's private chats.
func fromAlicesChats(r *rig) {
	alice := r.privateChat("telegram")
	r.stop()
	r.agentHas += fmt.Sprintf(`, sessionChats: ["telegram:%s", "discord:dm:%s"]`, alice.To, r.accounts["alice"].ID)
	r.allowed, r.inOps = []*fakechat.TelegramUser{r.alice, r.bob, r.carol}, []string{"alice", "bob", "carol"}
	r.after = "  agentshield: {enabled: true}\n"
	r.start()
	r.discordReady()
}

const ownRequest = "You cannot approve your own request."

// cannotDecide checks that a person's yes is refused from everywhere.
func (r *rig) cannotDecide(who string, a api.Approval) {
	r.t.Helper()
	for _, name := range platform.Names() {
		c := r.chatOn(name)
		require.Equal(r.t, ownRequest, c.tap(who, c.card(a).id, "Allow once"), name)
		require.Contains(r.t, c.say(who, "/approve "+a.Code), "cannot approve your own", name)
	}
	require.EqualValues(r.t, "pending", r.get(a).Status)
	require.Empty(r.t, r.get(a).Votes)
}

// I5: whose private chat a call comes from stands behind it, also where somebody else
// is stated, who stands behind it too.
func TestAdversary_I5_APrivateChatBarsItsPerson(t *testing.T) {
	t.Parallel()
	for i, name := range platform.Names() {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, withDiscord)
			fromAlicesChats(r)
			other := r.chatOn(platform.Names()[1-i])
			from := func(c *api.CreateRequest) { c.Origin = r.privateChat(name) }
			a := r.ask(`{"n":1}`, from)
			r.cannotDecide("alice", a)
			_, err := r.client(aliceSecret).Resolve(r.ctx(), a.Code, api.ResolveRequest{Decision: api.AllowOnce})
			requireProblem(t, err, "self_approval")
			require.Contains(t, other.tap("bob", other.card(a).id, "Allow once"), "Allowed. It may run once")

			b := r.ask(`{"n":2}`, from, func(c *api.CreateRequest) {
				c.Requester = &api.Requester{Channel: platform.Names()[1-i], UserID: other.account("bob")}
			})
			r.cannotDecide("alice", b)
			r.cannotDecide("bob", b)
			require.Contains(t, other.tap("carol", other.card(b).id, "Allow once"), "Allowed. It may run once")
		})
	}
}

// I5: existing gateway clients say who asked by their turn's source, or as any other.
func TestAdversary_I5_GatewayClientsCannotHaveTheirOwnRequestsApproved(t *testing.T) {
	t.Parallel()
	r := newRig(t, withDiscord)
	fromAlicesChats(r)
	agent := r.gateway(agentSecret)
	n := 0
	ask := func(method, more string) api.Approval {
		n++
		id := fmt.Sprint("job-", n)
		agent.send(id, method, fmt.Sprintf(`{"id":%q,%s}`, id, more))
		require.True(t, agent.answer(id).OK, more)
		a, err := r.agent().Get(r.ctx(), id, 0)
		require.NoError(t, err)
		return a
	}
	push := func(more string) api.Approval {
		return ask("exec.approval.request", fmt.Sprintf(`"command":"git push origin b%d","twoPhase":true,%s`, n, more))
	}
	alice := r.accounts["alice"].ID
	for _, a := range []api.Approval{
		push(fmt.Sprintf(`"turnSourceChannel":"telegram","turnSourceTo":"telegram:%d"`, r.alice.ID)),
		push(fmt.Sprintf(`"turnSourceChannel":"discord","turnSourceTo":"user:%s"`, alice)),
		push(`"requester":{"person":"alice"}`),
		push(fmt.Sprintf(`"requester":{"channel":"discord","userId":%q}`, alice)),
	} {
		r.cannotDecide("alice", a)
	}
	a := ask("agentshield.approval.request", `"toolName":"pay","params":{"eur":5},"requester":{"person":"alice"}`)
	_, err := r.client(aliceSecret).Resolve(r.ctx(), a.Code, api.ResolveRequest{Decision: api.AllowOnce})
	requireProblem(t, err, "self_approval")
	require.Equal(t, &api.Requester{Person: "alice"}, r.get(a).Requester)
}

// A token that must say who asked is refused without, through every door.
func TestAdversary_I5_RequireRequester(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) {
		r.agentHas = ", requireRequester: true"
		r.after = "  agentshield: {enabled: true}\n"
	})
	_, err := r.agent().Create(r.ctx(), api.CreateRequest{ToolName: "deploy", Params: []byte(`{}`)}, api.CreateOptions{})
	requireProblem(t, err, "invalid_request")
	require.ErrorContains(t, err, "requireRequester")
	agent := r.gateway(agentSecret)
	for i, ask := range []string{
		`exec.approval.request {"command":"git push"}`, `exec.approval.request {"command":"ls"}`,
		`agentshield.approval.request {"toolName":"pay","params":{}}`, `tool.approval.request {"toolName":"pay","params":{}}`,
	} {
		method, params, _ := strings.Cut(ask, " ")
		agent.send(fmt.Sprint(i), method, params)
		require.False(t, agent.answer(fmt.Sprint(i)).OK, ask)
	}
	a := r.ask(`{"n":1}`, func(c *api.CreateRequest) { c.Requester = &api.Requester{Person: "alice"} })
	require.Equal(t, ownRequest, r.tap(r.alice, r.group, r.card(a).ID, "Allow once").Text)
	_, err = r.client(secondSecret).Create(r.ctx(), api.CreateRequest{ToolName: "deploy", Params: []byte(`{}`)}, api.CreateOptions{})
	require.NoError(t, err, "other tokens need not")
}

// docsLine gives the command of the docs that has those words, without its file name.
func docsLine(t *testing.T, page, words string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
	require.NoError(t, err)
	for block := range strings.SplitSeq(string(text), "```") {
		if line, found := strings.CutPrefix(block, "sh\njq "); found && strings.Contains(line, words) {
			return "jq " + strings.TrimSpace(line)
		}
	}
	require.Fail(t, "no such command in docs/"+page)
	return ""
}

// Separation of duties is shown from the log alone: who asked, who joined, and that
// none of them said yes. The command of docs/audit.md finds who did.
func TestAudit_SeparationOfDutiesFromTheLogAlone(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("jq"); err != nil {
		t.Skip("jq: not tested, install it")
	}
	line := docsLine(t, "audit.md", "askers")
	offenders := func(r *rig) string {
		log := r.good("audit", "export")
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "audit.jsonl"), []byte(log), 0o600))
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir = dir
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		require.NoError(t, err, errs.String())
		return string(out)
	}
	r := newRig(t, func(r *rig) { r.agentHas = `, sessionChats: ["telegram:111"]` })
	session := func(c *api.CreateRequest) { c.SessionKey = "s" }
	a := r.ask(`{"n":1}`, session, func(c *api.CreateRequest) {
		c.Requester = &api.Requester{Channel: "telegram", UserID: fmt.Sprint(r.alice.ID)}
		c.Origin = &api.Target{Channel: "telegram", To: "111"}
	})
	joined := r.ask(`{"n":1}`, session, func(c *api.CreateRequest) { c.Requester = &api.Requester{Person: "carol"} })
	require.Equal(t, a.Code, joined.Code)
	require.Contains(t, r.tap(r.bob, r.group, r.card(a).ID, "Allow once").Text, "Allowed. It may run once")
	require.Empty(t, offenders(r))

	log, err := r.operator().Audit(r.ctx(), api.AuditOptions{Oldest: true, Limit: 200})
	require.NoError(t, err)
	alice := fmt.Sprintf(`{"channel":"telegram","userId":"%d"`, r.alice.ID)
	want := map[string][]string{
		"tool.approval.requested": {`"requester":` + alice + `}`, `"askers":[` + alice + `,"person":"alice"},{"channel":"telegram","userId":"111"}]`},
		"audit.joined":            {`"joined":[{"person":"carol"}]`},
		"tool.approval.resolved":  {`,{"person":"carol"}]`, `"decidedBy":["person:bob"]`},
	}
	seen := 0
	for _, x := range log.Items {
		for _, words := range want[x.Type] {
			require.Contains(t, string(x.Data), words, x.Type)
			seen++
		}
	}
	require.Equal(t, 5, seen)
	require.Contains(t, r.good("audit", "list", "--json"), `"joined"`)
	require.Contains(t, r.good("audit", "list", "--csv"), fmt.Sprintf("person:alice=telegram:%d telegram:111 person:carol", r.alice.ID))

	own := newRig(t, func(r *rig) { r.solo = true })
	b := own.ask(`{"n":1}`, func(c *api.CreateRequest) { c.Requester = &api.Requester{Person: "alice"} })
	require.Contains(t, own.tap(own.alice, own.group, own.card(b).ID, "Allow once").Text, "Allowed. It may run once")
	require.Equal(t, b.Code+"\talice\n", offenders(own))
}
