package api

import "encoding/json"

// CreateRequest asks for one call. Unknown fields are refused.
type CreateRequest struct {
	ID            string          `json:"id,omitzero" minLength:"1" pattern:"^[A-Za-z0-9._:-]{1,128}$" doc:"Your own id; the same id with the same call gives the same approval again."`
	ToolName      string          `json:"toolName" minLength:"1" maxLength:"128" doc:"exec is a command; every other name is your own. Letters, digits and . _ : / -"`
	Params        json.RawMessage `json:"params" doc:"The call's parameters: a JSON object. Tool exec: exactly one of command (a shell line) and argv; workdir, env, timeout, host, security, ask."`
	AgentID       string          `json:"agentId,omitzero" maxLength:"256" doc:"A token with an agentId of its own overrides it."`
	SessionKey    string          `json:"sessionKey,omitzero" maxLength:"256" doc:"The conversation or job. The same call of the same session is asked once while it is pending."`
	Origin        *Target         `json:"origin,omitzero" doc:"The chat the session lives in."`
	Requester     *Requester      `json:"requester,omitzero" doc:"The human who asked the agent: {channel, userId} or {person}. May not decide it."`
	Justification string          `json:"justification,omitzero" maxLength:"2000" doc:"Your words; shown as a claim."`
	ActionSummary string          `json:"actionSummary,omitzero" maxLength:"2000" doc:"Your words; shown as a claim."`
	Context       *Context        `json:"context,omitzero" doc:"May only make the answer stricter; tool says when it counts for more."`
	Bind          *Bind           `json:"bind,omitzero" doc:"Ties the approval to the directory, machine and environment of the call."`
	CallbackURL   string          `json:"callbackUrl,omitzero" maxLength:"2048" doc:"The desk POSTs the ended approval to this address, signed with the token's callbackSecret, and retries for a day."`
	MustAsk       bool            `json:"mustAsk,omitzero" doc:"A person is asked even if policy would let the call run."`
	Offers        []Decision      `json:"offers,omitzero" maxItems:"4" doc:"The decisions that people may give, of those that policy offers; deny always. Empty: all of them."`
	TimeoutMs     int64           `json:"timeoutMs,omitzero" minimum:"1" doc:"Clamped to the configured maximum."`
	Supersedes    string          `json:"supersedes,omitzero" maxLength:"128" doc:"A pending approval of yours whose call has changed; it ends withdrawn."`
}

// Target is a place a card goes: a chat, perhaps a thread in it.
type Target struct {
	Channel  string `json:"channel"`
	To       string `json:"to" doc:"The chat's id; dm:<user id> for a Discord direct message."`
	ThreadID string `json:"threadId,omitzero" doc:"A topic or thread in it."`
}

// Requester is the human who asked the agent: an account, or a configured person.
type Requester struct {
	Channel string `json:"channel,omitzero" doc:"telegram or discord, with userId."`
	UserID  string `json:"userId,omitzero"`
	Person  string `json:"person,omitzero" doc:"Instead of an account: the name of a configured person."`
}

// Context is the runtime's own knowledge about a call.
type Context struct {
	Provider        string     `json:"provider,omitzero" maxLength:"256"`
	Model           string     `json:"model,omitzero" maxLength:"256"`
	Group           string     `json:"group,omitzero" maxLength:"256" doc:"The group chat the call comes from."`
	Sandboxed       bool       `json:"sandboxed,omitzero" doc:"The call runs in a sandbox."`
	Subagent        bool       `json:"subagent,omitzero" doc:"The agent was started by another one."`
	ToolDescription string     `json:"toolDescription,omitzero" maxLength:"4000" doc:"What the tool says of itself."`
	Unheard         string     `json:"unheard,omitzero" maxLength:"64" doc:"The name of the runtime that asks, if it does not hand the notes of people to its model: people are told so."`
	Terminal        string     `json:"terminal,omitzero" enum:"open,possible" doc:"The command has a terminal (open) or may have one with GIT_PAGER and GH_PAGER set to cat (possible), and what is typed there later is not asked for. It only makes the answer stricter."`
	Untracked       *Untracked `json:"untracked,omitzero" doc:"What git could take into a repository although the command's words do not name it, if you look for that. Without it the desk asks for no such file; with it, a git add or git stash in a folder that you did not look at is asked about."`
	Programs        []string   `json:"programs,omitzero" maxItems:"256" items.maxLength:"4096" doc:"Names of programs that your PATH finds in the project where the agent works, or that start such a one, and the folders of the project in PATH (absolute). A command by one of these names counts as code of the project, and what writes a known program in such a folder asks. There may be names that the command does not have."`
	Tool            *Tool      `json:"tool,omitzero" doc:"What a bridge to a tool server knows of the tool."`
	Confine         []string   `json:"confine,omitzero" maxItems:"8" doc:"The profiles by which you can run the call confined; the desk knows v1. It counts if your token has mayConfine: then the call may be allowed confined, and an approval, a claim and a join are of the same value."`
	From            *From      `json:"from,omitzero" doc:"Which agent asks, and in which branch and worktree; shown as a claim."`
}

// Untracked is what an asker finds that git neither tracks, before a command that may have git take all there is.
type Untracked struct {
	Folders []string `json:"folders,omitzero" maxItems:"64" items.maxLength:"4096" doc:"Absolute paths of the folders in whose repositories you looked."`
	Files   []string `json:"files,omitzero" maxItems:"64" items.maxLength:"4096" doc:"Absolute paths of files there that usually hold secrets, and that git neither tracks nor ignores."`
	Ignored []string `json:"ignored,omitzero" maxItems:"64" items.maxLength:"4096" doc:"The same of files that git ignores; leave it out if you did not look for them."`
}

// Any reports that there are such files.
func (u *Untracked) Any() bool { return u != nil && len(u.Files)+len(u.Ignored) > 0 }

// From describes the agent that asks, beside its token's name. Judgements do not depend on it.
type From struct {
	Runtime      string `json:"runtime,omitzero" maxLength:"256" doc:"The agent's program, such as Claude Code."`
	SubagentType string `json:"subagentType,omitzero" maxLength:"256" doc:"The kind of agent that another one has started."`
	SubagentID   string `json:"subagentId,omitzero" maxLength:"256" doc:"Its id in the runtime."`
	Branch       string `json:"branch,omitzero" maxLength:"256" doc:"The branch that is checked out in the working directory, or the short hash of its commit."`
	Worktree     string `json:"worktree,omitzero" maxLength:"256" doc:"The name of the git worktree, if it is not the repository's main one."`
}

// Tool is the description of a tool by a bridge to its tool server (MCP). It may
// only make the answer stricter, unless the token has trustToolHints.
type Tool struct {
	Server      string          `json:"server,omitzero" maxLength:"256" doc:"The server's name, as the operator named it to the bridge."`
	Description string          `json:"description,omitzero" maxLength:"4000" doc:"The server's description of the tool; shorten it if it is longer."`
	Schema      json.RawMessage `json:"schema,omitzero" doc:"The JSON schema of its input: an object of at most 64 KiB, nested at most 64 deep."`
	Hints       *ToolHints      `json:"hints,omitzero" doc:"What the server declares of the tool (annotations in MCP)."`
	Digest      string          `json:"digest,omitzero" pattern:"^([0-9a-f]{64})?$" doc:"SHA-256 (hexadecimal) of all that the server says of the tool, as canonical JSON, if the members above do not hold all of it."`
	Otherwise   bool            `json:"otherwise,omitzero" doc:"The client was shown something else of the tool, or was not shown the tool by this bridge: the call is judged as one of a tool that has changed."`
}

// ToolHints are a server's declarations about a tool; a hint that is left out is
// not declared. They are claims.
type ToolHints struct {
	ReadOnly    *bool `json:"readOnly,omitzero" nullable:"false" doc:"MCP's readOnlyHint: it only reads."`
	Destructive *bool `json:"destructive,omitzero" nullable:"false" doc:"MCP's destructiveHint: it may delete or overwrite."`
	Idempotent  *bool `json:"idempotent,omitzero" nullable:"false" doc:"MCP's idempotentHint: doing it twice is doing it once."`
	OpenWorld   *bool `json:"openWorld,omitzero" nullable:"false" doc:"MCP's openWorldHint: it reaches beyond the server's own data."`
}

// Bind is the place that a call runs in. A nil member is not sent; an empty one is,
// and is part of the fingerprint.
type Bind struct {
	Workdir *string `json:"workdir,omitzero" maxLength:"4096" nullable:"false" doc:"Working directory."`
	Host    *string `json:"host,omitzero" maxLength:"256" nullable:"false" doc:"Machine."`
	EnvHash *string `json:"envHash,omitzero" maxLength:"256" nullable:"false" doc:"A hash of the environment, made as you like."`
}

// ResolveRequest is a vote of the token's person.
type ResolveRequest struct {
	Decision Decision `json:"decision" enum:"allow-once,allow-session,allow-always,deny,retry" doc:"One of the approval's offers; while its retryRound is open, retry or deny."`
	Reason   string   `json:"reason,omitzero" doc:"Shown to everybody, and kept in the log."`
	Note     string   `json:"note,omitzero" doc:"For the agent: at most 500 characters, all of them visible; reason is for the log. Line ends become blanks, secrets are redacted."`
	After    *int     `json:"after,omitzero" minimum:"0" doc:"With retry: How many retries it has so far (the length of its retries), so that what you send twice counts once; another number is not_claimable."`
}

// ClaimRequest asks for an approved call. Params and Bind, if given, must be
// what was approved. The same ClaimID repeats a claim whose answer was lost.
type ClaimRequest struct {
	Params  json.RawMessage `json:"params,omitzero" doc:"What is about to run, if you say so; other values are a fingerprint_mismatch."`
	Bind    *Bind           `json:"bind,omitzero" doc:"The directory, machine and environment in which it is about to run, likewise."`
	Confine []string        `json:"confine,omitzero" maxItems:"8" doc:"The profiles by which you will run it confined, as you asked. An approval that has confined is handed out to who says so alone."`
	ClaimID string          `json:"claimId,omitzero" maxLength:"128" doc:"Names this claim, so that a lost answer can be asked for again."`

	ToolName string `json:"-"` // for [Client.Believe]; not sent
}

// ResultRequest tells how the execution went.
type ResultRequest struct {
	Status   string       `json:"status" enum:"succeeded,failed"`
	Summary  string       `json:"summary,omitzero" doc:"Your words; shown on the cards as a claim."`
	ExitCode *int         `json:"exitCode,omitzero" doc:"The command's exit status."`
	Exit     *int         `json:"exit,omitzero" doc:"The same as exitCode."`
	Confined *RanConfined `json:"confined,omitzero" doc:"Of a confined run: what it did to its workspace."`
	ClaimID  string       `json:"claimId,omitzero" maxLength:"128" doc:"Of the run that it is of, as it was claimed; the newest one if not given."`
}

// RanConfined is what a confined run did to its workspace.
type RanConfined struct {
	Changed int      `json:"changed" minimum:"0" doc:"Files that are new or changed."`
	Blocked []string `json:"blocked,omitempty" maxItems:"1000" doc:"Names that others obey and that it changed, so that nothing it did was kept."`
}

// RetryRequest asks for one more run of an approved call.
type RetryRequest struct {
	WithoutResult bool `json:"withoutResult,omitzero" doc:"You know that the run before has ended, though no result was reported."`
	After         *int `json:"after,omitzero" minimum:"0" doc:"How many retries it has so far (the length of its retries), so that what you send twice counts once; another number is not_claimable."`
}

// WithdrawRequest may give the reason why the approval is no longer needed.
type WithdrawRequest struct {
	Reason string `json:"reason,omitzero" doc:"Shown on the cards."`
}

// RevokeRequest may give the reason why the approval is taken back.
type RevokeRequest struct {
	Reason string `json:"reason,omitzero" doc:"Shown on the cards."`
}
