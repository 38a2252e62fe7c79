package main

import (
	"context"
	"database/sql"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/note"

	"approvalbot/api"
	"approvalbot/internal/approval"
	"approvalbot/internal/audit"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/config"
	"approvalbot/internal/config/effective"
	"approvalbot/internal/fakechat"
	"approvalbot/proof"
)

// claimed takes a call from the question to the claim.
func (r *rig) claimed(params string, change ...func(*api.CreateRequest)) (api.Approval, api.Claim) {
	r.t.Helper()
	a := r.ask(params, change...)
	_, err := r.operator().Resolve(r.ctx(), a.Code, api.ResolveRequest{Decision: api.AllowOnce, Reason: "fine"})
	require.NoError(r.t, err)
	claim, err := r.agent().Claim(r.ctx(), a.ID, api.ClaimRequest{ClaimID: "mine"})
	require.NoError(r.t, err)
	return a, claim
}

// checkpoint has the desk sign its log now and keeps the text in a file.
func (r *rig) checkpoint() (file string) {
	r.t.Helper()
	head, hash, err := r.desk.Store.Head(r.ctx())
	require.NoError(r.t, err)
	c := proof.Checkpoint{Seq: head, Hash: hash, AtMs: time.Now().UnixMilli()}
	e, err := r.desk.Auditor.Checkpoints.CheckpointEvent(c)
	require.NoError(r.t, err)
	require.NoError(r.t, r.desk.Store.Append(r.ctx(), nil, e))
	text, err := r.desk.Auditor.Checkpoints.SignCheckpoint(c)
	require.NoError(r.t, err)
	return r.file("checkpoint.txt", text)
}

// file writes a file of the test's.
func (r *rig) file(name, text string) string {
	r.t.Helper()
	path := filepath.Join(r.t.TempDir(), name)
	require.NoError(r.t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// good runs a command line that must succeed.
func (r *rig) good(args ...string) string {
	r.t.Helper()
	got := r.cli(operatorSecret, strings.NewReader(""), args...)
	require.Zero(r.t, got.code, "%v: %s", args, got.errors)
	return got.out
}

// bad runs one that must fail with exit status 1, and gives what it says.
func (r *rig) bad(args ...string) string {
	r.t.Helper()
	got := r.cli(operatorSecret, strings.NewReader(""), args...)
	require.Equal(r.t, app.ExitError, got.code, "%v: %s", args, got.out)
	return got.errors
}

func (r *rig) configFile() string { return filepath.Join(r.dir, "approvalbot.yaml") }

// meddle changes the store's file from outside.
func (r *rig) meddle(statement string) {
	r.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(r.dir, "desk.db"))
	require.NoError(r.t, err)
	_, err = db.Exec(statement)
	require.NoError(r.t, err)
	require.NoError(r.t, db.Close())
}

// believe makes the store as an older release left it, so that the next start gives its rows
// MACs as they are.
func (r *rig) believe() {
	r.t.Helper()
	r.meddle(`DELETE FROM meta WHERE name = 'store-id'`)
	for _, table := range []string{"approvals", "grants", "passkeys", "suspended_passkeys", "absences"} {
		r.meddle(`UPDATE ` + table + ` SET mac = ''`)
	}
	r.meddle(`DELETE FROM goose_db_version WHERE version_id >= 13`)
	steps, err := filepath.Glob("../../internal/store/migrations/*.sql")
	require.NoError(r.t, err)
	added := regexp.MustCompile(`CREATE (INDEX|TABLE) (\w+)|(ALTER TABLE \w+) ADD (COLUMN \w+)`)
	for _, step := range slices.Backward(steps) {
		text, err := os.ReadFile(step)
		require.NoError(r.t, err)
		if filepath.Base(step) < "00013" || strings.Contains(string(text), "DROP INDEX") { // one that makes indexes anew does so again
			continue
		}
		for _, m := range slices.Backward(added.FindAllStringSubmatch(string(text), -1)) {
			if m[1] != "" {
				r.meddle("DROP " + m[1] + " " + m[2])
			} else {
				r.meddle(m[3] + " DROP " + m[4])
			}
		}
	}
	require.NoError(r.t, os.Remove(filepath.Join(r.dir, "desk.key.marked")))
}

// foreignKey is the verifier key of another desk's log.
const foreignKey = "approvalbot-6f54830cef34b00a+67ebe330+AeF3T/VJkmJvelm7L4sfVtM25jhmm0UqbgpVVIAyn3Im"

func TestAudit_ListExportVerify(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, _ := r.claimed(`{"to":"prod"}`)
	r.exec("rm -rf /srv/data")

	list := r.good("audit", "list", "--tool", "deploy")
	for _, want := range []string{"requested", "allow-once", "approved", "claimed", a.Code, "olga", "Code\tRecord\tTime"} {
		require.Contains(t, list, want)
	}
	require.NotContains(t, list, "exec")
	for line := range strings.Lines(list) {
		require.LessOrEqual(t, len(strings.TrimRight(line, "\n ")), 80, line)
	}
	require.Less(t, strings.Index(list, "claimed"), strings.Index(list, "requested"), "newest first")
	require.Contains(t, r.good("audit", "list", "--type", "claimed", "--limit", "1"), "claimed")
	require.Equal(t, "Code\tRecord\tTime\tWhat\tTool\tBy\n", r.good("audit", "list", "--agent", "nobody"))
	rows, err := csv.NewReader(strings.NewReader(r.good("audit", "list", "--csv", "--owner", "agent"))).ReadAll()
	require.NoError(t, err)
	require.Equal(t, proof.Columns(), rows[0])
	page, err := r.operator().Audit(r.ctx(), api.AuditOptions{})
	require.NoError(t, err)
	requireJSON := func(want api.AuditPage, args ...string) {
		t.Helper()
		require.JSONEq(t, string(must(json.Marshal(want))), r.good(append([]string{"audit", "list", "--json"}, args...)...))
	}
	requireJSON(page)
	require.Equal(t, len(page.Items)+1, len(rows))
	page.Items = slices.DeleteFunc(page.Items, func(i api.AuditRecord) bool { return i.Type != "audit.claimed" })
	requireJSON(page, "--type", "claimed")
	page, err = r.operator().Audit(r.ctx(), api.AuditOptions{Limit: 2})
	require.NoError(t, err)
	requireJSON(page, "--limit", "2")
	require.Contains(t, r.bad("audit", "list", "--since", "yesterday"), "--since must be")

	kept := r.checkpoint()
	r.ask(`{"n":2}`)
	key := strings.Fields(strings.SplitN(r.good("audit", "keys"), "\n", 2)[0])[2]
	require.Contains(t, r.good("audit", "keys"), r.url+"/.well-known/jwks.json")
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	r.good("audit", "export", "--out", file)
	require.Contains(t, r.bad("audit", "export", "--out", file), "cannot be written")
	text := r.good("audit", "verify", "--file", file, "--expect", kept, "--key", key)
	require.Contains(t, text, "The log fits the expected checkpoint for record 5")
	require.Contains(t, text, "covers record 5")
	require.NotContains(t, text, "own side")
	require.Contains(t, r.good("audit", "verify", "--file", file), "the log itself names")
	require.Contains(t, r.good("audit", "verify", "--expect", kept), "The log fits the expected checkpoint")

	// A running desk's checkpoints are checked with the keys that are given, and no others.
	text = r.good("audit", "verify", "--key", key)
	require.Contains(t, text, "1 signed checkpoint fits; it covers record 5 and all before it.\n")
	require.Contains(t, text, "Signatures were checked with the given key "+key+".\n")
	require.Contains(t, r.good("audit", "verify", "--key", foreignKey, "--key", key, "--expect", kept), "The log fits the expected checkpoint")
	require.Contains(t, r.bad("audit", "verify", "--key", foreignKey), "log record 6 keeps a checkpoint that cannot be trusted: the checkpoint is not signed by a known key")
	require.Contains(t, r.bad("audit", "verify", "--key", "garbage"), "verifier key 1 is not valid")
	forged := r.file("forged", strings.Replace(string(must(os.ReadFile(kept))), "\n5\n", "\n4\n", 1))
	require.Contains(t, r.bad("audit", "verify", "--expect", forged), "the expected checkpoint cannot be trusted: the checkpoint's signature does not fit")
	require.Contains(t, r.bad("audit", "verify", "--file", file, "--expect", forged), "signature does not fit")
	part := r.file("part.jsonl", r.good("audit", "export", "--from", "3", "--to", "4"))
	require.Contains(t, r.good("audit", "verify", "--file", part), "records 3 to 4")
	require.Contains(t, r.bad("audit", "verify", "--file", part, "--expect", kept), "record 5 is missing")
	require.Contains(t, r.bad("audit", "export", "--to", "999"), "ends at record")
	require.Contains(t, r.bad("audit", "export", "--from", "5", "--to", "2"), "--from and --to")
	require.Contains(t, r.bad("audit", "verify", "--file", file, "--expect", r.file("x", "hello")), "not a signed checkpoint")
	require.Contains(t, r.bad("audit", "verify", "--file", file, "--key", "hello"), "is not valid")

	var report struct {
		OK          bool
		Checkpoints int
		BadSeq      int64
	}
	require.NoError(t, json.Unmarshal([]byte(r.good("audit", "verify", "--json")), &report))
	require.True(t, report.OK)
	require.Equal(t, 1, report.Checkpoints)
	text = string(must(os.ReadFile(file)))
	changed := r.file("changed.jsonl", strings.Replace(text, `"owner":"agent"`, `"owner":"other"`, 1))
	got := r.cli(operatorSecret, nil, "audit", "verify", "--json", "--file", changed)
	require.Equal(t, app.ExitError, got.code)
	require.NoError(t, json.Unmarshal([]byte(got.out), &report))
	require.False(t, report.OK)
	require.EqualValues(t, 1, report.BadSeq)

	require.Contains(t, r.cli(agentSecret, nil, "audit", "list").errors, "forbidden")
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Whatever is done to the records of a store is found and named: by the desk, of
// its stopped store, and in an export.
func TestAudit_TamperingIsFoundAndNamed(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ sql, desk, against string }{
		"changed":   {`UPDATE events SET owner = 'x' WHERE seq = 3`, "log record 3 was changed", ""},
		"data":      {`UPDATE events SET data = replace(data, 'olga', 'alice') WHERE seq = 3`, "log record 3 was changed", ""},
		"removed":   {`DELETE FROM events WHERE seq = 2`, "log record 2 is missing", ""},
		"reordered": {`UPDATE events SET seq = 99 WHERE seq = 2; UPDATE events SET seq = 2 WHERE seq = 3; UPDATE events SET seq = 3 WHERE seq = 99`, "log record 2", ""},
		"the front": {`DELETE FROM events WHERE seq < 3; INSERT INTO meta VALUES ('log-start', '3 ' || (SELECT substr(hash, 1, 64) FROM events WHERE seq = 3))`, "log record 3", ""},
		"behind the head": {`INSERT INTO events SELECT 99, at_ms, type, key, owner, data, hash FROM events WHERE seq = 2`,
			"log record 99 comes after the log's head", ""},
		"the tail, badly": {`DELETE FROM events WHERE seq > 4`, "log record 5 is missing", ""},
		"the tail, well": {`DELETE FROM events WHERE seq > 3; UPDATE log_head SET seq = 3, hash = (SELECT hash FROM events WHERE seq = 3)`,
			"the store says that the call was handed out, but the log does not say so", "log record 4 is missing: the log ends before it, but the expected checkpoint is for"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.claimed(`{"to":"prod"}`)
			kept := r.checkpoint()
			r.stop()
			db, key := "sqlite:"+r.dir+"/desk.db", r.dir+"/desk.key"
			require.Contains(t, r.good("audit", "verify", "--store", db, "--key-file", key, "--expect", kept), "The log fits the expected checkpoint")
			r.meddle(tt.sql)
			stopped := []string{"audit", "verify", "--store", db, "--key-file", key}
			require.Contains(t, r.bad(stopped...), tt.desk)
			if tt.against != "" {
				require.Contains(t, r.bad(append(stopped, "--expect", kept)...), tt.against)
			}
			r.start()
			require.Contains(t, r.bad("audit", "verify"), tt.desk)
			if tt.against == "" {
				key := r.desk.Auditor.Keys()[0]
				require.Contains(t, r.bad("audit", "verify", "--key", key), tt.desk)
				return
			}
			require.Contains(t, r.bad("audit", "verify", "--expect", kept, "--key", r.desk.Auditor.Keys()[0]), "log record 4")
			require.Contains(t, r.good("audit", "verify", "--key", foreignKey), "The records have no signature, so the given key "+foreignKey)
			export := r.file("audit.jsonl", r.good("audit", "export"))
			require.Contains(t, r.bad("audit", "verify", "--file", export, "--expect", kept), "log record 4", "its place may be taken by now")
		})
	}
}

// A log that was emptied is no empty log where the store has approvals, also when records
// were written since.
func TestAudit_AnEmptiedLogIsNoEmptyLog(t *testing.T) {
	t.Parallel()
	for name, sql := range map[string]string{
		"emptied":       `DELETE FROM events; UPDATE log_head SET seq = 0, hash = ''`,
		"the last went": `DELETE FROM events WHERE seq > 3; UPDATE log_head SET seq = 3, hash = (SELECT hash FROM events WHERE seq = 3)`,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.claimed(`{"n":1}`)
			r.ask(`{"n":2}`)
			r.stop()
			stopped := []string{"audit", "verify", "--store", "sqlite:" + r.dir + "/desk.db", "--key-file", r.dir + "/desk.key"}
			r.good(stopped...)
			r.meddle(sql)
			require.Contains(t, r.bad(stopped...), "but the log has no record of it")
			r.start()
			for range 2 {
				require.Contains(t, r.bad("audit", "verify"), "but the log has no record of it")
				report, err := r.operator().VerifyAudit(r.ctx())
				require.NoError(t, err)
				require.False(t, report.OK)
				r.ask(`{"n":3}`) // the log goes on
			}
		})
	}
}

// Retention cuts the log only at a checkpoint and leaves a chain that can be
// checked; a log that is not whole is not cut.
func TestAudit_RetentionCutsAtACheckpoint(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.claimed(`{"n":1}`)
	early := r.checkpoint()
	r.claimed(`{"n":2}`)
	later := r.checkpoint()
	r.ask(`{"n":3}`)
	auditor, now := r.desk.Auditor, time.Now()
	require.NoError(t, auditor.Cut(r.ctx(), now, time.Hour), "nothing is old enough")
	require.NoError(t, auditor.Cut(r.ctx(), now.Add(9*time.Hour), 0), "0 is for ever")
	first, _, err := r.desk.Store.First(r.ctx())
	require.NoError(t, err)
	require.EqualValues(t, 1, first)

	require.NoError(t, auditor.Cut(r.ctx(), now.Add(2*time.Hour), time.Hour))
	c, err := proof.ReadCheckpoint(string(must(os.ReadFile(later))))
	require.NoError(t, err)
	first, before, err := r.desk.Store.First(r.ctx())
	require.NoError(t, err)
	require.Equal(t, c.Seq+1, first)
	require.Equal(t, c.Hash, before)
	for range 2 {
		for _, with := range [][]string{{}, {"--key", auditor.Keys()[0]}} {
			text := r.good(append(with, "audit", "verify", "--expect", later)...)
			require.Contains(t, text, "retention cut it there, at a checkpoint")
		}
		export := r.file("audit.jsonl", r.good("audit", "export"))
		require.Contains(t, r.good("audit", "verify", "--file", export, "--expect", later), "The log fits the expected checkpoint")
		require.Contains(t, r.bad("audit", "verify", "--file", export, "--expect", early), "give a later checkpoint")
		require.Contains(t, r.bad("audit", "verify", "--expect", early), "give a later checkpoint")
		require.Contains(t, r.bad("audit", "export", "--from", "1"), fmt.Sprintf("begins at record %d", first))
		require.Contains(t, r.good("audit", "list", "--type", "cut"), "cut")
		require.NoError(t, auditor.Cut(r.ctx(), now.Add(2*time.Hour), time.Hour), "again: there is nothing more")
		r.stop()
		r.start()
		auditor = r.desk.Auditor
	}
	page, err := r.operator().Audit(r.ctx(), api.AuditOptions{Limit: 2})
	require.NoError(t, err)
	for page.NextCursor != "" {
		last := page.Items[len(page.Items)-1].Seq
		page, err = r.operator().Audit(r.ctx(), api.AuditOptions{Limit: 2, Cursor: page.NextCursor})
		require.NoError(t, err)
		if len(page.Items) > 0 {
			require.Equal(t, last-1, page.Items[0].Seq)
		}
	}

	// Without the record that says so, it was not retention.
	r.ask(`{"n":4}`)
	r.stop()
	r.meddle(`UPDATE events SET type = 'audit.checkpoint' WHERE type = 'audit.cut'`)
	require.Contains(t, r.bad("audit", "verify", "--store", "sqlite:"+r.dir+"/desk.db", "--key-file", r.dir+"/desk.key"), "was changed")
	r.start()
	require.NoError(t, r.desk.Store.Append(r.ctx(), nil, approval.Event{Type: approval.EventCheckpoint}))
	r.checkpoint()
	require.ErrorContains(t, r.desk.Auditor.Cut(r.ctx(), now.Add(9*time.Hour), time.Hour), "log record", "evidence stays")
}

// A receipt is checked without the desk, for exactly its call.
func TestReceipt_Verify(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, claim := r.claimed(`{"to":"prod","n":1}`, func(c *api.CreateRequest) { c.Bind = &api.Bind{Workdir: new("/srv/app")} })
	require.Equal(t, &api.Bind{Workdir: new("/srv/app")}, claim.Bind)
	call := r.file("call.json", string(must(json.Marshal(claim))))
	jwks := r.url + "/.well-known/jwks.json"
	text := r.good("receipt", "verify", claim.Receipt, "--jwks", jwks, "--params", call)
	require.Contains(t, text, "OK: the receipt is for this call")
	require.Contains(t, text, a.Code)
	require.Contains(t, text, "by olga")

	res, err := http.Get(jwks)
	require.NoError(t, err)
	var set json.RawMessage
	require.NoError(t, json.NewDecoder(res.Body).Decode(&set))
	res.Body.Close()
	keys := r.file("jwks.json", string(set))
	r.stop() // nobody asks the desk
	got := r.cli(operatorSecret, strings.NewReader(claim.Receipt+"\n"), "receipt", "verify", "-", "--jwks", keys, "--fingerprint", claim.Fingerprint, "--json")
	require.Zero(t, got.code, got.errors)
	var claims proof.Receipt
	require.NoError(t, json.Unmarshal([]byte(got.out), &claims))
	require.Equal(t, a.ID, claims.Approval)
	late := time.UnixMilli(claim.ClaimUntilMs).Add(time.Second).UTC().Format(time.RFC3339)
	other := r.file("other.json", strings.Replace(string(must(os.ReadFile(call))), "prod", "test", 1))
	unbound := r.file("unbound.json", strings.Replace(string(must(os.ReadFile(call))), "/srv/app", "/srv/other", 1))
	forged := claim.Receipt[:len(claim.Receipt)-10] + "AAAAAAAAAA"
	for want, args := range map[string][]string{
		"it expired at":                            {claim.Receipt, "--jwks", keys, "--params", call, "--at", late},
		"for another call":                         {claim.Receipt, "--jwks", keys, "--params", other},
		"for another call; its":                    {claim.Receipt, "--jwks", keys, "--params", unbound},
		"signature":                                {forged, "--jwks", keys, "--params", call},
		"--jwks must name":                         {claim.Receipt, "--params", call},
		"but not both":                             {claim.Receipt, "--jwks", keys},
		"--at must be":                             {claim.Receipt, "--jwks", keys, "--params", call, "--at", "noon"},
		"not a JSON Web Key Set":                   {claim.Receipt, "--jwks", call + "", "--params", call, "--at", "2026-01-01T00:00:00Z"},
		"must be an https":                         {claim.Receipt, "--jwks", "http://192.0.2.1/jwks.json", "--params", call},
		"cannot be fetched":                        {claim.Receipt, "--jwks", jwks, "--params", call},
		"it is not a compact JWS":                  {"hello", "--jwks", keys, "--params", call},
		"cannot be both":                           {"-", "--jwks", keys, "--params", "-"},
		"the call cannot be read":                  {claim.Receipt, "--jwks", keys, "--params", "/nowhere"},
		"the key set cannot be read":               {claim.Receipt, "--jwks", "/nowhere", "--params", call},
		"the fingerprint that was given is not 64": {claim.Receipt, "--jwks", keys, "--fingerprint", "abc"},
		"the call needs toolName":                  {claim.Receipt, "--jwks", keys, "--params", r.file("x.json", "{}")},
	} {
		if strings.HasPrefix(want, "not a JSON") {
			want = "the key set"
		}
		require.Contains(t, r.bad(append([]string{"receipt", "verify"}, args...)...), want)
	}
	require.Contains(t, r.good("receipt", "verify", claim.Receipt, "--jwks", keys, "--params", call, "--at", time.Now().Add(time.Minute).UTC().Format(time.RFC3339)), "OK")
}

// What the documentation's line takes out of an export is a signed note to the byte, for
// every reader of notes.
func TestAudit_TheDocumentedLineTakesOutANote(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("jq"); err != nil {
		t.Skip("jq: not tested, install it")
	}
	r := newRig(t)
	r.claimed(`{"n":1}`)
	r.checkpoint()
	line := regexp.MustCompile(`(?m)^jq .* > checkpoint\.txt$`).FindString(string(must(os.ReadFile("../../docs/audit.md"))))
	require.NotEmpty(t, line)
	c := exec.Command("sh", "-c", line)
	c.Dir = filepath.Dir(r.file("audit.jsonl", r.good("audit", "export")))
	out, err := c.CombinedOutput()
	require.NoError(t, err, string(out))
	v, err := note.NewVerifier(r.desk.Auditor.Keys()[0])
	require.NoError(t, err)
	_, err = note.Open(must(os.ReadFile(filepath.Join(c.Dir, "checkpoint.txt"))), note.VerifierList(v))
	require.NoError(t, err)
}

// The shell example runs what was approved, and nothing else, with the real program.
func TestReceipt_TheShellExample(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("jq"); err != nil {
		t.Skip("jq: not tested, install it")
	}
	bin, err := faultyBinary()
	require.NoError(t, err)
	r := newRig(t)
	show := r.file("show", "#!/bin/sh\nprintf '[%s]' \"$@\"\n")
	require.NoError(t, os.Chmod(show, 0o700))
	_, claim := r.claimed(`{"argv":["`+show+`","a b","$HOME"]}`, func(c *api.CreateRequest) { c.ToolName = "exec" })
	res, err := http.Get(r.url + "/.well-known/jwks.json")
	require.NoError(t, err)
	var set json.RawMessage
	require.NoError(t, json.NewDecoder(res.Body).Decode(&set))
	res.Body.Close()
	jwks, call := r.file("jwks.json", string(set)), r.file("call.json", string(must(json.Marshal(claim))))
	run := func(call, receipt string) (string, error) {
		c := exec.Command("sh", "../../examples/receipt/run-with-receipt.sh", call, receipt, jwks)
		c.Env = append(os.Environ(), "PATH="+filepath.Dir(bin)+":"+os.Getenv("PATH"))
		out, err := c.Output()
		return string(out), err
	}
	out, err := run(call, claim.Receipt)
	require.NoError(t, err)
	require.Equal(t, "[a b][$HOME]", out)
	other := r.file("other.json", strings.Replace(string(must(os.ReadFile(call))), "a b", "a c", 1))
	for _, c := range [][2]string{{other, claim.Receipt}, {call, claim.Receipt + "A"}, {call, ""}} {
		out, err := run(c[0], c[1])
		require.Error(t, err)
		require.Empty(t, out)
	}
}

// A backup made while the desk works is restored on another machine: what was
// pending is decided there, and the chain goes on.
func TestBackup_Restored(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.ask(`{"to":"prod"}`)
	r.card(a)
	ctx, stop := context.WithCancel(context.Background())
	loaded := make(chan error, 1)
	agent := r.agent()
	go func() {
		for n := 0; ; n++ { // each is withdrawn: only so many may be pending
			b, err := agent.Create(ctx, api.CreateRequest{ToolName: "deploy", Params: fmt.Appendf(nil, `{"load":%d}`, n)}, api.CreateOptions{})
			if err == nil {
				_, err = agent.Withdraw(ctx, b.ID, api.WithdrawRequest{})
			}
			if err != nil {
				if ctx.Err() != nil {
					err = nil
				}
				loaded <- err
				return
			}
		}
	}()
	dir := t.TempDir()
	file := filepath.Join(dir, "desk.db")
	text := r.good("backup", file, "--config", r.configFile())
	require.Contains(t, text, "is whole")
	require.Contains(t, text, "The key is not in it")
	require.Contains(t, r.bad("backup", file, "--config", r.configFile()), "already exists")
	stop()
	require.NoError(t, <-loaded)
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm())
	key := must(os.ReadFile(filepath.Join(r.dir, "desk.key")))
	require.NotContains(t, string(must(os.ReadFile(file))), strings.TrimSpace(string(key)))

	r.stop()
	r.dir = dir
	require.NoError(t, os.WriteFile(filepath.Join(dir, "desk.key"), key, 0o600))
	r.start()
	require.EqualValues(t, "pending", r.get(a).Status)
	r.tap(r.alice, r.group, r.card(a).ID, "Allow once")
	require.EqualValues(t, "approved", r.final(a).Status)
	claim, err := r.agent().Claim(r.ctx(), a.ID, api.ClaimRequest{})
	require.NoError(t, err)
	require.JSONEq(t, `{"to":"prod"}`, string(claim.Params))
	require.Contains(t, r.good("audit", "verify"), "OK: records 1 to")
	require.Contains(t, r.bad("admin", "store", "compact", "--yes", "--config", r.configFile()), "store is in use")
	r.stop()
	require.Contains(t, r.good("admin", "store", "compact", "--yes", "--config", r.configFile()), "bytes now")
	require.Contains(t, r.good("store", "vacuum", "--config", r.configFile()), "bytes now", "the old name")
	require.Contains(t, r.good("admin", "store", "compact", "--json", "--config", r.configFile()), `"needs":`)
	r.start()
	require.EqualValues(t, "approved", r.get(a).Status)
}

// After a rotation calls still open, and what the old key signed still counts.
func TestKeysRotate(t *testing.T) {
	t.Parallel()
	for _, exposed := range []bool{false, true} {
		t.Run(fmt.Sprint("exposed ", exposed), func(t *testing.T) {
			r := newRig(t)
			a := r.ask(`{"to":"prod"}`)
			_, old := r.claimed(`{"n":1}`)
			kept := r.checkpoint()
			config := []string{"--config", r.configFile()}
			require.Contains(t, r.bad(append([]string{"keys", "rotate"}, config...)...), "store is in use")
			key := must(os.ReadFile(filepath.Join(r.dir, "desk.key")))
			r.stop()
			args := append([]string{"keys", "rotate"}, config...)
			if exposed {
				args = append(args, "--exposed")
			}
			require.Contains(t, r.good(args...), "calls were sealed anew")
			require.NotEqual(t, key, must(os.ReadFile(filepath.Join(r.dir, "desk.key"))))
			saved, err := filepath.Glob(filepath.Join(r.dir, "desk.key.old-*"))
			require.NoError(t, err)
			require.Len(t, saved, 1, "backups need it")
			require.Equal(t, key, must(os.ReadFile(saved[0])))
			r.start()

			jwks := r.url + "/.well-known/jwks.json"
			check := []string{"receipt", "verify", old.Receipt, "--jwks", jwks, "--fingerprint", old.Fingerprint}
			if exposed {
				require.Contains(t, r.bad(check...), "not in the key set")
			} else {
				r.good(check...)
			}
			r.checkpoint()
			require.Contains(t, r.good("audit", "verify", "--expect", kept), "2 signed checkpoints fit")
			require.Contains(t, r.good("audit", "keys"), "checkpoints, before:")
			require.Contains(t, r.good("audit", "list", "--type", "rekeyed"), "rekeyed")
			_, err = r.operator().Resolve(r.ctx(), a.Code, api.ResolveRequest{Decision: api.AllowOnce})
			require.NoError(t, err)
			claim, err := r.agent().Claim(r.ctx(), a.ID, api.ClaimRequest{})
			require.NoError(t, err)
			require.JSONEq(t, `{"to":"prod"}`, string(claim.Params))
			r.good("receipt", "verify", claim.Receipt, "--jwks", jwks, "--fingerprint", claim.Fingerprint)
		})
	}
}

// A check of the log ends with whoever asked for it, and says how far it is.
func TestAudit_VerifyStopsInTheMiddle(t *testing.T) {
	t.Parallel()
	const verifyPage = 1000
	r := newRig(t)
	require.NoError(t, r.desk.Store.Append(t.Context(), nil, slices.Repeat([]approval.Event{{AtMs: 1, Type: approval.EventPolicy}}, 5*verifyPage)...))
	ctx, leave := context.WithCancel(t.Context())
	var passed []int64
	_, err := audit.VerifyLog(ctx, r.desk.Store, proof.Options{}, func(seq, head int64) {
		require.Contains(t, []int64{5 * verifyPage, 5*verifyPage + 1}, head) // perhaps the desk told of its version as it started
		if passed = append(passed, seq); seq == 2*verifyPage {
			leave()
		}
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, []int64{verifyPage, 2 * verifyPage}, passed)
	require.Contains(t, r.good("audit", "verify"), "OK: records 1 to 500", "5000, and perhaps that the desk told of its version as it started")
}

// A key that others can read keeps the desk from starting.
func TestKeyFile_ModeIsEnforcedAtStart(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.stop()
	require.NoError(t, os.Chmod(filepath.Join(r.dir, "desk.key"), 0o640))
	require.Contains(t, r.bad("serve", "--config", r.configFile()), "chmod 600")
	require.NoError(t, os.Chmod(filepath.Join(r.dir, "desk.key"), 0o600))
	r.start()
}

// The day's first checkpoint is posted once, and the message is what verify takes.
func TestAudit_DailyCheckpointInAChat(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) {
		r.routing = `{mode: targets, targets: [{channel: telegram, to: "GROUP"}], auditChats: [{channel: telegram, to: "GROUP"}]}`
	})
	r.claimed(`{"n":1}`)
	require.NoError(t, r.desk.Auditor.Checkpoint(r.ctx()))
	isNote := func(m fakechat.TelegramMessage) bool { return strings.HasPrefix(m.Text, "approvalbot log ") }
	m, err := r.group.WaitMessage(r.ctx(), isNote)
	require.NoError(t, err)
	kept := r.file("copied.txt", m.Text)
	require.Contains(t, r.good("audit", "verify", "--expect", kept), "The log fits the expected checkpoint")
	key := r.desk.Auditor.Keys()[0]
	export := r.file("audit.jsonl", r.good("audit", "export"))
	require.Contains(t, r.good("audit", "verify", "--file", export, "--expect", kept, "--key", key), "The log fits the expected checkpoint")
	r.claimed(`{"n":2}`)
	r.checkpoint()
	r.stop() // ends what is still being told
	notes := 0
	for _, m := range r.group.FromBot() {
		if isNote(m) {
			notes++
		}
	}
	require.Equal(t, 1, notes)
}

func TestAudit_RecordsAreToBeKeptLonger(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"{approvals: 90d, audit: 30d}": 1, "{approvals: 0, audit: 30d}": 1, "{approvals: 30d, audit: 0}": 0, "{approvals: 30d, audit: 365d}": 0} {
		_, warnings, err := effective.Parse("f.yaml", []byte("store: {url: \"sqlite:x.db\", keyFile: k, retention: "+text+"}"), config.Environ{}, nil)
		require.NoError(t, err)
		n := 0
		for _, w := range warnings {
			if strings.Contains(w.String(), "store.retention.audit") {
				n++
			}
		}
		require.Equal(t, want, n, text)
	}
}
