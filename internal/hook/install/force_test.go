package install

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/hook"
)

// bothWays is every runtime in every scope, before every call and beside its dialog, as
// install has written it.
func bothWays(t *testing.T, f func(t *testing.T, o Options)) {
	everything(t, func(t *testing.T, o Options) {
		before(t, o)
		for _, o.Beside = range []bool{false, true} {
			if changes, err := Plan(o); err == nil {
				apply(t, changes, err)
				f(t, o)
			}
		}
	})
}

// What install wrote is found again, and is as install writes it; what was changed is said.
func TestFind_KnowsWhatInstallWrote(t *testing.T) {
	for _, name := range hook.Names() {
		_, ok := Find(machine(t, name, User))
		require.False(t, ok, name)
	}
	bothWays(t, func(t *testing.T, o Options) {
		blank := o
		blank.Program, blank.Client, blank.Beside = "", "", !o.Beside
		found, ok := Find(blank)
		require.True(t, ok)
		require.Equal(t, o.Client, found.Client)
		require.Equal(t, o.Beside, found.Beside)
		if o.Runtime.Name == "opencode" {
			found.Program = o.Program // a plugin names none
		}
		require.Equal(t, o.Program, found.Program)
		require.Empty(t, Differs(found))
		for _, path := range o.files(targets(o.Runtime.Name)) {
			text, err := os.ReadFile(path)
			if err != nil || !strings.Contains(string(text), "hook") {
				continue
			}
			for from, to := range map[string]string{"exit 2": "exit 0", "throw denied": "denied", "= 3 ]": "= 0 ]", "86400": "1", "PreToolUse": "Stop"} {
				changed := strings.ReplaceAll(string(text), from, to)
				if changed == string(text) {
					continue
				}
				require.NoError(t, os.WriteFile(path, []byte(changed), 0o600))
				if found, ok := Find(blank); ok {
					require.NotEmpty(t, Differs(found), "%s for %s in %s", to, from, path)
				}
			}
			require.NoError(t, os.WriteFile(path, text, 0o700))
		}
		require.Empty(t, Differs(found))
	})
}

// A hook that asks before every call and another that asks beside the dialog ask twice.
func TestDiffers_SaysTwice(t *testing.T) {
	o := machine(t, "claude-code", User)
	changes, err := Plan(o)
	apply(t, changes, err)
	path := o.File()
	once, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.Remove(path))
	o.Beside = true
	changes, err = Plan(o)
	apply(t, changes, err)
	beside, err := os.ReadFile(path)
	require.NoError(t, err)
	_, permission, _ := strings.Cut(string(beside), `"PermissionRequest":`)
	permission, _, _ = strings.Cut(permission, `"PostToolUse":`)
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(once), `"PreToolUse":`, `"PermissionRequest":`+permission+`"PreToolUse":`, 1)), 0o600))
	found, ok := Find(o)
	require.True(t, ok)
	require.False(t, found.Beside)
	require.Equal(t, []string{"the hook PermissionRequest asks a second time in " + path}, Differs(found))
	item, err := appendItem(string(once), []string{"hooks", "PreToolUse"}, o.fill(targets("claude-code")[1]))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, []byte(item), 0o600))
	require.Equal(t, []string{"the hook PreToolUse is more than once in " + path}, Differs(found))
}

// Each setting that switches a hook off is found where the runtime reads it, and a managed
// hook that holds in spite of it is not doubted.
func TestAdversary_T27_SettingsThatSwitchAHookOff(t *testing.T) {
	const switched = `{"disableAllHooks": true}`
	for _, c := range []struct {
		runtime string
		scope   Scope
		file    string
		text    string
		off     bool
	}{
		{"claude-code", User, "project/.claude/settings.json", switched, true},
		{"claude-code", User, "project/.claude/settings.json", `{"disableAllHooks": false}`, false},
		{"claude-code", User, "project/.claude/settings.json", `{"disableAllHooks": 1}`, false},
		{"claude-code", User, "project/.claude/settings.local.json", switched, true},
		{"claude-code", Managed, "project/.claude/settings.json", switched, false},
		{"claude-code", Managed, "project/.claude/settings.json", `{"disableAllHooks": `, false},
		{"claude-code", Project, "root/etc/claude-code/managed-settings.json", `{"allowManagedHooksOnly": true}`, true},
		{"claude-code", User, "project/.claude/settings.json", "\ufeff" + switched, true},
		{"codex", User, "project/.codex/config.toml", "[features]\nhooks = false\n", true},
		{"codex", User, "home/.codex/config.toml", "features.codex_hooks = false\n", true},
		{"codex", User, "root/etc/codex/requirements.toml", "allow_managed_hooks_only = true\n", true},
		{"codex", User, "home/.codex/config.toml", "features.hooks = \n", true},
		{"gemini-cli", User, "project/.gemini/settings.json", `{"hooksConfig": {"enabled": false}}`, true},
		{"gemini-cli", Managed, "project/.gemini/settings.json", `{"hooksConfig": {"disabled": ["x", "approvalbot"]}}`, true},
		{"gemini-cli", User, "project/.gemini/settings.json", `{"hooksConfig": {"disabled": ["x"]}}`, false},
		{"qwen-code", User, "project/.qwen/settings.json", switched, true},
		{"copilot-cli", User, "project/.github/copilot/settings.json", switched, true},
		{"copilot-cli", Project, "project/.claude/settings.local.json", switched, true},
		{"copilot-cli", Managed, "project/.github/copilot/settings.json", switched, false},
	} {
		o := machine(t, c.runtime, c.scope)
		changes, err := Plan(o)
		apply(t, changes, err)
		path := filepath.Join(filepath.Dir(o.Home), c.file)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(c.text), 0o600))
		said := ""
		for _, d := range Doubts(t.Context(), o, Client{}) {
			if d.Force == Off && strings.Contains(d.Why, path) {
				said += d.Why
			}
		}
		require.Equal(t, c.off, said != "", "%s %s, %s: %s", c.runtime, c.scope, c.file, c.text)
	}
}

// A project's hook of Codex needs the project's trust as well, and a managed file that others
// can change is none.
func TestAdversary_T27_TrustOfTheProjectAndTheFile(t *testing.T) {
	o := machine(t, "codex", Project)
	changes, err := Plan(o)
	apply(t, changes, err)
	start := func(ctx context.Context, env []string, args ...string) *exec.Cmd {
		home := strings.TrimPrefix(env[0], "CODEX_HOME=")
		fake, _ := codexApp(t, home+"/hooks.json:pre_tool_use:0:0 untrusted")
		return fake(ctx, args...)
	}
	why := func() string { return Doubts(t.Context(), o, Client{Start: start})[0].Why }
	require.Equal(t, "Codex skips a project's hooks until it trusts the project", why())
	config := filepath.Join(o.Home, ".codex/config.toml")
	trusts := "[projects.\"" + filepath.Dir(o.Project) + "\"]\ntrust_level = \"trusted\"\n"
	require.NoError(t, os.MkdirAll(filepath.Dir(config), 0o700))
	require.NoError(t, os.WriteFile(config, []byte(trusts), 0o600))
	require.Equal(t, "Codex skips the hook until it is trusted", why())
	trusts += "[hooks.state.\"" + o.File() + ":pre_tool_use:0:0\"]\ntrusted_hash = \"hash of hooks.json:pre_tool_use:0:0\"\n"
	require.NoError(t, os.WriteFile(config, []byte(trusts), 0o600))
	require.Empty(t, Doubts(t.Context(), o, Client{Start: start}))

	o = machine(t, "copilot-cli", Managed)
	changes, err = Plan(o)
	apply(t, changes, err)
	require.Empty(t, Doubts(t.Context(), o, Client{}))
	require.NoError(t, os.Chmod(o.File(), 0o664))
	require.Contains(t, Doubts(t.Context(), o, Client{})[0].Why, "others than its owner can change")
}

func TestOlder(t *testing.T) {
	for _, v := range [][2]string{{"2.1.294", "2.1.295"}, {"2.1.9", "2.1.10"}, {"1.9.9", "2.0.0"}, {"2.1", "2.1.1"}} {
		require.True(t, hook.Older(v[0], v[1]), v)
		require.False(t, hook.Older(v[1], v[0]), v)
	}
	require.False(t, hook.Older("2.1.295", "2.1.295"))
	require.False(t, hook.Older("2.1.295-beta.1", "2.1.295"))
}

// Whether the runtime's own rules go on where policy allows is in the hook's command, and found there.
// A hook of before, which says nothing in the terminal, is as good.
func TestForce_T30_Silence(t *testing.T) {
	for _, silent := range []bool{true, false} {
		for _, mute := range []bool{true, false} {
			o := machine(t, "claude-code", User)
			require.True(t, o.CanBeSilent())
			o.Silent, o.mute = silent, mute
			changes, err := Plan(o)
			apply(t, changes, err)
			text, err := os.ReadFile(o.File())
			require.NoError(t, err)
			require.Equal(t, map[bool]int{true: 1}[silent], strings.Count(string(text), " --silent-allow"), "the hook that asks has it alone")
			require.Equal(t, !mute, strings.Contains(string(text), `"statusMessage"`))
			found, ok := Find(machineOf(o))
			require.True(t, ok)
			require.Equal(t, silent, found.Silent)
			require.Empty(t, Differs(found))
			require.Equal(t, silent, strings.Contains(Asks(found), "its own rules go on"))
			found.Silent = !silent
			require.NotEmpty(t, Differs(found))
		}
	}
	for _, name := range []string{"codex", "gemini-cli", "qwen-code", "copilot-cli", "cursor", "opencode"} {
		require.False(t, machine(t, name, User).CanBeSilent(), name)
	}
}

// machineOf is what is known of a machine before its files are read.
func machineOf(o Options) Options {
	o.Silent, o.mute = false, false
	return o
}
