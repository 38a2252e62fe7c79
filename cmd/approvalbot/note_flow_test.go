package main

import (
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
		require.True(t, strings.HasPrefix(answer, "Nothing was counted. Reply yes, or yes: WORDS FOR THE AGENT, or no: WHY.") ||
			talk == "yes: no" && strings.HasPrefix(answer, "That says two things at once"), "%s: %s", talk, answer)
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
