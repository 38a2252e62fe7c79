package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
)

// planted are secrets as calls carry them.
var planted = []string{
	"planted-password-Zq81", "planted-api-key-Xw72", "planted-bearer-Vu63token", "planted-in-a-url-Ts54", "planted-env-Rp45secret", "plantedFlagNm36",
}

func plantedCalls() []api.CreateRequest {
	return []api.CreateRequest{
		{ToolName: "deploy", Params: []byte(`{"to":"prod","password":"` + planted[0] + `","nested":{"apiKey":"` + planted[1] + `"}}`)},
		{ToolName: "exec", Params: []byte(`{"command":"curl -X POST -H 'Authorization: Bearer ` + planted[2] + `' https://admin:` + planted[3] + `@db.example/x","env":{"AWS_SECRET_ACCESS_KEY":"` + planted[4] + `"}}`)},
		{ToolName: "exec", Params: []byte(`{"argv":["mysql","--password=` + planted[5] + `","-e","drop table users"]}`)},
	}
}

// requireClean looks for every secret, as it is and as it may be written otherwise.
func requireClean(t *testing.T, where string, text []byte) {
	t.Helper()
	for _, secret := range planted {
		forms := [][]byte{[]byte(secret), []byte(hex.EncodeToString([]byte(secret))), []byte(strings.ToUpper(secret))}
		for skip := range 3 { // base64 depends on where it begins
			forms = append(forms, []byte(base64.RawStdEncoding.EncodeToString([]byte(secret)[skip:])[:len(secret)-6]))
		}
		for _, form := range forms {
			require.False(t, bytes.Contains(text, form), "%s holds %q as %q", where, secret, form)
		}
	}
}

func requireCleanFiles(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, f := range files {
		names = append(names, f.Name())
		if !f.Type().IsRegular() { // the desk's socket
			continue
		}
		requireClean(t, f.Name(), must(os.ReadFile(filepath.Join(dir, f.Name()))))
	}
	return names
}

// Raw args are nowhere on disk in clear, and in no output but the claim: not in the
// store, its write-ahead log, a backup, the desk's log, cards, events, metrics, the
// audit log or any export of it, whatever became of the call.
func TestAdversary_S6_PlantedSecretsAreInTheClaimAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	outputs := map[string]string{}
	note := func(name string, args ...string) { outputs[name] = r.good(args...) }
	for i, end := range []string{"claimed", "pending", "withdrawn", "denied"} {
		for _, call := range plantedCalls() {
			call.SessionKey = end
			a, err := r.agent().Create(r.ctx(), call, api.CreateOptions{})
			require.NoError(t, err)
			require.EqualValues(t, "pending", a.Status, "%s %v %v", a.Reason, a.ReasonCodes, a.Why)
			if i == 0 {
				r.card(a)
			}
			switch end {
			case "claimed":
				_, err = r.operator().Resolve(r.ctx(), a.Code, api.ResolveRequest{Decision: api.AllowOnce})
				require.NoError(t, err)
				claim, err := r.agent().Claim(r.ctx(), a.ID, api.ClaimRequest{ClaimID: "c"})
				require.NoError(t, err)
				require.True(t, slices.ContainsFunc(planted, func(s string) bool { return strings.Contains(string(claim.Params), s) }), "the claim has it all")
				requireClean(t, "receipt", []byte(claim.Receipt))
				_, err = r.agent().Claim(r.ctx(), a.ID, api.ClaimRequest{ClaimID: "other"})
				requireProblem(t, err, "already_used")
				_, err = r.agent().Result(r.ctx(), a.ID, api.ResultRequest{Status: "succeeded"})
				require.NoError(t, err)
			case "denied":
				_, err = r.operator().Resolve(r.ctx(), a.Code, api.ResolveRequest{Decision: api.Deny})
				require.NoError(t, err)
				_, err = r.agent().Claim(r.ctx(), a.ID, api.ClaimRequest{})
				requireProblem(t, err, "not_claimable")
			case "withdrawn":
				_, err = r.agent().Withdraw(r.ctx(), a.ID, api.WithdrawRequest{})
				require.NoError(t, err)
			}
			requireClean(t, "answer", must(json.Marshal(r.get(a))))
			note("view "+a.Code, "view", a.Code)
			note("view json "+a.Code, "view", a.Code, "--json")
		}
	}
	r.checkpoint()
	backup := t.TempDir()
	note("backup", "backup", filepath.Join(backup, "b.db"), "--config", r.configFile())
	note("list", "list", "--json")
	note("audit list", "audit", "list")
	note("audit csv", "audit", "list", "--csv")
	note("audit json", "audit", "list", "--json")
	note("export", "audit", "export")
	note("grants", "allowlist", "list")
	for _, call := range plantedCalls() {
		got := r.cli(operatorSecret, nil, "evaluate", "--tool", call.ToolName, "--params", string(call.Params), "--json")
		outputs["evaluate "+string(call.Params)] = got.out + got.errors
	}
	for name, text := range outputs {
		require.NotEmpty(t, text, name)
		requireClean(t, name, []byte(text))
	}
	res, err := http.Get(r.url + "/metrics")
	require.NoError(t, err)
	metrics, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	res.Body.Close()
	requireClean(t, "metrics", metrics)
	requireClean(t, "cards", []byte(r.tg.Transcript()))
	for _, m := range r.group.FromBot() {
		requireClean(t, "card", must(json.Marshal(m)))
	}
	names := requireCleanFiles(t, r.dir)
	require.Contains(t, names, "desk.db-wal")
	requireCleanFiles(t, backup)
	r.stop()
	requireCleanFiles(t, r.dir)
	requireClean(t, "log", []byte(r.logs.String()))
}
