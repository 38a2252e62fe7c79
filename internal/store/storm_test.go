package store

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// TestStorm has two instances do everything to the same few approvals and chats at
// once: nothing fails, nobody waits for ever, and every change is in the one chain.
func TestStorm(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	const approvals, workers, each = 12, 8, 60
	var keys []string
	var rows []approval.Delivery
	for i := range approvals {
		p := create(t, a, pendingApproval("bot"), core.Change{Seal: []byte("call"), Deliveries: []approval.Delivery{cardTo(fmt.Sprint(i%3), 1, 1)}})
		keys, rows = append(keys, p.Key), append(rows, p.Deliveries[0])
	}
	var updates, events atomic.Int64
	add := func(n *atomic.Int64) { n.Add(1); events.Add(1) }
	var wg sync.WaitGroup
	for w := range workers {
		s := []*Store{a, b}[w%2]
		wg.Go(func() {
			for i := range each {
				var write func() error
				n := rand.IntN(approvals)
				switch rand.IntN(7) {
				case 0, 1:
					write = func() error { _, err := s.Update(ctx, keys[n], vote); return err }
					add(&updates)
				case 2:
					write = func() error {
						return s.Record(ctx, approval.Delivered{ID: rows[n].ID, Key: keys[n], State: approval.Sent, MessageID: fmt.Sprint("m", n), DueMs: 1})
					}
				case 3:
					write = func() error {
						return s.Record(ctx, approval.Delivered{ID: rows[n].ID, Key: keys[n], State: approval.Failed, Error: "gone"})
					}
				case 4:
					g := approval.Grant{ID: fmt.Sprint("g", w, "-", i), Owner: "bot", AgentID: "main", Kind: approval.CoolDown, Fingerprint: fmt.Sprint("f", n%2)}
					write = func() error { return s.AddGrant(ctx, g, approval.Event{Type: approval.EventVote}) }
					events.Add(1)
				case 5:
					p := pendingApproval("bot")
					look := core.Lookup{Owner: "bot", AgentID: "main", SessionKey: "s", Fingerprint: fmt.Sprint("f", n%2), Grants: true, Code: p.Code}
					write = func() error {
						return s.Create(ctx, look, func(core.Existing) ([]core.Change, error) {
							return []core.Change{{Approval: p, New: true, Deliveries: []approval.Delivery{cardTo(fmt.Sprint(n%3), 1, 1)},
								Events: []approval.Event{event(p, approval.EventRequested)}}}, nil
						})
					}
					events.Add(1)
				case 6:
					var in []approval.Inbound
					for id := range 5 {
						in = append(in, approval.Inbound{InboundRef: approval.InboundRef{Source: "x", ID: int64(i*5 + (id+w)%5)}, Body: []byte("{}")})
					}
					write = func() error { return s.SaveInbound(ctx, in) }
				}
				require.NoError(t, insist(write))
			}
		})
	}
	wg.Wait()
	var versions int64
	for _, key := range keys {
		p, err := b.Get(ctx, key)
		require.NoError(t, err)
		versions += p.Version - 1
	}
	require.Equal(t, updates.Load(), versions)
	n, _, err := a.Verify(ctx)
	require.NoError(t, err)
	require.EqualValues(t, events.Load(), n)
}
