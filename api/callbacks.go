package api

import (
	"context"
	"net/http"
	"net/url"
)

// Callback is a call back to an owner that has not succeeded.
type Callback struct {
	ID          string `json:"id" doc:"What retry takes."`
	Code        string `json:"code" doc:"Of the approval it is about."`
	Owner       string `json:"owner" doc:"Name of the token that asked."`
	State       string `json:"state" enum:"queued,failed" doc:"failed: given up after a day, or never allowed."`
	Error       string `json:"error"`
	CreatedAtMs int64  `json:"createdAtMs"`
	NextAtMs    int64  `json:"nextAtMs,omitzero" doc:"When it is tried next."`
}

// Callbacks are calls that have not succeeded, newest first, at most 200.
type Callbacks struct {
	Items []Callback `json:"items"`
}

// Callbacks lists the calls back to owners that have not succeeded.
func (c *Client) Callbacks(ctx context.Context) (Callbacks, error) {
	var out Callbacks
	err := c.do(ctx, call{method: http.MethodGet, path: "/v1/callbacks"}, &out)
	return out, err
}

// RetryCallback has the desk retry a call that was given up, for another day.
func (c *Client) RetryCallback(ctx context.Context, id string) error {
	return c.do(ctx, call{method: http.MethodPost, path: "/v1/callbacks/" + url.PathEscape(id) + "/retry",
		in: Empty{}}, &Empty{})
}
