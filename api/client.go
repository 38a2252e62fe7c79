package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ErrNotReached is wrapped by every error of a request that the desk did not answer.
var ErrNotReached = errors.New("was not reached")

// ErrNotBelieved is wrapped by every error of an answer that is not the desk's own:
// [Client.Believe] refused the claim, or [Client.HTTP] found that it was connected to
// another program.
var ErrNotBelieved = errors.New("not believed")

// Client speaks to one desk with one token. Its methods return a *Problem if the
// desk refused (errors.As), [ErrNotReached] if it was not reached, and any other
// error if its answer was not understood. No error carries the token. Safe for
// concurrent use.
type Client struct {
	Server string       // base URL, e.g. http://127.0.0.1:8787
	Token  string       // bearer token
	HTTP   *http.Client // nil means one that follows no redirects

	// Believe, if not nil, checks each claim before it is given to the caller: if it returns
	// an error, the caller gets that error and no claim. It gets the call that the caller
	// asked for, so [CreateOptions].ClaimID, and ToolName, Params and ClaimID of a
	// [ClaimRequest], must be given: without them the call is not claimed.
	Believe func(ctx context.Context, asked Asked, claim Claim) error
}

// Asked is the call that a program asked for, with the id of its claim.
type Asked struct {
	ToolName string
	Params   json.RawMessage
	Bind     *Bind // nil if the call was asked without one
	ClaimID  string
	Confine  []string // by which profiles it said that it confines the call; see [Confined]
}

// CreateOptions selects what [Client.Create] waits for.
type CreateOptions struct {
	Wait    time.Duration // wait so long for the end (the desk clamps it to a minute); 0 means no wait
	Claim   bool          // claim it at once if it is approved in that time
	ClaimID string        // with Claim: names the claim, so that a lost answer can be asked for again
	// Resume, with Claim: an approved call that is the same, of the same session, answers too
	// if it is not claimed yet. So a program that stopped waiting collects an approval that
	// was granted afterwards. It can be claimed once.
	Resume bool
}

// Query gives the options as the query of POST /v1/approvals.
func (o CreateOptions) Query() url.Values {
	q := waitQuery(o.Wait)
	if !o.Claim {
		return q
	}
	q.Set("claim", "1")
	if o.ClaimID != "" {
		q.Set("claimId", o.ClaimID)
	}
	if o.Resume {
		q.Set("resume", "1")
	}
	return q
}

// Filter selects approvals for [Client.List]. Empty fields select everything.
type Filter struct {
	Status     Status
	AgentID    string
	SessionKey string
	ToolName   string
	Round      bool   // only approved calls with an open retry round
	Limit      int    // 1 to 200; 0 means 50
	Cursor     string // NextCursor of the previous page
}

// Lingering gives a context that ends only so long after ctx does, or at leave. A request to create something goes on
// with it when its asker is interrupted: it may be stored by then, and its answer tells which approval to withdraw.
func Lingering(ctx context.Context, more time.Duration) (lingering context.Context, leave context.CancelFunc) {
	lingering, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(more, cancel) })
	return lingering, func() { stop(); cancel() }
}

// Create asks for one call. The same own id, or the same call of the same session
// while it is pending, gives the existing approval. If ctx ends before the answer,
// the request may be stored all the same: see [Lingering].
func (c *Client) Create(ctx context.Context, req CreateRequest, opts CreateOptions) (Approval, error) {
	asked := Asked{ToolName: req.ToolName, Params: req.Params, Bind: req.Bind, ClaimID: opts.ClaimID}
	if req.Context != nil {
		asked.Confine = req.Context.Confine
	}
	if err := c.told(asked); opts.Claim && err != nil {
		return Approval{}, err
	}
	var a Approval
	err := c.do(ctx, call{method: http.MethodPost, path: "/v1/approvals", large: "/hooks/approvals", query: opts.Query(),
		in: req, wait: opts.Wait}, &a)
	switch {
	case err != nil:
		return a, err
	case !opts.Claim:
		a.Claim = nil // it was not asked for
	case a.Claim != nil:
		if err := c.believed(ctx, asked, *a.Claim); err != nil {
			return Approval{}, err
		}
	}
	return a, nil
}

// told reports whether the call has all that [Client.Believe] needs.
func (c *Client) told(asked Asked) error {
	if c.Believe != nil && (asked.ToolName == "" || len(asked.Params) == 0 || asked.ClaimID == "") {
		return fmt.Errorf("the call was not claimed, because the answer would be %w: this program must name the call "+
			"that it asked for, and its claimId; ask again for the call", ErrNotBelieved)
	}
	return nil
}

func (c *Client) believed(ctx context.Context, asked Asked, claim Claim) error {
	if how := claim.Confined; how != nil && !slices.Contains(asked.Confine, how.Profile) {
		return fmt.Errorf("the claim is %w: the desk lets the call run only confined, but this program did not ask "+
			"for that", ErrNotBelieved)
	}
	if c.Believe == nil {
		return nil
	}
	if err := c.Believe(ctx, asked, claim); err != nil {
		return fmt.Errorf("the claim is %w: %w", ErrNotBelieved, err)
	}
	return nil
}

// Get gives one approval. If wait is not 0, it blocks until the approval ends,
// for that time at most, and never longer than a minute.
func (c *Client) Get(ctx context.Context, id string, wait time.Duration) (Approval, error) {
	var a Approval
	err := c.do(ctx, call{method: http.MethodGet, path: approvalPath(id, ""), query: waitQuery(wait), wait: wait}, &a)
	a.Claim = nil // reading an approval does not hand out its call
	return a, err
}

// List gives one page of approvals, newest first: your own, or all with the
// scope operator.approvals.
func (c *Client) List(ctx context.Context, f Filter) (List, error) {
	q := url.Values{}
	for k, v := range map[string]string{
		"status": string(f.Status), "agentId": f.AgentID, "sessionKey": f.SessionKey, "toolName": f.ToolName,
		"cursor": f.Cursor,
	} {
		if v != "" {
			q.Set(k, v)
		}
	}
	if f.Round {
		q.Set("round", "open")
	}
	if f.Limit != 0 {
		q.Set("limit", strconv.Itoa(f.Limit))
	}
	var l List
	err := c.do(ctx, call{method: http.MethodGet, path: "/v1/approvals", query: q}, &l)
	return l, err
}

// Resolve votes as the token's person.
func (c *Client) Resolve(ctx context.Context, id string, req ResolveRequest) (Approval, error) {
	if req.Decision == Retry && req.After == nil {
		a, err := c.Get(ctx, id, 0)
		if err != nil {
			return Approval{}, err
		}
		req.After = new(len(a.Retries))
	}
	return post[Approval](ctx, c, id, "resolve", req)
}

// Withdraw ends a pending approval that is no longer needed.
func (c *Client) Withdraw(ctx context.Context, id string, req WithdrawRequest) (Approval, error) {
	return post[Approval](ctx, c, id, "withdraw", req)
}

// Claim fetches an approved call, once, right before it runs.
func (c *Client) Claim(ctx context.Context, id string, req ClaimRequest) (Claim, error) {
	asked := Asked{ToolName: req.ToolName, Params: req.Params, Bind: req.Bind, ClaimID: req.ClaimID, Confine: req.Confine}
	if err := c.told(asked); err != nil {
		return Claim{}, err
	}
	var got Claim
	path := approvalPath(id, "claim")
	what := call{method: http.MethodPost, path: path, large: "/hooks" + strings.TrimPrefix(path, "/v1"), in: req}
	err := c.do(ctx, what, &got)
	if err == nil {
		err = c.believed(ctx, asked, got)
	}
	if err != nil {
		return Claim{}, err
	}
	return got, nil
}

// Revoke takes an approved, unclaimed approval back.
func (c *Client) Revoke(ctx context.Context, id string, req RevokeRequest) (Approval, error) {
	return post[Approval](ctx, c, id, "revoke", req)
}

// Result tells how the execution went, once, after the claim.
func (c *Client) Result(ctx context.Context, id string, req ResultRequest) (Approval, error) {
	return post[Approval](ctx, c, id, "result", req)
}

// Ready gives the desk's state, whether it is ready or not.
func (c *Client) Ready(ctx context.Context) (Ready, error) {
	var r Ready
	err := c.do(ctx, call{method: http.MethodGet, path: "/readyz", accept: http.StatusServiceUnavailable}, &r)
	return r, err
}

// DeskKeys gives the public keys by which clients recognize the desk. It needs no token.
func (c *Client) DeskKeys(ctx context.Context) (DeskKeys, error) {
	var k DeskKeys
	err := c.do(ctx, call{method: http.MethodGet, path: "/.well-known/approvalbot-keys"}, &k)
	return k, err
}

func post[T any](ctx context.Context, c *Client, id, verb string, in any) (T, error) {
	var out T
	err := c.do(ctx, call{method: http.MethodPost, path: approvalPath(id, verb), in: in}, &out)
	return out, err
}

func approvalPath(id, verb string) string {
	p := "/v1/approvals/" + url.PathEscape(id)
	if verb != "" {
		p += "/" + verb
	}
	return p
}

func waitQuery(wait time.Duration) url.Values {
	q := url.Values{}
	if wait > 0 {
		q.Set("wait", wait.String())
	}
	return q
}
