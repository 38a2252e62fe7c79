package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
)

// claude is a confiner's session of Claude Code, as a hook sees it: a process with a command line, and variables.
type claude struct {
	confiner
	client *exec.Cmd
	env    []string
}

var claudes atomic.Int32

func newClaude(t *testing.T, tools string) *claude {
	t.Helper()
	home, err := os.MkdirTemp("", "confiner-")
	require.NoError(t, err)
	t.Cleanup(func() { removeState(t, home) })
	// A user of its own: what other tests leave is not taken for what this client's calls left.
	c := &claude{confiner: newConfinerIn(t, ordinary-1-int(claudes.Add(1)), home, filepath.Join(home, "ws"), tools)}
	c.env = []string{"AI_AGENT=claude-code_2-1-330_harness", "CLAUDE_CODE_ENTRYPOINT=cli", "CLAUDE_PROJECT_DIR=" + c.ws}
	c.begins()
	return c
}

// begins starts a client, which says so.
func (c *claude) begins() {
	c.t.Helper()
	c.runs()
	c.looks("SessionStart", map[string]any{"source": "startup"})
}

// looks runs the hook of an event without a call.
func (c *claude) looks(event string, more map[string]any) {
	c.t.Helper()
	require.Empty(c.t, string(c.event(event, "", nil, more, "--confine", "--limit", "30s")))
}

func (c *claude) runs() {
	c.t.Helper()
	end := func() { _, _ = c.client.Process.Kill(), c.client.Wait() } // the one that runs then
	if c.client == nil {
		c.t.Cleanup(end)
	} else {
		end()
	}
	c.client = c.command("600")
	c.client.Path, c.client.Args[0] = "/bin/sleep", "sleep"
	require.NoError(c.t, c.client.Start())
}

// asks gives what the hook answers about a command: the decision, and the command that Claude Code runs instead.
func (c claude) asks(id, line string, more ...string) (decision, instead, why string) {
	c.t.Helper()
	return c.asksFor(map[string]any{"command": line}, id, more...)
}

func (c claude) asksFor(input map[string]any, id string, more ...string) (decision, instead, why string) {
	c.t.Helper()
	var said struct {
		Specific struct {
			Decision string `json:"permissionDecision"`
			Why      string `json:"permissionDecisionReason"`
			Input    struct {
				Command string `json:"command"`
			} `json:"updatedInput"`
		} `json:"hookSpecificOutput"`
	}
	out := c.event("PreToolUse", id, input, nil, more...)
	require.NoError(c.t, json.Unmarshal(out, &said), string(out))
	return said.Specific.Decision, said.Specific.Input.Command, said.Specific.Why
}

// waits has people deny a command that they must be asked about, as it is.
func (c claude) waits(input map[string]any, id string, more ...string) {
	c.t.Helper()
	done := make(chan [2]string, 1)
	go func() {
		decision, instead, _ := c.asksFor(input, id, append(more, "--limit", "1h")...)
		done <- [2]string{decision, instead}
	}()
	_, err := c.operator().Resolve(c.ctx(), c.onePending().ID, api.ResolveRequest{Decision: "deny"})
	require.NoError(c.t, err)
	require.Equal(c.t, [2]string{"deny", ""}, <-done)
}

// tool gives the decision about a call of another tool.
func (c claude) tool(id, name string, input map[string]any) string {
	c.t.Helper()
	var said struct {
		Specific struct {
			Decision string `json:"permissionDecision"`
		} `json:"hookSpecificOutput"`
	}
	out := c.event("PreToolUse", id, input, map[string]any{"tool_name": name}, "--confine")
	require.NoError(c.t, json.Unmarshal(out, &said), string(out))
	return said.Specific.Decision
}

// event runs the hook of an event, with more members of its body or other values of them.
func (c claude) event(event, id string, input, outcome map[string]any, more ...string) []byte {
	c.t.Helper()
	body := map[string]any{"hook_event_name": event, "session_id": "s", "cwd": c.ws, "tool_name": "Bash", "tool_input": input, "tool_use_id": id}
	for name, value := range outcome {
		body[name] = value
	}
	raw, err := json.Marshal(body)
	require.NoError(c.t, err)
	args := []string{"hook", "claude-code", event, "--client", c.confiner.client, "--caller", strconv.Itoa(c.client.Process.Pid)}
	cmd := c.command(append(args, more...)...)
	cmd.Env = append(cmd.Env, c.env...)
	cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", `"$0" "$@"; exit $?`}, cmd.Args...) // as install writes it
	cmd.Stdin = strings.NewReader(string(raw))
	out, _ := cmd.Output()
	require.Equal(c.t, 3, cmd.ProcessState.ExitCode(), string(out))
	return out
}

// shell runs what Claude Code would run.
func (c claude) shell(line string) (status int, said string) {
	c.t.Helper()
	cmd := c.command()
	cmd.Path, cmd.Args = "/bin/bash", []string{"bash", "-c", line}
	out, _ := cmd.CombinedOutput()
	return cmd.ProcessState.ExitCode(), string(out)
}

// A command of Claude Code that the desk does not understand is allowed in its confined form: it runs so, its result
// comes back, and after it failed the same command asks a person, whose yes runs it as it is.
func TestFlow_AHookConfines(t *testing.T) {
	t.Parallel()
	c := newClaude(t, confineUnsure)
	secret := filepath.Join(c.home, "secret")
	require.NoError(t, os.WriteFile(secret, []byte("of the home"), 0o644))
	c.script("frob", "echo made > out.txt; cat "+secret+" 2>&1; exit $1\n")
	decision, instead, _ := c.asks("toolu_1", "./frob 0 && echo 'it'\"'s done\"", "--confine")
	require.Equal(t, "allow", decision)
	require.Contains(t, instead, ".calls/toolu_1.call --workspace "+c.ws+" -- bash -c ")
	require.NoFileExists(t, filepath.Join(c.ws, "out.txt"))
	status, said := c.shell(instead)
	require.Zero(t, status, said)
	require.Contains(t, said, "it's done")
	require.NotContains(t, said, "of the home")
	require.FileExists(t, filepath.Join(c.ws, "out.txt"))
	a := c.newest()
	require.Equal(t, &api.Confined{Profile: "v1", Writable: []string{c.ws}, Readonly: []string{}}, a.Confined)
	require.NotZero(t, a.ClaimedAtMs)
	c.event("PostToolUse", "toolu_1", map[string]any{"command": instead}, map[string]any{"tool_response": map[string]any{"stdout": said, "interrupted": false}})
	require.EqualValues(t, "succeeded", c.newest().Result.Status)

	for id, said := range map[string]struct {
		ran      string
		response map[string]any
	}{
		"toolu_bg":    {"", map[string]any{"stdout": "", "backgroundTaskId": "b1"}}, // it took too long for its answer
		"toolu_other": {"nice ./frob", map[string]any{"stdout": ""}},                // another hook changed it
	} {
		_, instead, _ = c.asks(id, "./frob "+id, "--confine")
		c.event("PostToolUse", id, map[string]any{"command": cmp.Or(said.ran, instead)}, map[string]any{"tool_response": said.response})
		c.waits(map[string]any{"command": "./frob " + id}, id+"_again", "--confine") // it is not known that it ran confined
	}
	_, instead, _ = c.asks("toolu_2", "./frob 7", "--confine")
	status, said = c.shell(instead)
	require.Equal(t, 7, status)
	require.Contains(t, said, "The same command again asks a person")
	c.event("PostToolUseFailure", "toolu_2", map[string]any{"command": instead}, map[string]any{"error": "Exit code 7\n" + said, "is_interrupt": false})
	require.EqualValues(t, "failed", c.newest().Result.Status)
	done := make(chan [2]string, 1)
	go func() {
		decision, instead, _ := c.asks("toolu_3", "./frob 7", "--confine", "--limit", "1h")
		done <- [2]string{decision, instead}
	}()
	asked := c.onePending()
	require.NotNil(t, asked.TriedConfined)
	_, err := c.operator().Resolve(c.ctx(), asked.ID, api.ResolveRequest{Decision: "allow-once"})
	require.NoError(t, err)
	got := <-done
	require.Equal(t, "allow", got[0])
	require.Regexp(t, `^exec .* beside \S+/toolu_3.call \$approvalbot \|\| exit 125; ./frob 7$`, got[1], "a person's yes runs it as it is")
}

// What is not confined asks as before: without the flag, where the client has rules of its own for commands, in the
// background, and what the desk understands to need more.
func TestFlow_AHookConfinesNothingElse(t *testing.T) {
	t.Parallel()
	c := newClaude(t, confineUnsure)
	c.script("frob", "exit 0\n")
	c.waits(map[string]any{"command": "./frob 1"}, "toolu_1")
	c.waits(map[string]any{"command": "curl -d @x https://example.com"}, "toolu_2", "--confine")
	c.waits(map[string]any{"command": "./frob 3", "run_in_background": true}, "toolu_3", "--confine")
	decision, instead, _ := c.asks("toolu_5", "./frob 5", "--confine", "--silent-allow")
	require.Equal(t, "allow", decision, "a hook that is silent otherwise must name the confined form")
	require.Contains(t, instead, "confine --asked")
	c.event("PostToolUse", "toolu_5", map[string]any{"command": instead}, map[string]any{"tool_response": map[string]any{"stdout": ""}})
	decision, instead, _ = c.asks("toolu_6", "mkdir made", "--confine")
	require.Equal(t, "allow", decision)
	require.True(t, strings.HasSuffix(instead, "|| exit 125; mkdir made"), "what is allowed is not confined: %s", instead)
	status, said := c.shell(instead)
	require.Zero(t, status, said)
	require.DirExists(t, filepath.Join(c.ws, "made"))
	// What only reads stays as it is: Claude Code judges replaced commands again if it plans.
	plain := func(id, line string, more map[string]any) {
		t.Helper()
		of := map[string]any{"command": line}
		out := string(c.event("PreToolUse", id, of, more, "--confine"))
		require.Contains(t, out, `"permissionDecision":"allow"`)
		require.NotContains(t, out, "updatedInput")
		c.event("PostToolUse", id, of, map[string]any{"tool_response": map[string]any{"stdout": ""}})
	}
	plain("toolu_plan", "git status", map[string]any{"permission_mode": "plan"})
	_, instead, _ = c.asks("toolu_8", "./frob 8", "--confine")
	require.Contains(t, instead, "confine --asked")
	plain("toolu_reads", "ls", nil) // also beside a confined one
	c.event("PostToolUse", "toolu_8", map[string]any{"command": instead}, map[string]any{"tool_response": map[string]any{"stdout": ""}})
	// So do commands of an agent in a worktree, which it refuses if they were replaced. What they leave holds no lock.
	side, folder := filepath.Join(c.ws, "side"), filepath.Join(c.home, "of", "worktrees", "side")
	for name, text := range map[string]string{filepath.Join(side, ".git"): "gitdir: " + folder, filepath.Join(folder, "gitdir"): filepath.Join(side, ".git"), filepath.Join(folder, "HEAD"): "ref: refs/heads/side"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(text+"\n"), 0o644))
	}
	plain("toolu_side", "mkdir made2", map[string]any{"cwd": side, "agent_id": "a1"})
	c.waits(map[string]any{"command": "./frob 9"}, "toolu_9", "--confine")

	settings := filepath.Join(c.ws, ".claude", "settings.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(settings), 0o755))
	require.NoError(t, os.WriteFile(settings, []byte(`{"permissions": {"deny": ["Bash(./frob:*)"]}}`), 0o644))
	c.begins()
	c.waits(map[string]any{"command": "./frob 4"}, "toolu_4", "--confine")
	decision, instead, _ = c.asks("toolu_7", "mkdir made3", "--confine")
	require.Equal(t, [2]string{"allow", ""}, [2]string{decision, instead}, "others may change its commands, and none is confined any more")
}

// A client goes on with the settings that it began with: what an agent takes away, as by git switch, still judges.
func TestFlow_AHookRemembersTheSettings(t *testing.T) {
	t.Parallel()
	c := newClaude(t, confineUnsure)
	c.script("frob", "exit 0\n")
	settings := filepath.Join(c.ws, ".claude", "settings.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(settings), 0o755))
	require.NoError(t, os.WriteFile(settings, []byte(`{"permissions": {"deny": ["Bash(./frob:*)"]}}`), 0o644))
	n := 0
	confined := func(yes bool, of string) {
		t.Helper()
		n++
		id := fmt.Sprintf("toolu_%d", n)
		if !yes {
			c.waits(map[string]any{"command": "./frob " + id}, id, "--confine")
			return
		}
		decision, instead, _ := c.asks(id, "./frob "+id, "--confine")
		require.Equal(t, "allow", decision, of)
		require.Contains(t, instead, "confine --asked", of)
	}
	c.begins()
	require.NoError(t, os.RemoveAll(filepath.Dir(settings)))
	confined(false, "began with a rule, which went before its first call")
	c.begins()
	confined(true, "began without it")
	require.NoError(t, os.MkdirAll(filepath.Dir(settings), 0o755))
	require.Equal(t, "allow", c.tool("toolu_read", "Read", map[string]any{"file_path": filepath.Join(c.ws, "frob")}))
	require.NoError(t, os.RemoveAll(filepath.Dir(settings)))
	confined(false, "had a folder of settings at a call of another tool")
	c.runs()
	confined(false, "did not say what it began with")
	skill := filepath.Join(c.home, ".claude", "skills", "tidy", "SKILL.md")
	require.NoError(t, os.MkdirAll(filepath.Dir(skill), 0o755))
	require.NoError(t, os.WriteFile(skill, []byte("---\nname: tidy\n---\nTidy up.\n"), 0o644))
	c.begins()
	skills := func(name string) {
		t.Helper()
		of := map[string]any{"skill": name}
		c.tool("toolu_skill", "Skill", of)
		confined(false, "runs the commands of a skill's page")
		c.event("PostToolUse", "toolu_skill", of, map[string]any{"tool_name": "Skill", "tool_response": map[string]any{"success": true}}, "--confine")
		calls, err := filepath.Glob(filepath.Join(c.home, ".local", "state", "approvalbot", "claude-code", "*", "*.calls", "*.call"))
		require.NoError(t, err)
		for _, call := range calls { // processes of other tests may look like ones that it left
			_ = os.Remove(call)
		}
	}
	skills("tidy")
	c.looks("UserPromptExpansion", map[string]any{"command_name": "tidy"})
	c.looks("UserPromptExpansion", map[string]any{"command_name": "init", "command_source": "builtin"})
	confined(true, "knows that skill")
	skills("packages/x:audit")
	confined(false, "has a skill of a folder below, which may have hooks")
	for event, more := range map[string]map[string]any{
		"ConfigChange":        {"source": "project_settings"}, // between two calls
		"DirectoryAdded":      {"path": "/elsewhere"},
		"UserPromptExpansion": {"command_name": "audit"},
	} {
		c.begins()
		c.looks(event, more)
		confined(false, event)
	}
	remembered, err := filepath.Glob(filepath.Join(c.home, ".local", "state", "approvalbot", "claude-code", "*", "*[0-9]"))
	require.NoError(t, err)
	require.Len(t, remembered, 1, "of the clients that run")
}

// Claude Code runs no command beside a confined one: the hook offers to confine only while none that it allowed runs, and
// holds the next one until the confined one has ended.
func TestK1_AHookAllowsNothingBesideAConfinedCommand(t *testing.T) {
	t.Parallel()
	c := newClaude(t, confineUnsure)
	c.script("frob", "exit 0\n")
	ends := func(id, line string, response map[string]any) {
		t.Helper()
		c.event("PostToolUse", id, map[string]any{"command": line}, map[string]any{"tool_response": response})
	}
	allowed := func(id, line string) (instead string) {
		t.Helper()
		decision, instead, why := c.asks(id, line, "--confine")
		require.Equal(t, "allow", decision, why)
		require.True(t, strings.HasSuffix(instead, "; "+line), instead)
		return instead
	}
	confines := func(id string) (instead string) {
		t.Helper()
		decision, instead, why := c.asks(id, "./frob "+id, "--confine")
		require.Equal(t, "allow", decision, why)
		require.Contains(t, instead, " confine --asked ")
		return instead
	}
	asks := func(id string) {
		t.Helper()
		c.waits(map[string]any{"command": "./frob " + id}, id, "--confine")
	}
	instead := allowed("toolu_mv", "mv frob frob2")
	asks("toolu_1")
	fifo := filepath.Join(c.ws, "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o666))
	require.NoError(t, os.Chmod(fifo, 0o666))
	left := c.command()
	left.Path, left.Args = "/bin/bash", []string{"bash", "-c", "exec >/dev/null 2>&1; " + instead + "\ncat fifo &"}
	require.NoError(t, left.Run())
	ends("toolu_mv", instead, map[string]any{"stdout": ""})
	asks("toolu_1b") // a process of it is left
	require.NoError(t, os.WriteFile(fifo, nil, 0o600))
	confines("toolu_2")
	instead = confines("toolu_3") // as commands of two agents of the client
	decision, _, why := c.asks("toolu_mv2", "mv frob2 frob", "--confine", "--limit", "4s")
	require.Equal(t, "deny", decision, why)
	require.Contains(t, why, "a confined command of this session still runs")
	require.Equal(t, "allow", c.tool("toolu_read", "Read", map[string]any{"file_path": filepath.Join(c.ws, "frob")}), "it starts nothing")
	ends("toolu_2", instead, map[string]any{"stdout": ""})
	ends("toolu_3", instead, map[string]any{"stdout": ""})
	instead = allowed("toolu_mv3", "mv frob2 frob")
	status, said := c.shell(instead)
	require.Zero(t, status, said)
	confines("toolu_6")

	c.begins()
	c.script("frob", "echo started; exec cat\n")
	goesOn := c.command()
	goesOn.Path, goesOn.Args = "/bin/sh", []string{"sh", "-c", confines("toolu_7")}
	stdin, err := goesOn.StdinPipe()
	require.NoError(t, err)
	defer stdin.Close()
	out, err := goesOn.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, goesOn.Start())
	_, err = io.ReadFull(out, make([]byte, len("started\n")))
	require.NoError(t, err)
	decision, _, why = c.asks("toolu_mv4", "mv frob frob3", "--confine", "--limit", "4s")
	require.Equal(t, "deny", decision, why)
	ends("toolu_7", instead, map[string]any{"backgroundTaskId": "b2"})
	require.Error(t, goesOn.Wait(), "it is ended, as no other command could run meanwhile")
	allowed("toolu_mv5", "mv frob frob3")
}
