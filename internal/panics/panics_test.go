package panics

import (
	"bytes"
	"log/slog"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever is caught is logged with its stack, and denied; what did not panic is not.
func TestCatch(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	answered := func(work func()) (answer string) {
		deny := func() { answer = "deny" }
		defer Catch(slog.New(slog.NewTextHandler(&log, nil)), deny, "a request caused a panic", "path", "/boom")
		work()
		return "allow"
	}
	require.Equal(t, "allow", answered(func() {}))
	require.Empty(t, log.String())
	require.Equal(t, "deny", answered(func() { panic("broken") }))
	for _, part := range []string{`msg="a request caused a panic"`, "path=/boom", "panic=broken", "panics_test.go"} {
		require.Contains(t, log.String(), part)
	}
	log.Reset()
	require.PanicsWithValue(t, http.ErrAbortHandler, func() { answered(func() { panic(http.ErrAbortHandler) }) })
	require.Empty(t, log.String())
}
