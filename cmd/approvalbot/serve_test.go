package main

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/config"
	"approvalbot/internal/config/local"
)

// TestAdversary_T5_LocalhostIsTwoAddresses: pages at localhost are served at both of its
// addresses. If another program holds the second one, there are no pages and no links
// that a browser could take there.
func TestAdversary_T5_LocalhostIsTwoAddresses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, listen, other string
		taken, pages        bool
	}{
		{"both are free", "127.0.0.1", "::1", false, true},
		{"both are free, from the other side", "::1", "127.0.0.1", false, true},
		{"the second is taken", "127.0.0.1", "::1", true, false},
		{"the first is taken", "::1", "127.0.0.1", true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			squatter, err := net.Listen("tcp", net.JoinHostPort(c.other, "0"))
			require.NoError(t, err, "this machine has both addresses of localhost")
			_, port, err := net.SplitHostPort(squatter.Addr().String())
			require.NoError(t, err)
			if !c.taken {
				require.NoError(t, squatter.Close())
			} else {
				defer squatter.Close()
			}
			ctx, stop := context.WithCancel(t.Context())
			var out, errs safeBuffer
			done := make(chan int, 1)
			dir := t.TempDir()
			listen := net.JoinHostPort(c.listen, port)
			go func() {
				done <- run(ctx, []string{"serve", "--local", dir}, []string{"APPROVALBOT_CFG__SERVER__LISTEN=" + listen}, nil, &out, &errs)
			}()
			require.Eventually(t, func() bool { return strings.Contains(out.String(), "Paste this") }, patient, 5*time.Millisecond, "%s", &errs)

			page, err := http.Get("http://" + listen + "/signin")
			require.NoError(t, err)
			page.Body.Close()
			login := []string{"login", "--client", local.DeskFiles.In(dir).Operator}
			var linked, refused bytes.Buffer
			if c.pages {
				require.Equal(t, http.StatusOK, page.StatusCode)
				twin, err := http.Get("http://" + net.JoinHostPort(c.other, port) + "/healthz")
				require.NoError(t, err)
				twin.Body.Close()
				require.Equal(t, http.StatusOK, twin.StatusCode)
				_, err = net.Listen("tcp", net.JoinHostPort(c.other, port))
				require.ErrorIs(t, err, syscall.EADDRINUSE)
				require.Zero(t, run(ctx, login, nil, nil, &linked, &refused), refused.String())
				require.Contains(t, linked.String(), "http://localhost:"+port+"/signin?link=")
			} else {
				require.Equal(t, http.StatusNotFound, page.StatusCode)
				require.NotZero(t, run(ctx, login, nil, nil, &linked, &refused))
				require.NotContains(t, linked.String()+refused.String()+out.String(), "localhost:"+port)
				require.Contains(t, errs.String(), "this desk has no pages")
				require.Contains(t, errs.String(), net.JoinHostPort(c.other, port))
			}
			stop()
			require.Zero(t, <-done, errs.String())
		})
	}
}

// What make run says works: the first line runs something that is seen once somebody allows it, no alarm comes first, and
// a state that is meant is no warning.
func TestLocalHintsRun(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	var out, errs safeBuffer
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, []string{"serve", "--local", home}, []string{"APPROVALBOT_CFG__SERVER__LISTEN=127.0.0.1:0"}, nil, &out, &errs)
	}()
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "This file decides") }, patient, 5*time.Millisecond, "%s", &errs)
	require.NotContains(t, errs.String(), "WARN")
	require.Contains(t, out.String(), "No chat is on")
	words := regexp.MustCompile(`sh -c '(date .*)'\n`).FindStringSubmatch(out.String())
	require.NotNil(t, words)
	files := local.DeskFiles.In(home)
	var ran, said safeBuffer
	asked := make(chan int, 1)
	go func() {
		asked <- run(ctx, []string{"run", "--client", files.Client, "--", "sh", "-c", words[1]}, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}, nil, &ran, &said)
	}()
	require.Eventually(t, func() bool { return strings.Contains(said.String(), "waiting for approval") }, patient, 5*time.Millisecond, "%s", &said)
	var watched, failed bytes.Buffer
	require.Zero(t, run(ctx, []string{"watch", "--client", files.Operator}, nil, strings.NewReader("y\n"), &watched, &failed), failed.String())
	require.Zero(t, <-asked)
	require.Contains(t, ran.String(), "you said yes, so this ran at ")
	require.FileExists(t, filepath.Join(home, "said-yes.txt"))
	require.NotContains(t, said.String(), "no chat gets a card")
	require.Contains(t, said.String(), "in approvalbot watch, or on the desk's pages")
	stop()
	require.Zero(t, <-done, errs.String())
}

// The lines to paste reach the desk wherever it listens, and the tokens stay.
func TestLocalClientFileNamesTheAddressInForce(t *testing.T) {
	t.Parallel()
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
