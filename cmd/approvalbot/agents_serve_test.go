package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/hook/install"
	"approvalbot/internal/hook/live"
)

// openCodeServer is opencode serve in a lab.
type openCodeServer struct {
	t    *testing.T
	lab  *live.Lab
	addr string
	stop func()
}

const openCodePassword = "pw"

// serve starts the server, or starts it again, and waits until it answers.
func (s *openCodeServer) serve() {
	s.t.Helper()
	host, port, _ := strings.Cut(s.addr, ":")
	ctx, cancel := context.WithCancel(s.t.Context())
	cmd := s.lab.Cmd(ctx, "serve", "--hostname", host, "--port", port)
	cmd.Env = append(cmd.Env, "OPENCODE_SERVER_PASSWORD="+openCodePassword)
	log := &safeBuffer{}
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(s.t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	s.stop = func() { cancel(); <-ended }
	s.t.Cleanup(s.stop)
	require.Eventually(s.t, func() bool {
		// It never answers some of what it is asked while it starts.
		ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		_, err := s.call(ctx, http.MethodGet, "/global/health", nil)
		return err == nil
	}, patient, 100*time.Millisecond, "opencode serve never answered: %s", log)
}

// call asks the server, for the lab's project.
func (s *openCodeServer) call(ctx context.Context, method, path string, in any) ([]byte, error) {
	var body io.Reader
	if in != nil {
		text, _ := json.Marshal(in) // plain values always marshal
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+s.addr+path+"?directory="+s.lab.Project, body)
	if err != nil {
		return nil, err
	}
	req.SetBasicAuth("opencode", openCodePassword)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if res.StatusCode != http.StatusOK {
		err = errors.Join(err, fmt.Errorf("%s: %s", res.Status, text))
	}
	return text, err
}

// prompt lets the server's agent work on one prompt, in a session of its own.
func (s *openCodeServer) prompt() <-chan running {
	done := make(chan running, 1)
	go func() {
		ctx, cancel := context.WithTimeout(s.t.Context(), clientTime)
		defer cancel()
		got, err := s.lab.Try(ctx, func(ctx context.Context) (string, error) {
			var session struct {
				ID string `json:"id"`
			}
			opened, err := s.call(ctx, http.MethodPost, "/session", struct{}{})
			if err := errors.Join(err, json.Unmarshal(opened, &session)); err != nil {
				return string(opened), err
			}
			words := map[string]any{"parts": []any{map[string]any{"type": "text", "text": "clean up the build folder"}}}
			said, err := s.call(ctx, http.MethodPost, "/session/"+session.ID+"/message", words)
			return string(said), err
		})
		done <- running{got, err}
	}()
	return done
}

// What a real opencode serve asks, the bridge has answered by the desk: also by one that
// was started again, and with a no while no desk is there.
func TestAgents_OpenCodeServe(t *testing.T) {
	t.Parallel()
	l := lab(t, "opencode")
	config := filepath.Join(l.Project, "opencode.json")
	require.NoError(t, os.WriteFile(config, []byte(`{"permission": {"*": "ask"}}`), 0o600))
	r := newRig(t, asksAlways)
	s := &openCodeServer{t: t, lab: l, addr: ownAddr(t)}
	s.serve()

	bridge := exec.Command(lookPath(t, "node", agentsPath(t)), "../../examples/agents-in-node/opencode-bridge.mjs", "http://"+s.addr, l.Project)
	bridge.Env = append(os.Environ(), "OPENCODE_SERVER_PASSWORD="+openCodePassword, "APPROVALBOT_SERVER="+r.url,
		"APPROVALBOT_TOKEN="+agentSecret, "NO_PROXY=*")
	log := background(t, bridge)
	listens := func(times int) {
		t.Helper()
		require.Eventually(t, func() bool { return strings.Count(log.String(), "opencode-bridge: listening") == times },
			patient, 50*time.Millisecond, "%s", log)
	}
	ends := func(done <-chan running, ran bool, read string) {
		t.Helper()
		got := <-done
		require.NoError(t, got.err, got.result.Output)
		require.Equal(t, ran, got.result.Ran, "%v\n%s", got.result.Read, log)
		require.Contains(t, strings.Join(got.result.Read, "\n"), read)
	}

	listens(1)
	done := s.prompt()
	r.tap(r.alice, r.group, r.asked(live.Command()).ID, "Allow once")
	ends(done, true, "")
	require.Equal(t, "bash", r.newest().ToolName)

	s.stop()
	s.serve()
	listens(2)
	done = s.prompt()
	r.tap(r.alice, r.group, r.asked(live.Command()).ID, "Deny")
	ends(done, false, "denied by alice")

	r.stop()
	ends(s.prompt(), false, "not run")
}

// The plugin of opencode serve says that it was loaded, so that doctor can see it, and one
// that does not load is seen too.
func TestAgents_OpenCodeHeartbeat(t *testing.T) {
	t.Parallel()
	l := lab(t, "opencode")
	r := newRig(t, asksAlways)
	attached(t, r, l, false)
	plugin := filepath.Join(l.Home, ".config", "opencode", "plugin", "approvalbot.js")
	text, err := os.ReadFile(plugin)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(plugin, append([]byte("no JavaScript;\n"), text...), 0o600))
	s := &openCodeServer{t: t, lab: l, addr: ownAddr(t)}
	s.serve()
	_, err = s.call(t.Context(), http.MethodPost, "/session", struct{}{})
	require.NoError(t, err)
	require.Empty(t, install.Loaded(plugin), "it does not parse, and OpenCode says nothing")

	s.stop()
	require.NoError(t, os.WriteFile(plugin, text, 0o600))
	s.serve()
	done := s.prompt()
	r.tap(r.alice, r.group, r.asked(live.Command()).ID, "Allow once")
	got := <-done
	require.NoError(t, got.err, got.result.Output)
	require.True(t, got.result.Ran, got.result.Output)
	require.NotEmpty(t, install.Loaded(plugin))
}
