package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/server/auth"
)

// The protocol versions of existing clients that this gateway speaks.
const (
	minProtocol = 3
	maxProtocol = 4
)

// greeting is the params of connect. A client's description of itself is
// accepted but not trusted: its rights are its token's.
type greeting struct {
	MinProtocol *int                       `json:"minProtocol"`
	MaxProtocol *int                       `json:"maxProtocol"`
	Client      map[string]json.RawMessage `json:"client"`
	Role        string                     `json:"role"`
	Scopes      []string                   `json:"scopes"`
	Caps        []string                   `json:"caps"`
	Commands    []string                   `json:"commands"`
	Permissions map[string]bool            `json:"permissions"`
	PathEnv     string                     `json:"pathEnv"`
	Locale      string                     `json:"locale"`
	UserAgent   string                     `json:"userAgent"`
	Device      map[string]json.RawMessage `json:"device"`
	Auth        map[string]json.RawMessage `json:"auth"`
	LastSeq     *int64                     `json:"lastSeq"` // resume after this number of the log
}

// hello is the payload that answers connect. Existing clients know no other members.
type hello struct {
	Type     string   `json:"type"`
	Protocol int      `json:"protocol"`
	Server   about    `json:"server"`
	Features features `json:"features"`
	Snapshot snapshot `json:"snapshot"`
	Auth     rights   `json:"auth"`
	Policy   limits   `json:"policy"`
}

type about struct {
	Version string `json:"version"`
	ConnID  string `json:"connId"`
}

type features struct {
	Methods []string `json:"methods"`
	Events  []string `json:"events"`
}

type snapshot struct {
	Presence     []string         `json:"presence"`
	Health       map[string]bool  `json:"health"`
	StateVersion map[string]int64 `json:"stateVersion"`
	UptimeMs     int64            `json:"uptimeMs"`
}

type rights struct {
	Role   string   `json:"role"`
	Scopes []string `json:"scopes"`
}

type limits struct {
	MaxPayload       int   `json:"maxPayload"`
	MaxBufferedBytes int   `json:"maxBufferedBytes"`
	TickIntervalMs   int64 `json:"tickIntervalMs"`
}

// greet challenges the client and takes its first request, which must be
// connect. at is the number of the log after which its events begin; when ok is
// false, the connection is being closed with a reason.
func (c *conn) greet() (at int64, ok bool) {
	c.event("connect.challenge", map[string]any{"nonce": uuid.NewString(), "ts": time.Now().UnixMilli()})
	late := time.AfterFunc(c.g.pace.connect, func() {
		c.end(websocket.StatusPolicyViolation, "no connect request arrived in time")
	})
	defer late.Stop()
	kind, frame, err := c.ws.Read(context.Background())
	if err != nil || kind != websocket.MessageText {
		c.end(websocket.StatusPolicyViolation, "the first frame must be the request connect")
		return 0, false
	}
	req, id, err := parse(frame)
	if err == nil && req.Method != "connect" {
		err = approval.Invalid(approval.FieldError{Field: "method", Problem: "of the first request must be connect"})
	}
	var answer hello
	if err == nil {
		answer, at, err = c.welcome(req.Params)
	}
	if err != nil {
		r := refused(err, c.g.log, "connect", "")
		c.send(response{Type: "res", ID: id, Error: r})
		c.end(closeCode(r), r.Message[:min(len(r.Message), 120)])
		return 0, false
	}
	c.answer(id, answer)
	c.event("connect.ready", map[string]int64{"lastSeq": at})
	return at, true
}

func closeCode(r *refusal) websocket.StatusCode {
	switch {
	case r.Details != nil && r.Details.ExpectedProtocol != 0:
		return websocket.StatusProtocolError
	case r.Code == unavailable:
		return websocket.StatusTryAgainLater
	}
	return websocket.StatusPolicyViolation
}

// welcome checks a connect request and says hello. at is the number of the log
// after which its events begin.
func (c *conn) welcome(params json.RawMessage) (h hello, at int64, err error) {
	in, err := decode[greeting](params)
	if err != nil {
		return h, 0, err
	}
	protocol, err := in.protocol()
	if err != nil {
		return h, 0, err
	}
	if in.Role != "" && in.Role != "operator" {
		return h, 0, approval.Invalid(approval.FieldError{Field: "role",
			Problem: "must be operator; this gateway serves no other"})
	}
	who, err := c.authenticate(in.Auth)
	if err != nil {
		return h, 0, err
	}
	if at, err = c.g.cfg.Feed.Head(c.ctx); err != nil {
		return h, 0, err
	}
	if last := in.LastSeq; last != nil {
		if *last < 0 || *last > at {
			return h, 0, approval.Invalid(approval.FieldError{Field: "lastSeq",
				Problem: "must be the seq of an event of this desk, or 0"})
		}
		at = *last
	}
	return hello{
		Type: "hello-ok", Protocol: protocol, Server: about{c.g.cfg.Version, c.id},
		Features: features{methodNames(), eventNames},
		Snapshot: snapshot{Presence: []string{}, Health: map[string]bool{"ok": true},
			StateVersion: map[string]int64{"presence": 0, "health": 0},
			UptimeMs:     time.Since(c.g.started).Milliseconds()},
		Auth:   rights{"operator", auth.ScopesOf(who)},
		Policy: limits{maxPayload, maxPayload * maxQueued, c.g.pace.tick.Milliseconds()},
	}, at, nil
}

// protocol picks the newest version that both sides speak.
func (in greeting) protocol() (int, error) {
	var bad []approval.FieldError
	for name, v := range map[string]*int{"minProtocol": in.MinProtocol, "maxProtocol": in.MaxProtocol} {
		if v == nil || *v < 1 {
			bad = append(bad, approval.FieldError{Field: name, Problem: "is required and must be a positive whole number"})
		}
	}
	if len(bad) > 0 {
		return 0, approval.Invalid(bad...)
	}
	p := min(*in.MaxProtocol, maxProtocol)
	if p < max(*in.MinProtocol, minProtocol) {
		return 0, &refusal{Code: invalidRequest, Message: fmt.Sprintf("protocol mismatch: this gateway speaks %d "+
			"to %d", minProtocol, maxProtocol),
			Details: &details{Reason: "PROTOCOL_MISMATCH", Code: "PROTOCOL_MISMATCH", ExpectedProtocol: maxProtocol}}
	}
	return p, nil
}

// authenticate takes auth.token only: no password, no device key.
func (c *conn) authenticate(given map[string]json.RawMessage) (core.Caller, error) {
	var secret string
	if json.Unmarshal(given["token"], &secret) != nil || secret == "" {
		return core.Caller{}, stop(invalidRequest, "UNAUTHORIZED", "AUTH_TOKEN_MISSING",
			"unauthorized: send an API token as auth.token")
	}
	c.token = auth.Hash(secret)
	who, err := c.g.cfg.Server.Tokens.Admit(c.token)
	if approval.CodeOf(err) == approval.CodeUnauthorized {
		return who, stop(invalidRequest, "UNAUTHORIZED", "AUTH_TOKEN_MISMATCH",
			"unauthorized: the desk does not know this API token")
	}
	if err == nil && !who.MayRequest && !who.MayDecide {
		err = stop(forbidden, "MISSING_SCOPE", "AUTH_SCOPE_MISMATCH", "This token may not connect: it needs the scope "+
			"operator.approvals or approvals.request.")
	}
	return who, err
}

// stop refuses a connect request for good: its code makes existing clients give
// up instead of reconnecting for ever.
func stop(code, reason, detail, message string) *refusal {
	return &refusal{Code: code, Message: message, Details: &details{Reason: reason, Code: detail}}
}
