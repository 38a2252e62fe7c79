package main

import (
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/hook/live"
)

// OpenCode's plugin waits on while the desk is away, and what a person says later counts.
func TestAgents_T30_OpenCodeOutlivesItsDesk(t *testing.T) {
	t.Parallel()
	l := lab(t, "opencode")
	r := newRig(t, asksAlways)
	attached(t, r, l, false)
	done := startClient(t.Context(), l)
	card := r.asked(live.Command())
	r.stop()
	<-time.After(13 * time.Second) // it gave up after four
	r.start()
	r.tap(r.alice, r.group, card.ID, "Allow once")
	got := <-done
	require.NoError(t, got.err, got.result.Output)
	require.True(t, got.result.Ran, "%v", got.result.Read)
}

// A client that goes takes its card with it, and one that is interrupted ends.
func TestAgents_T30_OpenCodeGoes(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		l := lab(t, "opencode")
		r := newRig(t, asksAlways)
		attached(t, r, l, false)
		cmd := l.Cmd(t.Context(), "run", "clean up")
		require.NoError(t, cmd.Start())
		ended := make(chan struct{})
		go func(cmd *exec.Cmd) { _ = cmd.Wait(); close(ended) }(cmd)
		card := r.asked(live.Command())
		to := -cmd.Process.Pid // as a terminal does: its whole group
		if signal == syscall.SIGKILL {
			to = cmd.Process.Pid
		}
		require.NoError(t, syscall.Kill(to, signal))
		select {
		case <-ended:
		case <-time.After(patient):
			require.NoError(t, syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL))
			<-ended
			t.Errorf("%v does not end OpenCode while it waits", signal)
		}
		r.settled(r.group, card.ID, "Withdrawn")
		require.DirExists(t, l.Project+"/build")
	}
}
