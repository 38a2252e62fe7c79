package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rooms says what each room of the house may import of the others. A room that
// is not listed here does not exist.
var rooms = map[string][]string{
	"api":                 {},
	"display":             {},
	"internal/fault":      {},
	"core":                {"display", "internal/fault", "schedule"},
	"audit":               {"api", "core", "proof", "store"},
	"cli":                 {"api", "cli/app", "cli/show", "config", "core", "display", "schedule"},
	"cli/app":             {"api", "cli/show", "config", "config/local", "display"},
	"cli/show":            {"api", "core", "display"},
	"cli/watch":           {"api", "cli/app", "cli/show", "core", "display"},
	"cli/agent":           {"api", "cli/app", "config", "hook", "hook/acp", "hook/ask", "hook/mcp", "internal/panics"},
	"cli/offline":         {"api", "audit", "cli/app", "cli/show", "config", "config/effective", "core", "display", "proof", "server", "server/auth", "store", "verifier"},
	"cli/setup":           {"api", "bot/discord", "bot/telegram", "cli/app", "cli/show", "config", "config/effective", "config/local", "core", "daemon", "display", "hook", "hook/install", "hook/live", "schedule", "server/connection", "store", "verifier"},
	"cli/help":            {"api", "cli/app", "cli/show", "config", "display"},
	"daemon":              {"api", "audit", "bot/discord", "bot/telegram", "bot/textcmd", "callback", "config", "config/effective", "config/local", "core", "display", "gateway", "hook/ask", "hook/mcp", "policy", "policy/tool", "routing", "schedule", "server", "server/connection", "server/events", "server/metrics", "store", "verifier"},
	"config":              {"core", "display"},
	"config/effective":    {"api", "bot/discord", "bot/telegram", "config", "config/local", "core", "policy", "policy/workspace", "routing", "schedule", "server/auth", "server/connection", "verifier"},
	"config/local":        {"config", "core", "display"},
	"policy":              {"core", "policy/command", "policy/condition", "policy/finding", "policy/language", "policy/line", "policy/pattern", "policy/program", "policy/shell", "policy/tool", "policy/words", "policy/workspace", "schedule"},
	"policy/finding":      {"core"},
	"policy/words":        {},
	"policy/workspace":    {"core", "display", "policy/finding", "policy/words"},
	"policy/command":      {"policy/finding", "policy/words", "policy/workspace"},
	"policy/language":     {"policy/command", "policy/finding", "policy/words", "policy/workspace"},
	"policy/program":      {"policy/command", "policy/finding", "policy/language", "policy/words", "policy/workspace"},
	"policy/line":         {"core", "policy/command", "policy/finding", "policy/language", "policy/program", "policy/shell", "policy/words", "policy/workspace"},
	"policy/tool":         {"core", "display", "policy/command", "policy/finding", "policy/language", "policy/line", "policy/program", "policy/words", "policy/workspace"},
	"policy/condition":    {},
	"policy/pattern":      {"policy/program", "policy/words", "policy/workspace"},
	"policy/shell":        {},
	"store":               {"core", "internal/fault", "schedule"},
	"routing":             {"core", "internal/fault"},
	"bot/textcmd":         {"core", "display"},
	"bot/telegram":        {"core", "bot/telegram/render", "bot/textcmd", "display", "internal/fault"},
	"bot/discord":         {"core", "bot/discord/gateway", "bot/discord/render", "bot/discord/rest", "bot/textcmd", "display", "internal/fault"},
	"bot/discord/render":  {"core", "bot/textcmd"},
	"bot/discord/rest":    {"core", "display"},
	"bot/telegram/render": {"core", "bot/textcmd"},
	"bot/discord/gateway": {"bot/discord/rest", "bot/textcmd"},
	"schedule":            {},
	"bot/bottest":         {},
	"server":              {"core", "api", "hook", "messages", "server/metrics", "server/view", "server/events", "server/auth", "server/connection", "internal/panics"},
	"server/metrics":      {"core"},
	"server/view":         {"core", "api"},
	"server/events":       {"core", "api", "server/view"},
	"server/auth":         {"core"},
	"server/connection":   {"core", "server/metrics"},
	"internal/panics":     {},
	"gateway":             {"core", "api", "server", "server/view", "server/events", "server/auth", "server/connection", "internal/panics"},
	"messages":            {"api", "display"},
	"hook":                {"api"},
	"hook/ask":            {"api", "hook"},
	"hook/mcp":            {"api", "hook", "hook/ask", "internal/panics"},
	"hook/acp":            {"api", "hook/ask"},
	"hook/install":        {"hook"},
	"hook/live":           {},
	"verifier":            {"core", "display"},
	"callback":            {"core"},
	"proof":               {"core"},
	"store/pgtest":        {},
	"examples/receipt":    {"proof"},
	"internal/bench":      {"api", "bot/bottest"},
	"internal/testsum":    {},

	"internal/fakeclaude": {},
}

// keepers are the only rooms that may import a package.
var keepers = map[string][]string{
	"database/sql":                  {"store", "store/pgtest", "internal/bench"},
	"modernc.org/sqlite":            {"store", "internal/bench"},
	"github.com/bwmarrin/discordgo": {"bot/discord/gateway"},
	"github.com/go-telegram/bot":    {"bot/telegram"},
	"github.com/spf13/cobra":        {"cmd/approvalbot", "cli", "cli/app", "cli/watch", "cli/agent", "cli/offline", "cli/setup", "cli/help"},
	"github.com/spf13/viper":        {"config"},
	"github.com/danielgtaylor/huma": {"server"},
	"github.com/prometheus":         {"server/metrics"},
	"mvdan.cc/sh":                   {"policy/line", "policy/shell"},
	"cel.dev/cel-go":                {"policy/condition"},
	"github.com/jackc/pgx":          {"store", "store/pgtest", "internal/bench"},
	"golang.org/x/mod":              {"proof"},
	"github.com/coder/websocket":    {"gateway", "bot/bottest"},
	"approvalbot/store/pgtest":      {},
	"net/http":                      {"api", "daemon", "hook", "hook/ask", "hook/live", "hook/mcp", "server", "server/connection", "server/metrics", "internal/panics", "gateway", "verifier", "callback", "bot/telegram", "bot/discord", "bot/bottest", "internal/bench", "cli", "cli/app", "cli/agent", "cli/offline", "cli/setup", "internal/fakeclaude", "bot/discord/gateway", "bot/discord/rest"},
	"github.com/stretchr/testify":   {},
	"approvalbot/bot/bottest":       {"internal/bench"},
	"github.com/go-json-experiment": {"hook", "hook/acp", "hook/mcp", "core", "server", "policy/tool", "gateway", "messages", "verifier", "proof", "bot/telegram"},
	"approvalbot/internal/bench":    {},
	"golang.org/x/text":             {"display"},
	"github.com/pressly/goose":      {"store"},
	"github.com/lmittmann/tint":     {"daemon"},
	"go.yaml.in/yaml":               {"config", "policy/program", "policy/tool"},
	"golang.org/x/sync":             {"daemon"},
	"github.com/arran4/golang-ical": {"schedule"},

	"github.com/modelcontextprotocol/go-sdk": {"hook/mcp", "cli/agent"},
}

// The directions between rooms hold: nobody imports what it may not know.
func TestRooms(t *testing.T) {
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
		room := strings.TrimPrefix(p.ImportPath, "approvalbot/")
		allowed, known := rooms[room]
		if room != "cmd/approvalbot" {
			require.True(t, known, "package %s has no room: say in rooms what it may import, and why in ARCHITECTURE.md", room)
		}
		for _, imported := range p.Imports {
			own, ours := strings.CutPrefix(imported, "approvalbot/")
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

// The table of rooms in ARCHITECTURE.md says what rooms says.
func TestRooms_AreInTheTable(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../ARCHITECTURE.md")
	require.NoError(t, err)
	require.LessOrEqual(t, strings.Count(string(page), "\n"), 150, "the page is to stay short")
	table := map[string][]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z/]+)/` \\| .* \\| ([^|]+) \\|$").FindAllStringSubmatch(string(page), -1) {
		list := strings.Split(row[2], ", ")
		if row[2] == "—" {
			list = nil
		}
		slices.Sort(list)
		table[row[1]] = list
	}
	require.Equal(t, []string{"everything"}, table["cmd/approvalbot"])
	for room, allowed := range rooms {
		require.Contains(t, table, room)
		require.ElementsMatch(t, allowed, table[room], room)
	}
	require.Len(t, table, len(rooms)+1)
}
