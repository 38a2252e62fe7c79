package main

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rooms says what each room of the house may import of the others, without the
// internal/ before most of them. A room that is not listed here does not exist.
var rooms = table(`
api:
approval: assertion display platform
assertion:
assertion/softkey: assertion
audit: api approval core proof store
bench: approval core fakechat progress store
bot/discord: approval bot/discord/gateway bot/discord/render bot/discord/rest bot/textcmd card core fault
bot/discord/gateway: bot/discord/rest bot/textcmd
bot/discord/render: approval bot/textcmd card lazy
bot/discord/rest: card core display
bot/telegram: approval bot/telegram/render bot/textcmd card core display fault lazy
bot/telegram/render: approval bot/textcmd card
bot/textcmd: approval card core display people platform signin
callback: approval card core
card: approval assertion display people
cli: api approval cli/answer cli/app cli/show config confine core display people platform policy/program schedule
cli/agent: api cli/answer cli/app config hook hook/acp hook/ask hook/mcp lazy
cli/answer: api cli/reach config confine display hook lazy panics policy/workspace
cli/app: api cli/reach cli/show config config/local display lazy
cli/help: api cli/app cli/show config display platform
cli/offline: api approval audit cli/app cli/show config config/effective core display people progress proof server server/auth store verifier
cli/reach: api approval config display proof
cli/setup: api approval cli/app cli/reach cli/show config config/effective config/local confine core daemon deploy display hook hook/install hook/live people platform schedule server/connection signin store verifier web
cli/show: api approval card core display lazy people
cli/watch: api approval cli/app cli/show display
cmd/approvalbot-hook: cli/answer
config: approval display lazy platform
config/effective: api approval assertion config config/local core lazy people platform policy policy/workspace routing schedule server/auth server/connection verifier
config/local: approval config display lazy platform
confine: lazy policy/workspace
core: approval assertion card display fault inforce people schedule
costs:
daemon: api approval audit bot/discord bot/telegram bot/textcmd callback card config config/effective config/local core display gateway hook/ask hook/mcp platform policy policy/tool progress proof push routing schedule server server/auth server/connection server/events server/metrics signin store verifier web
deploy:
display: lazy
examples/receipt: proof
fakechat:
fakeclaude:
faketelegram: fakechat
fault:
gateway: api approval card core panics people platform server server/auth server/connection server/events server/view
hook: api lazy platform
hook/acp: api hook/ask lazy
hook/ask: api hook
hook/install: hook lazy
hook/live: lazy
hook/mcp: api hook hook/ask lazy panics
inforce:
lazy:
messages: api display lazy
panics:
people: approval assertion platform schedule
pictures: api approval bot/discord/render bot/telegram/render bot/textcmd card cli/show config/effective core pictures/calls server/view store
pictures/calls:
platform:
policy: approval core lazy policy/budget policy/command policy/condition policy/finding policy/line policy/pattern policy/program policy/tool policy/words policy/workspace schedule
policy/budget:
policy/command: lazy policy/budget policy/finding policy/words policy/workspace
policy/condition:
policy/finding: approval
policy/git: lazy policy/command policy/finding policy/language policy/words policy/workspace
policy/language: lazy policy/command policy/finding policy/words policy/workspace
policy/line: approval lazy policy/budget policy/command policy/finding policy/git policy/language policy/program policy/shell policy/words policy/workspace
policy/pattern: policy/program policy/words policy/workspace
policy/program: approval lazy policy/command policy/finding policy/git policy/language policy/words policy/workspace
policy/shell: lazy policy/budget
policy/tool: approval display lazy policy/budget policy/command policy/finding policy/language policy/line policy/program policy/words policy/workspace
policy/words:
policy/workspace: approval display lazy policy/finding policy/words
progress:
proof: approval assertion display
push: approval callback card core signin
routing: approval card core fault
schedule: lazy platform
server: api approval card core hook messages panics platform server/auth server/connection server/events server/metrics server/view signin
server/auth: approval core inforce
server/connection: core server/metrics
server/events: api approval core people server/view
server/metrics: approval core lazy
server/view: api approval card core people
signin: approval assertion core display people
store: approval card core fault people schedule signin
store/pgtest:
testsum:
verifier: approval core display lazy platform
web: api approval assertion card core display lazy people platform signin
`)

// keepers are the only rooms that may import a package.
var keepers = table(`
approvalbot/internal/assertion/softkey:
approvalbot/internal/fakechat: bench faketelegram
approvalbot/internal/bench:
approvalbot/internal/store/pgtest:
cel.dev/cel-go: policy/condition
database/sql: bench store store/pgtest
github.com/SherClockHolmes/webpush-go: push
github.com/a-h/templ: web
github.com/arran4/golang-ical: schedule
github.com/bwmarrin/discordgo: bot/discord bot/discord/gateway bot/discord/render bot/discord/rest pictures
github.com/chromedp:
github.com/coder/websocket: fakechat gateway
github.com/coreos/go-oidc: web
github.com/danielgtaylor/huma: server
github.com/go-json-experiment: approval assertion bot/telegram confine core gateway hook hook/acp hook/mcp messages policy/tool proof server store verifier web
github.com/go-telegram/bot: bot/telegram
github.com/go-webauthn/webauthn: web
github.com/jackc/pgx: bench store store/pgtest
github.com/lmittmann/tint: daemon
github.com/modelcontextprotocol/go-sdk: cli/agent hook/mcp
github.com/pressly/goose: store
github.com/prometheus: server/metrics
github.com/spf13/cobra: cli cli/agent cli/app cli/help cli/offline cli/setup cli/watch cmd/approvalbot
github.com/spf13/viper: config/effective
github.com/stretchr/testify:
go.yaml.in/yaml: cli/app config policy/program policy/tool
golang.org/x/mod: proof
golang.org/x/oauth2: web
golang.org/x/sync: daemon
golang.org/x/sys: confine
golang.org/x/text: display
modernc.org/sqlite: bench store
mvdan.cc/sh: policy/line policy/shell
html/template:
net/http: api fakechat bot/discord bot/discord/gateway bot/discord/rest bot/telegram callback cli cli/agent cli/answer cli/app cli/offline cli/reach cli/setup daemon gateway hook hook/ask hook/live hook/mcp bench fakeclaude panics push server server/connection server/metrics verifier web
text/template:
`)

// table reads lines of a name and what belongs to it. A line of its own for each leaves
// the others alone when one changes.
func table(text string) map[string][]string {
	out := map[string][]string{}
	for line := range strings.Lines(strings.TrimSpace(text)) {
		name, list, _ := strings.Cut(line, ":")
		out[name] = strings.Fields(list)
	}
	return out
}

// roomOf names the room of a package, and says whether it is one of this project.
func roomOf(path string) (room string, ours bool) {
	room, ours = strings.CutPrefix(path, "approvalbot/")
	return strings.TrimPrefix(room, "internal/"), ours
}

// The directions between rooms hold: nobody imports what it may not know.
func TestRooms(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "approvalbot/...").Output()
	require.NoError(t, err)
	d := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p struct {
			ImportPath string
			Imports    []string
		}
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		room, _ := roomOf(p.ImportPath)
		allowed, known := rooms[room]
		if room != "cmd/approvalbot" {
			require.True(t, known, "package %s has no room: say in rooms what it may import, and put it into a district of ARCHITECTURE.md", room)
		}
		for _, imported := range p.Imports {
			own, ours := roomOf(imported)
			if ours && room != "cmd/approvalbot" {
				require.Contains(t, allowed, own, "%s must not know %s", room, own)
			}
			for path, keeper := range keepers {
				if imported == path || strings.HasPrefix(imported, path+"/") {
					require.True(t, slices.Contains(keeper, room), "%s must not import %s; only %v may", room, imported, keeper)
				}
			}
		}
	}
}

// The program that a runtime starts before each tool call takes along nothing of what a desk or a command tree
// is made of, not by way of another package either.
func TestRooms_TheHooksProgramIsSmall(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-deps", "approvalbot/cmd/approvalbot-hook").Output()
	require.NoError(t, err)
	for path := range strings.Lines(string(out)) {
		room, ours := roomOf(strings.TrimSpace(path))
		heavy := slices.Contains([]string{"core", "people", "schedule", "store", "server", "cli/app", "config/effective"}, room) ||
			room == "policy" || strings.HasPrefix(room, "policy/")
		protects := slices.Contains([]string{"policy/finding", "policy/words", "policy/workspace"}, room) // what confine goes by
		require.False(t, ours && heavy && !protects, room)
		for _, module := range []string{"github.com/spf13/", "cel.dev/", "github.com/prometheus/", "google.golang.org/", "modernc.org/"} {
			require.False(t, strings.HasPrefix(path, module), path)
		}
	}
}

// ARCHITECTURE.md has every room in one of its districts and no other, names no file, declaration or test that is not
// there, and stays short. What a room is stands in its package doc.
func TestRooms_AreOnThePage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../ARCHITECTURE.md")
	require.NoError(t, err)
	page := string(text)
	require.LessOrEqual(t, strings.Count(page, "\n"), 120, "the page is to stay short")
	_, districts, _ := strings.Cut(page, "\n## Ten districts\n")
	districts, _, _ = strings.Cut(districts, "\n## ")
	var named []string
	for _, row := range regexp.MustCompile("(?m)^\\| [a-z][^|]* \\| (`.*`) \\|$").FindAllStringSubmatch(districts, -1) {
		named = append(named, strings.Fields(strings.ReplaceAll(row[1], "`", ""))...)
	}
	require.ElementsMatch(t, append(slices.Collect(maps.Keys(rooms)), "cmd/approvalbot"), named)

	quoted := regexp.MustCompile("`((?:[a-z]+/)+[A-Za-z0-9_*./-]+)(?::([A-Za-z]+))?`")
	for _, m := range quoted.FindAllStringSubmatch(strings.Replace(page, districts, "", 1), -1) {
		found, err := filepath.Glob("../../" + m[1])
		require.NoError(t, err)
		if strings.Contains(m[1], ".") || strings.HasPrefix(m[1], "internal/") {
			require.NotEmpty(t, found, m[1])
		}
		if m[2] != "" {
			source, err := os.ReadFile(found[0])
			require.NoError(t, err)
			require.Regexp(t, `(?m)^(?:func (?:\([^)]*\) )?|type |var |const )`+m[2]+`\b`, string(source), m[0])
		}
	}
	tests := testNames(t)
	for _, name := range regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(page, -1) {
		require.Contains(t, tests, name)
	}
}

// Each room has a package doc, which begins with what the room is for.
func TestRooms_SayWhatTheyAre(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-f", "{{.ImportPath}}\t{{.Doc}}", "approvalbot/...").Output()
	require.NoError(t, err)
	for line := range strings.Lines(string(out)) {
		path, doc, _ := strings.Cut(strings.TrimSpace(line), "\t")
		require.Regexp(t, `^(?:Package|Command) \S+ .{20,}`, doc, path)
	}
}

// testNames are the names of all tests.
func testNames(t *testing.T) (names []string) {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	require.NoError(t, filepath.WalkDir("../..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, m := range declared.FindAllSubmatch(source, -1) {
			names = append(names, string(m[1]))
		}
		return err
	}))
	return names
}
