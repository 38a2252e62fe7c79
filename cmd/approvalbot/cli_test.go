package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"approvalbot/internal/cli/answer"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/fakeclaude"
)

func TestMain(m *testing.M) {
	testscript.Main(tidily{m}, map[string]func(){"approvalbot": main, "approvalbot-overlayer": main, "approvalbot-hook": answer.Main, "fakeclaude": fakeclaude.Main, "warehouse": warehouse})
}

// leftovers are directories that all tests share, and that go in the end.
var leftovers []string

// tidily runs the tests and then removes leftovers.
type tidily struct{ m *testing.M }

func (t tidily) Run() int {
	_ = flag.Set("test.parallel", "8") // most tests wait rather than compute
	debug.SetGCPercent(400)            // the detector makes collecting dear, and there is little to collect
	code := t.m.Run()
	for _, dir := range leftovers {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	return code
}

// The command line against a scripted desk. Beside testscript's own commands a
// script has:
//
//	exits STATUS COMMAND…     run a command, which must end with that exit status
//	desk create STATUS        what a request becomes at once: approved, denied, pending
//	desk claim HOW            ok, other, drop, or a refusal's code, perhaps code:why
//	desk refuse CODE          refuse everything
//	desk end STATUS BY REASON end the approval
//	desk down                 stop answering
//	waits TEXT                until the desk was asked something that holds the text
//	envsubst FROM TO          copy a file, environment variables filled in
//	desk log                  write what was asked into the file desk.log
func TestScripts(t *testing.T) {
	t.Parallel()
	type key struct{}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			d := newFakeDesk()
			env.Defer(d.Close)
			env.Values[key{}] = d
			env.Setenv("APPROVALBOT_SERVER", d.URL)
			env.Setenv("LISTEN", strings.TrimPrefix(d.URL, "http://"))
			env.Setenv("APPROVALBOT_TOKEN", "script-token")
			env.Setenv("GORACE", os.Getenv("GORACE"))
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, "home"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":    exits,
			"envsubst": envsubst,
			"waits": func(ts *testscript.TestScript, _ bool, args []string) {
				d, deadline := ts.Value(key{}).(*fakeDesk), time.Now().Add(patient)
				for !d.sees(strings.Join(args, " ")) {
					if time.Sleep(5 * time.Millisecond); time.Now().After(deadline) {
						ts.Fatalf("the desk was not asked %q", args)
					}
				}
			},
			"desk": func(ts *testscript.TestScript, _ bool, args []string) {
				commandDesk(ts, ts.Value(key{}).(*fakeDesk), args)
			},
		},
	})
}

func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exited *exec.ExitError
	if errors.As(err, &exited) {
		got, err = exited.ExitCode(), nil
	}
	ts.Check(err)
	if got != want {
		ts.Fatalf("exit status %d, not %d", got, want)
	}
}

func envsubst(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(os.Expand(ts.ReadFile(args[0]), ts.Getenv)), 0o600))
}

func commandDesk(ts *testscript.TestScript, d *fakeDesk, args []string) {
	d.mu.Lock()
	switch args[0] {
	case "create":
		d.create = args[1]
	case "claim":
		d.claim, d.claimIDs = args[1], nil
	case "refuse":
		d.problem = args[1]
	case "end":
		d.endLocked(args[1], map[string]string{"approved": "allow-once", "denied": "deny"}[args[1]], args[2], args[3])
	}
	d.mu.Unlock()
	switch args[0] {
	case "down":
		d.CloseClientConnections()
		d.Close()
	case "log":
		ts.Check(os.WriteFile(ts.MkAbs("desk.log"), []byte(d.requests()), 0o600))
	}
}

// An agent's own token reaches no verb that decides: the desk refuses it, and
// the command line says so and fails.
func TestAdversary_I10_AgentsTokenDecidesNothing(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"decide", deskID, "--decision", "allow-once"}, {"approve", deskID, "allow-once"}, {"revoke", deskID}, {"list"}, {"watch"},
	} {
		d := deskFor(t)
		d.problem = "forbidden"
		out := runCLI(t, d, "", args...)
		require.Equal(t, app.ExitError, out.code)
		require.Contains(t, out.stderr, "The desk says no. (forbidden)")
	}
}
