package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/config/effective"
	"approvalbot/internal/store"
)

// Relative paths count from the configuration file, for every command and wherever it
// is started, and a backup of such a store is whole.
func TestPathsCountFromTheConfiguration(t *testing.T) {
	root := t.TempDir()
	desk := filepath.Join(root, "desk")
	require.NoError(t, os.MkdirAll(filepath.Join(desk, "data"), 0o700))
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(desk, name), []byte(text), 0o600))
	}
	write("token", "0123456789abcdef\n")
	write("bot", "1:a\n")
	write("approvalbot.yaml", `
server: {tokens: [{name: agent, tokenFile: token, scopes: [approvals.request]}]}
store: {url: "sqlite:data/desk.db", keyFile: data/desk.key}
channels: {telegram: {botTokenFile: bot}}
approvals: {tools: {classifier: {apiKeyFile: token}}}
`)
	url := "sqlite:" + filepath.Join(desk, "data/desk.db")
	s, err := store.Open(t.Context(), store.Options{URL: url, KeyFile: filepath.Join(desk, "data/desk.key")})
	require.NoError(t, err)
	require.NoError(t, s.Close())

	for wd, config := range map[string]string{root: "desk/approvalbot.yaml", desk: "approvalbot.yaml", t.TempDir(): filepath.Join(desk, "approvalbot.yaml")} {
		t.Chdir(wd)
		cfg, _, err := effective.Load(config, nil, nil)
		require.NoError(t, err)
		require.True(t, cfg.HasToken("0123456789abcdef"))
		require.EqualValues(t, "0123456789abcdef", cfg.ApprovalTools().Classifier.APIKey)
		for _, own := range []string{"data/desk.db", "data/desk.db-wal", "data/desk.key", "token", "bot", "approvalbot.yaml"} {
			require.Contains(t, effective.Policy(cfg).Protected.Files, filepath.Join(desk, own))
		}
		env := []string{}
		var out, errs bytes.Buffer
		require.Zero(t, run(t.Context(), []string{"backup", "copy.db", "--config", config}, env, nil, &out, &errs), errs.String())
		require.FileExists(t, filepath.Join(wd, "copy.db"), "what the command line names counts from where it is typed")
		require.Zero(t, run(t.Context(), []string{"list", "--offline", "--config", config}, env, nil, &out, &errs), errs.String())
		require.Zero(t, run(t.Context(), []string{"keys", "rotate", "--config", config}, env, nil, &out, &errs), errs.String())
		require.Contains(t, out.String(), "The old key ")
		require.NoError(t, os.Remove(filepath.Join(wd, "copy.db")))
	}
}
