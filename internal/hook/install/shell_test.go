package install

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// obeyed is an environment in which every bash ends with 0 before it does anything: a file,
// and functions in place of what the hook's line calls.
func obeyed(t *testing.T) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "environment")
	require.NoError(t, os.WriteFile(file, []byte("exit 0\n"), 0o600))
	env := append(os.Environ(), "BASH_ENV="+file, "ENV="+file)
	for _, name := range []string{"exec", "exit", "echo", "unset", "case", "command"} {
		env = append(env, "BASH_FUNC_"+name+"%%=() { builtin exit 0; }")
	}
	return env
}

// Claude Code starts the hook by its words, so nothing in the environment ends it before its
// program has answered; also if /bin/sh is a bash. The parent that it names is its caller.
func TestAdversary_H2_NothingInTheEnvironmentEndsTheHook(t *testing.T) {
	o := machine(t, "claude-code", User)
	o.Program = filepath.Join(t.TempDir(), "it's here", "approvalbot")
	require.NoError(t, os.MkdirAll(filepath.Dir(o.Program), 0o700))
	var item struct {
		Hooks []struct {
			Command string
			Args    []string
		}
	}
	require.NoError(t, json.Unmarshal([]byte(o.fill(targets("claude-code")[0])), &item))
	h := item.Hooks[0]
	shells := []string{h.Command}
	if bash, err := exec.LookPath("bash"); err == nil {
		shells = append(shells, bash)
	}
	for _, shell := range shells {
		for program, want := range map[string]int{"printf '[%s]' \"$@\"; exit 3": 0, "exit 2": 2, "exit 0": 2, "": 2, "missing": 2} {
			_ = os.Remove(o.Program)
			if program != "missing" {
				require.NoError(t, os.WriteFile(o.Program, []byte(strings.TrimSuffix("#!/bin/sh\n"+program, "\n")), 0o700))
			}
			c := exec.Command(shell, h.Args...)
			c.Args[0], c.Env = h.Command, obeyed(t)
			var said strings.Builder
			c.Stderr = &said
			out, _ := c.Output()
			require.Equal(t, want, c.ProcessState.ExitCode(), "%s: %q: %s", shell, program, said.String())
			if want == 0 {
				require.Contains(t, string(out), "[hook][claude-code][PreToolUse][--client][/home/u/it's mine/client.yaml][--limit][24h][--caller]")
			}
			require.Equal(t, want == 2 && program != "exit 2", strings.Contains(said.String(), "broke down"), "%s: %q", shell, program)
		}
	}
}

// What bash obeys before a hook is found in the environment and in the runtime's settings,
// where a shell starts the hook; also if 0.1.0 wrote one that is started by words now.
func TestAdversary_H2_WhatBashObeysIsFound(t *testing.T) {
	const settings = `{"env": {"BASH_ENV": "./x", "BASH_FUNC_exec%%": "() { exit 0; }", "HOME": "/"}}`
	for _, c := range []struct {
		runtime, file string
		old           bool
		environ       []string
		want          []string
	}{
		{"gemini-cli", "", false, []string{"BASH_ENV=/x", "A=BASH_ENV"}, []string{"the environment has BASH_ENV,"}},
		{"codex", "", false, []string{"BASH_FUNC_exec%%=() { exit 0; }"}, []string{"the environment has BASH_FUNC_exec%%,"}},
		{"qwen-code", "project/.qwen/settings.json", false, nil, []string{"BASH_ENV", "BASH_FUNC_exec%%"}},
		{"claude-code", "project/.claude/settings.local.json", false, []string{"BASH_ENV=/x"}, nil},
		{"claude-code", "project/.claude/settings.local.json", true, nil, []string{"so that a shell starts it", "BASH_ENV", "BASH_FUNC_exec%%"}},
		{"cline", "", false, []string{"BASH_ENV=/x"}, nil},
	} {
		o := machine(t, c.runtime, User)
		o.byShell = c.old
		changes, err := Plan(o)
		apply(t, changes, err)
		o.byShell, o.Environ = false, c.environ
		if c.file != "" {
			path := filepath.Join(filepath.Dir(o.Home), c.file)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
			require.NoError(t, os.WriteFile(path, []byte(settings), 0o600))
		}
		require.Empty(t, Differs(o), c.runtime)
		got := o.shellDoubts()
		require.Len(t, got, len(c.want), "%s: %v", c.runtime, got)
		for i, d := range got {
			require.Equal(t, Mostly, d.Force)
			require.Contains(t, d.Why, c.want[i], c.runtime)
		}
	}
}
