package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/cli/app"
)

// notRun are the commands of the pages that TestDocs_EveryCommandRuns leaves out, by how
// they begin, and why. Where something else runs them it is named.
var notRun = map[string]string{
	"make run":              "serve_test.go runs what it starts; it would not end",
	"make test":             "this is it",
	"TELEGRAM_BOT_TOKEN=":   "needs a bot's token",
	"DISCORD_BOT_TOKEN=":    "needs a bot's token",
	"sudo":                  "root's: internal/release/check.sh installs the packages in a bare Debian",
	"sha256sum -c":          "internal/release/check.sh, on a release",
	"tar -xzf approvalbot_": "internal/release/check.sh, on a release",
	"docker ":               "internal/release/check.sh runs the image",
	"APPROVALBOT_SERVER=http://localhost:8787": "internal/web/embed_test.go runs it, in Chromium; it would not end",
	"systemctl ":           "needs systemd and root",
	"chown ":               "root's",
	"approvalbot init":     "testdata/script/init.txtar; it asks",
	"approvalbot evaluate": "docs_test.go, with the rules that stand above it",
	"approvalbot policy explain --agent main":   "policy_flow_test.go; its exit status says that the call asks",
	"approvalbot doctor --live":                 "doctor_live_test.go; needs the runtime's client",
	"approvalbot drill":                         "drill_test.go; asks, where the rest of its page is the operator's",
	"approvalbot confine":                       "internal/confine/run_test.go; needs an ordinary user and bubblewrap",
	"approvalbot install claude-code --confine": "agents_confine_linux_test.go; needs a token of an agent",
	"approvalbot acp":                           "bridge_flow_test.go; needs the agent",
	"approvalbot admin keys rotate":             "offline_test.go; needs the desk to be stopped",
	"approvalbot admin store compact":           "offline_test.go; needs the desk to be stopped",
	"approvalbot admin store migrate":           "offline_test.go; needs two databases",
	"export CREDENTIALS_DIRECTORY":              "goes with the next line, which is root's",
	"approvalbot admin callbacks retry":         "callbacks_test.go; needs one that was given up",
	"approvalbot admin receipt verify":          "audit_flow_test.go; needs a receipt",
	"approvalbot audit verify --file":           "audit_flow_test.go; needs a checkpoint that was kept",
	"jq -js 'map(select(.type == \"audit.check": "audit_docs_test.go; needs a log with a checkpoint",
}

// Each block of sh in README and docs does what it says, against a desk where somebody
// allows whatever is asked, unless its command is in notRun.
func TestDocs_EveryCommandRuns(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"curl", "jq", "openssl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s: not tested, install it", program)
		}
	}
	r := newRig(t, func(r *rig) { r.agentHas = ", agentId: main" })
	home := docsHome(t, r)
	ctx, cancel := context.WithCancel(t.Context())
	allowing := make(chan struct{})
	go func() { defer close(allowing); allowAll(ctx, r.operator()) }()
	t.Cleanup(func() { cancel(); <-allowing })
	used, ran := map[string]bool{}, 0
	for _, page := range pagesOfDocs(t) {
		for _, block := range shellBlocks(t, page) {
			script := runnable(block, used)
			if script == "" {
				continue
			}
			ran++
			out, err := docsShell(r, home, filepath.Base(page), script).CombinedOutput()
			require.NoError(t, err, "%s: %s\n%s", page, script, out)
		}
	}
	require.Greater(t, ran, 10)
	for begin := range notRun {
		require.True(t, used[begin], "no page has a command that begins with %q any more", begin)
	}
}

// docsHome makes the home of the person who follows the docs: client files, the desk's
// configuration, and the programs that they name.
func docsHome(t *testing.T, r *rig) string {
	t.Helper()
	bin, err := faultyBinary()
	require.NoError(t, err)
	home := t.TempDir()
	config, err := os.ReadFile(filepath.Join(r.dir, "approvalbot.yaml"))
	require.NoError(t, err)
	text := strings.Replace(string(config), "127.0.0.1:0", r.addr, 1)
	stub := "#!/bin/sh\nexit 0\n"
	files := map[string]string{
		".config/approvalbot/client.yaml":   "server: " + r.url + "\ntoken: " + agentSecret + "\n",
		".config/approvalbot/operator.yaml": "server: " + r.url + "\ntoken: " + operatorSecret + "\n",
		"approvalbot.local.yaml":            text, "approvalbot.yaml": text, "new.yaml": text,
		"stubs/terraform": stub, "Library/LaunchAgents/none": "", "backup/none": "", "audit.jsonl": "",
	}
	for name, text := range files {
		path := filepath.Join(home, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o700))
		require.NoError(t, os.Chmod(path, map[bool]os.FileMode{true: 0o700, false: 0o600}[text == stub]))
	}
	require.NoError(t, os.Mkdir(filepath.Join(home, "bin"), 0o700))
	require.NoError(t, os.Symlink(bin, filepath.Join(home, "bin", "approvalbot")))
	return home
}

// docsShell runs lines as the page's reader would: whoever asks, or the operator. What root
// would install for the whole machine is for the test's home alone.
func docsShell(r *rig, home, page, script string) *exec.Cmd {
	script = strings.NewReplacer("http://127.0.0.1:8787", r.url, "https://desk.example", r.url, "/var/lib/approvalbot/approvalbot.sock", r.dir+"/approvalbot.sock",
		" /backup/", " "+home+"/backup/", "install claude-code", "install claude-code --user").Replace(script)
	cmd := exec.Command("sh", "-euc", script)
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + home, "PATH=" + home + "/bin:" + home + "/stubs:" + os.Getenv("PATH"),
		"DESK=" + r.url, "APPROVALBOT_SERVER=" + r.url, "TOKEN=" + agentSecret, "RANDOM_ID=1"}
	if page != "api.md" && page != "asking.md" && page != "README.md" && page != "agents.md" {
		cmd.Env = append(cmd.Env, "APPROVALBOT_CLIENT="+home+"/.config/approvalbot/operator.yaml")
	}
	return cmd
}

// allowAll says yes to whatever waits, until the context ends.
func allowAll(ctx context.Context, operator *api.Client) {
	for ctx.Err() == nil {
		list, _ := operator.List(ctx, api.Filter{Status: api.Pending})
		for _, a := range list.Items {
			_, _ = operator.Resolve(ctx, a.Code, api.ResolveRequest{Decision: api.AllowOnce})
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond): // only paces the question
		}
	}
}

// pagesOfDocs are README.md, SECURITY.md and those in docs.
func pagesOfDocs(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	require.Greater(t, len(pages), 10)
	return append(pages, "../../README.md", "../../SECURITY.md", "../../CONTRIBUTING.md")
}

var (
	fence   = regexp.MustCompile("(?ms)^ *```([a-z]*)\n(.*?)^ *```$")
	command = regexp.MustCompile(`^ *(approvalbot|curl|jq|make|sudo|docker|systemctl|export) `)
)

// shellBlocks gives the blocks of sh of a page. A block that looks like one must say so.
func shellBlocks(t *testing.T, page string) (blocks []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	for _, m := range fence.FindAllStringSubmatch(string(text), -1) {
		switch {
		case m[1] == "sh":
			blocks = append(blocks, m[2])
		case m[1] == "" && !strings.HasPrefix(m[2], "approvalbot log "):
			require.NotRegexp(t, command, m[2], "%s has a block of commands that does not say sh", page)
		}
	}
	return blocks
}

// runnable is a block without the commands in notRun, which it marks as used; empty where
// nothing is left.
func runnable(block string, used map[string]bool) string {
	var left []string
	for line := range strings.Lines(strings.ReplaceAll(block, "\\\n", " ")) {
		line = strings.TrimSpace(line)
		keep := true
		for begin := range notRun {
			if strings.HasPrefix(line, begin) {
				keep, used[begin] = false, true
			}
		}
		if keep && line != "" && !strings.HasPrefix(line, "#") {
			left = append(left, line)
		}
	}
	return strings.Join(left, "\n")
}

// Every command that the pages name is one that there is, with its flags.
func TestDocs_CommandsExist(t *testing.T) {
	t.Parallel()
	root := newRootCommand(&app.App{})
	for _, page := range pagesOfDocs(t) {
		for _, block := range shellBlocks(t, page) {
			// Params and what stands behind -- are another program's.
			own := regexp.MustCompile(` -- .*|'[^']*'`).ReplaceAllString(strings.ReplaceAll(block, "\\\n", " "), "")
			for _, l := range commandLines(own) {
				checkCommand(t, root, l)
			}
		}
	}
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)|<img src="([^"]+)"`)

// Every link between pages leads to a file that is there, and to a heading that it has.
func TestDocs_LinksLead(t *testing.T) {
	t.Parallel()
	anchors, code := map[string][]string{}, regexp.MustCompile("`[^`\n]*`")
	for _, page := range append(pagesOfDocs(t), "../../ARCHITECTURE.md", "../../CHANGELOG.md") {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		prose := code.ReplaceAllString(string(text), "")
		for _, m := range link.FindAllStringSubmatch(prose, -1) {
			target, heading, _ := strings.Cut(m[1]+m[2], "#")
			if strings.Contains(target, "://") {
				continue
			}
			path := page
			if target != "" {
				path = filepath.Join(filepath.Dir(page), target)
			}
			require.FileExists(t, orFolder(path), "%s: %s", page, m[0])
			if heading != "" {
				if anchors[path] == nil {
					anchors[path] = headings(t, path)
				}
				require.Contains(t, anchors[path], heading, "%s: %s", page, m[0])
			}
		}
	}
}

// orFolder is a file that is there if the folder is.
func orFolder(path string) string {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return os.DevNull
	}
	return path
}

// headings gives the anchors of a page, as hosts of repositories make them.
func headings(t *testing.T, path string) (anchors []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	other := regexp.MustCompile(`[^\pL\pN _-]`)
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(text), -1) {
		plain := other.ReplaceAllString(strings.ToLower(m[1]), "")
		anchors = append(anchors, strings.ReplaceAll(plain, " ", "-"))
	}
	return anchors
}

// The log of changes has a heading for each version, the newest first, and one for what has none yet.
func TestDocs_ChangelogIsByVersion(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../CHANGELOG.md")
	require.NoError(t, err)
	var found []string
	for _, m := range regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(string(text), -1) {
		found = append(found, m[1])
	}
	require.NotEmpty(t, found)
	require.Equal(t, "Unreleased", found[0])
	for _, version := range found[1:] {
		require.Regexp(t, `^\d+\.\d+\.\d+( - \d{4}-\d\d-\d\d)?$`, version, fmt.Sprint(found))
	}
}
