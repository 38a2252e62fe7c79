package core

import (
	"slices"
	"strings"

	"approvalbot/internal/approval"
)

// askedBy is the call with what its token says of it.
func askedBy(c approval.Call, who Caller) approval.Call {
	c.Owner = who.Token
	if c.TokensAgent = who.AgentID != ""; c.TokensAgent {
		c.AgentID = who.AgentID
	}
	if !who.MayConfine || c.Context.Confine != approval.ConfineV1 {
		c.Context.Confine = ""
	}
	if r := c.Requester; r != nil {
		normal := *r
		normal.UserID = approval.NormalID(r.UserID)
		c.Requester = &normal
	}
	return c
}

// admit checks a call before it is judged, and gives its canonical form.
func admit(who Caller, call approval.Call, rules *Rules) (sealed approval.Sealed, err error) {
	bad := call.Validate()
	if len(call.Params) > 0 {
		if sealed, err = approval.Canonical(call.ToolName, call.Params, call.Bind); err != nil {
			bad = append(bad, approval.FieldError{Field: "params", Problem: err.Error()})
		} else if call.ToolName == "exec" {
			e, wrong := approval.ParseExec(call.Params)
			sealed.Exec, bad = &e, append(bad, wrong...)
		}
	}
	switch {
	case call.CallbackURL == "" || !approval.ValidCallback(call.CallbackURL):
	case who.Callbacks == NoCallbacks:
		bad = append(bad, approval.FieldError{Field: "callbackUrl", Problem: "needs a token with a callbackSecret, " +
			"by which the desk signs the callback"})
	case who.Callbacks == SecureCallbacks && !strings.HasPrefix(call.CallbackURL, "https:"):
		bad = append(bad, approval.FieldError{Field: "callbackUrl", Problem: "must begin with https, because this " +
			"token sends callbacks over https only"})
	}
	if who.RequireRequester && call.Requester == nil {
		bad = append(bad, approval.FieldError{Field: "requester",
			Problem: "must name the human who asked the agent, as {channel, userId} or {person}, because this token " +
				"has requireRequester"})
	}
	if r := call.Requester; r != nil && r.Person != "" && !rules.People.Known(r.Person) {
		bad = append(bad, approval.FieldError{Field: "requester.person", Problem: "is not a person in the desk's " +
			"configuration"})
	}
	if len(bad) > 0 {
		return sealed, approval.Invalid(bad...)
	}
	if len(sealed.Bytes) > approval.MaxParams {
		return sealed, approval.Refuse(approval.CodePayloadTooLarge, "The call is larger than %d bytes.", approval.MaxParams)
	}
	if o := call.Origin; o != nil && !rules.Router.Names(*o) &&
		!slices.ContainsFunc(who.SessionChats, func(t approval.Target) bool { return t.Names(*o) }) {
		return sealed, approval.Refuse(approval.CodeOriginNotAllowed,
			"This token may not give that chat as the origin: the chat is neither in the token's sessionChats nor in "+
				"the routing targets.")
	}
	return sealed, nil
}
