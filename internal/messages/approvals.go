package messages

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"approvalbot/api"
)

// Approvals is the approval desk with the rights of one token. A refusal is an
// *api.Problem; any other error is a fault, and ends the whole step.
type Approvals interface {
	// Ask asks for one call. The same id with the same call gives the existing
	// approval. With MustAsk only a person's yes allows it.
	Ask(ctx context.Context, req api.CreateRequest) (api.Approval, error)
	// Look gives one approval: to its owner by the owner's id, to operators any
	// approval.
	Look(ctx context.Context, id string) (Look, error)
	// Decides reports whether the token is an operator's with a person behind it.
	// If it is not, decisions in messages are ignored and Vote is not called.
	Decides() bool
	// Vote votes as the token's person, under every rule of a tap.
	Vote(ctx context.Context, id string, d api.Decision, reason string) error
	// Claim hands an approved call to its owner, once.
	Claim(ctx context.Context, id, claimID string) (api.Claim, error)
}

// Look is an approval with the call that it is about.
type Look struct {
	Approval api.Approval
	// Params are the stored params, whole. They are compared, never given out.
	// They are nil if they are not available; then messages can only cancel a
	// request that has a redacted part.
	Params json.RawMessage
}

// Remote is the desk behind an API client, for agents and backends that speak to
// approvalbot over HTTP. decides says that the client's token is an operator's
// with a person, and that decisions in messages are that person's own.
func Remote(c *api.Client, decides bool) Approvals { return remote{c, decides} }

type remote struct {
	client  *api.Client
	decides bool
}

func (r remote) Decides() bool { return r.decides }

func (r remote) Ask(ctx context.Context, req api.CreateRequest) (api.Approval, error) {
	return r.client.Create(ctx, req, api.CreateOptions{})
}

func (r remote) Look(ctx context.Context, id string) (Look, error) {
	a, err := r.client.Get(ctx, id, 0)
	return Look{Approval: a}, err
}

func (r remote) Vote(ctx context.Context, id string, d api.Decision, reason string) error {
	_, err := r.client.Resolve(ctx, id, api.ResolveRequest{Decision: d, Reason: reason})
	return err
}

func (r remote) Claim(ctx context.Context, id, claimID string) (api.Claim, error) {
	return r.client.Claim(ctx, id, api.ClaimRequest{ClaimID: claimID})
}

// problemOf gives the refusal in an error, or nil if it is a fault.
func problemOf(err error) *api.Problem {
	var p *api.Problem
	if errors.As(err, &p) {
		return p
	}
	return nil
}

// sentence words a refusal, with its fields.
func sentence(p *api.Problem) string {
	if len(p.Fields) == 0 {
		return p.Detail
	}
	words := make([]string, len(p.Fields))
	for i, f := range p.Fields {
		words[i] = f.Field + " " + f.Problem
	}
	return strings.Join(words, "; ")
}

// invalid refuses a request for one of its fields. It never carries a value.
func invalid(field, problem string) error {
	return &api.Problem{Type: "urn:approvalbot:problem:invalid_request", Title: "Invalid request", Status: 422,
		Detail: field + " " + problem, Code: "invalid_request", Fields: []api.Field{{Field: field, Problem: problem}}}
}
