package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/fakechat"
)

const againButton = "Allow again now"

// A denied card offers to end the cool-down, also after a restart; the next such call is asked about again, and
// needs its own yes.
func TestAskAgain(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, r *rig, c chat) {
		const line = "git push origin main"
		a := r.exec(line)
		card := c.card(a)
		c.tap("alice", card.id, "Deny")
		require.Equal(t, []string{againButton}, c.settled(card.id, "Denied by alice").labels)
		require.EqualValues(t, "denied", r.tryExec(line).Status)

		r.stop()
		r.start()
		r.discordReady()
		require.Contains(t, c.tap("mallory", card.id, againButton), "You are not authorized")
		require.EqualValues(t, "denied", r.tryExec(line).Status)
		require.Equal(t, "The very same call asks again from now on, as bob said. That allows no call.",
			c.tap("bob", card.id, againButton))
		require.Empty(t, c.settled(card.id, "may be asked again, says bob").labels)
		require.Contains(t, c.press("alice", card.id, "/again "+a.Code), "as bob said", "a tap that was on its way")

		next := r.tryExec(line)
		require.EqualValues(t, "pending", next.Status)
		require.NotEqual(t, a.Code, next.Code)
		require.EqualValues(t, "denied", r.get(a).Status)
		require.Regexp(t, "person:bob|bob", r.good("audit", "list", "--type", "audit.grant_ended"))

		// Typed, it is the same.
		c.say("bob", "/deny "+next.Code)
		require.EqualValues(t, "denied", r.tryExec(line).Status)
		require.Contains(t, c.say("alice", "/again "+a.Code), "To let it be asked again, use the card of that newer decision.")
		require.Contains(t, c.say("alice", "/again "+next.Code), "as alice said")
		require.EqualValues(t, "pending", r.tryExec(line).Status)
	})
}

// A person whom a reload removed ends no cool-down any more.
func TestAskAgain_Removed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.exec("git push origin main")
	card := r.card(a)
	r.tap(r.alice, r.group, card.ID, "Deny")
	r.settled(r.group, card.ID, "Denied by alice")
	r.allowed = []*fakechat.TelegramUser{r.bob}
	r.reload()
	require.Contains(t, r.tap(r.alice, r.group, card.ID, againButton).Text, "You are not authorized")
	require.EqualValues(t, "denied", r.tryExec("git push origin main").Status)
}

// A cool-down that is ended at one instance is ended at all, and the log that says so is whole.
func TestCluster_AskAgain(t *testing.T) {
	t.Parallel()
	a := newRig(t, onPostgres(t))
	b := a.another()
	const line = "git push origin main"
	x := a.exec(line)
	card := a.card(x)
	a.tap(a.alice, a.group, card.ID, "Deny")
	a.settled(a.group, card.ID, "Denied by alice")
	require.EqualValues(t, "denied", b.tryExec(line).Status)
	a.stop() // b takes the tap
	require.Contains(t, b.tap(b.bob, b.group, card.ID, againButton).Text, "as bob said")
	b.settled(b.group, card.ID, "may be asked again, says bob")
	a.start()
	require.EqualValues(t, "pending", a.tryExec(line).Status)
	report, err := b.operator().VerifyAudit(b.ctx())
	require.NoError(t, err)
	require.True(t, report.OK, report.Problem)
}
