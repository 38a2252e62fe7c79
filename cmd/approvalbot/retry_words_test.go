package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/fakechat"
)

// roundOf gives a call that two people allowed, that failed, and of which alice asks for one
// more run; and the message in the chat that says so.
func roundOf(t *testing.T, r *rig, c chat, params string) (api.Approval, shown) {
	t.Helper()
	a := r.ask(params)
	card := c.card(a)
	for _, who := range []string{"alice", "bob"} {
		c.tap(who, card.id, "Allow once")
	}
	_, err := r.agent().Claim(r.ctx(), a.ID, api.ClaimRequest{ClaimID: "1"})
	require.NoError(t, err)
	_, err = r.agent().Result(r.ctx(), a.ID, api.ResultRequest{ClaimID: "1", Status: "failed"})
	require.NoError(t, err)
	_, err = r.client(aliceSecret).Retry(r.ctx(), a.Code)
	require.NoError(t, err)
	told := c.waitText(a.Code + ": alice asks to run it again")
	r.remembers(c.platform(), told.id)
	return a, told
}

// T3: what people type while a retry round is open. A yes to the call is no yes to one more
// run of it; retry and deny count, with a slash, without, and in a reply to the round's message.
func TestAdversary_T3_WordsInAnOpenRound(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, r *rig, c chat) {
		no := func(a api.Approval, who, said string, to ...string) {
			t.Helper()
			got := c.say(who, said, to...)
			require.Contains(t, got, a.Code+" was allowed before, so this answer does not count")
			require.Contains(t, got, "Vote on it with: retry "+a.Code)
			require.Zero(t, len(r.get(a).Retries))
			require.Len(t, r.get(a).RetryRound.Votes, 1)
		}
		for name, word := range map[string]func(a api.Approval, told shown) string{
			"slash": func(a api.Approval, _ shown) string { return c.say("bob", "/retry "+a.Code) },
			"plain": func(a api.Approval, _ shown) string { return c.say("bob", "retry "+a.Code+" now it works") },
			"reply": func(_ api.Approval, told shown) string { return c.say("bob", "retry", told.id) },
		} {
			a, told := roundOf(t, r, c, `{"n":"`+name+`"}`)
			require.Contains(t, told.text, "│ "+name, "the whole call")
			require.Contains(t, c.say("alice", "/pending"), a.Code, "named as a line of its own")
			no(a, "bob", "/approve "+a.Code)
			no(a, "bob", "approve "+a.Code)
			no(a, "alice", "/approve "+a.Code+" always")
			no(a, "bob", "approve", told.id)
			require.Contains(t, c.say("alice", "/show "+a.Code), "retry asked by alice")
			require.Contains(t, word(a, told), "It may run once more")
			require.Len(t, r.get(a).Retries, 1)
			require.Contains(t, c.say("bob", "/retry "+a.Code), "It may run once more", "his answer was lost")
			_, err := r.agent().Claim(r.ctx(), a.ID, api.ClaimRequest{ClaimID: "2"})
			require.NoError(t, err)
			require.Contains(t, c.say("bob", "/retry "+a.Code), "No retry of "+a.Code+" is open")
		}
		for name, word := range map[string]func(a api.Approval, told shown) string{
			"deny slash": func(a api.Approval, _ shown) string { return c.say("bob", "/deny "+a.Code) },
			"deny plain": func(a api.Approval, _ shown) string { return c.say("bob", "deny "+a.Code+" not again") },
			"deny reply": func(_ api.Approval, told shown) string { return c.say("bob", "deny", told.id) },
			"retry deny": func(a api.Approval, _ shown) string { return c.say("bob", "/retry "+a.Code+" deny") },
		} {
			a, told := roundOf(t, r, c, `{"n":"`+name+`"}`)
			require.Contains(t, word(a, told), "Denied: it does not run again")
			require.Nil(t, r.get(a).RetryRound)
			require.Contains(t, c.say("bob", "/deny "+a.Code), "Denied: it does not run again", "again")
			require.Empty(t, r.get(a).Retries)
		}
	}, func(r *rig) { r.quorum = map[string]int{"R0": 2, "R1": 2, "R2": 2, "R3": 2} })
}

// T3: a vote for one more run counts only from a chat that has shown the whole call anew.
func TestAdversary_T3_ARoundThatIsTooLongForAChat(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, r *rig, c chat) {
		long := ""
		for range 100 {
			long += "0123456789"
		}
		a, told := roundOf(t, r, c, `{"n":"`+long+`"}`)
		require.NotContains(t, told.text, "│")
		require.Contains(t, c.say("bob", "/retry "+a.Code), "Not everything that would run again has been shown")
		require.Len(t, r.get(a).RetryRound.Votes, 1)
		require.Contains(t, c.say("bob", "deny "+a.Code), "Denied: it does not run again")
	}, func(r *rig) { r.quorum = map[string]int{"R0": 2, "R1": 2, "R2": 2, "R3": 2} })
}

// T3: the command line names open rounds in its lists, votes in them while it watches, and
// does not take an approve for a vote in one.
func TestAdversary_T3_TheCommandLineInAnOpenRound(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) { r.quorum = map[string]int{"R0": 2, "R1": 2, "R2": 2, "R3": 2} })
	c := r.chatOn("telegram")
	run := func(stdin string, args ...string) string {
		got := r.cli(operatorSecret, strings.NewReader(stdin), args...)
		return got.out + got.errors
	}
	a, _ := roundOf(t, r, c, `{"n":1}`)
	for _, list := range []string{"list", "pending"} {
		require.Contains(t, run("", list), "🔁 "+a.Code+": retry asked by alice, 1 of 2 yes (alice), until ", list)
	}
	require.NotContains(t, run("", "list", "--status", "denied"), a.Code)
	require.Contains(t, run("", "approve", a.Code), a.Code+" was allowed before, so this answer does not count")
	require.Contains(t, run("", "view", a.Code), "retry asked by alice")
	require.Contains(t, run("", "watch"), "Let it run again? [r]etry / [n]o / s[k]ip:")
	require.Len(t, r.get(a).RetryRound.Votes, 1)
	watched := run("y\nretry\n", "watch")
	require.Contains(t, watched, "That is not offered for this request.")
	require.Contains(t, watched, "deploy · n: 1", "the whole call")
	require.Len(t, r.get(a).Retries, 1, watched)
	require.NotContains(t, run("", "pending"), a.Code)

	b, _ := roundOf(t, r, c, `{"n":2}`)
	require.Contains(t, run("n: no more\n", "watch"), b.Code)
	require.Nil(t, r.get(b).RetryRound)
	require.Empty(t, r.get(b).Retries)
	require.Contains(t, run("", "deny", b.Code), b.Code, "again")
}

// T3: a "retry" that was typed in one round and comes late, since the platform was out of reach, is
// no vote in the next one.
func TestAdversary_T3_AWordOfAnEarlierRoundThatComesLate(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, r *rig, c chat) {
		a, _ := roundOf(t, r, c, `{"n":1}`)
		back := func() {}
		if c.platform() == "telegram" {
			cut := r.tg.Fault(fakechat.TelegramFault{Method: "getUpdates", Times: -1, Kind: fakechat.HTML502})
			c.say("alice", "/help") // ends the poll that began before
			require.Eventually(t, func() bool { return cut.Hits() > 0 }, patient, 10*time.Millisecond)
			back = cut.Remove
		} else {
			r.dc.Gateway().Cut()
		}
		c.type_("bob", "/retry "+a.Code)
		typed := time.Now()
		_, err := r.client(operatorSecret).Retry(r.ctx(), a.Code)
		require.NoError(t, err)
		_, err = r.agent().Claim(r.ctx(), a.ID, api.ClaimRequest{ClaimID: "2"})
		require.NoError(t, err)
		if c.platform() == "telegram" { // which dates by the second
			time.Sleep(time.Until(typed.Truncate(time.Second).Add(time.Second)))
		}
		_, err = r.client(aliceSecret).RetryWithoutResult(r.ctx(), a.Code)
		require.NoError(t, err)
		back()
		c.waitText("Your answer came before this retry of " + a.Code)
		require.Len(t, r.get(a).Retries, 1)
		require.Len(t, r.get(a).RetryRound.Votes, 1)
	}, func(r *rig) { r.quorum = map[string]int{"R0": 2, "R1": 2, "R2": 2, "R3": 2} })
}

// T3: a vote for one more run refers to the message of its own round: a reply to an earlier one's is
// none, and neither is a word in a chat that has only shown an earlier one.
func TestAdversary_T3_AReplyToAnEarlierRoundsMessage(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, r *rig, c chat) {
		a, told := roundOf(t, r, c, `{"n":1}`)
		require.Contains(t, c.say("bob", "retry", told.id), "It may run once more")
		_, err := r.agent().Claim(r.ctx(), a.ID, api.ClaimRequest{ClaimID: "2"})
		require.NoError(t, err)
		_, err = r.client(aliceSecret).RetryWithoutResult(r.ctx(), a.Code)
		require.NoError(t, err)
		require.Contains(t, c.say("bob", "retry", told.id), "That message is about an earlier retry of "+a.Code)
		require.Len(t, r.get(a).Retries, 1)
		again := c.waitText(a.Code + ": alice asks to run it again (no result reported)")
		r.remembers(c.platform(), again.id)
		require.Contains(t, c.say("bob", "retry", again.id), "It may run once more")
		require.Len(t, r.get(a).Retries, 2)
	}, func(r *rig) { r.quorum = map[string]int{"R0": 2, "R1": 2, "R2": 2, "R3": 2} })
}
