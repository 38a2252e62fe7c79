package install

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"unicode"
)

// Codex runs no hook that was not reviewed: it skips it without a word. Its app server
// lists hooks with their hashes, and takes which are trusted.

// Trust is a hook of approvalbot's, and whether Codex trusts it.
type Trust struct {
	Key     string // of Codex: the file, the event and the place in it
	Hash    string // the present hook's
	Trusted bool   // it is not skipped
}

// codexServer is one Codex app server, to which requests are written line by line.
type codexServer struct {
	in   io.Writer
	out  *bufio.Scanner
	last int
}

// withCodex starts Codex's app server with cmd, which is not started yet, and ends it
// when f returns.
func withCodex(cmd *exec.Cmd, f func(*codexServer) error) error {
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	s := &codexServer{in: in, out: bufio.NewScanner(out)}
	s.out.Buffer(nil, maxFile)
	client := map[string]any{"clientInfo": map[string]any{"name": "approvalbot", "version": "1"}}
	err = s.call("initialize", client, nil)
	if err == nil {
		_, err = io.WriteString(in, `{"method":"initialized"}`+"\n")
	}
	if err == nil {
		err = f(s)
	}
	_ = in.Close() // it ends then
	if err != nil {
		_ = cmd.Process.Kill()
	}
	_ = cmd.Wait() // all requests are answered
	return err
}

// call sends one request and reads until its answer.
func (s *codexServer) call(method string, params, out any) error {
	s.last++
	text, err := json.Marshal(map[string]any{"id": s.last, "method": method, "params": params})
	if err != nil {
		return err
	}
	if _, err := s.in.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("codex app-server: %w", err)
	}
	for s.out.Scan() {
		var answer struct {
			ID     *int            `json:"id"`
			Result json.RawMessage `json:"result"`
			Error  *struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		if json.Unmarshal(s.out.Bytes(), &answer) != nil || answer.ID == nil || *answer.ID != s.last {
			continue
		}
		if answer.Error != nil {
			return fmt.Errorf("codex app-server: %s: %s", method, answer.Error.Message)
		}
		if out == nil {
			return nil
		}
		return json.Unmarshal(answer.Result, out)
	}
	return errors.Join(errors.New("codex app-server ended without an answer; is this Codex 0.169 or newer?"),
		s.out.Err())
}

// CodexHooks gives approvalbot's own hooks as Codex sees them. start makes the command
// that starts its app server.
func CodexHooks(ctx context.Context, o Options, start func(context.Context, ...string) *exec.Cmd) ([]Trust, error) {
	var out []Trust
	err := withCodex(start(ctx, "app-server"), func(s *codexServer) error {
		var listed any
		err := s.call("hooks/list", map[string]any{"cwds": []string{o.Project}}, &listed)
		out = findHooks(listed, o, out)
		return err
	})
	return out, err
}

// findHooks looks for approvalbot's hooks in what Codex lists, at any depth. Other
// hooks may be in the same files, and a repository can add one that looks like it: only
// the very command that install has written counts.
func findHooks(v any, o Options, out []Trust) []Trust {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			out = findHooks(item, o, out)
		}
	case map[string]any:
		key, _ := v["key"].(string)
		hash, _ := v["currentHash"].(string)
		now, _ := v["trustStatus"].(string)
		if key != "" && hash != "" {
			if o.wrote(key) {
				out = append(out, Trust{key, hash, now == "trusted" || now == "managed"})
			}
			return out
		}
		for _, item := range v {
			out = findHooks(item, o, out)
		}
	}
	return out
}

// wrote reports whether a key of Codex's (the file, the event, and the places of the group
// and the hook) is that of a command that install has written.
func (o Options) wrote(key string) bool {
	for _, t := range targets(o.Runtime.Name) {
		path, err := o.path(t)
		if err != nil || t.form != listItem || t.scope != o.Scope {
			continue
		}
		rest, in := strings.CutPrefix(key, path+":")
		if real, err := filepath.EvalSymlinks(path); err == nil && !in {
			rest, in = strings.CutPrefix(key, real+":")
		}
		if !in {
			continue
		}
		event, places, _ := strings.Cut(rest, ":")
		var group, hook int
		if n, _ := fmt.Sscanf(places, "%d:%d", &group, &hook); n != 2 || event != snake(t.event) {
			continue
		}
		if o.setting("hooks", t.event, group, "hooks", hook, "command") == o.command(t) {
			return true
		}
	}
	return false
}

// snake is an event's name as Codex's keys have it: pre_tool_use.
func snake(event string) string {
	var b strings.Builder
	for i, c := range event {
		if unicode.IsUpper(c) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

// TrustThem tells Codex that these hooks are trusted. Codex writes that into its own
// configuration; uninstall gives its bytes back as well.
func TrustThem(ctx context.Context, o Options, hooks []Trust, start func(context.Context, ...string) *exec.Cmd) error {
	path, err := o.codexFile()
	if err != nil {
		return err
	}
	was, err := o.open(path)
	if err != nil {
		return err
	}
	state := map[string]any{}
	for _, h := range hooks {
		state[h.Key] = map[string]any{"trusted_hash": h.Hash}
	}
	edit := map[string]any{"keyPath": "hooks.state", "mergeStrategy": "upsert", "value": state}
	err = withCodex(start(ctx, "app-server"), func(s *codexServer) error {
		return s.call("config/batchWrite", map[string]any{"edits": []any{edit}, "reloadUserConfig": true}, nil)
	})
	if err != nil {
		return err
	}
	is, err := os.ReadFile(was.path)
	if err != nil {
		return err
	}
	name, text := createdName, []byte(nil)
	if was.base != nil {
		name, text = backupName, was.base
	}
	return replace(was.path+name+hash(is), text, was.mode)
}
