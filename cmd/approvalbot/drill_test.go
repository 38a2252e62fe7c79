package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/approval"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/fakechat"
)

// drilling runs a drill in the background, until it ends or is interrupted.
func (r *rig) drilling(args ...string) (done chan cliRun, interrupt func()) {
	ctx, interrupt := context.WithCancel(r.ctx())
	done = make(chan cliRun, 1)
	go func() { done <- r.cliUntil(ctx, agentSecret, nil, append([]string{"drill"}, args...)...) }()
	return done, interrupt
}

// drilledOut is a drill that is interrupted once it is known of each of n cards
// whether it came.
func (r *rig) drilledOut(n int, args ...string) cliRun {
	r.t.Helper()
	done, interrupt := r.drilling(args...)
	r.until(r.drilled(), "all cards", func(a api.Approval) bool { return len(came(a)) == n })
	interrupt()
	return <-done
}

// came are the cards of which it is known whether they came.
func came(a api.Approval) []api.Delivery {
	return slices.DeleteFunc(a.Deliveries, func(d api.Delivery) bool { return d.State == "queued" })
}

// A drill goes to every chat, a tap on it comes back, and an approved one is never
// handed out to run.
func TestDrill_ThereAndBackAndNeverRuns(t *testing.T) {
	t.Parallel()
	r := newRig(t, withDiscord)
	done, _ := r.drilling("--wait", "1m")
	card, err := r.group.WaitMessage(r.ctx(), func(m fakechat.TelegramMessage) bool { return len(m.Buttons) > 0 })
	require.NoError(t, err)
	require.Contains(t, card.Text, approval.DrillTool)
	require.Contains(t, card.Text, "It will not run, even after a yes.")
	_, err = r.ops.WaitMessage(r.ctx(), func(fakechat.DiscordMessage) bool { return true })
	require.NoError(t, err)
	a := r.drilled()
	r.until(a, "both cards", func(a api.Approval) bool { return len(came(a)) == 2 })
	r.tap(r.alice, r.group, card.ID, "Allow once")
	got := <-done
	require.Zero(t, got.code, got.out+got.errors)
	require.Regexp(t, fmt.Sprintf(`(?m)^  telegram:%d: card after \d+\.\ds$`, r.group.ID), got.out)
	require.Regexp(t, `(?m)^  discord:`+r.ops.ID+`: card after \d+\.\ds$`, got.out)
	require.Regexp(t, `(?m)^The way back works: approved \(allow-once\) by alice after \d+\.\ds\.$`, got.out)
	_, err = r.agent().Claim(r.ctx(), a.ID, api.ClaimRequest{})
	requireProblem(t, err, "not_claimable", "policy")
	_, err = r.operator().Retry(r.ctx(), a.Code)
	requireProblem(t, err, "not_claimable", "policy")
	_, err = r.agent().Claim(r.ctx(), a.ID, api.ClaimRequest{ClaimID: "again"})
	requireProblem(t, err, "not_claimable", "policy")
}

// drilled waits for the approval of the drill that is under way.
func (r *rig) drilled() (a api.Approval) {
	r.t.Helper()
	operator, ctx := r.operator(), r.ctx()
	require.Eventually(r.t, func() bool {
		l, err := operator.List(ctx, api.Filter{ToolName: approval.DrillTool, Status: api.Pending})
		if err != nil || len(l.Items) == 0 {
			return false
		}
		a = l.Items[0]
		return true
	}, patient, 5*time.Millisecond)
	return a
}

// Nobody taps: the drill is withdrawn. An earlier always or deny of a drill leaves
// nothing that would keep the next one from people.
func TestDrill_IsWithdrawnAndAsksEachTime(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for range 2 {
		got := r.drilledOut(1, "--wait", "1m", "--json")
		require.Zero(t, got.code, got.out+got.errors)
		var out struct {
			Status string
			Cards  []struct{ Target, State string }
		}
		require.NoError(t, json.Unmarshal([]byte(got.out), &out))
		require.Equal(t, "withdrawn", out.Status)
		require.Len(t, out.Cards, 1)
		require.Equal(t, "sent", out.Cards[0].State)
	}
	cards := r.group.FromBot()
	require.Len(t, cards, 2)
	r.settled(r.group, cards[1].ID, "Withdrawn")

	done, _ := r.drilling("--wait", "1s") // in which its card comes, or does not
	require.Contains(t, (<-done).out, "No approver decided in time; the drill is withdrawn.")
}

// A drill tries every chat that any approval could go to, and whoever may answer
// there may answer it; nothing that policy or an outsider says settles it.
func TestDrill_TakesEveryWayWhateverPolicySays(t *testing.T) {
	t.Parallel()
	hook := newOutsider(t, `{"decision":"deny","reason":"never"}`)
	for name, policy := range map[string]struct {
		tools, layers string
		quorum        map[string]int
	}{
		"a hard layer":     {layers: `, deny: ["approvalbot.*"]`},
		"mode off":         {tools: "    mode: off\n"},
		"a rule allows it": {tools: "    rules: [{name: go, match: {tool: approvalbot.drill}, outcome: allow}]\n"},
		"a rule denies it": {tools: "    rules: [{name: no, match: {tool: approvalbot.drill}, outcome: deny}]\n"},
		"a quorum":         {quorum: map[string]int{"R0": 2}},
		"other approvers":  {tools: "    allowedApprovers: [rules_based]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			vera := r.tg.AddUser(fakechat.TelegramProfile{FirstName: "Vera"})
			room, spare, shield := r.tg.AddSupergroup("verifiers", vera, r.mallory), r.tg.AddSupergroup("spare", r.alice), r.tg.AddSupergroup("shield", r.alice)
			r.stop()
			r.tools, r.quorum = policy.tools, policy.quorum
			r.routing = fmt.Sprintf("{mode: both, targets: [%s], fallback: [{channel: telegram, to: %d}], fallbackAfter: 1h}", r.targets(), spare.ID)
			r.after = fmt.Sprintf("  agentshield: {enabled: true, targets: [{channel: telegram, to: %d}]}\n", shield.ID)
			r.top = fmt.Sprintf("tools: {verifier: {enabled: true, webhook: {url: %q}, telegram: {enabled: true, chatId: %d, allowedUserIds: [%d]}}%s}\n", hook.URL, room.ID, vera.ID, policy.layers)
			r.start()

			done, _ := r.drilling("--wait", "1m")
			a := r.drilled()
			require.Equal(t, []string{"drill"}, a.ReasonCodes)
			for _, chat := range []*fakechat.TelegramChat{r.group, spare, shield, room} {
				require.Contains(t, r.cardIn(chat, a).Text, "This is a drill: nothing of it will run.")
			}
			r.until(a, "all cards", func(a api.Approval) bool {
				return len(a.Deliveries) == 4 && !slices.ContainsFunc(a.Deliveries, func(d api.Delivery) bool { return d.State != "sent" })
			})
			card := r.cardIn(room, a)
			require.Equal(t, "You are not authorized to approve/deny this request.", r.tap(r.mallory, room, card.ID, "Allow once").Text)
			r.tap(vera, room, card.ID, "Allow once")
			got := <-done
			require.Zero(t, got.code, got.out+got.errors)
			require.Contains(t, got.out, fmt.Sprintf("The way back works: approved (allow-once) by telegram user %d", vera.ID))
			_, err := r.agent().Claim(r.ctx(), a.ID, api.ClaimRequest{})
			requireProblem(t, err, "not_claimable", "policy")
			require.Zero(t, hook.asked(), "nobody outside is asked about a drill")

			e, err := r.operator().Evaluate(r.ctx(), api.CreateRequest{ToolName: approval.DrillTool, Params: []byte(`{"drill":true}`)})
			require.NoError(t, err)
			require.Equal(t, "ask", e.Outcome)
		})
	}
}

// Other rules that come into force while a drill waits do not settle it.
func TestDrill_OutlivesAReload(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	done, _ := r.drilling("--wait", "1m")
	a := r.drilled()
	card := r.card(a)
	r.top = "tools: {deny: [\"approvalbot.*\"]}\n"
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, "approvalbot.yaml"), []byte(r.yaml()), 0o600))
	_, err := r.operator().Reload(r.ctx())
	require.NoError(t, err)
	r.tap(r.bob, r.group, card.ID, "Deny")
	got := <-done
	require.Zero(t, got.code, got.out+got.errors)
	require.Contains(t, got.out, "The way back works: denied by bob")
}

// A chat that gets no card makes it fail.
func TestDrill_FailsWhereACardIsMissing(t *testing.T) {
	t.Parallel()
	r := newRig(t, withDiscord)
	r.group.Kick()
	got := r.drilledOut(2, "--wait", "1m")
	require.Equal(t, app.ExitError, got.code)
	require.Contains(t, got.out, fmt.Sprintf("  telegram:%d: no card: The bot was removed from this chat", r.group.ID))
	require.Contains(t, got.out, "  discord:"+r.ops.ID+": card after ")
}

// Ctrl-C ends it and withdraws.
func TestDrill_InterruptedIsWithdrawn(t *testing.T) {
	t.Parallel()
	d := deskFor(t)
	d.create = "pending"
	s := start(t, d, "drill")
	s.says(t, "drill 7KQ2M5: it cannot run")
	s.cancel()
	require.Equal(t, app.ExitError, s.ends(t), "no chat got a card")
	require.Contains(t, s.out.String(), "No chat got a card")
	require.Contains(t, d.requests(), `/withdraw {"reason":"the drill is over"}`)
}

// An operator drills with their own token, and may answer: nothing of a drill can run. For any other call the token
// may not ask, and that is on record.
func TestDrill_WithAnOperatorsToken(t *testing.T) {
	t.Parallel()
	for name, secret := range map[string]string{"an operator": operatorSecret, "who taps it too": aliceSecret} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			done := make(chan cliRun, 1)
			go func() { done <- r.cliUntil(r.ctx(), secret, nil, "drill", "--wait", "1m") }()
			a := r.drilled()
			card := r.card(a)
			require.Contains(t, r.tap(r.alice, r.group, card.ID, "Allow once").Text, "It was a drill, so it does not run.")
			got := <-done
			require.Zero(t, got.code, got.out+got.errors)
			require.Contains(t, got.out, "The way back works: approved (allow-once) by alice")
			_, err := r.client(secret).Claim(r.ctx(), a.ID, api.ClaimRequest{})
			require.Error(t, err)
		})
	}
	r := newRig(t)
	_, err := r.operator().Create(r.ctx(), api.CreateRequest{ToolName: "exec", Params: []byte(`{"command":"ls"}`)}, api.CreateOptions{})
	requireProblem(t, err, "forbidden", "")
	require.Contains(t, r.good("audit", "list", "--type", "audit.refused", "--json"), "POST /v1/approvals")

	ctx, interrupt := context.WithCancel(r.ctx())
	done := make(chan cliRun, 1)
	go func() { done <- r.cliUntil(ctx, operatorSecret, nil, "drill", "--wait", "1m") }()
	r.until(r.drilled(), "its card", func(a api.Approval) bool { return len(came(a)) == 1 })
	interrupt()
	require.Contains(t, (<-done).out, "No approver decided in time; the drill is withdrawn.")
}
