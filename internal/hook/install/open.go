package install

import (
	"os"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"approvalbot/internal/hook"
)

// Open names the gaps that remain once approvalbot is installed, one sentence each.
func Open(o Options) []string {
	r, c := o.Runtime, caveatsOf(o.Runtime.Name)
	out := append(open(r), c.open...)
	if o.Scope == Project && c.project != "" {
		out = append(out, c.project)
	}
	managed := r.Managed && slices.Contains(Has(r.Name), Managed)
	switch {
	case o.Scope != Managed && managed:
		out = append(out, "Settings that a repository or the user brings along can switch this hook off; "+
			"--managed, as the machine's administrator, cannot be switched off so.")
	case !managed:
		out = append(out, "There is no managed file that is known to hold: "+
			"settings that a repository or the user brings along can switch this hook off.")
	}
	if o.Scope != Managed && c.skipped != "" {
		out = append(out, c.skipped)
	}
	if o.Beside {
		out = append(out, "Calls that "+r.Title+" does not ask about are not seen: without --beside every call is.")
	}
	return out
}

// open says what happens to a call when its hook fails, for each failure that does
// not deny it.
func open(r hook.Runtime) []string {
	var out []string
	if r.Closed == "" && r.Fails.Crash != hook.FailClosed {
		out = append(out, "A hook that is killed, and its shell with it: "+becomes(r, r.Fails.Crash))
	}
	if r.Closed == "" && r.Fails.Timeout != hook.FailClosed && r.Fails.Timeout != hook.FailWaits {
		out = append(out, "A hook that takes longer than "+r.Title+" waits: "+becomes(r, r.Fails.Timeout))
	}
	return out
}

func becomes(r hook.Runtime, f hook.Failure) string {
	if f == hook.FailUnknown {
		return "what " + r.Title + " then does was not measured."
	}
	return r.Title + " runs the call. approvalbot answers before the limit."
}

// Sandbox names the setting that switches the runtime's own sandbox on; empty if it is
// off, or if this package knows of no sandbox in the runtime.
func Sandbox(o Options) string {
	switch o.Runtime.Name {
	case "claude-code":
		for _, scope := range Scopes() {
			at := o
			at.Scope = scope
			if v := at.setting("sandbox", "enabled"); v == true {
				return "sandbox.enabled in its " + string(scope) + " settings"
			}
		}
	case "gemini-cli", "qwen-code":
		name := strings.ToUpper(strings.Split(o.Runtime.Name, "-")[0]) + "_SANDBOX"
		if v := o.Env(name); v != "" && v != "false" && v != "0" {
			return name
		}
		for _, scope := range Scopes() {
			at := o
			at.Scope = scope
			if v := at.setting("tools", "sandbox"); v != nil && v != false && v != "" {
				return "tools.sandbox in its " + string(scope) + " settings"
			}
		}
	case "codex":
		mode, _ := o.codexConfig()["sandbox_mode"].(string)
		if mode == "danger-full-access" {
			return ""
		}
		return "its sandbox_mode is not danger-full-access"
	}
	return ""
}

// setting gives one value of the JSON file in the options' scope, by names and places;
// nil if missing.
func (o Options) setting(path ...any) any {
	for _, t := range targets(o.Runtime.Name) {
		at, err := o.path(t)
		if t.scope != o.Scope || err != nil {
			continue
		}
		text, _ := os.ReadFile(at)
		v, err := scan(string(text))
		if err != nil {
			return nil
		}
		for _, step := range path {
			if name, ok := step.(string); ok {
				v = v.get(name)
			} else {
				v = v.at(step.(int))
			}
		}
		return v.plain(string(text))
	}
	return nil
}

// codexFile is Codex's own configuration, which also records the hooks that are
// trusted.
func (o Options) codexFile() (string, error) {
	return o.path(target{path: "~/.codex/config.toml"})
}

func (o Options) codexConfig() map[string]any {
	out := map[string]any{}
	if path, err := o.codexFile(); err == nil {
		text, _ := os.ReadFile(path)
		_ = toml.Unmarshal(text, &out) // Codex itself reports the mistake
	}
	return out
}

// Loaded says when OpenCode has last loaded the plugin that is at path; empty if it
// never has.
func Loaded(path string) string {
	text, _ := os.ReadFile(path + heartbeat)
	return strings.TrimSpace(string(text))
}

// heartbeat is what the plugin's file is called with, when it says that it was loaded.
const heartbeat = ".heartbeat"
