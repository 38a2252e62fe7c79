package install

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A hook is approvalbot's by its words: those of approvalbot hook, or of the small program, whose name counts.
func TestOurs_KnowsBothPrograms(t *testing.T) {
	o := machine(t, "codex", User)
	for line, want := range map[string]struct {
		ours    bool
		program string
	}{
		"/usr/bin/approvalbot hook codex PreToolUse --client /c":                {true, "/usr/bin/approvalbot"},
		"/opt/approval-2 hook codex PreToolUse --client /c":                     {true, "/opt/approval-2"},
		"'/opt/a b/approvalbot' hook codex PreToolUse --client /c":              {true, "/opt/a b/approvalbot"},
		"/usr/bin/approvalbot-hook codex PreToolUse --client /c":                {true, "/usr/bin/approvalbot-hook"},
		"'/opt/a b/approvalbot-hook' codex PreToolUse --client /c":              {true, "/opt/a b/approvalbot-hook"},
		`'C:\bin\approvalbot-hook.exe' codex PreToolUse --client /c`:            {true, `C:\bin\approvalbot-hook.exe`},
		"/usr/bin/approvalbot-hook codex PreToolUse":                            {false, ""},
		"/usr/bin/approvalbot-hook claude-code PreToolUse --client /c":          {false, ""},
		"/usr/bin/approvalbot codex PreToolUse --client /c":                     {false, ""},
		"/usr/bin/approvalbot-hooks codex PreToolUse --client /c":               {false, ""},
		"/usr/bin/linter codex PreToolUse --client /c":                          {false, ""},
		"/usr/bin/approvalbot-hook hook codex PreToolUse --client /c":           {true, ""}, // runs nothing: every call is denied
		"exec /bin/sh -c 'x' /usr/bin/approvalbot-hook codex E --client '/c d'": {true, "/usr/bin/approvalbot-hook"},
	} {
		is := ours(line, "codex")
		require.Equal(t, want.ours, is, line)
		if program, _ := o.paths(line); is {
			require.Equal(t, want.program, program, line)
		}
	}
}

// The small program is taken if it lies beside approvalbot and can be executed. What was installed before stays in force,
// and is replaced, not asked a second time.
func TestInstall_TakesTheSmallProgram(t *testing.T) {
	dir := t.TempDir()
	big, beside := filepath.Join(dir, "approvalbot"), filepath.Join(dir, "approvalbot-hook")
	require.Equal(t, big, HookProgram(big))
	require.NoError(t, os.WriteFile(big, []byte("\x7fELF"), 0o755))
	require.Equal(t, big, HookProgram(big), "there is no other")
	require.NoError(t, os.WriteFile(beside, []byte("\x7fELF"), 0o600))
	require.Equal(t, big, HookProgram(big), "it cannot be executed")
	require.NoError(t, os.Chmod(beside, 0o777))
	require.Equal(t, big, HookProgram(big), "anybody can write it")
	require.NoError(t, os.Chmod(beside, 0o755))
	require.Equal(t, beside, HookProgram(big))
	require.NoError(t, os.WriteFile(beside, []byte("#!/bin/sh\n# path\tapprovalbot/cmd/approvalbot-hook\nexit 3\n"), 0o755))
	require.Equal(t, big, HookProgram(big), "a script says what it likes of itself")
	require.NoError(t, os.Remove(beside))
	require.NoError(t, os.Symlink(big, beside))
	require.Equal(t, big, HookProgram(big), "a link leads anywhere")
	require.NoError(t, os.Remove(beside))
	require.NoError(t, os.WriteFile(beside, []byte("\x7fELF"), 0o755))

	everything(t, func(t *testing.T, o Options) {
		was := before(t, o)
		changes, err := Plan(o)
		apply(t, changes, err)
		other := o
		other.Program = map[bool]string{true: big, false: beside}[onlyHooks(o.Program)]
		changes, err = Plan(other)
		apply(t, changes, err)
		found, ok := Find(o)
		require.True(t, ok)
		require.Equal(t, other.Program, found.Program)
		require.Empty(t, Differs(found))
		changes, err = Undo(o)
		apply(t, changes, err)
		for path, text := range was {
			is, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, text, string(is))
		}
	})
}

// The small program is given the runtime's name first.
func TestInstall_TheSmallProgramsWords(t *testing.T) {
	o := machine(t, "codex", User)
	o.Program = filepath.Join(t.TempDir(), "approvalbot-hook")
	require.NoError(t, os.WriteFile(o.Program, []byte("#!/bin/sh\nprintf '[%s]' \"$1\" \"$2\" \"$3\" \"$4\"; exit 3\n"), 0o700))
	out, err := exec.Command("/bin/sh", "-c", o.command(target{event: "PreToolUse", limit: day})).Output()
	require.NoError(t, err)
	require.Equal(t, "[codex][PreToolUse][--client][/home/u/it's mine/client.yaml]", string(out))
	plugin := o.fill(targets("opencode")[0])
	require.Contains(t, plugin, `const args = ["claude-code", event,`)
	o.Program = filepath.Join(t.TempDir(), "approvalbot")
	require.Contains(t, o.fill(targets("opencode")[0]), `const args = ["hook", "claude-code", event,`)
}
