package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/hook/live"
)

// acpAgent is how a client speaks the Agent Client Protocol, asking before it runs
// anything.
type acpAgent struct {
	args []string
	env  []string // for what it asks of a login
	mode string   // that asks; empty: it starts in one
	file string   // its configuration in the project; empty: none
	text string
	tool string // as the desk is asked
}

func acpAgents() map[string]acpAgent {
	return map[string]acpAgent{
		"gemini-cli":  {args: []string{"--acp"}, tool: "acp:execute"},
		"qwen-code":   {args: []string{"--acp"}, mode: "default", tool: "run_shell_command"},
		"copilot-cli": {args: []string{"--acp"}, tool: "bash"},
		"opencode":    {args: []string{"acp"}, file: "opencode.json", text: `{"permission": {"*": "ask"}}`, tool: "bash"},
		"cline": {
			args: []string{"--acp"}, env: []string{"CLINE_API_KEY=x", "CLINE_PROVIDER=openai-compatible", "CLINE_MODEL=m"},
			tool: "run_commands",
		},
	}
}

// Between an editor and a real agent, the desk answers what the agent asks: the command
// runs once a person allows it, and does not when one denies, the editor cancels, or no
// desk is there. The agent gets an option for just this once, and the editor nothing.
func TestAgents_ACP(t *testing.T) {
	t.Parallel()
	for _, name := range live.Runtimes() {
		agent, speaks := acpAgents()[name]
		if !speaks {
			continue
		}
		t.Run(name, func(t *testing.T) {
			l := lab(t, name)
			if agent.file != "" {
				require.NoError(t, os.WriteFile(filepath.Join(l.Project, agent.file), []byte(agent.text), 0o600))
			}
			r := newRig(t, asksAlways)
			client := filepath.Join(l.Dir(), "client.yaml")
			text := fmt.Sprintf("server: %s\ntoken: %s\n", r.url, agentSecret)
			require.NoError(t, os.WriteFile(client, []byte(text), 0o600))
			for _, ends := range []string{"Allow once", "cancel", "Deny", "down"} {
				if ends == "down" {
					r.stop()
				}
				e := &acpEditor{t: t, lab: l, agent: agent, wire: t.TempDir(), answers: map[int]chan acpMessage{}}
				done := e.start(client)
				var asked api.Approval
				switch ends {
				case "down":
				case "cancel":
					card := r.asked(live.Command())
					e.say("session/cancel", map[string]any{"sessionId": e.session()})
					r.settled(r.group, card.ID, "Withdrawn")
				default:
					card := r.asked(live.Command())
					asked = r.newest()
					r.tap(r.alice, r.group, card.ID, ends)
				}
				got := <-done
				require.NoError(t, got.err, "%s\n%s", got.result.Output, e.transcript())
				require.Equal(t, ends == "Allow once", got.result.Ran, "%s: %s\n%s", ends, got.result.Output, e.transcript())
				e.sawNothing(ends)
				switch kind := e.chosen(); ends {
				case "Allow once":
					require.Equal(t, "allow_once", kind)
					require.Equal(t, agent.tool, asked.ToolName)
					require.NotContains(t, got.result.Output, "approvalbot:")
				case "cancel": // a turn that is over may not wait for its answer
					require.Contains(t, []string{"cancelled", "not answered"}, kind)
				case "Deny":
					require.Equal(t, "reject_once", kind)
					require.Contains(t, got.result.Output, "approvalbot: denied by alice")
				case "down":
					require.Equal(t, "reject_once", kind)
					require.Contains(t, got.result.Output, "cannot be reached")
				}
			}
		})
	}
}

// newest is the approval that was asked for last.
func (r *rig) newest() api.Approval {
	r.t.Helper()
	got, err := r.operator().List(r.ctx(), api.Filter{})
	require.NoError(r.t, err)
	require.NotEmpty(r.t, got.Items)
	return got.Items[0]
}

// acpEditor is an editor with an agent behind approvalbot acp.
type acpEditor struct {
	t     *testing.T
	lab   *live.Lab
	agent acpAgent
	wire  string // directory in which what passes between approvalbot and the agent is kept

	mu      sync.Mutex
	to      io.Writer
	next    int
	answers map[int]chan acpMessage
	lines   []string // that it read
	named   string   // the session
}

type acpMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// start lets the agent work on one prompt.
func (e *acpEditor) start(client string) <-chan running {
	done := make(chan running, 1)
	ctx, cancel := context.WithTimeout(e.t.Context(), clientTime)
	ready := program(e.t)
	go func() {
		defer cancel()
		got, err := e.lab.Try(ctx, func(ctx context.Context) (string, error) {
			out, err := e.work(ctx, ready, client)
			return out, errors.Join(err, ctx.Err())
		})
		done <- running{got, err}
	}()
	return done
}

// work is the agent's life, from its start to the end of the prompt. It gives what was
// said on standard error.
func (e *acpEditor) work(ctx context.Context, program, client string) (string, error) {
	cmd := e.lab.Cmd(ctx, e.agent.args...)
	const through = `tee "$0/in" | "$@" | tee "$0/out"`
	cmd.Args = slices.Concat([]string{program, "acp", "--client", client, "--", "sh", "-c", through, e.wire, cmd.Path}, e.agent.args)
	cmd.Path, cmd.Env = program, append(cmd.Env, e.agent.env...)
	var stderr safeBuffer
	cmd.Stderr = &stderr
	to, err := cmd.StdinPipe()
	if err != nil {
		return "", err
	}
	from, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	e.to = to
	read := make(chan struct{})
	go func() {
		defer close(read)
		e.read(from)
	}()
	err = e.prompt(ctx)
	_ = to.Close()
	<-read
	return stderr.String(), errors.Join(err, cmd.Wait())
}

func (e *acpEditor) prompt(ctx context.Context) error {
	capabilities := map[string]any{"fs": map[string]any{"readTextFile": false, "writeTextFile": false}, "terminal": false}
	if _, err := e.call(ctx, "initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": capabilities}); err != nil {
		return err
	}
	opened, err := e.call(ctx, "session/new", map[string]any{"cwd": e.lab.Project, "mcpServers": []any{}})
	if err != nil {
		return err
	}
	var in struct {
		Session string `json:"sessionId"`
	}
	if err := json.Unmarshal(opened, &in); err != nil {
		return err
	}
	e.mu.Lock()
	e.named = in.Session
	e.mu.Unlock()
	if e.agent.mode != "" {
		if _, err := e.call(ctx, "session/set_mode", map[string]any{"sessionId": in.Session, "modeId": e.agent.mode}); err != nil {
			return err
		}
	}
	words := []any{map[string]any{"type": "text", "text": "clean up the build folder"}}
	_, err = e.call(ctx, "session/prompt", map[string]any{"sessionId": in.Session, "prompt": words})
	return err
}

func (e *acpEditor) session() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.named
}

// call asks the agent and waits for its answer.
func (e *acpEditor) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	answer := make(chan acpMessage, 1)
	e.mu.Lock()
	e.next++
	id := e.next
	e.answers[id] = answer
	e.mu.Unlock()
	e.send(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	select {
	case m, open := <-answer:
		if !open || m.Error != nil {
			return nil, fmt.Errorf("%s: %s", method, m.Error)
		}
		return m.Result, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// say tells the agent something that has no answer.
func (e *acpEditor) say(method string, params any) {
	e.send(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
}

func (e *acpEditor) send(v any) {
	line, _ := json.Marshal(v) // plain values always marshal
	e.mu.Lock()
	defer e.mu.Unlock()
	_, _ = e.to.Write(append(line, '\n')) // whoever has gone answers nothing
}

// read takes what the editor is sent until there is no more. It can do nothing that an
// agent may ask of it.
func (e *acpEditor) read(from io.Reader) {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		var m acpMessage
		if err == nil && json.Unmarshal(line, &m) == nil {
			e.take(string(line), m)
		}
		if err != nil {
			break
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, waits := range e.answers {
		close(waits)
	}
	e.answers = map[int]chan acpMessage{}
}

func (e *acpEditor) take(line string, m acpMessage) {
	var id int
	_ = json.Unmarshal(m.ID, &id) // an agent's own ids may be text
	e.mu.Lock()
	e.lines = append(e.lines, line)
	waits := e.answers[id]
	if m.Method == "" {
		delete(e.answers, id)
	}
	e.mu.Unlock()
	switch {
	case m.Method == "" && waits != nil:
		waits <- m
	case m.Method != "" && m.ID != nil:
		refusal := map[string]any{"code": -32601, "message": "method not found"}
		e.send(map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": refusal})
	}
}

// sawNothing holds the editor to having seen the agent at work, and neither the agent's
// question nor the desk's answer.
func (e *acpEditor) sawNothing(ends string) {
	e.t.Helper()
	e.mu.Lock()
	all := strings.Join(e.lines, "")
	e.mu.Unlock()
	require.Contains(e.t, all, "session/update")
	for _, words := range []string{"session/request_permission", "alice", "approvalbot:", "approval desk"} {
		require.NotContains(e.t, strings.ReplaceAll(all, e.lab.Dir(), ""), words, ends)
	}
}

// chosen gives the kind of the option that the agent was answered with, which is the
// first of that kind; else the outcome without an option.
func (e *acpEditor) chosen() string {
	e.t.Helper()
	var question struct {
		Options []struct {
			ID   string `json:"optionId"`
			Kind string `json:"kind"`
		} `json:"options"`
	}
	var answer struct {
		Outcome struct {
			Outcome string `json:"outcome"`
			Option  string `json:"optionId"`
		} `json:"outcome"`
	}
	var id json.RawMessage
	for _, m := range e.passed("out") {
		if m.Method == "session/request_permission" {
			require.Nil(e.t, id, "it asked twice")
			id = m.ID
			require.NoError(e.t, json.Unmarshal(m.Params, &question))
		}
	}
	require.NotNil(e.t, id, "it never asked")
	answered := 0
	for _, m := range e.passed("in") {
		if m.Method == "" && bytes.Equal(m.ID, id) {
			answered++
			require.NoError(e.t, json.Unmarshal(m.Result, &answer))
		}
	}
	if answered == 0 {
		return "not answered"
	}
	require.Equal(e.t, 1, answered)
	if answer.Outcome.Outcome != "selected" {
		return answer.Outcome.Outcome
	}
	for i, o := range question.Options {
		if o.ID == answer.Outcome.Option {
			for _, before := range question.Options[:i] {
				require.NotEqual(e.t, o.Kind, before.Kind, "it is not the first of its kind")
			}
			return o.Kind
		}
	}
	return "unknown option " + answer.Outcome.Option
}

// passed is what went into the agent, or out of it.
func (e *acpEditor) passed(way string) (all []acpMessage) {
	e.t.Helper()
	text, err := os.ReadFile(filepath.Join(e.wire, way))
	require.NoError(e.t, err)
	for line := range bytes.Lines(text) {
		var m acpMessage
		if json.Unmarshal(line, &m) == nil {
			all = append(all, m)
		}
	}
	return all
}

// transcript is what passed, for people.
func (e *acpEditor) transcript() string {
	in, _ := os.ReadFile(filepath.Join(e.wire, "in"))
	out, _ := os.ReadFile(filepath.Join(e.wire, "out"))
	return string(in) + "\n" + string(out)
}
