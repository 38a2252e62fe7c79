package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/fakechat"
)

func quorumOfTwo(r *rig) { r.quorum = map[string]int{"R3": 2} }

// reload writes the configuration as it is now and has the desk read it.
func (r *rig) reload() api.Reloaded {
	r.t.Helper()
	require.NoError(r.t, os.WriteFile(filepath.Join(r.dir, "approvalbot.yaml"), []byte(r.yaml()), 0o600))
	got, err := r.operator().Reload(r.ctx())
	require.NoError(r.t, err)
	return got
}

// shows waits until a message contains the words, and not the others.
func (r *rig) shows(chat *fakechat.TelegramChat, id int, words, not string) {
	r.t.Helper()
	require.NoError(r.t, r.tg.WaitFor(r.ctx(), func() bool {
		m, ok := chat.Message(id)
		return ok && strings.Contains(m.Text, words) && (not == "" || !strings.Contains(m.Text, not))
	}), "message %d never showed %q without %q", id, words, not)
}

// A vote whose voter may vote no more is none: neither the API nor the card has it,
// from the reload on, and also not once it has ended.
func TestFlow_VotesAreThoseThatCount(t *testing.T) {
	t.Parallel()
	r := newRig(t, quorumOfTwo)
	r.allowed = []*fakechat.TelegramUser{r.alice, r.bob, r.carol}
	r.reload()
	a := r.exec("git push origin main")
	card := r.card(a)
	r.tap(r.alice, r.group, card.ID, "Allow once")
	r.shows(r.group, card.ID, "1 of 2 yes (alice)", "")
	require.Len(t, r.get(a).Votes, 1)

	r.allowed = []*fakechat.TelegramUser{r.bob, r.carol}
	r.reload()
	require.Empty(t, r.get(a).Votes)
	r.shows(r.group, card.ID, "0 of 2", "alice")
	for _, u := range []*fakechat.TelegramUser{r.bob, r.carol} {
		r.tap(u, r.group, card.ID, "Allow once")
	}
	got := r.final(a)
	require.Equal(t, []string{"person:bob", "person:carol"}, got.DecidedBy)
	require.Len(t, got.Votes, 2)
}

// Whoever turns out to be the requester has not voted, and the card says who that is.
func TestFlow_AJoinedRequesterIsShown(t *testing.T) {
	t.Parallel()
	r := newRig(t, quorumOfTwo)
	r.allowed = []*fakechat.TelegramUser{r.alice, r.bob, r.carol}
	r.reload()
	inSession := func(c *api.CreateRequest) { c.SessionKey = "s1" }
	a := r.exec("git push origin main", inSession)
	card := r.card(a)
	r.tap(r.bob, r.group, card.ID, "Allow once")
	r.shows(r.group, card.ID, "1 of 2 yes (bob)", "")
	same := r.exec("git push origin main", inSession, func(c *api.CreateRequest) {
		c.Requester, c.Justification = &api.Requester{Person: "bob"}, "bob wants it out"
	})
	require.Equal(t, a.ID, same.ID)
	require.Equal(t, &api.Requester{Person: "bob"}, same.Requester)
	require.Equal(t, "bob wants it out", same.Justification)
	require.Empty(t, same.Votes, "it counts no more")
	r.shows(r.group, card.ID, "bob wants it out", "1 of 2")
	r.shows(r.group, card.ID, "for bob", "")
}

// The requester's own reason for taking a request back is kept.
func TestFlow_TheRequestersReasonIsKept(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.exec("git push origin main", func(c *api.CreateRequest) { c.Requester = &api.Requester{Person: "bob"} })
	card := r.card(a)
	r.reply(r.group, r.bob.Say(r.group, "/deny "+a.Code+" wrong branch"))
	got := r.final(a)
	require.Equal(t, api.Withdrawn, got.Status)
	require.Equal(t, "wrong branch", got.Reason)
	r.settled(r.group, card.ID, "Withdrawn by bob", "wrong branch")
}

// Where some have approved, and too few, time does not say that nobody has.
func TestFlow_AQuorumMissedByTime(t *testing.T) {
	t.Parallel()
	r := newRig(t, quorumOfTwo)
	a := r.exec("git push origin main", func(c *api.CreateRequest) { c.TimeoutMs = 2500 })
	card := r.card(a)
	r.tap(r.alice, r.group, card.ID, "Allow once")
	got := r.final(a)
	require.Equal(t, api.Expired, got.Status)
	require.Equal(t, "too few approvals in time", got.Reason)
	require.NotContains(t, r.settled(r.group, card.ID, "too few approvals in time").Text, "nobody decided")
}

// A reply to one request's card that begins with another's code counts for neither.
func TestFlow_AReplyThatNamesAnotherRequest(t *testing.T) {
	t.Parallel()
	r := newRig(t, hearsEverything)
	a, b := r.exec("git push origin a"), r.exec("git push origin b")
	card := r.card(a)
	r.card(b)
	for _, word := range []string{"approve ", "Deny "} {
		said := r.alice.Say(r.group, word+strings.ToLower(b.Code)+", fine", fakechat.TelegramSay{ReplyTo: card.ID})
		require.Contains(t, r.reply(r.group, said).Text, "This is the card of "+a.Code+", and you named "+b.Code)
	}
	require.Equal(t, api.Pending, r.get(a).Status)
	require.Equal(t, api.Pending, r.get(b).Status)
	r.reply(r.group, r.alice.Say(r.group, "yes: looks fine", fakechat.TelegramSay{ReplyTo: card.ID}))
	require.Equal(t, api.Approved, r.get(a).Status)
}

// Who may approve reads that they may not do it in a chat that is none of the desk's.
func TestFlow_WhoAmIElsewhere(t *testing.T) {
	t.Parallel()
	r := newRig(t, hearsEverything)
	foreign := r.tg.AddSupergroup("elsewhere", r.alice)
	require.Contains(t, r.reply(foreign, r.alice.Say(foreign, "/whoami")).Text, "You may approve, but not here")
	require.Contains(t, r.reply(r.group, r.alice.Say(r.group, "/whoami")).Text, "You may approve.")
}

// Where no chat gets a card the asker is told so.
func TestFlow_NoCardAnywhere(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) { r.routing = "{mode: session}" })
	got := r.cli(agentSecret, strings.NewReader(""), "request", "--tool", "exec", "--params", `{"command":"git push"}`)
	require.Contains(t, got.errors, "no chat gets a card of this")
	got = r.cli(agentSecret, strings.NewReader(""), "request", "--tool", "exec", "--params", `{"command":"git push -q"}`, "--timeout", "1s", "--wait")
	require.Contains(t, got.errors, "no chat gets a card of this")
}

// Whatever a session is called, the command line ends its grants.
func TestSessions_EndWhateverTheKey(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i, key := range []string{"/home/me/project", "a/../b", "..", "/"} {
		session := func(c *api.CreateRequest) { c.SessionKey = key }
		a := r.ask(fmt.Sprintf(`{"n":%d}`, i), session)
		_, err := r.operator().Resolve(r.ctx(), a.Code, api.ResolveRequest{Decision: api.AllowSession})
		require.NoError(t, err)
		require.Contains(t, r.good("sessions", "list"), key)
		require.Contains(t, r.good("sessions", "end", key), "ended 1 grants of session "+key)
		require.Equal(t, "Session\tAgent\tGrants\n", r.good("admin", "sessions", "list"))
	}
}
