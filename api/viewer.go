package api

import (
	"context"
	"net/http"
)

// ViewerTokenRequest names the session that the token's holder may look at.
type ViewerTokenRequest struct {
	SessionKey string `json:"sessionKey" doc:"One of your own sessions."`
}

// ViewerToken is what an <approval-dialog> in a web page shows to see which approvals of a
// session are pending. It gives no other access, and expires by itself.
type ViewerToken struct {
	Token       string `json:"token"`
	ExpiresAtMs int64  `json:"expiresAtMs"`
}

// ViewerToken asks for a token whose holder may see which approvals of a session of
// this token's are pending.
func (c *Client) ViewerToken(ctx context.Context, sessionKey string) (ViewerToken, error) {
	var t ViewerToken
	err := c.do(ctx, call{method: http.MethodPost, path: "/v1/viewer-tokens",
		in: ViewerTokenRequest{SessionKey: sessionKey}}, &t)
	return t, err
}
