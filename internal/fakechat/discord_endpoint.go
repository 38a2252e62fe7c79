package fakechat

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"time"
)

// endpointState is the Interactions Endpoint URL (Discord, "Receiving and
// Responding to Interactions": configuring an interactions endpoint URL). While
// it is set, no interaction comes by the gateway.
type endpointState struct {
	url  string
	skew time.Duration
}

func (e *endpointState) orNil() any {
	if e.url == "" {
		return nil
	}
	return e.url
}

// SetEndpoint sets the Interactions Endpoint URL as the developer portal does:
// the address must answer PING, and 401 to a bad signature. "" goes back to the
// gateway.
func (dc *Discord) SetEndpoint(ctx context.Context, url string) error {
	if url != "" {
		if err := dc.verify(ctx, url); err != nil {
			return err
		}
	}
	dc.mu.Lock()
	defer dc.mu.Unlock()
	dc.endpoint.url = url
	return nil
}

func (dc *Discord) verify(ctx context.Context, url string) error {
	status, answer, err := dc.Send(ctx, dc.SignedRequest(url, dc.ping(), dc.Now()))
	switch {
	case err != nil:
		return err
	case status != http.StatusOK || !bytes.Contains(bytes.ReplaceAll(answer, []byte(" "), nil), []byte(`"type":1`)):
		return fmt.Errorf("fakechat: the endpoint answered PING with %d %s", status, answer)
	}
	return dc.Probe(ctx, url)
}

// Probe sends a PING with a bad signature, as Discord does from time to time; it
// removes the address of an application that does not answer 401, and so an
// error here says.
func (dc *Discord) Probe(ctx context.Context, url string) error {
	request := dc.SignedRequest(url, dc.ping(), dc.Now())
	request.Header.Set("X-Signature-Ed25519", hex.EncodeToString(make([]byte, ed25519.SignatureSize)))
	status, _, err := dc.Send(ctx, request)
	if err == nil && status != http.StatusUnauthorized {
		err = fmt.Errorf("fakechat: the endpoint answered a bad signature with %d and not 401", status)
	}
	return err
}

func (dc *Discord) ping() []byte {
	dc.mu.Lock()
	defer dc.mu.Unlock()
	return encodeJSON(obj{
		"id": dc.newID(), "application_id": dc.opts.ApplicationID, "type": interactionPing, "token": interactionToken(), "version": 1,
		"user": dc.me.wire(), "entitlements": []obj{}, "authorizing_integration_owners": obj{},
	})
}

// Sign is the signature of a timestamp and a body, in hexadecimal.
func (dc *Discord) Sign(timestamp string, body []byte) string {
	return hex.EncodeToString(ed25519.Sign(dc.key, append([]byte(timestamp), body...)))
}

// SignedRequest makes a request to an endpoint with a good signature and the
// timestamp of at, which tests of replay and of old timestamps choose.
func (dc *Discord) SignedRequest(url string, body []byte, at time.Time) *http.Request {
	request, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		panic(err) // the address is the test's own
	}
	stamp := unixStamp(at)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "Discord-Interactions/1.0 (+https://discord.com)")
	request.Header.Set("X-Signature-Timestamp", stamp)
	request.Header.Set("X-Signature-Ed25519", dc.Sign(stamp, body))
	return request
}

// Send sends a request to an endpoint and reads the answer.
func (dc *Discord) Send(ctx context.Context, request *http.Request) (status int, body []byte, err error) {
	request.Close = true // the bot's server may have been another one a moment ago
	response, err := dc.opts.EndpointClient.Do(request.WithContext(ctx))
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(io.LimitReader(response.Body, maxDiscordBody))
	return response.StatusCode, body, err
}

// SkewTimestamps moves the timestamps of the interactions that are delivered by
// HTTP from now on.
func (dc *Discord) SkewTimestamps(d time.Duration) {
	dc.mu.Lock()
	defer dc.mu.Unlock()
	dc.endpoint.skew = d
}

// deliver sends an interaction to the endpoint, if there is one.
func (e *endpointState) deliver(dc *Discord, i *DiscordInteraction) bool {
	if e.url == "" {
		return false
	}
	request := dc.SignedRequest(e.url, i.payload, dc.now().Add(e.skew))
	i.stamp = request.Header.Get("X-Signature-Timestamp")
	if dc.begin() {
		go func() {
			defer dc.running.Done()
			dc.exchange(i, request)
		}()
	}
	return true
}

// exchange sends the interaction and takes the answer in it: 200 with a
// callback, or 202 for one that comes by REST.
func (dc *Discord) exchange(i *DiscordInteraction, request *http.Request) {
	status, body, err := dc.Send(dc.ctx, request)
	dc.mu.Lock()
	defer dc.mu.Unlock()
	defer dc.wake()
	i.status = status
	dc.note("endpoint answers interaction %s with %d %v", i.ID, status, err)
	if status != http.StatusOK {
		return
	}
	q := &dcQuery{dc: dc, r: request, call: &DiscordCall{}, path: func(string) string { return "" }}
	failed := q.readJSON(body)
	if failed == nil {
		failed = i.respond(q)
	}
	if failed != nil {
		dc.note("that is no callback: %d %s %v", failed.code, failed.message, failed.fields)
	}
}

// EndpointStatus is the HTTP status that the endpoint answered this interaction with, 0 if
// it has not answered yet.
func (i *DiscordInteraction) EndpointStatus() int {
	i.dc.mu.Lock()
	defer i.dc.mu.Unlock()
	return i.status
}

// Replay sends the very bytes of the interaction again, with the same timestamp and
// signature, as an attacker could who recorded them. The answer has no effect.
func (i *DiscordInteraction) Replay(ctx context.Context) (status int, body []byte, err error) {
	i.dc.mu.Lock()
	url, stamp, payload := i.dc.endpoint.url, i.stamp, i.payload
	i.dc.mu.Unlock()
	request := i.dc.SignedRequest(url, payload, time.Time{})
	request.Header.Set("X-Signature-Timestamp", stamp)
	request.Header.Set("X-Signature-Ed25519", i.dc.Sign(stamp, payload))
	return i.dc.Send(ctx, request)
}
