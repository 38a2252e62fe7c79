package api

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
)

// Empty is the body of requests that need no parameters.
type Empty struct{}

// Evaluate gives policy's answer to a call; it does not create an approval, send
// messages or ask verifiers.
func (c *Client) Evaluate(ctx context.Context, req CreateRequest) (Evaluation, error) {
	var out Evaluation
	err := c.do(ctx, call{method: http.MethodPost, path: "/v1/evaluate", in: req}, &out)
	return out, err
}

// EvaluateAll gives policy's answer to each of at most 1,000 calls of 4 MiB in all, in
// their order.
func (c *Client) EvaluateAll(ctx context.Context, calls []CreateRequest) ([]Judged, error) {
	var out Evaluations
	in := EvaluateRequest{Calls: append([]CreateRequest{}, calls...)} // an empty list, not null
	err := c.do(ctx, call{method: http.MethodPost, path: "/v1/evaluate", in: in}, &out)
	if err == nil && len(out.Results) != len(calls) {
		err = fmt.Errorf("the desk answered only %d of %d calls", len(out.Results), len(calls))
	}
	return out.Results, err
}

// Tools tells which of an agent's tools a model may be shown.
func (c *Client) Tools(ctx context.Context, req ToolsRequest) (Tools, error) {
	var out Tools
	err := c.do(ctx, call{method: http.MethodPost, path: "/v1/tools", in: req}, &out)
	return out, err
}

// TokenInfo describes an API token, without its secret.
type TokenInfo struct {
	Name    string   `json:"name" doc:"The owner of what is asked with it."`
	Scopes  []string `json:"scopes" doc:"What it may do."`
	AgentID string   `json:"agentId,omitempty" doc:"The agent that everything asked with it is of."`
	Person  string   `json:"person,omitempty" doc:"Whose token it is."`

	MayConfine bool `json:"mayConfine,omitzero" doc:"What it says of confining a call counts (context.confine)."`
}

// TokenInfo describes the client's own token and its rights.
func (c *Client) TokenInfo(ctx context.Context) (TokenInfo, error) {
	var out TokenInfo
	err := c.do(ctx, call{method: http.MethodGet, path: "/v1/token"}, &out)
	return out, err
}

// Policy gives the effective policy.
func (c *Client) Policy(ctx context.Context) (Policy, error) {
	var out Policy
	err := c.do(ctx, call{method: http.MethodGet, path: "/v1/policy"}, &out)
	return out, err
}

// Reload has the desk read its configuration again and put the policy in force,
// as a whole or not at all.
func (c *Client) Reload(ctx context.Context) (Reloaded, error) {
	var out Reloaded
	err := c.do(ctx, call{method: http.MethodPost, path: "/v1/policy/reload", in: Empty{}}, &out)
	return out, err
}

// Retry votes, as the token's person, to let an approved call run once more, and opens
// the vote on it if it is not open. Once enough people have voted so, its owner may
// claim it again.
func (c *Client) Retry(ctx context.Context, id string) (Approval, error) {
	return c.retry(ctx, id, RetryRequest{})
}

// RetryWithoutResult is Retry for a run whose result was never reported, if the token's
// person knows that it has ended.
func (c *Client) RetryWithoutResult(ctx context.Context, id string) (Approval, error) {
	return c.retry(ctx, id, RetryRequest{WithoutResult: true})
}

// retry names the run that it follows, so that it counts once even if it is sent again.
func (c *Client) retry(ctx context.Context, id string, in RetryRequest) (Approval, error) {
	a, err := c.Get(ctx, id, 0)
	if err != nil {
		return Approval{}, err
	}
	in.After = new(len(a.Retries))
	return post[Approval](ctx, c, id, "retry", in)
}

// GrantFilter selects grants for [Client.Grants]. Empty fields select everything.
type GrantFilter struct {
	Owner, AgentID, SessionKey string
}

// Grants lists the grants and cool-downs in force, newest first.
func (c *Client) Grants(ctx context.Context, f GrantFilter) (Grants, error) {
	q := url.Values{}
	for k, v := range map[string]string{"owner": f.Owner, "agentId": f.AgentID, "sessionKey": f.SessionKey} {
		if v != "" {
			q.Set(k, v)
		}
	}
	var out Grants
	err := c.do(ctx, call{method: http.MethodGet, path: "/v1/grants", query: q}, &out)
	return out, err
}

// AddGrant stores an operator's pattern, or with Preview only shows what it would
// have allowed.
func (c *Client) AddGrant(ctx context.Context, req GrantRequest) (GrantPreview, error) {
	var out GrantPreview
	err := c.do(ctx, call{method: http.MethodPost, path: "/v1/grants", in: req}, &out)
	return out, err
}

// EndGrant ends one grant.
func (c *Client) EndGrant(ctx context.Context, id string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: "/v1/grants/" + segment(id)}, &Ended{})
}

// EndSession ends all grants of a session and gives how many there were.
func (c *Client) EndSession(ctx context.Context, sessionKey string) (int, error) {
	var out Ended
	err := c.do(ctx, call{method: http.MethodDelete, path: "/v1/sessions/" + segment(sessionKey) + "/grants"}, &out)
	return out.Ended, err
}
