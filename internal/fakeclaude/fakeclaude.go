//go:build unix

// Package fakeclaude is, for tests, as much of Claude Code as doctor --live needs: it asks
// its model once, asks its hooks about the command, and runs it if they let it.
package fakeclaude

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Main is the program.
func Main() {
	if len(os.Args) > 1 && os.Args[1] == "--version" {
		fmt.Println("a warning\n9.9.9 (fake)")
		return
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type object = map[string]any

func run() error {
	leaveSomethingBehind()
	said, err := ask(object{"role": "user", "content": "clean"})
	if err != nil {
		return err
	}
	result := object{"type": "tool_result", "content": tool(said.Input.Command)}
	_, err = ask(object{"role": "user", "content": []any{result}})
	return err
}

// leaveSomethingBehind starts a daemon, as some clients do.
func leaveSomethingBehind() {
	daemon := exec.Command("sleep", "600")
	daemon.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if daemon.Start() == nil {
		pid := fmt.Sprint(daemon.Process.Pid)
		_ = os.WriteFile(filepath.Join(os.Getenv("HOME"), "daemon"), []byte(pid), 0o600)
	}
}

// block is what the model says.
type block struct {
	Input struct{ Command string }
}

func ask(message object) (block, error) {
	schema := object{"properties": object{"command": object{"type": "string"}}}
	tools := []any{object{"name": "Bash", "input_schema": schema}}
	body, err := json.Marshal(object{"model": "m", "tools": tools, "messages": []any{message}})
	if err != nil {
		return block{}, err
	}
	res, err := http.Post(os.Getenv("ANTHROPIC_BASE_URL")+"/v1/messages", "application/json", bytes.NewReader(body))
	if err != nil {
		return block{}, err
	}
	defer res.Body.Close()
	var said struct{ Content []block }
	if err := json.NewDecoder(res.Body).Decode(&said); err != nil || len(said.Content) == 0 {
		return block{}, errors.Join(errors.New("the model says nothing"), err)
	}
	return said.Content[0], nil
}

// tool runs a command and gives what the model reads of it.
func tool(command string) string {
	if why := denied(command); why != "" {
		return "PreToolUse:Bash hook error: " + why
	}
	out, err := exec.Command("sh", "-c", command).CombinedOutput()
	return fmt.Sprintf("%s%v", out, err)
}

// denied asks the hooks of the user's settings; empty: the command may run. A hook that
// fails blocks the command if the settings say so, as in Claude Code.
func denied(command string) string {
	text, err := os.ReadFile(filepath.Join(os.Getenv("HOME"), ".claude/settings.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	var settings struct {
		Hooks struct {
			PreToolUse []struct {
				Hooks []struct {
					Command, OnFailure string
					Args               []string // without a shell
				}
			}
		}
	}
	if err := errors.Join(err, json.Unmarshal(text, &settings)); err != nil {
		return err.Error()
	}
	dir, _ := os.Getwd()
	body, _ := json.Marshal(object{"hook_event_name": "PreToolUse", "session_id": "s", "cwd": dir,
		"tool_use_id": "toolu_1", "tool_name": "Bash", "tool_input": object{"command": command}})
	for _, group := range settings.Hooks.PreToolUse {
		for _, h := range group.Hooks {
			hook := exec.Command(h.Command, h.Args...)
			if h.Args == nil {
				hook = exec.Command("sh", "-c", h.Command)
			}
			hook.Stdin = bytes.NewReader(body)
			out, err := hook.Output()
			var answer struct {
				HookSpecificOutput struct{ PermissionDecision, PermissionDecisionReason string }
			}
			if err != nil && h.OnFailure == "block" {
				return "the hook failed"
			}
			if json.Unmarshal(out, &answer) == nil && answer.HookSpecificOutput.PermissionDecision == "deny" {
				return strings.TrimSpace(answer.HookSpecificOutput.PermissionDecisionReason)
			}
		}
	}
	return ""
}
