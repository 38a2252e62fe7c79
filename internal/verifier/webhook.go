package verifier

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"approvalbot/internal/approval"
)

// signatureHeader carries the hex HMAC-SHA256 of the raw body.
const signatureHeader = "X-OpenClaw-Signature"

// endpoint is one webhook.
type endpoint struct {
	name    string // the configuration block that it comes from
	url     string
	timeout time.Duration
	headers map[string]string
	secret  []byte
	cache   *cache
}

func newEndpoint(w Webhook, name string) *endpoint {
	return &endpoint{
		name: name, url: w.URL, timeout: time.Duration(cmp.Or(w.Timeout, defaultTimeout)) * time.Second,
		headers: w.Headers, secret: []byte(w.Secret), cache: newCache(time.Duration(w.CacheTTL) * time.Second),
	}
}

// question is the body of a request, version 1.
type question struct {
	Version   int             `json:"version"`
	Timestamp string          `json:"timestamp"` // RFC 3339, UTC
	RequestID string          `json:"requestId"` // UUID version 4
	Tool      questionTool    `json:"tool"`
	Context   questionContext `json:"context"`
}

type questionTool struct {
	Name   string         `json:"name"`
	Params jsontext.Value `json:"params"`
}

type questionContext struct {
	AgentID         string `json:"agentId"`
	SessionKey      string `json:"sessionKey"`
	MessageProvider string `json:"messageProvider"` // the chat platform that the session lives on
}

// ask writes the question about a call. It fails for params that are not one
// JSON object.
func ask(call approval.Call) (question, error) {
	params, err := redactParams(call.ToolName, call.Params)
	return question{
		Version: 1, Timestamp: time.Now().UTC().Format(time.RFC3339), RequestID: uuid.NewString(),
		Tool:    questionTool{call.ToolName, params},
		Context: questionContext{call.AgentID, call.SessionKey, provider(call)},
	}, err
}

func provider(call approval.Call) string {
	if call.Origin == nil {
		return ""
	}
	return call.Origin.Channel
}

// reply is what a webhook said.
type reply struct {
	status int
	allow  bool   // counts if fail is nil
	reason string // safe to show, at most 500 characters
	fail   *failure
}

// cause is why the reply counts as it does, in a word or two.
func (r reply) cause() string {
	switch {
	case r.fail != nil:
		return r.fail.cause(r.status)
	case r.allow:
		return "allowed"
	}
	return "denied"
}

// send asks the webhook once, within its timeout.
func (e *endpoint) send(ctx context.Context, client *http.Client, q question) reply {
	body, err := json.Marshal(q)
	if err != nil {
		return reply{fail: problem("invalid", "the question cannot be written")}
	}
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return reply{fail: problem("unreachable", "its address cannot be used")}
	}
	e.sign(req, body)
	answer, status, fail := exchange(client, req)
	if fail != nil {
		return reply{status: status, fail: fail}
	}
	out := readReply(answer)
	out.status = status
	return out
}

func (e *endpoint) sign(req *http.Request, body []byte) {
	req.Header.Set("User-Agent", "approvalbot")
	req.Header.Set("Accept", "application/json")
	for name, value := range e.headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", "application/json")
	if len(e.secret) > 0 {
		mac := hmac.New(sha256.New, e.secret)
		mac.Write(body)
		req.Header.Set(signatureHeader, hex.EncodeToString(mac.Sum(nil)))
	}
}
