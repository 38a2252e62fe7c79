package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
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
		"no chat at all":        {nil, 0, "No chat is configured"},
		"telegram":              {telegram, 1, "Cards go to the chat."},
		"discord":               {discord, 1, "Cards go to the chat."},
		"both":                  {append(append([]string{}, telegram...), discord...), 2, "Cards go to the chat."},
		"a token and no more":   {telegram[:1], 0, " pair\n"},
		"a discord token alone": {discord[:1], 0, " pair\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path, err := prepareLocal(dir, newEnviron(tt.env))
			require.NoError(t, err)
			cfg, _, err := Load(path, tt.env, nil)
			require.NoError(t, err)
			require.Len(t, cfg.table().Route(core.Approval{}).Targets, tt.targets)
			files, ok := findClientFiles(dir, newEnviron(tt.env), cfg.hasToken)
			require.True(t, ok)
			file := &localFile{dir, newEnviron(tt.env)}
			hints := localHints(cfg, files, file)
			require.Contains(t, hints, tt.hint)
			require.Regexp(t, ` --client `+files.client+` request --tool demo.greet --params '\{"say":"hello \w{4}"\}' --wait\n`, hints)
			require.Contains(t, hints, " --client "+files.operator+" watch\n")
			require.NotEqual(t, hints, localHints(cfg, files, file), "a deny of the last one is in nobody's way")
			for _, line := range strings.Split(hints, "\n") {
				require.True(t, len(line) <= 78 || strings.HasPrefix(line, "  "), line)
			}
			_, err = prepareLocal(dir, newEnviron(tt.env))
			require.NoError(t, err)
			again, _, err := Load(path, tt.env, nil)
			require.NoError(t, err)
			require.Equal(t, cfg.tokens(), again.tokens())
		})
	}
}

// The client files of make run are in the user's configuration directory, each its
// owner's alone, and stay the same from one start to the next. Where another desk's are
// there already they stay, and these go into the desk's own directory.
func TestAdversary_N7_LocalClientFiles(t *testing.T) {
	home, dir, second := t.TempDir(), t.TempDir(), t.TempDir()
	env := newEnviron([]string{"XDG_CONFIG_HOME=" + home, "USER=alice"})
	inHome := homeFiles.in(filepath.Join(home, "approvalbot"))
	requireLocalFiles(t, dir, env, inHome)
	requireLocalFiles(t, second, env, localFiles.in(second))
	requireLocalFiles(t, dir, env, inHome)

	info, err := os.Stat(filepath.Dir(inHome.client))
	require.NoError(t, err)
	require.Zero(t, info.Mode().Perm()&0o077)
	text, err := os.ReadFile(inHome.client)
	require.NoError(t, err)
	_, decides, err := inHome.tokens()
	require.NoError(t, err)
	require.NotContains(t, string(text), decides, "who asks is not handed who decides")
	cfg, _, err := Load(filepath.Join(dir, localConfig), nil, nil)
	require.NoError(t, err)
	require.Equal(t, "alice", cfg.People[0].Name)

	require.NoError(t, os.WriteFile(filepath.Join(home, "file"), nil, 0o600))
	third := t.TempDir()
	requireLocalFiles(t, third, newEnviron([]string{"HOME=" + filepath.Join(home, "file")}), localFiles.in(third))
}

// requireLocalFiles starts a local desk twice, as far as its files go.
func requireLocalFiles(t *testing.T, dir string, env environ, want clientFiles) {
	t.Helper()
	var before []string
	for range 2 {
		path, err := prepareLocal(dir, env)
		require.NoError(t, err)
		cfg, _, err := Load(path, nil, nil)
		require.NoError(t, err)
		got, ok := findClientFiles(dir, env, cfg.hasToken)
		require.True(t, ok)
		require.Equal(t, want, got)
		asks, decides, err := got.tokens()
		require.NoError(t, err)
		for _, path := range got.both() {
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

// A client file that is another user's is refused: it would name that user's desk.
func TestAdversary_N7_AClientFileOfAnotherUser(t *testing.T) {
	info, err := os.Stat(t.TempDir())
	require.NoError(t, err)
	require.True(t, ownedBy(info, os.Geteuid()))
	require.False(t, ownedBy(info, os.Geteuid()+1))
	if os.Geteuid() != 0 {
		return
	}
	path := filepath.Join(t.TempDir(), "client.yaml")
	require.NoError(t, os.WriteFile(path, []byte("token: x\n"), 0o600))
	require.NoError(t, os.Chown(path, 65534, -1))
	_, err = openClientFile(path)
	require.ErrorContains(t, err, "belongs to another user")
}

// The lines to paste reach the desk wherever it listens, and the tokens stay.
func TestLocalClientFileNamesTheAddressInForce(t *testing.T) {
	dir := t.TempDir()
	files := localFiles.in(dir)
	before := ""
	for _, addr := range []string{ownAddr(t), "127.0.0.1:0"} {
		ctx, stop := context.WithCancel(t.Context())
		var out, errs safeBuffer
		done := make(chan int, 1)
		go func() {
			done <- run(ctx, []string{"serve", "--local", dir}, []string{"APPROVALBOT_CFG__SERVER__LISTEN=" + addr}, nil, &out, &errs)
		}()
		require.Eventually(t, func() bool { return strings.Contains(out.String(), "Paste this") }, patient, 5*time.Millisecond, "%s", &errs)
		client, err := openClientFile(files.client)
		require.NoError(t, err)
		require.NotEqual(t, before, client.Server)
		if before == "" {
			require.Equal(t, "http://"+addr, client.Server)
		}
		for _, path := range files.both() {
			var listed, failed bytes.Buffer
			require.Zero(t, run(ctx, []string{"list", "--client", path}, nil, nil, &listed, &failed), failed.String())
		}
		before = client.Server
		stop()
		require.Zero(t, <-done, errs.String())
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
			path, err := prepareLocal(dir, environ{})
			require.NoError(t, err)
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			mine := change(string(text))
			require.NoError(t, os.WriteFile(path, []byte(mine), 0o600))
			_, err = prepareLocal(dir, environ{"TELEGRAM_USER_ID": "5"})
			require.NoError(t, err)
			kept, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, mine, string(kept))
		})
	}
}
