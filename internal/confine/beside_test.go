//go:build linux

package confine

import (
	"bytes"
	"context"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// No confined command runs beside an unconfined one of the same state, nor beside what that left behind; commands of one
// kind run beside each other.
func TestEnter(t *testing.T) { // not parallel: what another test starts meanwhile would stay, too
	state := t.TempDir()
	ended, end := context.WithCancel(t.Context())
	end()
	enters := func(kind Kind) (func(), bool) {
		leave, err := Enter(ended, state, kind, &bytes.Buffer{}, nil)
		return leave, err == nil
	}
	for _, kind := range []Kind{Confined, Unconfined} {
		first, ok := enters(kind)
		require.True(t, ok)
		second, ok := enters(kind)
		require.True(t, ok)
		_, ok = enters(kind.other())
		require.False(t, ok, kind)
		first()
		_, ok = enters(kind.other())
		require.False(t, ok, kind)
		second()
		other, ok := enters(kind.other())
		require.True(t, ok, kind)
		other()
	}
	_, err := Enter(ended, state, Confined, &bytes.Buffer{}, func() bool { return false })
	require.ErrorContains(t, err, "no unconfined command runs")
	leave, ok := enters(Confined)
	require.True(t, ok, "it is not entered if also says no")
	leave()
}

// What a command leaves behind still counts, and a confined call waits for its end.
func TestEnter_DescendantsStay(t *testing.T) { // not parallel either
	state := t.TempDir()
	leave, err := Enter(t.Context(), state, Unconfined, &bytes.Buffer{}, nil)
	require.NoError(t, err)
	left := exec.Command("sh", "-c", "cat >/dev/null & cat")
	stdin, err := left.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, left.Start())
	leave()
	waited := false
	leave, err = Enter(t.Context(), state, Confined, writer(func() { waited = true; _ = stdin.Close() }), nil)
	require.NoError(t, err)
	leave()
	require.True(t, waited)
	require.NoError(t, left.Wait())
}

// writer calls a function when it is written to.
type writer func()

func (w writer) Write(p []byte) (int, error) {
	w()
	return len(p), nil
}
