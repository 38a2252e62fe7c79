package display

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A name that contains one of the words hides its value; what only looks so, and what could run or say
// where, is shown.
func TestParamsHideByTheirNames(t *testing.T) {
	for in, want := range map[string]string{
		`{"my_secret_x":"hunter2"}`: redacted, `{"passwordHint":"hunter2"}`: redacted, `{"api_key_id":"hunter2"}`: redacted,
		`{"xauth":"hunter2"}`: redacted, `{"keyName":"hunter2"}`: redacted, `{"pass\u200bword_x":"hunter2"}`: redacted,
		`{"author_token_x":"hunter2"}`: redacted,
		`{"author":"hunter2"}`:         "hunter2", `{"monkey":"hunter2"}`: "hunter2", `{"keywords":"hunter2"}`: "hunter2",
		`{"max_tokens":4096}`: "4096", `{"public_key":"hunter2"}`: "hunter2", `{"sortKey":"hunter2"}`: "hunter2",
		`{"my_secret_x":"$(rm -rf /)"}`:   "$(rm -rf /)",
		`{"my_secret_x":"/etc/passwd"}`:   "/etc/passwd",
		`{"my_secret_x":"rm -rf / now"}`:  "rm -rf / now",
		`{"a":{"my_secret_x":"hunter2"}}`: `{"my_secret_x":"[REDACTED]"}`,
	} {
		got, err := Params([]byte(in))
		require.NoError(t, err)
		require.Equal(t, want, got[0].Value, in)
	}
}
