package api

import (
	"context"
	"net/http"
	"net/url"
)

// PairingCode is the answer to a request for a pairing: a code that a person sends in a
// chat, as /pair CODE, to make the chat and themselves known.
type PairingCode struct {
	ID          string `json:"id"`
	Code        string `json:"code" doc:"Eight characters of Crockford's base 32, for /pair CODE in a chat: once, and it ends with the fifth wrong one."`
	ExpiresAtMs int64  `json:"expiresAtMs"`
}

// PairingStatus is the progress of a pairing.
type PairingStatus string

// The statuses of a pairing.
const (
	PairingWaiting  PairingStatus = "waiting"
	PairingAnswered PairingStatus = "answered"
	PairingFailed   PairingStatus = "failed"
	PairingExpired  PairingStatus = "expired"
)

// Pairing is the progress of a pairing. It gives no rights: only the desk's
// configuration does.
type Pairing struct {
	ID          string        `json:"id"`
	Status      PairingStatus `json:"status" enum:"waiting,answered,failed,expired" doc:"failed: five wrong codes."`
	ExpiresAtMs int64         `json:"expiresAtMs" doc:"Until when the code can be given, and from then on until when it can be accepted."`
	Answer      *PairingWho   `json:"answer,omitzero"`
	Lines       string        `json:"lines,omitzero" doc:"What the desk's configuration lacks to let that person decide in that chat, in YAML; empty if it is complete."`
	File        string        `json:"file,omitzero" doc:"The generated configuration that accepting writes. Without it the lines are to be added by hand."`
}

// PairingWho is the person who gave the code, and the chat.
type PairingWho struct {
	Channel string `json:"channel"`
	UserID  string `json:"userId"`
	Name    string `json:"name" doc:"The account's name on the platform, which its owner chooses freely."`
	Chat    string `json:"chat" doc:"As a target is written, e.g. telegram:-1001234567890."`
	Person  string `json:"person,omitzero" doc:"Whom the configuration knows the account as."`
}

// StartPairing asks for a pairing code. Any earlier pairing ends.
func (c *Client) StartPairing(ctx context.Context) (PairingCode, error) {
	var out PairingCode
	err := c.do(ctx, call{method: http.MethodPost, path: "/v1/pairing", in: Empty{}}, &out)
	return out, err
}

// Pairing gives the progress of a pairing.
func (c *Client) Pairing(ctx context.Context, id string) (Pairing, error) {
	var out Pairing
	err := c.do(ctx, call{method: http.MethodGet, path: "/v1/pairing/" + url.PathEscape(id)}, &out)
	return out, err
}

// AcceptPairing has the desk write an answered pairing into its generated
// configuration and put that in force.
func (c *Client) AcceptPairing(ctx context.Context, id string) (Reloaded, error) {
	var out Reloaded
	err := c.do(ctx, call{method: http.MethodPost, path: "/v1/pairing/" + url.PathEscape(id) + "/accept",
		in: Empty{}}, &out)
	return out, err
}
