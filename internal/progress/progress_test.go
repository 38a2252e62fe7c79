package progress

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// terminal is what was written to it so far.
type terminal struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *terminal) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *terminal) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// Nothing is said in the first second, then one line, which is gone in the end.
func TestLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out terminal
		l := Start(&out, true, "checking the log")
		l.At("checking the log, record 500 of 2000", 500, 2000)
		time.Sleep(after - time.Millisecond)
		synctest.Wait()
		require.Empty(t, out.String())
		time.Sleep(redraw)
		synctest.Wait()
		require.Equal(t, "\rchecking the log, record 500 of 2000 [#####               ] 25 % 1 s\x1b[K", out.String())
		l.At("checking rows", 0, 0)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.True(t, strings.HasSuffix(out.String(), "\rchecking rows 3 s\x1b[K"), "%q", out.String())
		l.At(strings.Repeat("x", 200), 1, 1)
		require.Len(t, l.text(time.Minute), width)
		l.End()
		l.End()
		require.True(t, strings.HasSuffix(out.String(), "\r\x1b[K"))
	})
}

// What is over within a second, and what writes elsewhere than on a terminal, leaves no trace.
func TestLine_Silent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out terminal
		l := Start(&out, true, "soon over")
		time.Sleep(after / 2)
		l.End()
		l = Start(&out, false, "in a pipe")
		l.At("in a pipe", 1, 2)
		time.Sleep(time.Minute)
		l.End()
		require.Empty(t, out.String())
	})
}
