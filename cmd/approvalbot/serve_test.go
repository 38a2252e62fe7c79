package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/config"
	"approvalbot/config/local"
)

// The lines to paste reach the desk wherever it listens, and the tokens stay.
func TestLocalClientFileNamesTheAddressInForce(t *testing.T) {
	dir := t.TempDir()
	files := local.DeskFiles.In(dir)
	before := ""
	for _, addr := range []string{ownAddr(t), "127.0.0.1:0"} {
		ctx, stop := context.WithCancel(t.Context())
		var out, errs safeBuffer
		done := make(chan int, 1)
		go func() {
			done <- run(ctx, []string{"serve", "--local", dir}, []string{"APPROVALBOT_CFG__SERVER__LISTEN=" + addr}, nil, &out, &errs)
		}()
		require.Eventually(t, func() bool { return strings.Contains(out.String(), "Paste this") }, patient, 5*time.Millisecond, "%s", &errs)
		client, err := config.OpenClientFile(files.Client)
		require.NoError(t, err)
		require.NotEqual(t, before, client.Server)
		if before == "" {
			require.Equal(t, "http://"+addr, client.Server)
		}
		for _, path := range []string{files.Client, files.Operator} {
			var listed, failed bytes.Buffer
			require.Zero(t, run(ctx, []string{"list", "--client", path}, nil, nil, &listed, &failed), failed.String())
		}
		before = client.Server
		stop()
		require.Zero(t, <-done, errs.String())
	}
}
