package main

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
)

// A write-ahead log that was damaged while no desk ran is said by doctor and by the verbs
// that read the store, then at the start, once, and stands on record.
func TestADamagedWriteAheadLogIsSaid(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for range 5 {
		r.claimed(`{"to":"prod"}`)
	}
	files := map[string][]byte{}
	for _, name := range []string{"desk.db", "desk.db-wal"} {
		files[name] = must(os.ReadFile(filepath.Join(r.dir, name)))
	}
	r.stop()
	log := files["desk.db-wal"]
	log[32+24+int(binary.BigEndian.Uint32(log[8:]))*3/2] ^= 0xff // in the second frame
	for name, b := range files {                                 // as a kill leaves them
		require.NoError(t, os.WriteFile(filepath.Join(r.dir, name), b, 0o600))
	}

	const said = "the write-ahead log is damaged in frame 2"
	require.Contains(t, r.cli(operatorSecret, nil, "doctor", "--offline", "--config", r.configFile()).out, said)
	require.Contains(t, r.bad("audit", "verify", "--store", "sqlite:"+r.dir+"/desk.db", "--key-file", r.dir+"/desk.key"), said)
	before := strings.Count(r.logs.String(), said)
	r.start()
	page, err := r.operator().Audit(r.ctx(), api.AuditOptions{})
	require.NoError(t, err)
	damaged := slices.IndexFunc(page.Items, func(e api.AuditRecord) bool { return e.Type == "audit.damaged" })
	require.NotEqual(t, -1, damaged)
	require.Contains(t, string(page.Items[damaged].Data), `"frame":2`)
	require.Equal(t, before+1, strings.Count(r.logs.String(), said))
	require.NotContains(t, r.good("audit", "list"), "requested", "they are gone")
	r.stop()
	r.start()
	require.Equal(t, before+1, strings.Count(r.logs.String(), said))
	require.NotContains(t, r.cli(operatorSecret, nil, "doctor", "--offline", "--config", r.configFile()).out, said)
}
