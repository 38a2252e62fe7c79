package local_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/config"
	"approvalbot/internal/config/effective"
	"approvalbot/internal/config/local"
)

// What make run writes loads, whatever chats the environment names, and keeps
// its tokens from one start to the next.
func TestLocalConfigurationLoads(t *testing.T) {
	telegram := []string{"TELEGRAM_BOT_TOKEN=123456:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "TELEGRAM_CHAT_ID=-1001234567890", "TELEGRAM_USER_ID=111111111"}
	discord := []string{"DISCORD_BOT_TOKEN=MTExMTExMTExMTExMTExMTEx.aaaaaa.bbbbbbbbbbbbbbbbbbbbbbbbbbb", "DISCORD_CHANNEL_ID=123456789012345678", "DISCORD_USER_ID=222222222222222222"}
	for name, tt := range map[string]struct {
		env     []string
		targets int
		hint    string
	}{
		"no chat at all":        {nil, 0, "No chat is on, so requests are decided in a terminal or in a browser."},
		"telegram":              {telegram, 1, "Cards go to the chat."},
		"discord":               {discord, 1, "Cards go to the chat."},
		"both":                  {append(append([]string{}, telegram...), discord...), 2, "Cards go to the chat."},
		"a token and no more":   {telegram[:1], 0, " pair\n"},
		"a discord token alone": {discord[:1], 0, " pair\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path, err := local.Prepare(dir, config.NewEnviron(tt.env))
			require.NoError(t, err)
			cfg, _, err := effective.Load(path, tt.env, nil)
			require.NoError(t, err)
			require.Len(t, effective.Table(cfg).Route(approval.Approval{}).Targets, tt.targets)
			files, ok := local.FindClientFiles(dir, config.NewEnviron(tt.env), cfg.HasToken)
			require.True(t, ok)
			file := &local.File{Dir: dir, Env: config.NewEnviron(tt.env)}
			hints := local.Hints(cfg, files, file)
			require.Contains(t, hints, tt.hint)
			require.Regexp(t, ` --client `+files.Client+` run -- sh -c 'date "\+hello \w{4}: you said yes, so this ran at %T\." \| tee ~/said-yes\.txt'\n`, hints)
			require.Contains(t, hints, " --client "+files.Operator+" login\n")
			require.Contains(t, hints, " --client "+files.Operator+" watch\n")
			require.NotEqual(t, hints, local.Hints(cfg, files, file), "a deny of the last one is in nobody's way")
			for _, line := range strings.Split(hints, "\n") {
				require.True(t, len(line) <= 78 || strings.HasPrefix(line, "  "), line)
			}
			_, err = local.Prepare(dir, config.NewEnviron(tt.env))
			require.NoError(t, err)
			again, _, err := effective.Load(path, tt.env, nil)
			require.NoError(t, err)
			require.Equal(t, effective.Tokens(cfg), effective.Tokens(again))
		})
	}
}

// The client files of make run are in the user's configuration directory, each its
// owner's alone, and stay the same from one start to the next. Where another desk's are
// there already they stay, and these go into the desk's own directory.
func TestAdversary_N7_LocalClientFiles(t *testing.T) {
	home, dir, second := t.TempDir(), t.TempDir(), t.TempDir()
	env := config.NewEnviron([]string{"XDG_CONFIG_HOME=" + home, "USER=alice"})
	inHome := local.HomeFiles.In(filepath.Join(home, "approvalbot"))
	requireLocalFiles(t, dir, env, inHome)
	requireLocalFiles(t, second, env, local.DeskFiles.In(second))
	requireLocalFiles(t, dir, env, inHome)

	info, err := os.Stat(filepath.Dir(inHome.Client))
	require.NoError(t, err)
	require.Zero(t, info.Mode().Perm()&0o077)
	text, err := os.ReadFile(inHome.Client)
	require.NoError(t, err)
	_, decides, err := inHome.Tokens()
	require.NoError(t, err)
	require.NotContains(t, string(text), decides, "who asks is not handed who decides")
	cfg, _, err := effective.Load(filepath.Join(dir, config.LocalFile), nil, nil)
	require.NoError(t, err)
	require.Equal(t, "alice", cfg.People[0].Name)

	require.NoError(t, os.WriteFile(filepath.Join(home, "file"), nil, 0o600))
	third := t.TempDir()
	requireLocalFiles(t, third, config.NewEnviron([]string{"HOME=" + filepath.Join(home, "file")}), local.DeskFiles.In(third))
}

// requireLocalFiles starts a local desk twice, as far as its files go.
func requireLocalFiles(t *testing.T, dir string, env config.Environ, want local.ClientFiles) {
	t.Helper()
	var before []string
	for range 2 {
		path, err := local.Prepare(dir, env)
		require.NoError(t, err)
		cfg, _, err := effective.Load(path, nil, nil)
		require.NoError(t, err)
		got, ok := local.FindClientFiles(dir, env, cfg.HasToken)
		require.True(t, ok)
		require.Equal(t, want, got)
		asks, decides, err := got.Tokens()
		require.NoError(t, err)
		for _, path := range got.Both() {
			info, err := os.Stat(path)
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
		}
		if before != nil {
			require.Equal(t, before, []string{asks, decides})
		}
		before = []string{asks, decides}
	}
}

// A configuration that was changed anywhere belongs to the person.
func TestLocalConfigurationKeepsChanges(t *testing.T) {
	for name, change := range map[string]func(string) string{
		"a word":              func(s string) string { return strings.Replace(s, "both", "targets", 1) },
		"without its mark":    func(s string) string { _, rest, _ := strings.Cut(s, "\n"); return rest },
		"a line more":         func(s string) string { return s + "# mine\n" },
		"another one's whole": func(string) string { return "server: {}\n" },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path, err := local.Prepare(dir, config.Environ{})
			require.NoError(t, err)
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			mine := change(string(text))
			require.NoError(t, os.WriteFile(path, []byte(mine), 0o600))
			_, err = local.Prepare(dir, config.Environ{"TELEGRAM_USER_ID": "5"})
			require.NoError(t, err)
			kept, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, mine, string(kept))
		})
	}
}
