package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/fakechat"
	"approvalbot/internal/hook/live"
)

// installed is a lab in whose home approvalbot install itself has put the hook, as a user does.
func installed(t *testing.T, r *rig, runtime string) *live.Lab {
	t.Helper()
	l := lab(t, runtime)
	client := filepath.Join(l.Home, ".config", "approvalbot", "client.yaml")
	require.NoError(t, os.MkdirAll(filepath.Dir(client), 0o700))
	require.NoError(t, os.WriteFile(client, fmt.Appendf(nil, "server: %s\ntoken: %s\n", r.url, agentSecret), 0o600))
	words := []string{"install", runtime, "--user"}
	if runtime == "codex" {
		words = append(words, "--trust")
	}
	cmd := exec.CommandContext(r.ctx(), program(t), words...)
	cmd.Dir, cmd.Env = l.Project, []string{"HOME=" + l.Home, "PATH=" + agentsPath(t)}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Run(), "%s", &out)
	require.NotContains(t, out.String(), "\x1b", "nothing that the client prints lands on the screen")
	return l
}

// What docs/agents.md has a table of, each client in a home in which it was installed: a yes, a no, no desk, a person
// who takes long (make agents AGENTS_SLOW=125s is beyond what clients wait by default), a desk that goes away
// meanwhile, and a client that ends while it waits.
func TestAgents_T30_Installed(t *testing.T) {
	for _, runtime := range live.Runtimes() {
		short := runtimeOf(t, runtime).Limit.Hard > 0
		for name, try := range map[string]func(t *testing.T, r *rig, l *live.Lab){
			"allow": func(t *testing.T, r *rig, l *live.Lab) {
				done := startClient(t.Context(), l)
				r.tap(r.alice, r.group, r.asked(live.Command()).ID, "Allow once")
				got := endOf(t, done)
				require.True(t, got.Ran, "%v\n%s", got.Read, got.Output)
				t.Logf("%s %s: result of a good command: %+v", runtime, l.Version(t.Context()), r.only(live.Command()).Result)
			},
			"deny": func(t *testing.T, r *rig, l *live.Lab) {
				done := startClient(t.Context(), l)
				r.bob.Say(r.group, "deny use staging", fakechat.TelegramSay{ReplyTo: r.asked(live.Command()).ID})
				got := endOf(t, done)
				require.False(t, got.Ran)
				t.Logf("%s: the model reads: %q", runtime, got.Read)
				require.Contains(t, strings.Join(got.Read, "\n")+got.Output, "use staging")
			},
			"desk down": func(t *testing.T, r *rig, l *live.Lab) {
				r.stop()
				require.False(t, endOf(t, startClient(t.Context(), l)).Ran)
			},
			"slow person": func(t *testing.T, r *rig, l *live.Lab) {
				if short {
					l.Model.Repeat = 4
				}
				done := startClient(t.Context(), l)
				card := r.asked(live.Command())
				<-time.After(slowly(t))
				r.tap(r.alice, r.group, card.ID, "Allow once")
				got := endOf(t, done)
				require.True(t, got.Ran, "%v\n%s", got.Read, got.Output)
				t.Logf("%s: a tap after %v counts, by call %d", runtime, slowly(t), len(got.Read))
			},
			"desk away": func(t *testing.T, r *rig, l *live.Lab) {
				done := startClient(t.Context(), l)
				card := r.asked(live.Command())
				r.stop()
				<-time.After(13 * time.Second)
				r.start()
				r.tap(r.alice, r.group, card.ID, "Allow once")
				got := endOf(t, done)
				require.True(t, got.Ran, "%v\n%s", got.Read, got.Output)
			},
			"client ends": func(t *testing.T, r *rig, l *live.Lab) {
				_, err := l.Try(t.Context(), func(ctx context.Context) (string, error) {
					cmd := l.Client(ctx)
					require.NoError(t, cmd.Start())
					card := r.asked(live.Command())
					require.NoError(t, syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)) // as a terminal does: its whole group
					_ = cmd.Wait()
					r.settled(r.group, card.ID, "Withdrawn")
					return "", nil
				})
				require.NoError(t, err)
				require.DirExists(t, filepath.Join(l.Project, "build"))
			},
		} {
			t.Run(runtime+"/"+name, func(t *testing.T) {
				t.Parallel()
				r := newRig(t, asksAlways)
				try(t, r, installed(t, r, runtime))
			})
		}
	}
}

// endOf is how a client's run has ended.
func endOf(t *testing.T, done <-chan running) live.Result {
	t.Helper()
	got := <-done
	require.NoError(t, got.err, got.result.Output)
	return got.result
}
