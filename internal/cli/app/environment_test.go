package app_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/cli/app"
)

// What a program is started with: one value of each name, and nothing that says at
// which window the caller is.
func TestEnvironment_HandsOnWhatIsNotOfTheCallersWindow(t *testing.T) {
	require.Equal(t, []string{"A=2", "B", "PWD=/srv/app", "TERM=xterm"},
		app.Environment([]string{"TERM=xterm", "A=1", "TMUX=/tmp/t,1,0", "OLDPWD=/etc", "PWD=/etc", "_=/bin/x", "A=2", "B"}, "/srv/app"))
	require.Equal(t, []string{"PWD=/"}, app.Environment(nil, "/"), "empty is not the process's own")
}

func TestEnvironmentHash_IsOfWhatTheProgramDoesWithIt(t *testing.T) {
	base := []string{"PATH=/usr/bin:/bin", "HOME=/home/u", "PROFILE=dev", "EMPTY=", "LANG=de_DE.UTF-8", "TERM=xterm", "SHLVL=1"}
	hash := func(change ...string) string {
		return app.EnvironmentHash("token", app.Environment(append(slices.Clone(base), change...), "/srv/app"), "server")
	}
	same := map[string][]string{
		"another terminal":         {"TERM=dumb", "TERM_PROGRAM=iTerm.app", "COLORTERM=truecolor", "COLUMNS=80", "VTE_VERSION=7600"},
		"another language":         {"LANG=C", "LANGUAGE=de:en", "LC_ALL=de_AT@euro"},
		"another window":           {"TMUX=/tmp/tmux-1000/default,7,0", "TMUX_PANE=%7", "KITTY_WINDOW_ID=3"},
		"another shell":            {"SHLVL=4", "OLDPWD=/etc", "_=/usr/bin/env"},
		"another login":            {"SSH_CONNECTION=10.0.0.1 5555 10.0.0.2 22", "XDG_SESSION_ID=c7", "XAUTHORITY=/run/user/1000/xauth_aBc", "JOURNAL_STREAM=8:123"},
		"another session":          {"CODEX_THREAD_ID=0199-aa"},
		"the same value once more": {"PROFILE=dev"},
	}
	for name, change := range same {
		require.Equal(t, hash(), hash(change...), name)
	}
	other := map[string][]string{
		"a profile":                     {"PROFILE=PROD"},
		"no value":                      {"PROFILE="},
		"another PATH":                  {"PATH=/tmp/evil:/usr/bin:/bin"},
		"another home":                  {"HOME=/home/mallory"},
		"a library":                     {"LD_PRELOAD=/tmp/evil.so"},
		"another's keys":                {"SSH_AUTH_SOCK=/tmp/ssh-x/agent.7"},
		"another desk":                  {"APPROVALBOT_SERVER=http://evil.example"},
		"a name of no list":             {"LC_DEPLOY=prod"},
		"a name in small letters":       {"term=x"},
		"a language's own file":         {"LC_ALL=/tmp/evil"},
		"a terminal's own file":         {"TERM=../evil"},
		"a program for VS Code":         {"VSCODE_GIT_ASKPASS_NODE=/tmp/evil"},
		"a value that holds a variable": {"EMPTY=\nPROFILE=dev"},
		"text without a value":          {"PROFILE"},
	}
	seen := map[string]string{hash(): "unchanged"}
	for name, change := range other {
		h := hash(change...)
		require.NotContains(t, seen, h, name)
		seen[h] = name
	}
}

// Each part is told apart, and nobody without the token can try values.
func TestEnvironmentHash_TellsItsPartsApart(t *testing.T) {
	hashes := []string{
		app.EnvironmentHash("t", []string{"A=1"}, "x", "y"),
		app.EnvironmentHash("u", []string{"A=1"}, "x", "y"),
		app.EnvironmentHash("t", []string{"A=1"}, "xy"),
		app.EnvironmentHash("t", []string{"A=1"}, "x", "y", ""),
		app.EnvironmentHash("t", []string{"A=1", "x"}, "y"),
		app.EnvironmentHash("t", nil, "A=1", "x", "y"),
	}
	for i, h := range hashes {
		require.Regexp(t, "^[0-9a-f]{32}$", h)
		require.Equal(t, i, slices.Index(hashes, h))
	}
}
