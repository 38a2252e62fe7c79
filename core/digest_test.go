package core_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/people"
)

// asks submits one call of its own by a token, and gives the state of its card in ops.
func (d *fixture) asks(t *testing.T, token string, n int, more ...func(*approval.Call)) approval.Delivery {
	t.Helper()
	who := agent
	who.Token = token
	params := func(c *approval.Call) { c.Params = json.RawMessage(fmt.Sprintf(`{"n":%d}`, n)) }
	a, _, err := d.Submit(t.Context(), who, call("ask", append([]func(*approval.Call){params}, more...)...))
	require.NoError(t, err)
	for _, x := range a.Deliveries {
		if x.Kind == approval.CardDelivery && x.Target == ops {
			return x
		}
	}
	require.Fail(t, "it has no card")
	return approval.Delivery{}
}

// post has the chat ops take what is due there, until nothing is; fail is the platform's
// answer, nil: it takes it.
func (d *fixture) post(t *testing.T, fail func(approval.Delivery) approval.DeliveryState) (shown []*card.Card) {
	t.Helper()
	for {
		x, ok, err := d.store.NextDelivery(t.Context(), ops, time.Now().UnixMilli())
		require.NoError(t, err)
		if !ok {
			return shown
		}
		drawing, err := d.Draw(t.Context(), x)
		require.NoError(t, err)
		done := approval.Delivered{ID: x.ID, Key: x.Key, Was: x, Revision: x.Revision, State: approval.Sent, MessageID: x.MessageID}
		switch {
		case drawing.Skip != "":
			done.State, done.Error = approval.Failed, drawing.Skip
		case fail != nil && fail(x) != "":
			done.State, done.Error = fail(x), "the chat is gone"
		default:
			if done.MessageID == "" {
				done.MessageID = "m" + x.ID
			}
			if drawing.Done {
				done.State = approval.Settled
			}
			shown = append(shown, drawing.Card)
		}
		require.NoError(t, d.store.Record(t.Context(), done))
	}
}

func (d *fixture) card(t *testing.T, key string) approval.Delivery {
	t.Helper()
	a, err := d.ByKey(t.Context(), key)
	require.NoError(t, err)
	for _, x := range a.Deliveries {
		if x.Kind == approval.CardDelivery && x.Target == ops {
			return x
		}
	}
	return approval.Delivery{}
}

// flood is a fixture with two cards a minute before it folds, and what so many asks made.
func flood(t *testing.T, asks int) (*fixture, []approval.Delivery) {
	d := newFixture(t)
	d.use(func(r *core.Rules) { r.DigestAbove = 2 })
	var all []approval.Delivery
	for n := range asks {
		all = append(all, d.asks(t, "agent", n))
		time.Sleep(time.Millisecond)
	}
	return d, all
}

// digests gives the lists among what was shown.
func digests(shown []*card.Card) (all []card.Digest) {
	for _, c := range shown {
		if c != nil && c.Digest != nil {
			all = append(all, *c.Digest)
		}
	}
	return all
}

// Cards above the number that are asked within a minute are folded, of one owner and one chat.
func TestWhichCardsAreFolded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFixture(t)
		d.use(func(r *core.Rules) { r.DigestAbove = 2 })
		require.Equal(t, approval.Queued, d.asks(t, "agent", 1).State)
		second := d.asks(t, "agent", 2)
		require.Equal(t, approval.Queued, second.State)
		require.Equal(t, approval.Folded, d.asks(t, "agent", 3).State)
		require.Equal(t, approval.Queued, d.asks(t, "other", 1).State, "another owner's flood is its own")

		grave := d.submit(t, "grave")
		require.Equal(t, approval.Queued, grave.Deliveries[0].State, "R4 has a card of its own")
		drill := d.submit(t, approval.DrillTool)
		require.Equal(t, approval.Queued, drill.Deliveries[0].State, "a drill tries the way of cards")

		d.use(func(r *core.Rules) { r.DigestAbove = 0 })
		require.Equal(t, approval.Queued, d.asks(t, "agent", 4).State, "0 turns it off")
		d.use(func(r *core.Rules) { r.DigestAbove = 2 })
		time.Sleep(core.FloodMs * time.Millisecond)
		require.Equal(t, approval.Queued, d.asks(t, "agent", 5).State, "the minute is over")
		require.Equal(t, approval.Queued, d.asks(t, "agent", 6).State)
		require.Equal(t, approval.Folded, d.asks(t, "agent", 7).State)
	})
}

// What has ended is no card that people have to look at.
func TestOnlyPendingCardsMakeAFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, all := flood(t, 2)
		_, err := d.VoteAs(t.Context(), alice, all[0].Key, approval.Deny, "", "")
		require.NoError(t, err)
		require.Equal(t, approval.Queued, d.asks(t, "agent", 3).State)
		require.Equal(t, approval.Folded, d.asks(t, "agent", 4).State)
	})
}

// A digest lists what waits; a card counts as one that stands in the chat when it does.
func TestAFoldedCardHasReachedSomebodyWhenItsDigestStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, all := flood(t, 5)
		shown := d.post(t, nil)
		require.Len(t, shown, 2, "the digest waits a moment for more")
		require.Equal(t, approval.Folded, d.card(t, all[4].Key).State)
		time.Sleep(time.Second)
		list := digests(d.post(t, nil))
		require.Len(t, list, 1)
		require.Equal(t, "agent asks much at once: 3 more requests wait", list[0].Title)
		require.Len(t, list[0].Entries, 3)
		require.Equal(t, approval.Listed, d.card(t, all[4].Key).State)
		time.Sleep(30 * time.Second)
		require.NoError(t, d.Tick(t.Context(), all[4].Key))
		a, err := d.ByKey(t.Context(), all[4].Key)
		require.NoError(t, err)
		require.True(t, a.Reached)
		require.Zero(t, a.FallbackAtMs)
	})
}

// A card that is folded is on its way, as long as its digest is.
func TestAFoldedCardIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFixture(t)
		spare := approval.Target{Channel: "telegram", To: "-200"}
		d.use(func(r *core.Rules) { r.DigestAbove, r.Router = 1, toOpsThen{spare} })
		d.asks(t, "agent", 1)
		folded := d.asks(t, "agent", 2)
		time.Sleep(29 * time.Second)
		require.NoError(t, d.Tick(t.Context(), folded.Key))
		a, err := d.ByKey(t.Context(), folded.Key)
		require.NoError(t, err)
		require.False(t, a.FallbackDone)
		require.True(t, a.Reached)
	})
}

// Where a digest cannot be posted, nothing of it has reached anybody: the fallback is
// asked, by one digest as well, or it is said that nobody could be.
func TestADigestThatCannotBePosted(t *testing.T) {
	for _, fallback := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			d := newFixture(t)
			spare := approval.Target{Channel: "telegram", To: "-200"}
			d.use(func(r *core.Rules) {
				r.DigestAbove = 2
				if fallback {
					r.Router = toOpsThen{spare}
				}
			})
			var all []approval.Delivery
			for n := range 4 {
				all = append(all, d.asks(t, "agent", n))
			}
			time.Sleep(time.Second)
			d.post(t, func(approval.Delivery) approval.DeliveryState { return approval.Failed })
			keys, _, err := d.store.Due(t.Context(), time.Now().UnixMilli(), 100)
			require.NoError(t, err)
			require.Len(t, keys, 4, "each is looked after at once")
			time.Sleep(30 * time.Second)
			folded := 0
			for _, x := range all {
				require.Equal(t, approval.Failed, d.card(t, x.Key).State)
				require.NoError(t, d.Tick(t.Context(), x.Key))
				a, err := d.ByKey(t.Context(), x.Key)
				require.NoError(t, err)
				require.Equal(t, fallback, a.Reached)
				require.Equal(t, approval.Pending, a.Status)
				for _, x := range a.Deliveries {
					if x.Target == spare && x.State == approval.Folded {
						folded++
					}
				}
			}
			require.Equal(t, map[bool]int{true: 2, false: 0}[fallback], folded)
		})
	}
}

// A digest that somebody deletes is said again in a new message.
func TestADeletedDigestIsPostedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, all := flood(t, 4)
		time.Sleep(time.Second)
		d.post(t, nil)
		time.Sleep(time.Minute)
		d.asks(t, "agent", 5)
		d.asks(t, "agent", 6)
		d.asks(t, "agent", 7)
		time.Sleep(10 * time.Second)
		var posts []bool
		d.post(t, func(x approval.Delivery) approval.DeliveryState {
			if x.Kind != approval.DigestDelivery {
				return ""
			}
			posts = append(posts, x.MessageID == "")
			if x.MessageID != "" {
				return approval.Failed
			}
			return ""
		})
		require.Equal(t, []bool{false, false, true}, posts, "an edit that fails, looked at twice, and a post")
		require.Equal(t, approval.Listed, d.card(t, all[3].Key).State)
	})
}

// What is listed ends and is opened: it leaves the list at the next drawing, and drawings
// rest in between.
func TestTheListFollowsWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, all := flood(t, 6)
		time.Sleep(time.Second)
		first := digests(d.post(t, nil))[0]
		require.Len(t, first.Entries, 4)
		_, err := d.VoteAs(t.Context(), alice, all[2].Key, approval.Deny, "", "")
		require.NoError(t, err)
		_, err = d.Chats().Show(t.Context(), all[3].Key, ops, nil)
		require.NoError(t, err)
		require.Equal(t, approval.Queued, d.card(t, all[3].Key).State)
		shown := d.post(t, nil)
		require.Len(t, shown, 1, "the card that was opened, at once")
		require.Nil(t, shown[0].Digest)
		require.NotEmpty(t, shown[0].Offers)
		time.Sleep(4 * time.Second)
		second := digests(d.post(t, nil))[0]
		require.Len(t, second.Entries, 2)
		require.Greater(t, second.Version, first.Version)
		for _, x := range all[4:] {
			_, err := d.VoteAs(t.Context(), alice, x.Key, approval.Deny, "", "")
			require.NoError(t, err)
		}
		time.Sleep(10 * time.Second)
		last := digests(d.post(t, nil))[0]
		require.Empty(t, last.Entries)
		require.Equal(t, "No request of this list is waiting any more.", last.Title)

		old, err := d.Chats().Listed(t.Context(), approval.Delivery{}, ops, first.Code, first.Version)
		require.NoError(t, err)
		require.Len(t, old, 4, "each version is what it was")
		_, err = d.Chats().Listed(t.Context(), approval.Delivery{}, ops, first.Code, last.Version+1)
		require.Equal(t, approval.CodeNotFound, approval.CodeOf(err))
		_, err = d.Chats().Listed(t.Context(), approval.Delivery{}, approval.Target{Channel: "telegram", To: "-9"}, first.Code, 1)
		require.Equal(t, approval.CodeNotFound, approval.CodeOf(err), "another chat's")
	})
}

// The riskiest are listed, and the others counted.
func TestTheRiskiestAreListedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _ := flood(t, 30)
		d.submit(t, "serious")
		time.Sleep(time.Second)
		list := digests(d.post(t, nil))[0]
		require.Len(t, list.Entries, 20)
		require.Equal(t, 9, list.More)
		require.Equal(t, approval.R3, list.Entries[0].Risk)
		require.Contains(t, list.Entries[1].Text, "n: 2")
		require.Contains(t, list.Entries[2].Text, "n: 3")
	})
}

// An allow from a chat whose digest alone says of a call would be one of what nobody has seen.
func TestADigestShowsNothingThatCouldBeAllowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, all := flood(t, 3)
		time.Sleep(time.Second)
		d.post(t, nil)
		_, err := d.Vote(t.Context(), all[2].Key, core.Ballot{
			Voter: approval.Voter{Channel: "telegram", UserID: "1"}, Decision: approval.AllowOnce, Chat: &ops,
		})
		require.Equal(t, approval.CodeUnseenPayload, approval.CodeOf(err))
		require.ErrorContains(t, err, "/show")
	})
}

// Rules that make a waiting call R4 take it out of the list.
func TestWhatBecomesR4GetsItsCard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, all := flood(t, 3)
		d.use(func(r *core.Rules) { r.Policy = byName{hash: "2", grave: "ask"} })
		require.NoError(t, d.Upkeep().Rejudge(t.Context()))
		require.Equal(t, approval.Queued, d.card(t, all[2].Key).State)
	})
}

// A call that runs when nobody can be asked does not, as long as it is one of a flood.
func TestAFloodNeverOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFixture(t)
		d.use(func(r *core.Rules) { r.DigestAbove = 1 })
		alone := d.submit(t, "open")
		folded := d.submit(t, "open", func(c *approval.Call) { c.SessionKey = "t" })
		for range 20 {
			time.Sleep(20 * time.Second)
			now := time.Now().UnixMilli()
			for x, ok, err := d.store.NextDelivery(t.Context(), ops, now); ok; x, ok, err = d.store.NextDelivery(t.Context(), ops, now) {
				require.NoError(t, err)
				require.NoError(t, d.store.Record(t.Context(), approval.Delivered{
					ID: x.ID, Key: x.Key, Was: x, Revision: x.Revision, State: approval.Queued, Attempts: x.Attempts + 1,
					Outcome: approval.NoAnswer, DueMs: now + 20_000,
				}))
			}
			require.NoError(t, d.Tick(t.Context(), alone.Key))
			require.NoError(t, d.Tick(t.Context(), folded.Key))
		}
		alone, err := d.ByKey(t.Context(), alone.Key)
		require.NoError(t, err)
		require.Equal(t, approval.Approved, alone.Status)
		folded, err = d.ByKey(t.Context(), folded.Key)
		require.NoError(t, err)
		require.Equal(t, approval.Pending, folded.Status)
	})
}

// After ten minutes who asks much is said in a new message: an edit notifies nobody.
func TestALongFloodIsSaidAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, all := flood(t, 3)
		time.Sleep(core.DigestTakesMs * time.Millisecond)
		d.asks(t, "agent", 4)
		d.asks(t, "agent", 5)
		again := d.asks(t, "agent", 6)
		require.Equal(t, approval.Folded, again.State)
		require.Equal(t, all[2].Key, all[2].Digest)
		require.Equal(t, again.Key, again.Digest)
		time.Sleep(time.Second)
		require.Len(t, digests(d.post(t, nil)), 2)
	})
}

// What an asker writes cannot leave its line, and a chat that refuses it gets the list without.
func TestADigestOfHostileWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _ := flood(t, 2)
		d.asks(t, "agent", 3, func(c *approval.Call) {
			c.Params = json.RawMessage(`{"to":"x\n99. ALLOWED \u202e` + strings.Repeat("long ", 100) + `"}`)
		})
		time.Sleep(time.Second)
		x, ok, err := d.store.NextDelivery(t.Context(), ops, time.Now().UnixMilli())
		require.NoError(t, err)
		for ok && x.Kind != approval.DigestDelivery {
			require.NoError(t, d.store.Record(t.Context(), approval.Delivered{ID: x.ID, Key: x.Key, Was: x, State: approval.Sent, MessageID: x.ID}))
			x, ok, err = d.store.NextDelivery(t.Context(), ops, time.Now().UnixMilli())
			require.NoError(t, err)
		}
		drawing, err := d.Draw(t.Context(), x)
		require.NoError(t, err)
		text := drawing.Card.Digest.Entries[0].Text
		require.NotContains(t, text, "\n")
		require.NotContains(t, text, "\u202e")
		require.LessOrEqual(t, len([]rune(text)), 70)
		require.Equal(t, "a call that cannot be shown in this chat", drawing.Bare.Digest.Entries[0].Text)
	})
}

// The sum-up of what waited for the end of a person's quiet hours is a digest in their
// direct messages, whoever asked.
func TestTheSumUpOfQuietHours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFixture(t)
		dm := approval.Target{Channel: "telegram", To: "1"}
		var first approval.Approval
		for n, token := range []string{"agent", "other", "third"} {
			key := d.asks(t, token, n).Key
			a, err := d.store.Update(t.Context(), key, func(a approval.Approval) (core.Change, error) {
				return core.Change{Approval: a, Deliveries: []approval.Delivery{{
					Kind: approval.CardDelivery, State: approval.Folded, Target: dm, ForUser: "alice",
				}}}, nil
			})
			require.NoError(t, err)
			if n == 0 {
				first = a
			}
		}
		time.Sleep(time.Second)
		x, ok, err := d.store.NextDelivery(t.Context(), dm, time.Now().UnixMilli())
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, first.Key, x.Key)
		drawing, err := d.Draw(t.Context(), x)
		require.NoError(t, err)
		require.Equal(t, "3 requests waited for the end of your quiet hours", drawing.Card.Digest.Title)
		require.Len(t, drawing.Card.Digest.Entries, 3)
		require.Equal(t, approval.Queued, d.card(t, first.Key).State, "the group's card is another one")

		others, err := people.NewDirectory(people.Rights{AllowedUsers: map[string][]string{"telegram": {"2"}}})
		require.NoError(t, err)
		d.use(func(r *core.Rules) { r.People = others })
		drawing, err = d.Draw(t.Context(), x)
		require.NoError(t, err)
		require.Equal(t, "the people who were to be asked can no longer decide any of it", drawing.Skip, "alice has lost the right meanwhile")
	})
}
