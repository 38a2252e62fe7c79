package main

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/cli/app"
)

// offline runs a verb on the rig's store file, asking no server.
func (r *rig) offline(args ...string) cliRun {
	var out, errs bytes.Buffer
	code := run(r.ctx(), append(args, "--offline", "--config", filepath.Join(r.dir, "approvalbot.yaml")), nil, nil, &out, &errs)
	return cliRun{code, out.String(), errs.String()}
}

// What is on record can be read when the desk is stopped, and beside a running
// one, in the same words.
func TestOffline_ReadsTheStore(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.ask(`{"to":"prod"}`)
	b := r.exec("rm -rf /srv/www")
	r.tap(r.bob, r.group, r.card(b).ID, "Deny")
	r.until(b, "the card shows the end", func(a api.Approval) bool { return a.Deliveries[0].State == "settled" })
	online := r.cli(operatorSecret, nil, "view", b.Code)
	require.Zero(t, online.code, online.errors)
	require.Equal(t, online.out, r.offline("view", b.Code).out, "beside the running desk")
	r.stop()
	list := r.offline("list")
	require.Zero(t, list.code, list.errors)
	require.Regexp(t, `(?m)^`+a.Code+`\t[0-9a-f]{8}\tdeploy\tmain\tpending\t.*\tR3\tto: prod`, list.out)
	require.Contains(t, list.out, b.Code)
	require.NotContains(t, r.offline("list", "--status", "denied").out, a.Code)
	require.Equal(t, online.out, r.offline("view", b.ID[:8]).out)
	require.Contains(t, r.offline("view", a.Code).out, "to: prod", "the key opens what is sealed, redacted as ever")
	require.Contains(t, r.offline("stats").out, "2 approvals in the last 7d")
	missing := r.offline("view", "ZZZZZZ")
	require.Equal(t, app.ExitError, missing.code)
	require.Contains(t, missing.errors, "There is no such approval. (not_found); approvalbot list shows")
	r.start()
	require.EqualValues(t, "pending", r.get(a).Status, "nothing was changed")
}
