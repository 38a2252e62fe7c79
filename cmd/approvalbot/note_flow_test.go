package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/fakechat"
)

// In a reply to a card a yes is the word alone, or with a colon and a note, which the claim has; everything else counts
// for nothing: who may decide reads what would count, others' talk is ignored.
func TestFlow_ANoteInAReply(t *testing.T) {
	t.Parallel()
	r := newRig(t, hearsEverything)
	a := r.exec("git push origin a")
	card := r.card(a)
	say := func(u *fakechat.TelegramUser, text string) fakechat.TelegramMessage {
		return u.Say(r.group, text, fakechat.TelegramSay{ReplyTo: card.ID})
	}
	say(r.mallory, "ok")
	say(r.mallory, "yes: run it")
	for _, talk := range []string{"yes please", "what is this?", "approve session", "ok?", "yes: no", "approve looks fine", "👍"} {
		answer := r.reply(r.group, say(r.alice, talk)).Text
		require.True(t, strings.HasPrefix(answer, "Your answer was not counted. Reply yes, or yes: WORDS FOR THE AGENT, or no: WHY.") ||
			talk == "yes: no" && strings.HasPrefix(answer, "Your message says two things at once"), "%s: %s", talk, answer)
	}
	require.Equal(t, api.Pending, r.get(a).Status)
	require.Empty(t, r.get(a).Votes)
	long := r.reply(r.group, say(r.alice, "yes: "+strings.Repeat("x", 600))).Text
	require.Contains(t, long, "The note has 600 characters; at most 500 reach the agent")
	require.Empty(t, r.get(a).Votes)
	token := "ghp_" + strings.Repeat("a1B2", 9)
	require.Contains(t, r.reply(r.group, say(r.alice, "Yes: use "+token+",\n  then stop")).Text, "Allowed. It may run once, within 5 minutes; "+
		"your note is for the agent.")
	want := []api.Note{{By: "person:alice", Text: "use [REDACTED], then stop"}}
	got := r.final(a)
	require.Equal(t, want, got.Notes)
	require.Empty(t, got.Reason, "that is the log's")
	claim, err := r.agent().Claim(r.ctx(), a.ID, api.ClaimRequest{ClaimID: "c"})
	require.NoError(t, err)
	require.Equal(t, want, claim.Notes)
	require.NotContains(t, r.settled(r.group, card.ID, "Allowed once by alice").Text, token)
	for _, m := range r.group.Messages() {
		require.False(t, strings.HasPrefix(m.Text, "You are not authorized"), "a stranger's ok is talk")
	}

	b := r.exec("git push origin b")
	card = r.card(b)
	require.Contains(t, r.reply(r.group, say(r.alice, "no: use staging")).Text, "Denied.")
	require.Equal(t, "use staging", r.final(b).Reason)
}

// An R4 call's note goes with the second button below its answer, and a tap on the card's own carries none.
func TestFlow_ANoteWithTheSecondStep(t *testing.T) {
	t.Parallel()
	for _, own := range []bool{true, false} {
		r := newRig(t, hearsEverything)
		a := r.exec("terraform destroy -auto-approve")
		require.Equal(t, "R4", a.RiskClass)
		card := r.card(a)
		answer := r.reply(r.group, r.alice.Say(r.group, "yes: the test stack only", fakechat.TelegramSay{ReplyTo: card.ID}))
		require.Contains(t, answer.Text, "Your note goes with it.")
		require.Equal(t, api.Pending, r.get(a).Status)
		want := []api.Note{{By: "person:alice", Text: "the test stack only"}}
		if own {
			r.answer(r.alice.TapData(r.group, answer.ID, yesOn(answer.Buttons)))
		} else {
			r.tap(r.alice, r.group, card.ID, "Allow once") // and the button that it brings
			want = nil
		}
		require.Equal(t, want, r.final(a).Notes)
	}
}

// Through mcp-proxy a note is a text of its own behind the server's result, and request_approval has it in its answer;
// a deny says its note behind its reason.
func TestFlow_ANoteOverMCP(t *testing.T) {
	t.Parallel()
	s := newShop(newRig(t), agentSecret, nil)
	got := callTool(s.ctx(), s.client, "order", map[string]any{"what": "tea"})
	s.says(s.onlyPending(), api.AllowOnce, "only one")
	r := <-got
	require.Len(t, r.res.Content, 2)
	raw, err := json.Marshal(r.res.Content)
	require.NoError(t, err)
	require.JSONEq(t, `[{"type":"text","text":"ordered"},{"type":"text","text":"Note from olga, who allowed this call: only one"}]`, string(raw))
	got = callTool(s.ctx(), s.client, "order", map[string]any{"what": "coffee"})
	s.says(s.onlyPending(), api.Deny, "tea alone")
	require.Contains(t, said(t, <-got), "it cannot tell what the tool does. Note from olga, who denied this call: tea alone")

	desk := newRig(t)
	asked := callTool(desk.ctx(), desk.mcp(agentSecret), "request_approval", map[string]any{"toolName": "deploy", "params": map[string]any{"to": "production"}})
	desk.says(desk.onlyPending(), api.AllowOnce, "not before noon")
	require.Contains(t, said(t, <-asked), `"notes":"Note from olga, who allowed this call: not before noon"`)
}

// says decides as the operator does by API, with a note.
func (r *rig) says(a api.Approval, d api.Decision, note string) {
	r.t.Helper()
	_, err := r.operator().Resolve(r.ctx(), a.Code, api.ResolveRequest{Decision: d, Note: note})
	require.NoError(r.t, err)
}

// A note that cannot be handed on is refused by the API too, with the field's name, and no vote counted.
func TestFlow_ANoteByAPI(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.exec("git push origin a")
	_, err := r.operator().Resolve(r.ctx(), a.Code, api.ResolveRequest{Decision: api.AllowOnce, Note: "a\u200bb"})
	var no *api.Problem
	require.ErrorAs(t, err, &no)
	require.Equal(t, "invalid_request", string(no.Code))
	require.Equal(t, "note", no.Fields[0].Field)
	require.Empty(t, r.get(a).Votes)
	r.says(a, api.AllowOnce, "line one\nline two")
	require.Equal(t, []api.Note{{By: "person:olga", Text: "line one line two"}}, r.get(a).Notes)
}
