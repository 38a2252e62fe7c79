package hook

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"approvalbot/api"
)

// confinedInput is what Claude Code runs instead of a call, after the desk let it run confined.
func confinedInput(t require.TestingT, c Call) map[string]any {
	r, _ := Find("claude-code")
	e, _ := r.Event("PreToolUse")
	answer := e.Answer(c, Verdict{Allow: true, Policy: true, Why: "allowed", Confined: &api.Confined{Profile: "v1", Writable: []string{"/w 1"}, Readonly: []string{"/go/pkg", ".env"}}}, true)
	var said struct {
		Specific struct {
			Decision string         `json:"permissionDecision"`
			Input    map[string]any `json:"updatedInput"`
		} `json:"hookSpecificOutput"`
	}
	require.NoError(t, json.Unmarshal(answer.Stdout, &said))
	require.Equal(t, said.Specific.Input != nil, said.Specific.Decision == "allow", string(answer.Stdout))
	return said.Specific.Input
}

// A call that may run confined alone is answered with its confined form and its other members, also by a hook that is
// silent about what policy allows. What cannot be replaced is denied.
func TestConfined_TheCommandIsReplaced(t *testing.T) {
	t.Parallel()
	bash := func(params string) Call {
		return Call{Tool: "Bash", Params: json.RawMessage(params), Justification: "try it", Confiner: []string{"/opt/approval bot"}, Allowed: "1/2.calls/a.call"}
	}
	c := bash(`{"command":"./x 'a'","timeout":5}`)
	require.Equal(t, []string{"v1"}, c.Request().Context.Confine)
	require.Equal(t, map[string]any{"timeout": 5.0, "description": "try it",
		"command": `'/opt/approval bot' confine --asked 1/2.calls/a.call --workspace '/w 1' --show /go/pkg --readable .env -- bash -c './x '\''a'\'''`}, confinedInput(t, c))

	for name, c := range map[string]Call{
		"another tool":      {Tool: "Read", Params: json.RawMessage(`{"command":"./x"}`), Confiner: c.Confiner},
		"in the background": bash(`{"command":"./x","run_in_background":true}`),
		"a NUL":             bash(`{"command":"./x \u0000"}`),
		"no text":           bash(`{"command":["./x"]}`),
		"no command":        bash(`{"command":""}`),
		"cannot confine":    {Tool: "Bash", Params: json.RawMessage(`{"command":"./x"}`)},
	} {
		t.Run(name, func(t *testing.T) {
			require.Nil(t, c.confine())
			if x := c.Request().Context; x != nil {
				require.Nil(t, x.Confine)
			}
			require.Nil(t, confinedInput(t, c), "it is denied")
		})
	}
	for _, r := range Runtimes() {
		for _, e := range r.Events {
			if e.Confines() {
				require.Equal(t, "claude-code PreToolUse", r.Name+" "+e.Name, "no other runtime was seen to run the replaced command")
				continue
			}
			answer := e.Answer(c, Verdict{Allow: true, Confined: &api.Confined{Profile: "v1"}}, false)
			require.Equal(t, e.Deny(c, "the desk allows this call only confined, and this hook cannot confine it; make the same call again"), answer, "%s %s", r.Name, e.Name)
		}
	}
}

// K6: in each shell the replaced command gives the wrapper the very line of the model as its last word.
func TestAdversary_K6_TheReplacedCommandIsTheLine(t *testing.T) {
	t.Parallel()
	wrapper := filepath.Join(t.TempDir(), "wrap per")
	require.NoError(t, os.WriteFile(wrapper, []byte("#!/bin/sh\nfor last; do :; done\nprintf '%s' \"$last\"\n"), 0o755))
	var shells []string
	for _, name := range []string{"sh", "dash", "bash", "zsh", "ksh", "mksh", "busybox"} {
		if path, err := exec.LookPath(name); err == nil {
			shells = append(shells, path)
		}
	}
	require.NotEmpty(t, shells)
	parts := rapid.SampledFrom([]string{"'", `"`, `\`, "$(id)", "`id`", "\n", "\r", " ", "!", "*", "~", "#", "; id", "&", "|", "<x", "${x}", "é", "\u2028", "--", "a", "\t", "%s", "=(", "^"})
	rapid.Check(t, func(t *rapid.T) {
		line := "x" + strings.Join(rapid.SliceOfN(parts, 1, 12).Draw(t, "parts"), "")
		params, err := json.Marshal(map[string]string{"command": line})
		require.NoError(t, err)
		command := confinedInput(t, Call{Tool: "Bash", Params: params, Confiner: []string{wrapper}})["command"].(string)
		shell := rapid.SampledFrom(shells).Draw(t, "shell")
		argv := []string{"-c", command}
		if filepath.Base(shell) == "busybox" {
			argv = append([]string{"sh"}, argv...)
		}
		out, err := exec.Command(shell, argv...).Output()
		require.NoError(t, err)
		require.Equal(t, line, string(out), shell)
	})
}

// What may start programs or copy files is told from what does neither.
func TestCall_Runs(t *testing.T) {
	t.Parallel()
	for _, c := range []Call{{Tool: "Bash"}, {Tool: "mcp__files__move"}, {Tool: "Monitor"}, {Tool: "Skill"}, {Tool: "Agent", Params: []byte(`{"isolation": "worktree"}`)}, {Tool: "Task", Params: []byte(`[]`)}} {
		require.True(t, c.Runs(), c.Tool)
	}
	for _, c := range []Call{{Tool: "Edit"}, {Tool: "Agent", Params: []byte(`{"prompt": "x"}`)}} {
		require.False(t, c.Runs(), c.Tool)
	}
}

// What a call runs is found under the names that runtimes give it; the contents of a file are none.
func TestCall_Commands(t *testing.T) {
	for params, want := range map[string][]string{
		`{"command": "git add .\ngit status", "description": "git stash"}`: {"git add .\ngit status"}, `{"cmd": ["bash", "-lc", "git add ."], "workdir": "/w"}`: {"/w", "bash", "-lc", "git add ."},
		`{"file_path": "x", "content": "git add ."}`: nil, `[]`: nil, `{"command": {"a": "b"}}`: {"a", "b"},
	} {
		require.Equal(t, want, Call{Params: []byte(params)}.Commands(), params)
	}
}
