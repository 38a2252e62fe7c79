package routing_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/routing"
)

var errTrouble = fmt.Errorf("answered 500: %w", core.ErrPlatform)

// posted gives the cards that were posted, and how many calls were made.
func (c *chat) posted() (cards []card.Card, tries int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append(cards, c.cards...), c.tries
}

// However files fail, and however many: a card stands in the chat before fallback
// targets would be asked, and one without a file waits for none of those.
func TestAdversary_P11_FilesThatFailFallBackInTime(t *testing.T) {
	for name, files := range map[string]func() error{
		"with 500": func() error { return errTrouble },
		"cut off":  func() error { return errors.New("connection reset") },
	} {
		for _, after := range []time.Duration{20 * time.Second, time.Second} {
			t.Run(name+" "+after.String(), func(t *testing.T) {
				table := &routing.Table{Mode: routing.Targets, Targets: []approval.Target{ops}, Fallback: []approval.Target{board}, FallbackAfterMs: after.Milliseconds()}
				inBubble(t, 1, table, func(w *world) {
					c := w.chats["telegram"]
					c.files = files
					var all []approval.Approval
					for n := range 14 {
						all = append(all, w.askLong(n))
					}
					short := w.ask(1)
					synctest.Wait()
					cards, _ := c.posted()
					require.Len(t, cards, 1)
					require.Equal(t, short.Code, cards[0].Code)
					time.Sleep(after - time.Millisecond)
					synctest.Wait()
					cards, _ = c.posted()
					require.Len(t, cards, 15)
					for _, card := range cards[1:] {
						require.Empty(t, card.Offers)
						require.Contains(t, card.DenyOnly, "takes no files")
					}
					time.Sleep(5 * time.Minute)
					synctest.Wait()
					for _, a := range all {
						got := w.get(a)
						require.Len(t, got.Deliveries, 1, "no fallback")
						require.True(t, got.Reached)
					}
				})
			})
		}
	}
}

// A platform that is down altogether makes no card show less, and is not asked all the
// time; when it is back, whoever was not tried yet comes first.
func TestAdversary_P11_AnOutageTakesNothingFromTheCards(t *testing.T) {
	table := &routing.Table{Mode: routing.Targets, Targets: []approval.Target{ops}, FallbackAfterMs: 20_000}
	inBubble(t, 1, table, func(w *world) {
		c := w.chats["telegram"]
		c.set(func(approval.Target) error { return errTrouble })
		for n := range 20 {
			w.ask(n)
			w.askLong(100 + n)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		_, before := c.posted()
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		_, tries := c.posted()
		require.Less(t, tries-before, 5*60, "calls in five minutes")
		last := w.ask(1000)
		time.Sleep(time.Second) // it may have been tried before the end of the outage
		c.set(nil)
		fresh := w.ask(1001)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		cards, _ := c.posted()
		require.Len(t, cards, 42)
		// One whose turn it was when the outage ended may be before them.
		first := []string{cards[0].Code, cards[1].Code}
		require.True(t, slices.Contains(first, last.Code) || slices.Contains(first, fresh.Code), "%v", first)
		for _, card := range cards {
			require.NotEmpty(t, card.Offers, "card %s: %s", card.Code, card.DenyOnly)
		}
	})
}

// One message that the platform always fails with keeps none of the others waiting.
func TestAdversary_P11_OneCardThatFailsStarvesNone(t *testing.T) {
	inBubble(t, 1, &routing.Table{Mode: routing.Targets, Targets: []approval.Target{ops}, FallbackAfterMs: 20_000}, func(w *world) {
		c := w.chats["telegram"]
		first := true
		c.set(func(approval.Target) error {
			if first {
				return errTrouble
			}
			return nil
		})
		w.ask(0)
		synctest.Wait()
		first = false
		began := time.Now()
		a := w.ask(1)
		synctest.Wait()
		require.Zero(t, time.Since(began))
		cards, _ := c.posted()
		require.Equal(t, a.Code, cards[0].Code)
	})
}
