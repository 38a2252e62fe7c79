package lazy

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSet(t *testing.T) {
	t.Parallel()
	s := Words(`cat grep
		sed -n ü`)
	for _, w := range []string{"cat", "grep", "sed", "-n", "ü"} {
		require.True(t, s.Has(w), w)
	}
	for _, w := range []string{"", "ca", "cats", "cat grep", "CAT", "gre", " ", "-", "u"} {
		require.False(t, s.Has(w), w)
	}
	require.Equal(t, []string{"cat", "grep", "sed", "-n", "ü"}, s.List())
	var none *Set
	require.False(t, none.Has("cat"))
	require.False(t, Words("").Has(""))
}

// A union has what any of its sets has, in their order.
func TestUnion(t *testing.T) {
	t.Parallel()
	s := Union(Words("a b"), Words("c"), Words("b"))
	require.True(t, s.Has("a") && s.Has("c"))
	require.False(t, s.Has("d"))
	require.Equal(t, []string{"a", "b", "c", "b"}, s.List())
}

// Those who ask at once get the same answer.
func TestSet_Concurrent(t *testing.T) {
	t.Parallel()
	s, p := Words("one two"), Pattern("^t")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if !s.Has("two") || s.Has("three") || !p.MatchString("two") {
				t.Error("another answer")
			}
		})
	}
	wg.Wait()
}

// What is asked again costs nothing more.
func TestSet_AllocatesOnce(t *testing.T) {
	s, p := Words("one two"), Pattern("^t")
	require.True(t, s.Has("two") && p.MatchString("two"))
	require.Zero(t, testing.AllocsPerRun(100, func() { s.Has("one"); s.Has("six"); s.List(); p.Compiled() }))
}

func TestPattern(t *testing.T) {
	t.Parallel()
	p := Pattern(`([a-z])([0-9])`)
	require.True(t, p.MatchString("x1") && p.Match([]byte("x1")))
	require.Equal(t, "x1", p.FindString("-x1-"))
	require.Equal(t, []int{1, 3}, p.FindStringIndex("-x1-"))
	require.Equal(t, []string{"x1", "x", "1"}, p.FindStringSubmatch("-x1-"))
	require.Equal(t, "-1x-", p.ReplaceAllString("-x1-", "$2$1"))
	require.Panics(t, func() { Pattern("(").MatchString("") })
}
