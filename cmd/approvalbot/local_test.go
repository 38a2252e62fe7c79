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
		"a token and no more":   {telegram[:1], 0, "/whoami"},
		"a discord token alone": {discord[:1], 0, "/whoami"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path, err := prepareLocal(dir, newEnviron(tt.env))
			require.NoError(t, err)
			cfg, _, err := Load(path, tt.env, nil)
			require.NoError(t, err)
			require.Len(t, cfg.table().Route(core.Approval{}).Targets, tt.targets)
			hints := localHints(dir, cfg)
			require.Contains(t, hints, tt.hint)
			require.Contains(t, hints, " request --tool demo.greet --params '{\"say\":\"hello\"}' --wait\n")
			require.Contains(t, hints, " watch\n")

			info, err := os.Stat(filepath.Join(dir, localClient))
			require.NoError(t, err)
			require.Zero(t, info.Mode().Perm()&0o077, "the client file is its owner's alone")
			_, err = prepareLocal(dir, newEnviron(tt.env))
			require.NoError(t, err)
			again, _, err := Load(path, tt.env, nil)
			require.NoError(t, err)
			require.Equal(t, cfg.tokens(), again.tokens())
		})
	}
}

// The lines to paste reach the desk wherever it listens, and the tokens stay.
func TestLocalClientFileNamesTheAddressInForce(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, localClient)
	before := ""
	for _, addr := range []string{ownAddr(t), "127.0.0.1:0"} {
		ctx, stop := context.WithCancel(t.Context())
		var out, errs safeBuffer
		done := make(chan int, 1)
		go func() {
			done <- run(ctx, []string{"serve", "--local", dir}, []string{"APPROVALBOT_CFG__SERVER__LISTEN=" + addr}, nil, &out, &errs)
		}()
		require.Eventually(t, func() bool { return strings.Contains(out.String(), "Paste this") }, patient, 5*time.Millisecond, "%s", &errs)
		client, _, err := openClientFile(path)
		require.NoError(t, err)
		require.NotEqual(t, before, client.Server)
		if before == "" {
			require.Equal(t, "http://"+addr, client.Server)
		}
		var listed, failed bytes.Buffer
		require.Zero(t, run(ctx, []string{"list"}, []string{"APPROVALBOT_CLIENT_FILE=" + path}, nil, &listed, &failed), failed.String())
		before = client.Server
		stop()
		require.Zero(t, <-done, errs.String())
	}
}

// A configuration whose first line was deleted belongs to the person.
func TestLocalConfigurationKeepsChanges(t *testing.T) {
	dir := t.TempDir()
	path, err := prepareLocal(dir, environ{})
	require.NoError(t, err)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	_, mine, _ := strings.Cut(string(text), "\n")
	require.NoError(t, os.WriteFile(path, []byte(mine), 0o600))
	_, err = prepareLocal(dir, environ{})
	require.NoError(t, err)
	kept, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, mine, string(kept))
}
