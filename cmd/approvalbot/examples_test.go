package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/fakechat"
)

// askers are the example programs that ask, wait, claim, run and report.
var askers = map[string]struct {
	path  string
	needs []string
}{
	"shell":  {"ask-in-shell/ask.sh", []string{"sh", "curl", "jq", "od"}},
	"python": {"ask-in-python/ask.py", []string{"python3"}},
	"node":   {"ask-in-node/ask.mjs", []string{"node"}},
}

// example is one of them, ready to start.
type example struct {
	t       *testing.T
	program string
	dir     string // it works here; what it runs leaves the file ran here
}

func eachExample(t *testing.T, f func(t *testing.T, e example)) {
	for name, x := range askers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, program := range x.needs {
				if _, err := exec.LookPath(program); err != nil {
					t.Skipf("%s: not tested, install it", program)
				}
			}
			program, err := filepath.Abs("../../examples/" + x.path)
			require.NoError(t, err)
			source, err := os.ReadFile(program)
			require.NoError(t, err)
			require.LessOrEqual(t, strings.Count(string(source), "\n"), 80, "it is to stay small")
			e := example{t, program, t.TempDir()}
			require.NoError(t, os.WriteFile(filepath.Join(e.dir, "deploytool"), []byte("#!/bin/sh\ntouch ran\nprintf '[%s]' \"$@\"\nexit $DEPLOY_EXIT\n"), 0o700))
			f(t, e)
		})
	}
}

// start runs the example against a desk; its end comes over the channel.
func (e example) start(desk, token string, argv ...string) <-chan output {
	_, _, done := e.begin(desk, token, argv...)
	return done
}

// begin is start, and gives the process too, which leads a group of its own, and what
// it says on stderr.
func (e example) begin(desk, token string, argv ...string) (*exec.Cmd, *safeBuffer, <-chan output) {
	c := exec.Command(e.program, argv...)
	c.Dir = e.dir
	c.Env = append(os.Environ(), "APPROVALBOT_SERVER="+desk, "APPROVALBOT_TOKEN="+token, "DEPLOY_EXIT=7", "NO_PROXY=*", "PYTHONDONTWRITEBYTECODE=1")
	var out, problems safeBuffer
	c.Stdout, c.Stderr = &out, &problems
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	done := make(chan output, 1)
	require.NoError(e.t, c.Start())
	go func() {
		err := c.Wait()
		var exited *exec.ExitError
		if err != nil && !errors.As(err, &exited) {
			_, _ = problems.Write([]byte(err.Error()))
		}
		done <- output{c.ProcessState.ExitCode(), out.String(), problems.String()}
	}()
	return c, &problems, done
}

func (e example) ran() bool {
	_, err := os.Stat(filepath.Join(e.dir, "ran"))
	return err == nil
}

// asked waits for the card that shows those words.
func (r *rig) asked(words string) fakechat.TelegramMessage {
	r.t.Helper()
	m, err := r.group.WaitMessage(r.ctx(), func(m fakechat.TelegramMessage) bool {
		return strings.Contains(m.Text, words) && decides(m.Labels())
	})
	require.NoError(r.t, err)
	r.remembers("telegram", fmt.Sprint(m.ID))
	return m
}

// The example programs run exactly the words that were approved, and report.
func TestFlow_ExamplesAskClaimAndRun(t *testing.T) {
	t.Parallel()
	eachExample(t, func(t *testing.T, e example) {
		r := newRig(t)
		done := e.start(r.url, agentSecret, "./deploytool", "one", "a b", "$HOME", "'; touch ran2 #", "new\nline", "", "-n", "--", "*", `\n"ä`)
		r.tap(r.alice, r.group, r.asked("deploytool one").ID, "Allow once")
		out := <-done
		require.Equal(t, 7, out.code, out.stderr)
		require.Equal(t, "[one][a b][$HOME]['; touch ran2 #][new\nline][][-n][--][*][\\n\"ä]", out.stdout)
		list, err := r.operator().List(r.ctx(), api.Filter{})
		require.NoError(t, err)
		require.Len(t, list.Items, 1)
		require.NotNil(t, list.Items[0].Result, out.stderr)
		require.Equal(t, "failed", list.Items[0].Result.Status)
		require.Equal(t, 7, *list.Items[0].Result.ExitCode)

		require.NoError(t, os.Remove(filepath.Join(e.dir, "ran")))
		done = e.start(r.url, agentSecret, "./deploytool", "two")
		r.tap(r.bob, r.group, r.asked("deploytool two").ID, "Deny")
		out = <-done
		require.Equal(t, 10, out.code, out.stderr)
		require.Contains(t, out.stderr, "not run: denied")

		done = e.start(r.url, agentSecret, "./deploytool", "three")
		card := r.asked("deploytool three")
		pending, err := r.agent().List(r.ctx(), api.Filter{Status: api.Pending})
		require.NoError(t, err)
		_, err = r.agent().Withdraw(r.ctx(), pending.Items[0].ID, api.WithdrawRequest{})
		require.NoError(t, err)
		require.Equal(t, 12, (<-done).code)
		r.settled(r.group, card.ID)

		out = <-e.start(r.url, "not-a-token-of-this-desk", "./deploytool", "four")
		require.Equal(t, 1, out.code)
		require.Contains(t, out.stderr, "not run: ")
		require.False(t, e.ran())

		done = e.start(r.url, agentSecret, "eval", "touch ran")
		r.tap(r.alice, r.group, r.asked("eval").ID, "Allow once")
		out = <-done
		require.NotZero(t, out.code, "a shell's own words are no programs")
		require.False(t, e.ran())
	})
}

// They say that they wait, and withdraw the request when nobody waits for it any more.
func TestFlow_ExamplesWithdrawWhenInterrupted(t *testing.T) {
	t.Parallel()
	eachExample(t, func(t *testing.T, e example) {
		r := newRig(t)
		for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
			words := "deploytool on" + signal.String()
			c, stderr, done := e.begin(r.url, agentSecret, "./deploytool", "on"+signal.String())
			r.asked(words)
			pending, err := r.agent().List(r.ctx(), api.Filter{Status: api.Pending})
			require.NoError(t, err)
			require.Len(t, pending.Items, 1)
			require.Eventually(t, func() bool {
				return strings.Contains(stderr.String(), "waiting for approval "+pending.Items[0].Code+"; Ctrl-C withdraws it\n")
			}, patient, 5*time.Millisecond)
			var out output
			require.Eventually(t, func() bool { // a shell that is just starting a program may miss the first
				_ = syscall.Kill(-c.Process.Pid, signal) // as a terminal sends it
				select {
				case out = <-done:
					return true
				default:
					return false
				}
			}, patient, 50*time.Millisecond)
			require.Equal(t, 12, out.code, out.stderr)
			require.Contains(t, out.stderr, "not run: interrupted; the request is withdrawn")
			require.Equal(t, api.Withdrawn, r.get(pending.Items[0]).Status)
			require.False(t, e.ran())
		}
	})
}

// Without a token, or a command, nobody is asked.
func TestFlow_ExamplesSayHowTheyAreUsed(t *testing.T) {
	t.Parallel()
	eachExample(t, func(t *testing.T, e example) {
		desk := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the desk was asked") }))
		defer desk.Close()
		for _, out := range []output{<-e.start(desk.URL, "", "./deploytool"), <-e.start(desk.URL, "t")} {
			require.Equal(t, 1, out.code)
			require.Equal(t, "usage: APPROVALBOT_TOKEN=… "+filepath.Base(e.program)+" CMD [ARG...]\n", out.stderr)
		}
	})
}

// Whatever a desk answers but the claim of this very call, nothing runs.
func TestFlow_ExamplesRunNothingOdd(t *testing.T) {
	t.Parallel()
	eachExample(t, func(t *testing.T, e example) {
		answer := func(status int, text string) output {
			odd := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var in api.CreateRequest
				_ = json.NewDecoder(r.Body).Decode(&in)
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(status)
				_, _ = w.Write([]byte(strings.ReplaceAll(text, "ASKED", string(in.Params))))
			}))
			defer odd.Close()
			return <-e.start(odd.URL, "t", "./deploytool", "one")
		}
		const good = `{"status":"approved","claim":{"toolName":"exec","params":ASKED}}`
		require.Equal(t, 7, answer(200, good).code, "this one would run")
		require.NoError(t, os.Remove(filepath.Join(e.dir, "ran")))
		for name, c := range map[string]struct {
			status int
			text   string
			code   int
		}{
			"no claim":      {200, `{"status":"approved"}`, 1},
			"null":          {200, `{"status":"approved","claim":null}`, 1},
			"another tool":  {200, strings.Replace(good, "exec", "write", 1), 1},
			"another call":  {200, `{"status":"approved","claim":{"toolName":"exec","params":{"argv":["./deploytool"]}}}`, 1},
			"a shell line":  {200, `{"status":"approved","claim":{"toolName":"exec","params":{"command":"./deploytool one"}}}`, 1},
			"words as text": {200, `{"status":"approved","claim":{"toolName":"exec","params":{"argv":"./deploytool"}}}`, 1},
			"denied":        {200, strings.Replace(good, "approved", "denied", 1), 10},
			"expired":       {200, strings.Replace(good, "approved", "expired", 1), 11},
			"withdrawn":     {200, strings.Replace(good, "approved", "withdrawn", 1), 12},
			"unknown":       {200, strings.Replace(good, "approved", "allowed", 1), 1},
			"a list":        {200, "[" + good + "]", 1},
			"two":           {200, good + good, 1},
			"no JSON":       {200, "<html>", 1},
			"nothing":       {200, "", 1},
			"a redirect":    {302, good, 1},
			"a refusal":     {409, good, 1},
		} {
			out := answer(c.status, c.text)
			require.Equal(t, c.code, out.code, "%s: %s", name, out.stderr)
			require.False(t, e.ran(), name)
		}
	})
}
