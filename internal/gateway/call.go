package gateway

import (
	"context"
	"encoding/json"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// call is one request of a client whose token is known.
type call struct {
	*conn
	ctx    context.Context
	who    core.Caller // with the token's present rights
	id     json.RawMessage
	params json.RawMessage
}

// method serves one request. Its payload is the answer.
type method func(*call) (any, error)

// with makes a method of a function that takes decoded params.
func with[In any](serve func(*call, In) (any, error)) method {
	return func(c *call) (any, error) {
		in, err := decode[In](c.params)
		if err != nil {
			return nil, err
		}
		return serve(c, in)
	}
}

// operator returns an error if the caller may not decide.
func (c *call) operator() error {
	if !c.who.MayDecide {
		return approval.Refuse(approval.CodeForbidden, "missing scope: operator.approvals")
	}
	return nil
}

// one names an approval.
type one struct {
	ID string `json:"id"`
}

// find gives the approval that the caller means: its own by its id, for
// operators also any by id, code or the prefix of a server's id.
func (c *call) find(id string) (approval.Approval, error) {
	if !approval.ValidID(id) {
		return approval.Approval{}, approval.Refuse(approval.CodeNotFound, "There is no such approval.")
	}
	return c.g.cfg.Gate.Get(c.ctx, c.who, id)
}
