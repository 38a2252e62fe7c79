package core

import (
	"slices"
	"strings"
)

// askedBy is the call with what its token says of it.
func (c Call) askedBy(who Caller) Call {
	c.Owner = who.Token
	if c.TokensAgent = who.AgentID != ""; c.TokensAgent {
		c.AgentID = who.AgentID
	}
	if r := c.Requester; r != nil {
		normal := *r
		normal.UserID = normalID(r.UserID)
		c.Requester = &normal
	}
	return c
}

// admit checks a call before anybody judges it, and gives its canonical form.
func admit(who Caller, call Call, rules *Rules) (sealed Sealed, err error) {
	bad := call.validate()
	if len(call.Params) > 0 {
		if sealed, err = Canonical(call.ToolName, call.Params, call.Bind); err != nil {
			bad = append(bad, FieldError{"params", err.Error()})
		} else if call.ToolName == "exec" {
			e, wrong := ParseExec(call.Params)
			sealed.exec, bad = &e, append(bad, wrong...)
		}
	}
	switch {
	case call.CallbackURL == "" || !validCallback(call.CallbackURL):
	case who.Callbacks == NoCallbacks:
		bad = append(bad, FieldError{"callbackUrl", "needs a token with a callbackSecret, which signs the call"})
	case who.Callbacks == SecureCallbacks && !strings.HasPrefix(call.CallbackURL, "https:"):
		bad = append(bad, FieldError{"callbackUrl", "must be https here"})
	}
	if who.RequireRequester && call.Requester == nil {
		bad = append(bad, FieldError{"requester",
			"must say which human asked the agent, as {channel, userId} or {person}: this token has requireRequester"})
	}
	if r := call.Requester; r != nil && r.Person != "" && !rules.People.Known(r.Person) {
		bad = append(bad, FieldError{"requester.person", "is not a configured person"})
	}
	if len(bad) > 0 {
		return sealed, Invalid(bad...)
	}
	if len(sealed.Bytes) > MaxParams {
		return sealed, Refuse(CodePayloadTooLarge, "The call is larger than %d bytes.", MaxParams)
	}
	if o := call.Origin; o != nil && !rules.Router.Names(*o) &&
		!slices.ContainsFunc(who.SessionChats, func(t Target) bool { return t.Names(*o) }) {
		return sealed, Refuse(CodeOriginNotAllowed,
			"This token may not name that chat as its origin: neither its sessionChats nor the routing targets do.")
	}
	return sealed, nil
}
