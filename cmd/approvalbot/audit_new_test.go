package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// A check of what is new begins behind the checkpoint up to which the last one found all good. What it looks at it
// looks at as closely, and it says what it does not look at.
func TestAudit_VerifyNew(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ sql, whole, fresh string }{
		"changed before": {`UPDATE events SET owner = 'x' WHERE seq = 3`, "log record 3 was changed", ""},
		"changed since":  {`UPDATE events SET owner = 'x' WHERE seq = 6`, "log record 6 was changed", "log record 6 was changed"},
		"removed since":  {`DELETE FROM events WHERE seq = 6`, "log record 6 is missing", "log record 6 is missing"},
		"where it begins": {`UPDATE events SET hash = 'x' WHERE seq = 4`, "log record 4 was changed",
			"log record 4 is not the record that the last check found good"},
		"the mark": {`UPDATE meta SET value = '9 x y' WHERE name = 'verified'`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.claimed(`{"to":"prod"}`)
			r.checkpoint()
			require.Contains(t, r.good("audit", "verify", "--new"), "OK: records 1 to 5 are", "there was no check before")
			text := r.good("audit", "verify", "--new")
			require.Contains(t, text, "OK: records 5 to 5 are")
			require.Contains(t, text, "Records before record 5 were not checked.")
			r.ask(`{"n":2}`)
			r.ask(`{"n":3}`)
			r.stop()
			r.meddle(tt.sql)
			r.start()
			if tt.fresh == "" {
				r.good("audit", "verify", "--new")
			} else {
				require.Contains(t, r.bad("audit", "verify", "--new"), tt.fresh)
			}
			if tt.whole == "" {
				require.Contains(t, r.good("audit", "verify"), "OK: records 1 to ")
				return
			}
			require.Contains(t, r.bad("audit", "verify"), tt.whole)
			require.Contains(t, r.bad("audit", "verify", "--new", "--file", "x"), "--new is for the desk's own check")
		})
	}
}

// In a pipe a check says nothing until it is over.
func TestAudit_VerifyIsQuietInAPipe(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.claimed(`{"to":"prod"}`)
	got := r.cli(operatorSecret, bytes.NewReader(nil), "audit", "verify")
	require.Equal(t, 0, got.code)
	require.NotContains(t, got.errors, "checking the log")
}
