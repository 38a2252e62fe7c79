package store

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Instances judge by one policy: the newest that an operator loaded.
func TestAgree(t *testing.T) {
	a, b := two(t)
	require.Error(t, a.Agreed())
	require.NoError(t, a.Agree(ctx, "sha256:old", false))
	require.NoError(t, a.Agreed())
	require.NoError(t, b.Agree(ctx, "sha256:new", false))
	require.ErrorContains(t, b.Agreed(), "generation 1", "who comes later does not set the policy")
	require.NoError(t, a.beat(ctx))
	require.NoError(t, a.Agreed())
	require.NoError(t, b.Agree(ctx, "sha256:new", true))
	require.NoError(t, b.Agreed())
	require.NoError(t, a.beat(ctx))
	require.ErrorContains(t, a.Agreed(), "generation 2")
	require.NoError(t, a.Agree(ctx, "sha256:new", false))
	require.NoError(t, a.Agreed())

	// Where those with another policy are gone, the one that is left counts.
	require.NoError(t, a.Agree(ctx, "sha256:third", false))
	require.Error(t, a.Agreed())
	require.NoError(t, b.Close())
	require.NoError(t, a.beat(ctx))
	require.NoError(t, a.Agreed())
}

// An instance that has not said yet which policy it has (it is just starting) keeps
// no other from setting the first.
func TestAgreeBesideOneThatHasNotSpoken(t *testing.T) {
	a, b := two(t)
	require.NoError(t, b.beat(ctx))
	require.NoError(t, a.Agree(ctx, "sha256:old", false))
	require.NoError(t, a.Agreed())
}

// A reading from before a change never hides the change.
func TestAgreeHoldsAgainstReadings(t *testing.T) {
	a, _ := two(t)
	var reading sync.WaitGroup
	stop, errs := make(chan struct{}), make(chan error, 8)
	for range cap(errs) {
		reading.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := a.readPolicy(ctx); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	for i := range 200 {
		require.NoError(t, a.Agree(ctx, fmt.Sprint("sha256:", i), true))
		require.NoError(t, a.Agreed())
	}
	close(stop)
	reading.Wait()
	require.Empty(t, errs)
}

func TestInstancesKnowEachOther(t *testing.T) {
	a, b := two(t)
	for _, s := range []*Store{a, b} {
		require.NoError(t, s.Agree(ctx, "sha256:new", false))
	}
	all, err := a.Instances(ctx)
	require.NoError(t, err)
	require.Len(t, all, 2)
	for _, i := range all {
		require.Equal(t, "sha256:new", i.PolicyHash)
		require.Equal(t, "test", i.Version)
	}
	require.Equal(t, all[0].KeyID, all[1].KeyID)
}
