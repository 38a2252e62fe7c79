package store

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/signin"
)

// testPairing: what many do to the pairing at once all counts, with its events, and a
// platform update counts once.
func testPairing(t *testing.T, s *Store) {
	none, err := s.Pairing(ctx)
	require.NoError(t, err)
	require.Zero(t, none)
	opened := func(signin.Pairing) (signin.Pairing, []approval.Event) {
		return signin.Pairing{ID: "p", CodeHash: "h", ExpiresAtMs: 9}, []approval.Event{{AtMs: 1, Type: approval.EventPairing}}
	}
	require.NoError(t, s.Pair(ctx, nil, opened))
	wrong := func(p signin.Pairing) (signin.Pairing, []approval.Event) {
		p.Wrong++
		return p, []approval.Event{{AtMs: 2, Type: approval.EventRefused}}
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { require.NoError(t, s.Pair(ctx, nil, wrong)) })
	}
	wg.Wait()
	ref := &approval.InboundRef{Source: "telegram:1", ID: 5}
	require.NoError(t, s.SaveInbound(ctx, []approval.Inbound{{InboundRef: *ref, Body: []byte("{}")}}))
	require.NoError(t, s.Pair(ctx, ref, wrong))
	require.ErrorIs(t, s.Pair(ctx, ref, wrong), approval.ErrHandled)
	open, err := s.Inbound(ctx, "telegram:1", 10)
	require.NoError(t, err)
	require.Empty(t, open)

	got, err := s.Pairing(ctx)
	require.NoError(t, err)
	require.Equal(t, signin.Pairing{ID: "p", CodeHash: "h", ExpiresAtMs: 9, Wrong: 9}, got)
	log, err := s.Log(ctx, 0, 100)
	require.NoError(t, err)
	require.Len(t, log, 11, "and the update")
	_, _, err = s.Verify(ctx)
	require.NoError(t, err)
}

// Instances that hear codes at the same time count them all.
func TestPairingOfSeveralInstances(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	var wg sync.WaitGroup
	for range 10 {
		for _, s := range []*Store{a, b} {
			wg.Go(func() {
				require.NoError(t, s.Pair(ctx, nil, func(p signin.Pairing) (signin.Pairing, []approval.Event) {
					p.Wrong++
					return p, nil
				}))
			})
		}
	}
	wg.Wait()
	got, err := b.Pairing(ctx)
	require.NoError(t, err)
	require.Equal(t, 20, got.Wrong)
}
