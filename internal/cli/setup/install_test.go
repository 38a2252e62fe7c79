package setup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/cli/app"
	"approvalbot/internal/hook"
	"approvalbot/internal/hook/install"
)

// The settings of every user of a machine are not written because root named no scope: without a
// terminal install says what to name. What is written already needs no yes.
func TestInstall_AsksBeforeTheMachinesSettings(t *testing.T) {
	r, _ := hook.Find("copilot-cli")
	o := install.Options{Runtime: r, Scope: install.Managed, Program: "/p", Client: "/c", Home: "/home/u", OS: "linux",
		Env: func(string) string { return "" }, Root: t.TempDir()}
	changes, err := install.Plan(o)
	require.NoError(t, err)
	a := &app.App{Stdin: strings.NewReader("yes\n")}
	err = agreed(t.Context(), a, o, changes)
	require.ErrorContains(t, err, "Confirm that with --managed")
	require.ErrorContains(t, err, filepath.Join(o.Root, "/etc/github-copilot/policy.d/approvalbot.json"))
	entries, err := os.ReadDir(o.Root)
	require.NoError(t, err)
	require.Empty(t, entries)

	require.NoError(t, changes[0].Write())
	again, err := install.Plan(o)
	require.NoError(t, err)
	require.NoError(t, agreed(t.Context(), a, o, again))
	o.Scope = install.User
	require.NoError(t, agreed(t.Context(), a, o, changes))
}
