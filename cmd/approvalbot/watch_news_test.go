package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/config"
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

// The time left is counted down above the prompt, without a word of what is being
// typed lost; without colours where nobody wants them.
func TestWatch_CountsDownOnATerminal(t *testing.T) {
	var out bytes.Buffer
	w := &watcher{app: &app{stdout: &out, env: config.Environ{"NO_COLOR": "1"}}, counts: true}
	soon := api.Approval{ExpiresAtMs: time.Now().Add(90 * time.Second).UnixMilli()}
	w.left(soon, false)
	w.left(soon, true)
	require.Regexp(t, "^1m(30|[12]?[0-9])s left\n\x1b7\x1b\\[1A\r\x1b\\[2K1m(30|[12]?[0-9])s left\x1b8$", out.String())
	w.left(api.Approval{}, false)
	require.True(t, strings.HasSuffix(out.String(), "0s left\n"))
	out.Reset()
	(&watcher{app: &app{stdout: &out}}).left(soon, false)
	require.Empty(t, out.String(), "not on what is no terminal")
}

func TestWatch_WritesASCIIWhereTheTerminalTakesNoMore(t *testing.T) {
	var out bytes.Buffer
	plain := &app{stdout: &out, env: config.Environ{"LC_ALL": "C", "LANG": "en_US.UTF-8"}}
	w := &watcher{app: &app{stdout: plain.plain()}}
	w.show(api.Approval{ToolName: "mail.send", ParamsSummary: "to: zoë", RiskClass: "R3", ArgsFingerprint: "ab"})
	for _, b := range out.Bytes() {
		require.Less(t, b, byte(0x80))
	}
	require.Contains(t, out.String(), `mail.send - to: zo\u{EB}`)
}
