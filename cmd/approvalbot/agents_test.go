package main

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/cli/setup"
	"approvalbot/internal/hook"
	"approvalbot/internal/hook/live"
)

// The real clients of agent runtimes, with a fake model: make agents installs them and
// sets APPROVALBOT_AGENTS to their folder.

// agentsPath is PATH with what make agents has installed before it.
func agentsPath(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("APPROVALBOT_AGENTS")
	if dir == "" {
		t.Skip("agent runtimes: not tested, make agents does")
	}
	bins, err := filepath.Glob(filepath.Join(dir, "*", "node_modules", ".bin"))
	require.NoError(t, err)
	return strings.Join(append(bins, os.Getenv("PATH")), string(os.PathListSeparator))
}

// lab is a lab of a runtime whose client is here; else the test is skipped.
func lab(t *testing.T, runtime string) *live.Lab {
	t.Helper()
	path := agentsPath(t)
	l, err := live.Open(runtime, path, filepath.Join(os.Getenv("APPROVALBOT_AGENTS"), "labs"))
	if err != nil {
		t.Skipf("%s: not tested, its client is not installed", runtime)
	}
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}

// program is approvalbot itself, as hooks call it.
func program(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("approvalbot")
	require.NoError(t, err)
	return path
}

func runtimeOf(t *testing.T, name string) hook.Runtime {
	t.Helper()
	r, known := hook.Find(name)
	require.True(t, known, name)
	return r
}

func eachRuntime(t *testing.T, f func(t *testing.T, l *live.Lab)) {
	for _, name := range live.Runtimes() {
		t.Run(name, func(t *testing.T) { f(t, lab(t, name)) })
	}
}

// Whoever says how many runtimes must be tried gets that many.
func TestAgents_Enough(t *testing.T) {
	t.Parallel()
	path := agentsPath(t)
	wanted, _ := strconv.Atoi(os.Getenv("APPROVALBOT_REQUIRE_AGENTS"))
	found := []string{}
	for _, name := range live.Runtimes() {
		l, err := live.Open(name, path, filepath.Join(os.Getenv("APPROVALBOT_AGENTS"), "labs"))
		if err == nil {
			found = append(found, name)
			require.NoError(t, l.Close())
		}
	}
	require.GreaterOrEqual(t, len(found), wanted, "installed are %v", found)
}

// What doctor --live says holds for each client: an allowed command runs, a denied one
// does not, and none does while no desk is there.
func TestAgents_AllowDenyDown(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, l *live.Lab) {
		a := &app.App{}
		found, err := setup.TryLive(t.Context(), a, l, runtimeOf(t, l.Runtime), program(t), false)
		require.NoError(t, err)
		for _, f := range found {
			require.Equal(t, core.LevelOK, f.Level, "%s: %s", f.What, f.Text)
		}
		require.GreaterOrEqual(t, len(found), 4)
	})
}

// attached is a lab whose client asks the rig's desk.
func attached(t *testing.T, r *rig, l *live.Lab, beside bool) {
	t.Helper()
	d := &setup.LiveDesk{Dir: filepath.Join(l.Dir(), "desk"), URL: r.url, Token: agentSecret, Program: program(t)}
	require.NoError(t, os.MkdirAll(d.Dir, 0o700))
	_, err := d.Attach(t.Context(), l, runtimeOf(t, l.Runtime), beside)
	require.NoError(t, err)
}

// asksAlways is a desk whose people decide about everything.
func asksAlways(r *rig) {
	r.agentHas = ", agentId: main"
	r.tools = "    mode: always\n"
}

// running is one run of a client.
type running struct {
	result live.Result
	err    error
}

// clientTime bounds one run of a client: they are large, and start slowly where others
// work as well.
const clientTime = 10 * time.Minute

func startClient(ctx context.Context, l *live.Lab) <-chan running {
	done := make(chan running, 1)
	go func() {
		ctx, cancel := context.WithTimeout(ctx, clientTime)
		defer cancel()
		got, err := l.Run(ctx)
		done <- running{got, err}
	}()
	return done
}

// slowly is how long a slow person takes, beyond what clients wait by default where make
// agents has the time for it.
func slowly(t *testing.T) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(os.Getenv("APPROVALBOT_SLOW"))
	if err != nil {
		return 0
	}
	return d
}

// A person takes a while: the client waits, and does what is decided in the end. Where it
// does not wait that long, its call is denied with the approval's code, and the same
// call again takes the answer.
func TestAgents_SlowPerson(t *testing.T) {
	eachRuntime(t, func(t *testing.T, l *live.Lab) {
		if slowly(t) > 0 {
			t.Parallel()
		}
		short := runtimeOf(t, l.Runtime).Limit.Hard > 0
		if short && slowly(t) == 0 {
			t.Skipf("%s with a person slower than its limit: not tested, make agents AGENTS_SLOW=70s does", l.Runtime)
		}
		for _, button := range []string{"Allow once", "Deny"} {
			r := newRig(t, asksAlways)
			attached(t, r, l, false)
			l.Model.Repeat = 0
			if short {
				l.Model.Repeat = 1
			}
			done := startClient(t.Context(), l)
			card := r.asked(live.Command())
			if short {
				require.Eventually(t, func() bool { return l.Model.Calls() == 2 }, patient, 50*time.Millisecond)
			} else {
				<-time.After(slowly(t))
			}
			r.tap(r.alice, r.group, card.ID, button)
			got := <-done
			require.NoError(t, got.err, got.result.Output)
			require.Equal(t, button == "Allow once", got.result.Ran, "%v\n%s", got.result.Read, got.result.Output)
			if short {
				require.Contains(t, strings.Join(got.result.Read, "\n"), "waiting for approval")
			}
			if button == "Deny" {
				require.Contains(t, strings.Join(got.result.Read, "\n"), "alice")
			}
			items, err := r.operator().List(r.ctx(), api.Filter{})
			require.NoError(t, err)
			if button == "Allow once" { // a deny leaves a cool-down, in which each repeat is on record
				require.Len(t, items.Items, 1, "one call is one card")
			}
		}
	})
}

// The library adapters of the examples, each with the real library.
func TestAgents_Libraries(t *testing.T) {
	t.Parallel()
	path := agentsPath(t)
	for _, name := range []string{"vercel-ai.mjs", "openai-agents.mjs", "langchain.mjs", "claude-agent-sdk.mjs"} {
		t.Run(name, func(t *testing.T) {
			folder := "libraries"
			if name == "claude-agent-sdk.mjs" {
				folder = "claude-agent-sdk"
			}
			modules, err := filepath.Abs(filepath.Join(os.Getenv("APPROVALBOT_AGENTS"), folder, "node_modules"))
			require.NoError(t, err)
			if _, err := os.Stat(modules); err != nil {
				t.Skipf("%s: not tested, its library is not installed", name)
			}
			dir := t.TempDir()
			for _, file := range []string{name, "approvalbot.mjs"} {
				copyFile(t, "../../examples/agents-in-node/"+file, filepath.Join(dir, file))
			}
			require.NoError(t, os.Symlink(modules, filepath.Join(dir, "node_modules")))
			toldAll(t, exampleAgent(t, path, "node", dir, filepath.Join(dir, name)))
		})
	}
}

// toldAll holds that the desk was told of an example's call all that its card has room for: why, where, and how it ended.
func toldAll(t *testing.T, r *rig) {
	t.Helper()
	items, err := r.operator().List(r.ctx(), api.Filter{})
	require.NoError(t, err)
	ran := items.Items[len(items.Items)-1] // the first one
	require.NotNil(t, ran.Result, "the card says how it ended")
	require.Equal(t, "succeeded", ran.Result.Status)
	require.NotNil(t, ran.Bind)
	require.Equal(t, "clean the build folder", ran.Justification, "the model's own words")
	require.NotContains(t, ran.ParamsSummary, "clean the build folder", "they are no part of the call")
}

// The adapter for Python needs no library.
func TestExamples_PythonAgent(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3: not tested, install it")
	}
	agent, err := filepath.Abs("../../examples/agents-in-python/agent.py")
	require.NoError(t, err)
	toldAll(t, exampleAgent(t, os.Getenv("PATH"), "python3", t.TempDir(), agent))
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, text, 0o600))
}

// exampleAgent runs an example that is an agent with a shell: allowed, denied, and
// without a desk.
func exampleAgent(t *testing.T, path, interpreter, dir, script string) *rig {
	t.Helper()
	model, url := serveModel(t)
	r := newRig(t, asksAlways)
	run := func(desk string) <-chan output {
		require.NoError(t, os.RemoveAll(filepath.Join(dir, "build.old")))
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "build"), 0o700))
		c := exec.CommandContext(r.ctx(), lookPath(t, interpreter, path), script, "clean up the build folder")
		c.Dir = dir
		c.Env = []string{
			"PATH=" + path, "HOME=" + dir, "OPENAI_BASE_URL=" + url + "/v1", "OPENAI_API_KEY=x", "OPENAI_MODEL=m",
			"APPROVALBOT_SERVER=" + desk, "APPROVALBOT_TOKEN=" + agentSecret, "PYTHONDONTWRITEBYTECODE=1", "NO_PROXY=*",
			"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=x", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		}
		done := make(chan output, 1)
		go func() {
			text, _ := c.CombinedOutput()
			done <- output{code: c.ProcessState.ExitCode(), stdout: string(text)}
		}()
		return done
	}
	ran := func() bool {
		_, err := os.Stat(filepath.Join(dir, "build.old"))
		return err == nil
	}
	for _, button := range []string{"Allow once", "Deny"} {
		done := run(r.url)
		r.tap(r.alice, r.group, r.asked(live.Command()).ID, button)
		out := <-done
		require.Zero(t, out.code, out.stdout)
		require.Equal(t, button == "Allow once", ran(), out.stdout)
	}
	cooled := <-run(r.url)
	require.False(t, ran(), cooled.stdout)
	out := <-run("http://" + ownAddr(t)) // nobody listens
	require.False(t, ran(), out.stdout)
	require.Contains(t, out.stdout, "not run")
	require.Positive(t, model.Calls())
	return r
}

func lookPath(t *testing.T, name, path string) string {
	t.Helper()
	i := slices.IndexFunc(filepath.SplitList(path), func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	})
	require.GreaterOrEqual(t, i, 0, name)
	return filepath.Join(filepath.SplitList(path)[i], name)
}

// Beside the terminal's dialog the first answer counts, wherever it is given, and one in the
// terminal takes the card back.
func TestAgents_TerminalFirst(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"yes in the terminal", "no in the terminal", "yes in the chat"} {
		t.Run(first, func(t *testing.T) {
			l := lab(t, "claude-code")
			r := newRig(t, asksAlways)
			attached(t, r, l, true)
			seed := fmt.Sprintf(`{"hasCompletedOnboarding": true, "customApiKeyResponses": {"approved": ["x"]},
				"projects": {%q: {"hasTrustDialogAccepted": true}}}`, l.Project)
			require.NoError(t, os.WriteFile(filepath.Join(l.Home, ".claude.json"), []byte(seed), 0o600))
			screen := openTerminal(t, l, "--permission-mode", "default", "clean up the build folder")
			card := r.asked(live.Command())
			screen.shows("Do you want to proceed?")
			switch first {
			case "yes in the terminal":
				screen.tmux("send-keys", "Enter")
			case "no in the terminal":
				screen.tmux("send-keys", "Escape")
				require.DirExists(t, filepath.Join(l.Project, "build"))
				return
			default:
				r.tap(r.alice, r.group, card.ID, "Allow once")
			}
			screen.shows("FINAL:")
			require.NoDirExists(t, filepath.Join(l.Project, "build"))
			if first == "yes in the terminal" {
				r.settled(r.group, card.ID, "Withdrawn")
			}
		})
	}
}

// serveModel is a fake model at a URL.
func serveModel(t *testing.T) (*live.Model, string) {
	t.Helper()
	m := &live.Model{Command: live.Command()}
	s := httptest.NewServer(m)
	t.Cleanup(s.Close)
	return m, s.URL
}

// terminal is a client in a terminal of its own (tmux).
type terminal struct {
	t      *testing.T
	socket string
}

func (l terminal) tmux(args ...string) string {
	out, err := exec.Command("tmux", append([]string{"-S", l.socket}, args...)...).CombinedOutput()
	require.NoError(l.t, err, "%s", out)
	return string(out)
}

// types is a line that a person types. Enter comes when the client has shown the line: if it reads both at once, it takes
// them for a pasted text of two lines.
func (l terminal) types(line string) {
	l.t.Helper()
	end := line[max(0, len(line)-20):] // of a line that is too long for the screen
	before := strings.Count(l.tmux("capture-pane", "-p", "-J"), end)
	l.tmux("send-keys", "-l", line)
	require.Eventually(l.t, func() bool { return strings.Count(l.tmux("capture-pane", "-p", "-J"), end) > before },
		patient, 20*time.Millisecond, "the terminal never showed the line %q", line)
	l.tmux("send-keys", "Enter")
}

// shows waits until the terminal shows those words.
func (l terminal) shows(words string) {
	l.t.Helper()
	var screen string
	defer func() {
		if l.t.Failed() {
			l.t.Log(screen)
		}
	}()
	require.Eventually(l.t, func() bool {
		screen = l.tmux("capture-pane", "-p")
		return strings.Contains(screen, words)
	}, patient, 100*time.Millisecond, "the terminal never showed %q", words)
}

// openTerminal starts the client of a lab in a terminal.
func openTerminal(t *testing.T, l *live.Lab, args ...string) terminal {
	t.Helper()
	return inTerminal(t, l.Cmd(t.Context(), args...))
}

// inTerminal starts a client in a terminal.
func inTerminal(t *testing.T, cmd *exec.Cmd) terminal {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("a person at the terminal: not tested, install tmux")
	}
	s := terminal{t, filepath.Join(t.TempDir(), "tmux")}
	words := []string{"-f", "/dev/null", "new-session", "-d", "-x", "120", "-y", "40", "-c", cmd.Dir, "env", "-i"}
	env := slices.DeleteFunc(cmd.Env, func(v string) bool { return v == "TERM=dumb" || v == "CI=1" })
	s.tmux(slices.Concat(words, env, []string{"TERM=xterm-256color"}, cmd.Args)...)
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", s.socket, "kill-server").Run() })
	return s
}
