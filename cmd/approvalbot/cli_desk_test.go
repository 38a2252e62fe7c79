package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/fakechat"
)

// cli runs one command line against the rig's desk.
type cliRun struct {
	code        int
	out, errors string
}

func (r *rig) cli(secret string, stdin io.Reader, args ...string) cliRun {
	return r.cliUntil(r.ctx(), secret, stdin, args...)
}

func (r *rig) cliUntil(ctx context.Context, secret string, stdin io.Reader, args ...string) cliRun {
	var out, errs bytes.Buffer
	env := []string{"APPROVALBOT_SERVER=" + r.url, "APPROVALBOT_TOKEN=" + secret, "PATH=" + os.Getenv("PATH")}
	code := run(ctx, args, env, stdin, &out, &errs)
	return cliRun{code, out.String(), errs.String()}
}

// runAndTap starts "run -- CMD" and does something with the card it brings.
func (r *rig) runAndTap(command []string, act func(card fakechat.TelegramMessage)) cliRun {
	r.t.Helper()
	seen := len(r.group.Messages())
	done := make(chan cliRun, 1)
	go func() {
		done <- r.cli(agentSecret, strings.NewReader(""), append([]string{"run", "--"}, command...)...)
	}()
	messages, err := r.group.WaitMessages(r.ctx(), func(all []fakechat.TelegramMessage) bool { return len(all) > seen })
	require.NoError(r.t, err)
	r.remembers("telegram", fmt.Sprint(messages[seen].ID))
	act(messages[seen])
	return <-done
}

func TestRun_AllowedRunsAndReports(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	file := filepath.Join(t.TempDir(), "made by the command")
	got := r.runAndTap([]string{"sh", "-c", `echo ran; touch "$1"; exit 3`, "sh", file}, func(card fakechat.TelegramMessage) {
		require.Contains(t, card.Text, "'"+file+"'")
		r.tap(r.alice, r.group, card.ID, "Allow once")
	})
	require.Equal(t, 3, got.code, "it exits with the command's status: %s", got.errors)
	require.Equal(t, "ran\n", got.out)
	require.FileExists(t, file)
	r.settled(r.group, r.group.FromBot()[0].ID, "reported: failed, exit 3")
}

// Denied, expired, withdrawn, refused, unreachable: the command never runs.
func TestRun_WhatIsNotAllowedNeverRuns(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	file := filepath.Join(t.TempDir(), "never.sh") // a script, which is not scratch
	command := []string{"sh", "-c", "touch " + file}
	tests := []struct {
		name string
		code int
		act  func(card fakechat.TelegramMessage)
	}{
		{"denied", app.ExitDenied, func(card fakechat.TelegramMessage) { r.tap(r.bob, r.group, card.ID, "Deny") }},
		{"withdrawn", app.ExitWithdrawn, func(fakechat.TelegramMessage) {
			l, err := r.agent().List(r.ctx(), api.Filter{Status: "pending"})
			require.NoError(t, err)
			_, err = r.agent().Withdraw(r.ctx(), l.Items[0].ID, api.WithdrawRequest{})
			require.NoError(t, err)
		}},
	}
	for _, tt := range tests {
		got := r.runAndTap(append(command, tt.name), tt.act) // another call each time: a denied one cools down
		require.Equal(t, tt.code, got.code, "%s: %s", tt.name, got.errors)
		require.Contains(t, got.errors, "approvalbot: not run: ", tt.name)
		require.NoFileExists(t, file)
	}
	r.stop()
	got := r.cli(agentSecret, nil, append([]string{"run", "--"}, command...)...)
	require.NotZero(t, got.code)
	require.Contains(t, got.errors, "approvalbot: not run: ")
	require.NoFileExists(t, file)
}

// The verbs that ask and decide, from two terminals.
func TestCLI_RequestListViewDecideWait(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	asked := r.cli(agentSecret, nil, "request", "--tool", "deploy", "--params", `{"to":"prod"}`)
	require.Equal(t, app.ExitPending, asked.code, asked.errors)
	list := r.cli(operatorSecret, nil, "list", "--status", "pending")
	require.Regexp(t, `(?m)^Code\tID\tTool\tAgent\tStatus\tAge`, list.out)
	l, err := r.operator().List(r.ctx(), api.Filter{})
	require.NoError(t, err)
	a := l.Items[0]
	require.Contains(t, list.out, a.ID[:8])
	view := r.cli(operatorSecret, nil, "view", a.Code)
	require.Contains(t, view.out, "to: prod")
	require.Contains(t, view.out, "--decision allow-once")
	decided := r.cli(operatorSecret, nil, "decide", a.ID[:8], "--decision", "allow-once", "--reason", "fine")
	require.Zero(t, decided.code, decided.errors)
	require.Zero(t, r.cli(agentSecret, nil, "wait", a.ID).code)
	require.Contains(t, r.cli(operatorSecret, nil, "approve", a.Code, "deny").errors, "lready")
}

func TestCLI_WatchDecides(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	in, say := io.Pipe()
	done := make(chan cliRun, 1)
	ctx, interrupt := context.WithCancel(r.ctx())
	defer interrupt()
	go func() { done <- r.cliUntil(ctx, operatorSecret, in, "watch") }()
	a := r.ask(`{"to":"prod"}`)
	_, err := fmt.Fprintln(say, "y")
	require.NoError(t, err)
	require.Equal(t, []string{"person:olga"}, r.final(a).DecidedBy)
	interrupt()
	require.Contains(t, (<-done).out, a.Code)
}

// A stop takes about a second, whatever a platform or a waiter does.
func TestStop_IsQuickWithApprovalsPending(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.tg.Fault(fakechat.TelegramFault{Method: "sendMessage", Times: -1, Kind: fakechat.Hang})
	waiter := make(chan api.Approval, 1)
	go func() {
		got, err := r.agent().Create(r.ctx(), api.CreateRequest{ToolName: "deploy", Params: []byte(`{"n":1}`)}, api.CreateOptions{Wait: 50 * time.Second})
		if err != nil {
			t.Error(err)
		}
		waiter <- got
	}()
	require.NoError(t, r.tg.WaitFor(r.ctx(), func() bool { return len(r.tg.Calls("sendMessage")) > 0 }))
	r.stop()
	a := <-waiter
	require.EqualValues(t, "pending", a.Status, "who waits gets the current state")
	r.start()
	require.EqualValues(t, "pending", r.get(a).Status)
}

// Whatever list prints, view finds with the same token: operators get the short form
// of the ids that the desk made, askers the whole, and an own id is never cut.
func TestCLI_ListPrintsIDsThatViewFinds(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const uuid = "11111111-2222-4333-8444-555555555555"
	made := r.ask(`{"n":1}`)
	own := r.ask(`{"n":2}`, func(c *api.CreateRequest) { c.ID = "deploy-2026-09-21-run" })
	like := r.ask(`{"n":3}`, func(c *api.CreateRequest) { c.ID = uuid })
	for secret, want := range map[string][]string{
		operatorSecret: {uuid, own.ID, made.ID[:8]},
		agentSecret:    {uuid, own.ID, made.ID},
	} {
		lines := strings.Split(strings.TrimSpace(r.cli(secret, nil, "list").out), "\n")
		require.Equal(t, "Code\tID\tTool\tAgent\tStatus\tAge\tLeft\tRisk\tCommand", lines[0])
		for i, a := range []api.Approval{like, own, made} {
			id := strings.Fields(lines[1+i])[1]
			require.Equal(t, want[i], id)
			require.Contains(t, r.cli(secret, nil, "view", id).out, a.Code)
		}
	}
	require.Contains(t, r.cli(operatorSecret, nil, "view", like.Code).out, "decide "+uuid+" --decision")
	require.Contains(t, r.cli(agentSecret, nil, "withdraw", made.ID).out, made.ID+" "+made.Code+": withdrawn")
	require.Contains(t, r.offline("list").out, "\t"+made.ID[:8]+"\t")

	r.cli(operatorSecret, nil, "approve", own.Code)
	r.cli(operatorSecret, nil, "approve", like.Code)
	r.cli(operatorSecret, nil, "revoke", own.Code)
	back := r.cli(operatorSecret, nil, "list", "--status", "revoked", "--limit", "1")
	require.Contains(t, back.out, "revoked", back.errors)
	require.Contains(t, back.out, own.Code)
	require.NotContains(t, back.out, like.Code)
}

// Where approvals are disabled, every verb about approvals says so and fails, also
// watch where it runs; what is on record can still be read by programs, in the log
// and from the store.
func TestCLI_SaysThatApprovalsAreDisabled(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.ask(`{"to":"prod"}`)
	r.withdraw(a)
	in, _ := io.Pipe()
	watching := make(chan cliRun, 1)
	go func() { watching <- r.cli(operatorSecret, in, "watch") }()
	file := filepath.Join(r.dir, "approvalbot.yaml")
	off := strings.Replace(r.yaml(), "enabled: true", "enabled: false", 1)
	require.NoError(t, os.WriteFile(file, []byte(off), 0o600))
	reloaded := r.cli(operatorSecret, nil, "policy", "reload")
	require.Zero(t, reloaded.code, reloaded.errors)
	got := <-watching
	require.Equal(t, app.ExitError, got.code)
	require.Contains(t, got.errors, "approvalbot: approvals disabled (")

	for _, args := range [][]string{
		{"list"}, {"view", a.Code}, {"decide", a.Code, "--decision", "deny"}, {"approve", a.Code, "deny"}, {"retry", a.Code}, {"revoke", a.Code}, {"watch"},
		{"allowlist", "list"}, {"allowlist", "remove", strings.Repeat("ab", 32)}, {"allowlist", "add", "--owner", "agent", "--", "ls"}, {"sessions", "list"}, {"sessions", "end", "s"},
		{"stats"}, {"evaluate", "--tool", "deploy"},
	} {
		got := r.cli(operatorSecret, nil, args...)
		require.Equal(t, app.ExitError, got.code, args)
		require.Contains(t, got.errors, "approvals disabled", args)
		require.Empty(t, got.out, args)
	}
	for _, args := range [][]string{{"request", "--tool", "deploy"}, {"run", "--", "true"}, {"wait", a.ID}, {"withdraw", a.ID}, {"list"}, {"drill"}} {
		got := r.cli(agentSecret, nil, args...)
		require.Equal(t, app.ExitError, got.code, args)
		require.Contains(t, got.errors, "approvals disabled", args)
	}
	require.Contains(t, r.cli(operatorSecret, nil, "list", "--json").out, `"code": "approvals_disabled"`)

	for _, args := range [][]string{{"audit", "list"}, {"audit", "verify"}, {"policy", "show"}, {"policy", "reload"}, {"health"}} {
		got := r.cli(operatorSecret, nil, args...)
		require.Zero(t, got.code, "%s: %s", args, got.errors)
	}
	require.Equal(t, a.ID, r.get(a).ID, "programs can read it")
	require.Contains(t, r.offline("list").out, a.Code)
}

// withdraw takes an approval back as its owner.
func (r *rig) withdraw(a api.Approval) {
	r.t.Helper()
	_, err := r.agent().Withdraw(r.ctx(), a.ID, api.WithdrawRequest{})
	require.NoError(r.t, err)
}
