package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/fakechat"
	"approvalbot/internal/store/pgtest"
)

// foldsAbove has an owner's cards above that number a minute folded.
func foldsAbove(n int) func(*rig) {
	return func(r *rig) { r.routing = fmt.Sprintf("{mode: targets, targets: [PLACE], digestAbove: %d}", n) }
}

const flooded = "agent asks much at once: "

// flood asks so many times.
func (r *rig) flood(n int) (all []api.Approval) {
	for i := range n {
		all = append(all, r.ask(fmt.Sprintf(`{"n":%d,"note":"[x](http://evil.example) @everyone /approve"}`, i)))
	}
	return all
}

// listed waits for the digest to list these and no more.
func listed(c chat, all ...api.Approval) shown {
	requests := "requests wait"
	if len(all) == 1 {
		requests = "request waits"
	}
	return c.waitText(fmt.Sprintf("%s%d more %s", flooded, len(all), requests))
}

// The digest on both platforms: a list in which nothing of the asker's is alive, cards
// that it opens, and one tap that denies what it lists, by whoever may.
func TestAdversary_P11_AFloodIsOneMessage(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, r *rig, c chat) {
		all := r.flood(6)
		folded := all[2:]
		digest := listed(c, folded...)
		require.Equal(t, []string{"Open 1", "Open 2", "Open 3", "Open 4", "Deny all 4"}, digest.labels)
		require.Empty(t, digest.alive)
		for _, a := range folded {
			require.Contains(t, digest.text, a.Code)
		}
		require.Len(t, c.fromBot(), 3)
		r.until(folded[0], "it is listed", func(a api.Approval) bool { return a.Deliveries[0].State == "listed" })

		require.Contains(t, c.tap("mallory", digest.id, "Open 1"), "not authorized")
		require.Contains(t, c.tap("mallory", digest.id, "Deny all 4"), "not authorized")
		require.Contains(t, c.press("alice", digest.id, "/approve "+folded[0].Code), "desk does not know", "nothing here allows")
		require.Contains(t, c.press("alice", digest.id, "/deny "+folded[0].Code), "desk does not know")
		require.Equal(t, "Here is "+folded[1].Code+".", c.press("bob", digest.id, "/show "+folded[1].Code))
		r.until(folded[1], "its card stands", func(a api.Approval) bool { return a.Deliveries[0].State == "sent" })
		i := slices.IndexFunc(c.fromBot(), func(m shown) bool {
			return strings.Contains(m.text, folded[1].Code) && slices.Contains(m.labels, "Allow once")
		})
		require.GreaterOrEqual(t, i, 0)
		card := c.fromBot()[i]
		require.Contains(t, c.tap("alice", card.id, "Allow once"), "Allowed. It may run once")

		listing4 := digest.data("Deny all 4") // the first version, or the second if the last ones were slow to come
		require.True(t, strings.HasPrefix(listing4, "/denyall "+folded[0].Code+" "), listing4)
		require.Equal(t, "Denied 3 of the 4 listed; 1 had ended before.", c.press("alice", digest.id, listing4))
		for i, a := range folded {
			require.Equal(t, i == 1, r.final(a).Status == "approved")
		}
		for _, a := range all[:2] {
			require.EqualValues(t, "pending", r.get(a).Status, "it has a card of its own")
		}
		c.settled(digest.id, "No request of this list is waiting any more.")
		require.Equal(t, "Denied 3 of the 4 listed; 1 had ended before.", c.press("alice", digest.id, listing4), "again")
	}, foldsAbove(2))
}

// What is folded when the desk stops is listed when it runs again.
func TestAFloodAcrossARestart(t *testing.T) {
	t.Parallel()
	for _, database := range []string{"SQLite", "PostgreSQL"} {
		t.Run(database, func(t *testing.T) {
			onBoth(t, func(t *testing.T, r *rig, c chat) {
				all := r.flood(4)
				r.stop() // before the list is posted, but on a very slow machine
				r.start()
				r.discordReady()
				digest := listed(c, all[1:]...)
				require.Equal(t, "Denied 3 of the 3 listed.", c.tap("alice", digest.id, "Deny all 3"))
				c.settled(digest.id, "No request of this list is waiting any more.")
			}, foldsAbove(1), func(r *rig) {
				if database == "PostgreSQL" {
					r.database = pgtest.New(t)
				}
			})
		})
	}
}

// digestPoints are the moments at which a desk that folds is killed: as it takes a call
// that is folded, as it keeps and posts the list, and amid the votes of one Deny all.
var digestPoints = []string{"create-committed:2", "digest-listed", "digest-sent", "id-recorded:2", "vote-committed:2"}

// TestAdversary_P2_KilledWhileFolding: wherever the desk dies, nothing that was asked is
// lost, each ends by one vote, and at most one copy of the digest is too many.
func TestAdversary_P2_KilledWhileFolding(t *testing.T) {
	t.Parallel()
	bin, err := faultyBinary()
	require.NoError(t, err)
	for _, point := range digestPoints {
		for _, when := range []string{"before-", "after-"} {
			t.Run(when+point, func(t *testing.T) {
				c := newCrashRig(t, bin)
				c.routing = `{mode: targets, targets: [{channel: telegram, to: "GROUP"}], digestAbove: 1}`
				c.run(when + point)
				var all []api.Approval
				for i := range 4 {
					c.until("create", func(ctx context.Context) error {
						a, err := c.agent().Create(ctx, api.CreateRequest{ID: fmt.Sprint("job-", i), ToolName: "deploy",
							Params: fmt.Appendf(nil, `{"n":%d}`, i)}, api.CreateOptions{})
						if err == nil {
							all = append(all, a)
						}
						return err
					})
				}
				lists := func(m fakechat.TelegramMessage) bool { return strings.Contains(m.Text, flooded+"3 more") }
				var digest fakechat.TelegramMessage
				c.until("the digest", func(ctx context.Context) (err error) {
					digest, err = c.group.WaitMessage(ctx, lists)
					return err
				})
				c.alice.Tap(c.group, digest.ID, "Deny all 3")
				for _, a := range all[1:] {
					c.until("a deny", func(ctx context.Context) error {
						got, err := c.operator().Get(ctx, a.Code, 4e9)
						if err == nil && got.Status == "pending" {
							return fmt.Errorf("%s is still pending", a.Code)
						}
						if err == nil {
							require.EqualValues(t, "denied", got.Status)
							require.Len(t, got.Votes, 1)
						}
						return err
					})
				}
				c.mustHaveDied(when + point)
				copies, cards := 0, 0
				for _, m := range c.group.FromBot() {
					if strings.Contains(m.Text, all[0].Code) {
						cards++
					}
					if strings.Contains(m.Text, flooded) || strings.Contains(m.Text, "No request of this list") {
						copies++
					}
				}
				require.LessOrEqual(t, copies, 2, "at most one copy too many")
				require.LessOrEqual(t, cards, 2)
				require.LessOrEqual(t, copies+cards, 3, "and one of all")
				got, err := c.operator().Get(c.ctx(), all[0].Code, 0)
				require.NoError(t, err)
				require.EqualValues(t, "pending", got.Status)
			})
		}
	}
}

// In a Discord forum a digest is a post, and what it opens is another one.
func TestAFloodInAForum(t *testing.T) {
	t.Parallel()
	r := newRig(t, withDiscord)
	forum := r.guild.AddForum("asks")
	r.stop()
	r.routing = fmt.Sprintf("{mode: targets, targets: [{channel: discord, to: %q}], digestAbove: 1}", forum.ID)
	r.start()
	r.discordReady()
	all := r.flood(3)
	posts := func(n int) []*fakechat.DiscordChannel {
		require.NoError(t, r.dc.WaitFor(r.ctx(), func() bool { return len(forum.Threads()) == n }))
		return forum.Threads()
	}
	var digest shown
	var at dcChat
	for _, p := range posts(2) {
		for _, m := range p.FromBot() {
			if strings.Contains(m.Text(), flooded) {
				digest, at = dcShown(m), dcChat{r, p}
			}
		}
	}
	require.Equal(t, "Here is "+all[1].Code+".", at.tap("alice", digest.id, "Open 1"))
	posts(3)
	require.Equal(t, "Denied 2 of the 2 listed.", at.tap("alice", digest.id, "Deny all 2"))
	at.settled(digest.id, "No request of this list is waiting any more.")
}
