package api

import (
	"context"
	"net/http"
)

// LoginRequest names the person that a login link is to sign in.
type LoginRequest struct {
	Person string `json:"person,omitzero" doc:"Left out: the token's own person."`
	Enrol  bool   `json:"enrol,omitzero" doc:"The session may enrol a first passkey; only with operator.admin."`
}

// LoginLink signs one person in to the desk's pages, once and within five minutes.
// Anyone who opens it and clicks is signed in as that person.
type LoginLink struct {
	URL         string `json:"url"`
	ExpiresAtMs int64  `json:"expiresAtMs"`
}

// LoginLink makes a login link: for the token's own person, or with operator.admin for
// any person.
func (c *Client) LoginLink(ctx context.Context, r LoginRequest) (LoginLink, error) {
	var out LoginLink
	err := c.do(ctx, call{method: http.MethodPost, path: "/v1/login-links", in: r}, &out)
	return out, err
}
