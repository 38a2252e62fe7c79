package gateway

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"approvalbot/api"
	"approvalbot/internal/approval"
	"approvalbot/internal/platform"
	"approvalbot/internal/server/view"
)

// execAsk is a request of exec's clients. Members that the desk does not use
// are listed only so that they are not refused: they change neither who is
// asked nor what may run.
type execAsk struct {
	ID            string            `json:"id"`
	Command       string            `json:"command"`
	CommandArgv   []string          `json:"commandArgv"`
	SystemRunPlan json.RawMessage   `json:"systemRunPlan"`
	Env           map[string]string `json:"env"`
	Cwd           string            `json:"cwd"`
	NodeID        string            `json:"nodeId"`
	Host          string            `json:"host"`
	Security      string            `json:"security"` // may only tighten
	Ask           string            `json:"ask"`      // may only tighten
	WarningText   string            `json:"warningText"`
	Scope         string            `json:"scope"`
	AgentID       string            `json:"agentId"`
	SessionKey    string            `json:"sessionKey"`
	Requester     *api.Requester    `json:"requester"` // the human who asked the agent
	TimeoutMs     *int64            `json:"timeoutMs"`
	TwoPhase      bool              `json:"twoPhase"`

	TurnSourceChannel  string          `json:"turnSourceChannel"`
	TurnSourceTo       string          `json:"turnSourceTo"`
	TurnSourceThreadID json.RawMessage `json:"turnSourceThreadId"`

	TurnSourceAccountID          string          `json:"turnSourceAccountId"`
	UnavailableDecisions         []string        `json:"unavailableDecisions"`
	CommandSpans                 json.RawMessage `json:"commandSpans"`
	ResolvedPath                 string          `json:"resolvedPath"`
	SessionID                    string          `json:"sessionId"`
	RunID                        string          `json:"runId"`
	ToolCallID                   string          `json:"toolCallId"`
	ApprovalReviewerDeviceIDs    []string        `json:"approvalReviewerDeviceIds"`
	RequireDeliveryRoute         bool            `json:"requireDeliveryRoute"`
	SuppressDelivery             bool            `json:"suppressDelivery"`
	DeliverToApprovalClientsOnly bool            `json:"deliverToApprovalClientsOnly"`
}

func execRequest(c *call, in execAsk) (any, error) {
	asked, err := in.call()
	if err != nil {
		return nil, err
	}
	out, err := c.ask(&asked, in.TwoPhase, execWords)
	return out, inExecWords(err)
}

// call maps the request to tool exec. If the request has an argv, that is what
// runs.
func (in execAsk) call() (approval.Call, error) {
	if err := in.mergePlan(); err != nil {
		return approval.Call{}, err
	}
	params := map[string]any{}
	set := func(name, value string) {
		if value != "" {
			params[name] = value
		}
	}
	switch {
	case in.CommandArgv == nil:
		set("command", in.Command)
	case in.Command != "" && !saysTheSame(in.Command, in.CommandArgv):
		return approval.Call{}, approval.Invalid(approval.FieldError{Field: "command",
			Problem: "must be the same command as commandArgv, or be left out"})
	default:
		params["argv"] = in.CommandArgv
	}
	set("workdir", in.Cwd)
	set("host", in.Host)
	set("security", in.Security)
	set("ask", in.Ask)
	if len(in.Env) > 0 {
		params["env"] = in.Env
	}
	body, err := json.Marshal(params)
	if err != nil {
		return approval.Call{}, err
	}
	call := approval.Call{ToolName: "exec", Params: body, Dialect: approval.DialectExec, ID: in.ID, AgentID: in.AgentID,
		SessionKey: in.SessionKey,
		Requester:  view.RequesterOf(in.Requester), Justification: in.WarningText, ActionSummary: in.Scope}
	if in.NodeID != "" {
		call.Bind = &approval.Bind{Host: new(in.NodeID)}
	}
	if in.TimeoutMs != nil {
		if *in.TimeoutMs < 1 {
			return approval.Call{}, approval.Invalid(approval.FieldError{Field: "timeoutMs", Problem: "must be at least 1"})
		}
		call.TimeoutMs = *in.TimeoutMs
	}
	call.Origin, err = in.origin()
	return call, err
}

// mergePlan takes a plan's argv and directory, and refuses a plan that differs
// from the request: people must see the call that runs.
func (in *execAsk) mergePlan() error {
	if len(in.SystemRunPlan) == 0 || string(in.SystemRunPlan) == "null" {
		return nil
	}
	bad := approval.Invalid(approval.FieldError{Field: "systemRunPlan",
		Problem: "must be an object, and its argv, cwd, agentId and sessionKey must equal those of the request"})
	var plan map[string]json.RawMessage // by exact names: encoding/json would fold case in a struct
	if json.Unmarshal(in.SystemRunPlan, &plan) != nil {
		return bad
	}
	var argv []string
	if raw, ok := plan["argv"]; ok && json.Unmarshal(raw, &argv) != nil {
		return bad
	}
	if argv != nil && in.CommandArgv != nil && !slices.Equal(argv, in.CommandArgv) {
		return bad
	}
	if in.CommandArgv == nil {
		in.CommandArgv = argv
	}
	for name, field := range map[string]*string{"cwd": &in.Cwd, "agentId": &in.AgentID, "sessionKey": &in.SessionKey} {
		var s string
		if raw, ok := plan[name]; ok && json.Unmarshal(raw, &s) != nil {
			return bad
		}
		if s != "" && *field != "" && s != *field {
			return bad
		}
		if *field == "" {
			*field = s
		}
	}
	return nil
}

// origin is the chat that the turn came from, if the desk knows its platform; else
// nil.
func (in execAsk) origin() (*approval.Target, error) {
	on := platform.ByName(in.TurnSourceChannel)
	if in.TurnSourceTo == "" || on == nil {
		return nil, nil
	}
	t := approval.Target{Channel: in.TurnSourceChannel}
	to := strings.TrimPrefix(in.TurnSourceTo, in.TurnSourceChannel+":")
	to, t.ThreadID, _ = strings.Cut(to, ":topic:")
	kind, id, marked := strings.Cut(to, ":")
	switch {
	case !marked || kind == "dm":
		t.To = to
	case kind == "user":
		t.To = on.Private(id)
	default:
		t.To = id // channel:1, group:1
	}
	if raw := string(in.TurnSourceThreadID); raw != "" && raw != "null" {
		t.ThreadID = strings.Trim(raw, `"`)
	}
	if t.Normal().Validate() != nil {
		return nil, approval.Invalid(approval.FieldError{Field: "turnSourceTo",
			Problem: "and turnSourceThreadId must be numeric ids on " + platform.List("or")})
	}
	return &t, nil
}

// inExecWords names the fields of a refusal as exec's clients do.
func inExecWords(err error) error {
	e, ok := errors.AsType[*approval.Error](err)
	if !ok || len(e.Fields) == 0 {
		return err
	}
	fields := slices.Clone(e.Fields)
	for i, f := range fields {
		name := strings.TrimPrefix(f.Field, "params.")
		fields[i].Problem = strings.ReplaceAll(f.Problem, "params.argv", "commandArgv")
		switch name {
		case "argv":
			name = "commandArgv"
		case "workdir":
			name = "cwd"
		case "justification":
			name = "warningText"
		case "id":
			return &refusal{Code: invalidRequest, Message: "id " + f.Problem,
				Details: &details{Reason: "INVALID_APPROVAL_ID", Code: "EXEC_APPROVAL_ID_INVALID"}}
		}
		fields[i].Field = name
	}
	return approval.Invalid(fields...)
}

// execVerdict is an operator's decision in exec's words. The token's person
// decides; a reviewer that the client names is ignored.
type execVerdict struct {
	verdict
	Reviewer           json.RawMessage `json:"reviewer"`
	GrantExpiresInDays *int            `json:"grantExpiresInDays"`
}

func execResolve(c *call, in execVerdict) (any, error) {
	if in.GrantExpiresInDays != nil && approval.Decision(in.Decision) == approval.AllowAlways {
		return nil, approval.Invalid(approval.FieldError{Field: "grantExpiresInDays",
			Problem: "is not served here: decide allow-session, which ends by itself, or end the grant later"})
	}
	return resolve(c, in.verdict)
}
