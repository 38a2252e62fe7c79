package approval

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"approvalbot/internal/platform"
)

// Call is one tool invocation that a program asks for, with what it says about
// it. Only ToolName, Params and Bind are what runs; all else is context, and
// context may only make the answer stricter.
type Call struct {
	ToolName string
	Params   json.RawMessage // a JSON object, exactly as sent
	Bind     *Bind

	ID            string // the owner's own id for the approval, or empty
	AgentID       string
	TokensAgent   bool // AgentID is what the token is for, not the asker's word; set by the Gate
	SessionKey    string
	Origin        *Target    // the chat the session lives in
	Requester     *Requester // the human who asked the agent
	Justification string     // the asker's words, shown as a claim
	ActionSummary string     // the asker's words, shown as a claim
	Context       CallContext
	CallbackURL   string     // the URL to which the ended approval is POSTed, or empty
	MustAsk       bool       // a person is asked even if policy would let it run; a grant is one's yes
	Offers        []Decision // what people may decide, of what policy offers; deny always. Empty: all of it
	Resume        bool       // an approved call that is the same and not claimed yet answers too
	TimeoutMs     int64      // 0: the configured default
	Supersedes    string
	Explain       bool   // the Trace of its judgement is wanted
	Scope         bool   // what a yes would cover is wanted, also if policy allows it and no person is asked
	Points        bool   // what its reasons come from is wanted, if a person is asked
	Dialect       string // the words it was asked in: "", DialectExec or DialectAgentShield; set by the door
	Owner         string // the name of the asking token; set by the Gate, never by the asker

	Exec *Exec // what Params of tool exec say, once the Gate has read them
}

// ParseExec is [ParseExec] of the call's params, which are read once for each call that
// the Gate judges.
func (c Call) ParseExec() (Exec, []FieldError) {
	if c.Exec != nil {
		return *c.Exec, nil
	}
	return ParseExec(c.Params)
}

// WithParams is the call with other params.
func (c Call) WithParams(params json.RawMessage) Call {
	c.Params, c.Exec = params, nil
	return c
}

// The dialects of the gateway in which a call can be asked. If a call was asked in
// DialectAgentShield, people see only its fingerprint.
const (
	DialectExec        = "exec"
	DialectAgentShield = "agentshield"
)

// Bind ties an approval to the place in which the call runs. It is part of the fingerprint,
// as it was sent: an empty member differs from one that was not sent (nil).
type Bind struct {
	Workdir *string `json:"workdir,omitempty"`
	Host    *string `json:"host,omitempty"`
	EnvHash *string `json:"envHash,omitempty"`
}

// Fields gives what a call is bound to; of what it is not bound to, the empty string.
func (b *Bind) Fields() (workdir, host, envHash string) {
	if b == nil {
		return "", "", ""
	}
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	return text(b.Workdir), text(b.Host), text(b.EnvHash)
}

// Requester is the human who asked the agent: an account on a channel, or a
// configured person.
type Requester struct {
	Channel string `json:"channel,omitempty"`
	UserID  string `json:"userId,omitempty"`
	Person  string `json:"person,omitempty"`
}

// Untracked is what an asker found that git could take into a repository although a command's words do not name it.
type Untracked struct {
	Folders []string `json:"folders,omitempty"` // absolute; it looked in the repositories that they are in
	Files   []string `json:"files,omitempty"`   // absolute paths of secrets that git neither tracks nor ignores
	Ignored []string `json:"ignored,omitzero"`  // of secrets that git ignores; nil: it did not look for them
}

// All are the files of both kinds.
func (u *Untracked) All() []string {
	if u == nil {
		return nil
	}
	return slices.Concat(u.Files, u.Ignored)
}

// CallContext is what the asker's runtime knows about a call. It cannot loosen a judgement,
// except by Tool and Confine if the operator trusts the asking token's word.
type CallContext struct {
	Provider        string     `json:"provider,omitempty"`
	Model           string     `json:"model,omitempty"`
	Group           string     `json:"group,omitempty"`
	Sandboxed       bool       `json:"sandboxed,omitempty"`
	Subagent        bool       `json:"subagent,omitempty"`
	ToolDescription string     `json:"toolDescription,omitempty"`
	Unheard         string     `json:"unheard,omitempty"`   // the runtime, if it hands no notes to its model
	Terminal        string     `json:"terminal,omitempty"`  // TerminalOpen or TerminalPossible; empty: no terminal
	Untracked       *Untracked `json:"untracked,omitempty"` // nil: its asker does not look
	Programs        []string   `json:"programs,omitempty"`  // names of programs that the asker's PATH finds in the project, and the folders, absolute
	Confine         string     `json:"confine,omitempty"`   // the profile by which its asker can confine it; empty: it cannot, or its token may not say so

	Tool ToolFacts `json:"tool,omitzero"`
	From AskedFrom `json:"from,omitzero"`
}

// AskedFrom is what is said of the agent that asks, and of the directory it works in. Policy does not judge by it,
// and it is no part of the fingerprint: people read it as a claim.
type AskedFrom struct {
	Runtime      string `json:"runtime,omitempty"`
	SubagentType string `json:"subagentType,omitempty"`
	SubagentID   string `json:"subagentId,omitempty"`
	Branch       string `json:"branch,omitempty"` // or a commit's short hash
	Worktree     string `json:"worktree,omitempty"`
}

// Judged is the context without the parts that policy does not judge by.
func (c CallContext) Judged() CallContext {
	c.From = AskedFrom{}
	return c
}

// What a runtime says of a command's terminal, if what is typed there is not asked for.
const (
	TerminalOpen     = "open"
	TerminalPossible = "possible" // it is not known; git and gh start no pager there
)

// ValidID reports whether s may be a caller's own id.
func ValidID(s string) bool {
	dots := s == "." || s == ".."
	return len(s) <= 128 && named(s, "._:-") && !dots
}

const ToolNameRule = "must be 1 to 128 letters, digits or . _ : / - and start with a letter or digit"

// ValidTool reports whether s may be a tool's name, see toolNameRule.
func ValidTool(s string) bool {
	return len(s) <= maxToolName && named(s, "._:/-") && named(s[:1], "")
}

// named reports whether s has letters and digits of ASCII and those signs, and at
// least one of them.
func named(s, signs string) bool {
	for i := range len(s) {
		b := s[i]
		lower, upper, digit := 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9'
		if letter := lower || upper; !letter && !digit && strings.IndexByte(signs, b) < 0 {
			return false
		}
	}
	return s != ""
}

// ValidCallback reports whether an address may be called back at all; whether
// its host is allowed is seen when it is called.
func ValidCallback(s string) bool {
	u, err := url.Parse(s)
	if err != nil || len(s) > 2048 {
		return false
	}
	web := u.Scheme == "https" || u.Scheme == "http"
	plain := u.User == nil && u.Fragment == ""
	return web && plain && u.Hostname() != ""
}

// Validate names every wrong field of the call. Params are checked by Canonical
// and, for exec, by ParseExec.
func (c Call) Validate() []FieldError {
	var bad []FieldError
	check := func(ok bool, field, problem string) {
		if !ok {
			bad = append(bad, FieldError{field, problem})
		}
	}
	check(ValidTool(c.ToolName), "toolName", ToolNameRule)
	check(c.ID == "" || ValidID(c.ID), "id", `must be 1 to 128 of A-Z a-z 0-9 . _ : - and not "." or ".."`)
	check(len(c.Params) > 0, "params", "is required and must be a JSON object")
	check(c.TimeoutMs >= 0, "timeoutMs", "must be a positive number of milliseconds")
	check(!slices.ContainsFunc(c.Offers, func(d Decision) bool { return d != Deny && !d.Allows() }), "offers",
		"must be of allow-once, allow-session, allow-always and deny")
	text := func(s, field string, limit int) {
		if len(s) > limit || !utf8.ValidString(s) || strings.IndexByte(s, 0) >= 0 {
			bad = append(bad, FieldError{field, fmt.Sprintf("must be text of at most %d bytes without NUL", limit)})
		}
	}
	text(c.AgentID, "agentId", MaxName)
	text(c.SessionKey, "sessionKey", MaxName)
	text(c.Justification, "justification", maxText)
	text(c.ActionSummary, "actionSummary", maxText)
	text(c.Context.Provider, "context.provider", MaxName)
	text(c.Context.Model, "context.model", MaxName)
	text(c.Context.Group, "context.group", MaxName)
	text(c.Context.Unheard, "context.unheard", 64)
	text(c.Context.ToolDescription, "context.toolDescription", maxDescription)
	text(c.Context.Tool.Server, "context.tool.server", MaxName)
	text(c.Context.Tool.Description, "context.tool.description", maxDescription)
	from := c.Context.From
	text(from.Runtime, "context.from.runtime", MaxName)
	text(from.SubagentType, "context.from.subagentType", MaxName)
	text(from.SubagentID, "context.from.subagentId", MaxName)
	text(from.Branch, "context.from.branch", MaxName)
	text(from.Worktree, "context.from.worktree", MaxName)
	check(validSchema(c.Context.Tool.Schema), "context.tool.schema", schemaRule)
	check(validDigest(c.Context.Tool.Digest), "context.tool.digest", "must be 64 lower-case hexadecimal digits")
	workdir, host, envHash := c.Bind.Fields()
	text(workdir, "bind.workdir", 4096)
	text(host, "bind.host", MaxName)
	text(envHash, "bind.envHash", MaxName)
	if r := c.Requester; r != nil {
		byAccount := r.Channel != "" && r.UserID != "" && r.Person == ""
		byPerson := r.Channel == "" && r.UserID == "" && r.Person != ""
		check(byAccount || byPerson, "requester", "must be {channel, userId} or {person}")
		if byAccount && (platform.ByName(r.Channel) == nil || !platform.Decimal(r.UserID)) {
			check(false, "requester.userId", "must be a numeric id on "+platform.List("or"))
		}
	}
	if o := c.Origin; o != nil {
		check(o.Normal().Validate() == nil, "origin", "must be {channel, to, threadId?} with numeric ids")
	}
	check(c.CallbackURL == "" || ValidCallback(c.CallbackURL), "callbackUrl",
		"must be an absolute https (or http) URL of at most 2,048 bytes without a user or fragment")
	check(c.Supersedes == "" || ValidID(c.Supersedes), "supersedes", "must be an approval's id")
	return bad
}
