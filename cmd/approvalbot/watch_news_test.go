package main

import (
	"context"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// watching is a watch at the rig's desk, whose output may be read meanwhile.
func (r *rig) watching(secret string) *started {
	ctx, cancel := context.WithCancel(r.ctx())
	in, stdin := io.Pipe()
	s := &started{cancel: cancel, stdin: stdin, out: &safeBuffer{}, done: make(chan int, 1)}
	go func() {
		env := []string{"APPROVALBOT_SERVER=" + r.url, "APPROVALBOT_TOKEN=" + secret, "PATH=" + os.Getenv("PATH")}
		s.done <- run(ctx, []string{"watch"}, env, in, s.out, s.out)
	}()
	r.t.Cleanup(func() { cancel(); stdin.Close() })
	return s
}

// Two people watch the same desk: each vote is told to the other one with a name,
// and the prompt goes when the request is decided.
func TestWatch_SeveralPeopleAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) { r.quorum = map[string]int{"R3": 2} })
	olga, alice := r.watching(operatorSecret), r.watching(aliceSecret)
	olga.says(t, "Watching")
	alice.says(t, "Watching")
	a := r.ask(`{"to":"prod"}`)
	olga.says(t, a.Code)
	alice.says(t, a.Code)
	alice.says(t, "Approve?")
	olga.says(t, "Approve?")
	alice.types(t, "y: it is my deploy")
	olga.says(t, a.Code+": 1 of 2: alice")
	r.tap(r.bob, r.group, r.card(a).ID, "Allow once")
	olga.says(t, a.Code+": approved (allow-once) by alice, bob")
	olga.says(t, "(Enter to go on)")
	alice.says(t, a.Code+": approved (allow-once) by alice, bob")
	require.Contains(t, r.get(a).Votes[0].Reason, "it is my deploy")
	second := r.ask(`{"to":"staging"}`)
	olga.types(t, "y") // meant for the first one
	olga.says(t, second.Code)
	require.Empty(t, r.get(second).Votes)
	olga.cancel()
	alice.cancel()
	require.Zero(t, olga.ends(t))
	require.Zero(t, alice.ends(t))
}

// A desk that restarts is waited for, and what came meanwhile is shown.
func TestWatch_OutlivesTheDesk(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.watching(operatorSecret)
	a := r.ask(`{"n":1}`)
	s.says(t, a.Code)
	s.types(t, "k")
	r.stop()
	s.says(t, "trying again")
	r.start()
	s.says(t, "The desk is back.")
	b := r.ask(`{"n":2}`)
	s.says(t, b.Code)
	s.types(t, "n: not now")
	require.EqualValues(t, "denied", r.final(b).Status)
	s.says(t, b.Code+": denied by olga: not now")
}
