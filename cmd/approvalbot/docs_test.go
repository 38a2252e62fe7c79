package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var updateDocs = flag.Bool("update", false, "write the golden files anew")

// The page that the commands write of themselves is the one in docs.
func TestCLIDoc(t *testing.T) {
	t.Parallel()
	out := runCLI(t, deskFor(t), "", "docs", "markdown")
	require.Zero(t, out.code, out.stderr)
	const page = "../../docs/cli.md"
	if *updateDocs {
		require.NoError(t, os.WriteFile(page, []byte(out.stdout), 0o644))
	}
	have, err := os.ReadFile(page)
	require.NoError(t, err)
	require.True(t, string(have) == out.stdout, "docs/cli.md is not what the commands say; write it anew: go test ./cmd/approvalbot -run CLIDoc -update")
	for _, verb := range []string{"serve", "request", "wait", "run", "list", "view", "decide", "retry", "watch", "evaluate", "doctor", "drill", "stats", "completion", "docs man"} {
		require.Contains(t, out.stdout, "\n## approvalbot "+verb+"\n")
	}
	require.NotContains(t, out.stdout, "## approvalbot approve", "what is deprecated has no page")
	for _, flag := range []string{"`--help`", "--version", "approvalbot completion bash|fish|powershell|zsh"} {
		require.Contains(t, out.stdout, flag)
	}
}

// The page and approvalbot(1) name every variable that a command reads, and where the files are that it looks for.
func TestCLIDoc_NamesWhatIsRead(t *testing.T) {
	t.Parallel()
	d, dir := deskFor(t), t.TempDir()
	page := runCLI(t, d, "", "docs", "markdown").stdout
	require.Zero(t, runCLI(t, d, "", "docs", "man", dir).code)
	man, err := os.ReadFile(filepath.Join(dir, "approvalbot.1"))
	require.NoError(t, err)
	sources, err := filepath.Glob("*.go")
	require.NoError(t, err)
	read := map[string]bool{localClient: true, localConfig: true, "/etc/approvalbot": true}
	for _, path := range sources {
		source, err := os.ReadFile(path)
		require.NoError(t, err)
		if !strings.HasSuffix(path, "_test.go") {
			for _, m := range regexp.MustCompile(`\benv\["([A-Z_]+)"\]`).FindAllSubmatch(source, -1) {
				read[string(m[1])] = true
			}
		}
	}
	require.Contains(t, read, "APPROVALBOT_CLIENT_FILE")
	for name := range read {
		require.Contains(t, page, name)
		require.Contains(t, string(man), name)
	}
}

func TestDocs_ManPages(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "man1")
	require.Zero(t, runCLI(t, deskFor(t), "", "docs", "man", dir).code)
	page, err := os.ReadFile(filepath.Join(dir, "approvalbot-allowlist-add.1"))
	require.NoError(t, err)
	require.Contains(t, string(page), ".TH \"APPROVALBOT-ALLOWLIST-ADD\" 1")
	require.Contains(t, string(page), `\fB\-\-owner\fR`)
	require.NotContains(t, string(page), "\n'", "no line begins a request")
	require.FileExists(t, filepath.Join(dir, "approvalbot.1"))
	if man, err := exec.LookPath("groff"); err == nil {
		out, err := exec.Command(man, "-man", "-Tascii", "-ww", filepath.Join(dir, "approvalbot-allowlist-add.1")).CombinedOutput()
		require.NoError(t, err, string(out))
	}
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	d := deskFor(t)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"dri"}, "drill\t"},
		{[]string{"list", "--status", "pen"}, "pending\n"},
		{[]string{"list", "--stat"}, "--status\t"},
		{[]string{"decide", "7KQ2M5", "--decision", "allow-s"}, "allow-session\n"},
		{[]string{"view", ""}, "7KQ2M5\t$ rm -rf build\n"},
		{[]string{"approve", "7KQ2M5", ""}, "allow-once\n"},
		{[]string{"view", "7KQ2M5", ""}, ":4\n"},
		{[]string{"allowlist", "re"}, "remove\t"},
	} {
		require.Eventually(t, func() bool { // Tab waits for the desk for a moment only
			out := runCLI(t, d, "", append([]string{"__complete"}, tt.args...)...)
			return out.code == 0 && strings.Contains(out.stdout, tt.want)
		}, patient, time.Millisecond, tt.args)
	}
	script := runCLI(t, d, "", "completion", "bash")
	require.Zero(t, script.code)
	require.True(t, strings.Contains(script.stdout, "__start_approvalbot"))
	d.Close()
	away := runCLI(t, d, "", "__complete", "view", "")
	require.Zero(t, away.code)
	require.NotContains(t, away.stdout, "7KQ2M5")
}
