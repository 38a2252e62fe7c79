package hook

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Runtime is one agent runtime: how it asks, and what happens if no answer comes.
// The encoders, the installer and docs/agents.md are made from it.
type Runtime struct {
	Name    string   // in commands and URLs: claude-code
	Aliases []string // other names that are taken for it: claude
	Title   string   // for people: Claude Code
	Tested  string   // the version that was tried; empty if only its documentation was read
	Ways    []Way    // into it, best first
	Events  []Event  // that ask or report; nil if its hooks cannot be answered by a program
	Fails   Failures // of a hook, if no other safeguard is in place
	Closed  string   // the switch that makes such a failure a deny; empty if it has no switch
	Limit   Limit    // of one hook call
	Traps   []string // one sentence each
	// It types into running programs without asking a hook, and its bodies do not say which
	// command has a terminal.
	HidesTyping bool
	// KillsHooks says that it kills its hooks' process group when it ends, so that a hook in it is not told.
	KillsHooks bool
	// Notes names the way in which its model reads the note that comes with a yes, for the first of its Ways; empty
	// if its model never reads notes.
	Notes   string
	Managed bool // it has a managed file that no repository's file can switch off
}

// WayKind is a kind of way into a runtime.
type WayKind string

// The ways into runtimes.
const (
	CommandHook      WayKind = "command hook"           // it runs approvalbot hook
	HTTPHook         WayKind = "HTTP hook"              // it posts to /hooks/{runtime}/{event}
	MCPToolHook      WayKind = "MCP tool hook"          // it calls the tool "hook" of /mcp
	PermissionPrompt WayKind = "permission prompt tool" // it calls the tool "permission_prompt" of /mcp
	MCPProxy         WayKind = "MCP proxy"              // approvalbot mcp-proxy runs before its MCP servers
	ACP              WayKind = "ACP"                    // approvalbot acp runs between it and its editor
	Plugin           WayKind = "plugin"                 // a file of ours that it loads
	Bridge           WayKind = "bridge"                 // a program of ours answers what its server asks
	Gateway          WayKind = "gateway"                // it connects to /v1/gateway by itself
)

// Way is one way into a runtime.
type Way struct {
	Kind  WayKind
	Event string // of a hook; empty: all of them, or not a hook
	Note  string // its use, or its requirement
}

// Failure is the fate of a call when its hook fails.
type Failure string

// The fates of a call.
const (
	FailUnknown Failure = ""       // not measured, and not documented
	FailOpen    Failure = "open"   // it runs
	FailClosed  Failure = "closed" // it does not run
	FailWaits   Failure = "waits"  // there is no end to the wait
)

// Failures says for each failure of a hook what becomes of the call.
type Failures struct {
	Crash       Failure // the hook's program ends without a decision, or its endpoint answers with an error
	Timeout     Failure // the runtime's time limit is over
	Unreachable Failure // the program is missing, or the desk does not listen
}

// Limit is how long a runtime waits for one hook.
type Limit struct {
	Default time.Duration // if its configuration does not set one
	Hard    time.Duration // at most, even if its configuration says more; 0: as long as that says
	Unit    time.Duration // of the number in its configuration; 0 if it cannot be set
}

// Phase says when in a call's life an event comes.
type Phase int

// The phases.
const (
	Before     Phase = iota // before every call, asked or not
	Permission              // if the runtime would have asked its user
	After                   // after the call has run
)

// Event is one event of a runtime, with its own body and its own answers.
type Event struct {
	Name    string // as the runtime spells it: letter case counts
	Phase   Phase
	HTTP    bool // it can be answered at /hooks/{runtime}/{event}
	Command bool // it can be answered by approvalbot hook
	CallID  bool // its body names the call

	decode  decoder
	dialect dialect
}

// Find gives the runtime of that name or alias, in any letter case.
func Find(name string) (Runtime, bool) {
	name = strings.ToLower(name)
	for _, r := range Runtimes() {
		if r.Name == name || slices.Contains(r.Aliases, name) {
			return r, true
		}
	}
	return Runtime{}, false
}

// Event gives the runtime's event of exactly that name.
func (r Runtime) Event(name string) (Event, bool) {
	i := slices.IndexFunc(r.Events, func(e Event) bool { return e.Name == name })
	if i < 0 {
		return Event{}, false
	}
	return r.Events[i], true
}

// EventOf gives the event that a body names, else the runtime's first one: for hooks
// that are configured without an event's name.
func (r Runtime) EventOf(raw []byte) Event {
	b := readBody(raw)
	for _, member := range []string{"hook_event_name", "hookName", "agent_action_name", "event"} {
		if e, ok := r.Event(b.text(member)); ok {
			return e
		}
	}
	return r.Events[0]
}

// Meant gives the event whose body that is: e, unless its decoder refuses it and another
// event's does not. A deny is understood in that event's words alone.
func (r Runtime) Meant(e Event, raw []byte) Event {
	for _, other := range append([]Event{e}, r.Events...) {
		if _, err := other.Decode(raw); err == nil {
			return other
		}
	}
	return e
}

// Names gives the names of all runtimes, in the table's order.
func Names() []string {
	var names []string
	for _, r := range Runtimes() {
		names = append(names, r.Name)
	}
	return names
}

// Older reports whether version a comes before b. A part after a hyphen is ignored.
func Older(a, b string) bool {
	a, _, _ = strings.Cut(a, "-")
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(as), len(bs)) {
		x, _ := strconv.Atoi(as[i])
		y, _ := strconv.Atoi(bs[i])
		if x != y {
			return x < y
		}
	}
	return len(as) < len(bs)
}
