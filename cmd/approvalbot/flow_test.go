package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/fakechat"
)

// The main job, whole: asked over HTTP, a card in the group, a tap, the asker is
// told, the call is claimed and its result shown on the card.
func TestFlow_AskTapClaimReport(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	waited := make(chan api.Approval, 1)
	go func() {
		a, err := r.agent().Create(r.ctx(), api.CreateRequest{
			ToolName: "exec", Params: []byte(`{"command":"terraform apply plan.out","workdir":"/srv/infra"}`),
			AgentID: "deployer", SessionKey: "nightly", Justification: "weekly patch run",
		}, api.CreateOptions{Wait: 50e9, Claim: true, ClaimID: "job-17"})
		if err != nil {
			t.Error(err)
		}
		waited <- a
	}()
	card, err := r.group.WaitMessage(r.ctx(), func(m fakechat.TelegramMessage) bool { return len(m.Buttons) > 0 })
	require.NoError(t, err)
	first := strings.SplitN(card.Text, "\n", 4)
	require.Equal(t, []string{"agent asks to run", "terraform apply plan.out", "in /srv/infra"}, first[:3], "the notification says who runs what and where")
	require.Equal(t, []string{"Allow once", "Deny", "More"}, card.Labels())
	require.Contains(t, card.Text, "R4")
	require.Contains(t, card.Text, "weekly patch run")
	require.True(t, card.NoPreview)

	r.remembers("telegram", fmt.Sprint(card.ID))
	answer := r.tap(r.alice, r.group, card.ID, "Allow once")
	require.Equal(t, "Allowed. It may run once, within 5 minutes.", answer.Text)
	a := <-waited
	require.EqualValues(t, "approved", a.Status)
	require.EqualValues(t, "allow-once", a.Decision)
	require.Equal(t, []string{"person:alice"}, a.DecidedBy)
	require.NotNil(t, a.Claim)
	require.JSONEq(t, `{"command":"terraform apply plan.out","workdir":"/srv/infra"}`, string(a.Claim.Params))
	require.Equal(t, a.ArgsFingerprint, a.Claim.Fingerprint)
	r.settled(r.group, card.ID, "Allowed once by alice")

	_, err = r.agent().Result(r.ctx(), a.ID, api.ResultRequest{Status: "succeeded", Summary: "2 added"})
	require.NoError(t, err)
	r.settled(r.group, card.ID, "Allowed once by alice", "reported: succeeded", "reported: “2 added”")
	require.Len(t, r.group.FromBot(), 1, "one message in the chat, from the question to the result")
}

func TestFlow_DenyWithAReasonReachesTheAsker(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.ask(`{"to":"prod"}`)
	card := r.card(a)
	r.tap(r.bob, r.group, card.ID, "More")
	more, err := r.group.WaitMessage(r.ctx(), func(m fakechat.TelegramMessage) bool {
		_, ok := m.Button("Deny with a reason")
		return ok
	})
	require.NoError(t, err)
	require.Equal(t, []string{"Allow once", "Deny", "Deny with a reason", "Details", "Always", "Back"}, more.Labels())
	require.Equal(t, denied, r.tap(r.bob, r.group, card.ID, "Deny with a reason").Text)
	require.EqualValues(t, "denied", r.final(a).Status, "the deny counts at the tap")

	question, err := r.group.WaitMessage(r.ctx(), func(m fakechat.TelegramMessage) bool { return strings.Contains(m.Text, "with the reason") })
	require.NoError(t, err)
	require.Equal(t, card.ID, question.ReplyTo)
	r.remembers("telegram", fmt.Sprint(question.ID))
	said := r.bob.Say(r.group, "not on a Friday", fakechat.TelegramSay{ReplyTo: question.ID})
	require.Equal(t, "Noted.", r.reply(r.group, said).Text)
	require.Equal(t, "not on a Friday", r.get(a).Reason)
	r.settled(r.group, card.ID, "Denied by bob, ", ": not on a Friday")
}

func TestFlow_TypedCommands(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.ask(`{"n":1}`, func(c *api.CreateRequest) { c.TimeoutMs = 24 * 60 * 60 * 1000 })
	card := r.card(a)
	said := r.alice.Say(r.group, "/pending")
	listed := r.reply(r.group, said).Text
	require.Contains(t, listed, a.Code)
	require.Contains(t, listed, time.UnixMilli(a.ExpiresAtMs).Format("until 2 Jan 15:04 MST"), "not today")
	said = r.alice.Say(r.group, "/approve@approval_test_bot "+strings.ToLower(a.Code)+" looks fine")
	require.Equal(t, "Allowed. It may run once, within 5 minutes.", r.reply(r.group, said).Text)
	require.Equal(t, "looks fine", r.final(a).Votes[0].Reason)
	r.settled(r.group, card.ID)

	b := r.ask(`{"n":2}`)
	card = r.card(b)
	r.bob.Say(r.group, "deny not today", fakechat.TelegramSay{ReplyTo: card.ID})
	require.EqualValues(t, "denied", r.final(b).Status)
	require.Equal(t, "not today", r.get(b).Reason)

	for text, want := range map[string]string{
		"/approve ZZZZZZ":    "There is no request ZZZZZZ",
		"/approve " + b.Code: "Already decided: denied by bob",
		"/whoami":            "(alice). You may approve.",
		"/help":              "/approve CODE",
		"/approve":           "Which one?",
	} {
		require.Contains(t, r.reply(r.group, r.alice.Say(r.group, text)).Text, want, text)
	}
}

func TestFlow_QuorumOfTwoShowsTheTallyAsItGrows(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) { r.quorum = map[string]int{"R3": 2, "R4": 2} })
	a := r.ask(`{"n":1}`)
	card := r.card(a)
	require.Contains(t, card.Text, "0 of 2")
	require.Contains(t, r.tap(r.alice, r.group, card.ID, "Allow once").Text, "1 of 2 yes (alice)")
	_, err := r.group.WaitMessage(r.ctx(), func(m fakechat.TelegramMessage) bool {
		return m.ID == card.ID && strings.Contains(m.Text, "1 of 2 yes (alice)") && len(m.Buttons) > 0
	})
	require.NoError(t, err)
	require.EqualValues(t, "pending", r.get(a).Status)
	r.tap(r.bob, r.group, card.ID, "Allow once")
	got := r.final(a)
	require.Equal(t, []string{"person:alice", "person:bob"}, got.DecidedBy)
	r.settled(r.group, card.ID, "Allowed once by alice, bob")
}

func TestFlow_WithdrawnAndSupersededCardsSaySo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.ask(`{"n":1}`)
	card := r.card(a)
	b := r.ask(`{"n":2}`, func(c *api.CreateRequest) { c.Supersedes = a.ID })
	r.settled(r.group, card.ID, "Withdrawn: "+b.Code+" asks instead")
	next := r.card(b)
	_, err := r.agent().Withdraw(r.ctx(), b.ID, api.WithdrawRequest{Reason: "done by hand"})
	require.NoError(t, err)
	r.settled(r.group, next.ID, "Withdrawn", "done by hand")
}

// A program that goes after the yes takes it back, and the card says so.
func TestFlow_T30_AnAllowForAnAskerThatIsGone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.ask(`{"n":1}`)
	card := r.card(a)
	r.tap(r.alice, r.group, card.ID, "Allow once")
	r.final(a)
	_, err := r.agent().Withdraw(r.ctx(), a.ID, api.WithdrawRequest{Reason: "the agent's words"})
	require.NoError(t, err)
	gone := r.settled(r.group, card.ID, "Allowed once by alice", "but the agent that asked is gone: it will not run")
	require.NotContains(t, gone.Text, "agent's words")
	_, err = r.agent().Claim(r.ctx(), a.ID, api.ClaimRequest{})
	requireProblem(t, err, "not_claimable", "revoked")
}

func TestFlow_RevokedCardSaysSo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.ask(`{"n":1}`)
	card := r.card(a)
	r.tap(r.alice, r.group, card.ID, "Allow once")
	r.final(a)
	got, err := r.operator().Revoke(r.ctx(), a.Code, api.RevokeRequest{Reason: "wrong host"})
	require.NoError(t, err)
	r.settled(r.group, card.ID, saysRevoked(got, "allowed once by alice", clockTime))
	require.Equal(t, "Already decided: allowed once by alice, then revoked by olga: wrong host",
		r.answer(r.bob.TapData(r.group, card.ID, "/approve "+a.Code)).Text)
	_, err = r.agent().Claim(r.ctx(), a.ID, api.ClaimRequest{})
	requireProblem(t, err, "not_claimable", "revoked")
}

// clockTime is a time as cards have it where the platform knows no zone of readers.
func clockTime(ms int64) string { return time.UnixMilli(ms).UTC().Format("15:04 MST") }

// denied is the answer to a deny that counted.
const denied = "Denied. The very same call is refused unasked for 10 minutes."

// saysRevoked is what the cards of an approval say that olga took back.
func saysRevoked(a api.Approval, allowed string, at func(ms int64) string) string {
	return "Taken back by olga, " + at(a.RevokedAtMs) + ", before it ran: wrong host. It had been " + allowed
}

func TestFlow_SilenceExpires(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.ask(`{"n":1}`, func(c *api.CreateRequest) { c.TimeoutMs = 300 })
	require.EqualValues(t, "expired", r.final(a).Status)
	card := r.group.FromBot()
	if len(card) > 0 { // it may have ended before its card was posted
		r.settled(r.group, card[0].ID, "Nobody answered in ")
	}
}

// Where the session's chat gets no card, the outcome and the result are told
// there; where it has one, the card says it all.
func TestFlow_SessionChatIsTold(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) {
		r.routing = `{mode: targets, targets: [{channel: telegram, to: "GROUP"}]}`
		r.agentHas = `, sessionChats: ["telegram:-1009999"]`
	})
	session := r.tg.AddChat(fakechat.TelegramChatSpec{Type: fakechat.TelegramSupergroup, ID: -1009999, Title: "session"})
	a := r.ask(`{"n":1}`, func(c *api.CreateRequest) { c.Origin = &api.Target{Channel: "telegram", To: "-1009999"} })
	card := r.card(a)
	r.tap(r.alice, r.group, card.ID, "Allow once")
	_, err := session.WaitMessage(r.ctx(), func(m fakechat.TelegramMessage) bool { return strings.Contains(m.Text, "allowed once by alice") })
	require.NoError(t, err)
	claim, err := r.agent().Claim(r.ctx(), a.ID, api.ClaimRequest{})
	require.NoError(t, err)
	require.JSONEq(t, `{"n":1}`, string(claim.Params))
	code := 3
	_, err = r.agent().Result(r.ctx(), a.ID, api.ResultRequest{Status: "failed", ExitCode: &code})
	require.NoError(t, err)
	_, err = session.WaitMessage(r.ctx(), func(m fakechat.TelegramMessage) bool {
		return strings.Contains(m.Text, "The agent says it failed with exit status 3")
	})
	require.NoError(t, err)
}

func TestFlow_GracefulStopKeepsWhatIsPending(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.ask(`{"n":1}`)
	card := r.card(a)
	r.stop()
	r.start()
	require.EqualValues(t, "pending", r.get(a).Status)
	require.Contains(t, r.tap(r.alice, r.group, card.ID, "Allow once").Text, "Allowed. It may run once")
	r.settled(r.group, card.ID, "Allowed once by alice")
	require.Len(t, r.group.FromBot(), 1)
}

// A tap made while the desk was down counts after the restart, before overdue
// timers fire.
func TestFlow_TapWhileDownCountsBeforeOverdueTimers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.ask(`{"n":1}`)
	card := r.card(a)
	r.stop()
	tap := r.alice.Tap(r.group, card.ID, "Allow once")
	r.meddle(`UPDATE approvals SET expires_ms = created_ms, timer_ms = created_ms`) // its time is over
	r.believe()
	r.start()
	r.answer(tap)
	require.EqualValues(t, "approved", r.final(a).Status)
	r.settled(r.group, card.ID, "Allowed once by alice")
}

func TestFlow_WebhookMode(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) {
		r.addr = ownAddr(t)
		r.updates = fmt.Sprintf("{webhook: {url: \"http://%s/telegram/webhook\", secret: hook-secret-0123}}", r.addr)
		r.options = fakechat.TelegramOptions{AnyWebhook: true}
	})
	a := r.ask(`{"n":1}`)
	card := r.card(a)
	require.Contains(t, r.tap(r.bob, r.group, card.ID, "Allow once").Text, "Allowed. It may run once")
	require.EqualValues(t, "approved", r.final(a).Status)
}
