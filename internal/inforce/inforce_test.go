package inforce

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// Two parts of a snapshot are of the same one for whoever reads the second after the first was
// replaced, too: none is older than what was read before.
func TestPartsAreReplacedAtOnce(t *testing.T) {
	type snapshot struct{ tokens, rules int }
	var whole atomic.Pointer[snapshot]
	whole.Store(&snapshot{})
	var tokens, rules Value[int]
	tokens.Follow(func() *int { return &whole.Load().tokens })
	rules.Follow(func() *int { return &whole.Load().rules })
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for range 10_000 {
				admitted := *tokens.Load()
				if judged := *rules.Load(); judged < admitted {
					t.Errorf("admitted with tokens of snapshot %d, judged by rules of snapshot %d", admitted, judged)
					return
				}
			}
		})
	}
	for i := range 10_000 {
		whole.Store(&snapshot{i, i})
	}
	readers.Wait()
	require.PanicsWithValue(t, "inforce: what follows a snapshot is replaced with it", func() { rules.Store(new(int)) })
}

func TestValue_OfItsOwn(t *testing.T) {
	var v Value[string]
	require.Nil(t, v.Load())
	text := "a"
	v.Store(&text)
	require.Equal(t, "a", *v.Load())
}
