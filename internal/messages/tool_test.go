package messages

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/approval"
)

func TestSanitise(t *testing.T) {
	for in, want := range map[string]string{
		`{"key":1,"PASSWORD":"x","accessToken":["a"],"client_secret":{"a":1},"Authorization":null,"path":"/x","n":1.0}`: `{"key":"[REDACTED]","PASSWORD":"[REDACTED]","accessToken":"[REDACTED]","client_secret":"[REDACTED]","Authorization":"[REDACTED]","path":"/x","n":1.0}`,
		`{"a":{"b":[{"apiKey":"x","c":"d"}]}}`:  `{"a":{"b":[{"apiKey":"[REDACTED]","c":"d"}]}}`,
		`{"monkey":"banana","my_secret_x":"b"}`: `{"monkey":"banana","my_secret_x":"[REDACTED]"}`,
		`[]`:                                    `[]`, `"plain"`: `"plain"`, `{}`: `{}`,
		`{"url":"postgres://u:hunter2hunter2@db/x"}`:      `{"url":"postgres://u:[REDACTED]@db/x"}`,
		strings.Repeat(`[`, 70) + strings.Repeat(`]`, 70): strings.Repeat(`[`, 65) + `"[REDACTED]"` + strings.Repeat(`]`, 65),
		`{"a":1,"a":2}`: `"[REDACTED]"`, `nope`: `"[REDACTED]"`, ``: `"[REDACTED]"`,
	} {
		got := Sanitise([]byte(in))
		require.Equal(t, want, string(got), in)
		require.Equal(t, want, string(Sanitise(got)), "twice")
	}
}

// The fingerprint of a shown call is the desk's own.
func TestFingerprint(t *testing.T) {
	for _, params := range []string{`{}`, `{"b":1.0,"a":"\u00e9","c":[null,{"z":1,"y":2}]}`} {
		for _, b := range []*api.Bind{nil, {}, {Workdir: new("/w"), Host: new("h")}, {EnvHash: new("")}} {
			want, err := approval.Canonical("deploy", json.RawMessage(params), (*approval.Bind)(b))
			require.NoError(t, err)
			require.Equal(t, want.Fingerprint, fingerprint("deploy", json.RawMessage(params), b))
		}
	}
}

func TestVerdicts(t *testing.T) {
	for in, want := range map[string]api.Decision{
		`"{\"decision\":\"approve\",\"scope\":\"once\",\"toolName\":\"x\"}"`: api.AllowOnce,
		`{"decision":"approve","scope":"session"}`:                           api.AllowSession,
		`{"decision":"approve"}`:                                             api.AllowOnce,
		`{"decision":"deny","scope":"none","toolName":"x","reason":"no"}`:    api.Deny,
		`{"result":{"result":{"decision":"deny"}}}`:                          "",
		`{"result":{"decision":"deny"}}`:                                     api.Deny,
		`{"output":"Always"}`:                                                api.AllowAlways,
		`[{"type":"text","text":"Cancel"}]`:                                  api.Deny,
		`"Once"`:                                                             api.AllowOnce,
		// no verdicts
		`"once"`: "", `"approve"`: "", `true`: "", `null`: "", ``: "", `{}`: "", `"yes"`: "", `{"approved":true}`: "",
		`{"decision":"approve","decision":"deny"}`: "", `{"decision":"approve","scope":1}`: "", `{"decision":"approve","scope":"once","x":"y"}`: "",
		`{"decision":"allow-once"}`: "", `{"decision":"approve","scope":"none"}`: "", `[{"text":"Once"},{"text":"Once"}]`: "", `{"Decision":"approve"}`: "",
	} {
		v, ok := readVerdict(json.RawMessage(in))
		require.Equal(t, want != "", ok, in)
		if ok {
			require.Equal(t, want, v.decision, in)
		}
	}
}

// A tool of one's own that needs approval: it says so as a Go error, the program
// asks, waits, claims, and calls it again.
func TestGuard(t *testing.T) {
	o, ctx := newOffice(t), t.Context()
	tool := api.MessageTool{Name: "deploy", Description: "Deploys to a machine.", Approval: &api.ToolApproval{Required: true}}
	ran := 0
	deploy := Guard(tool, func(context.Context, []byte) (string, error) { ran++; return "done", nil })
	args := []byte(`{"to":"staging","token":"abc"}`)
	_, err := deploy(ctx, args)
	err = fmt.Errorf("the agent's loop: %w", err)
	var need *ApprovalRequired
	require.True(t, errors.As(err, &need))
	require.Equal(t, "deploy", need.ToolName)
	require.Equal(t, `{"to":"staging","token":"[REDACTED]"}`, string(need.ToolArgs))
	require.Equal(t, "Deploys to a machine.\n\nThis tool requires your approval to execute.", need.Message)
	require.Equal(t, []string{"Cancel", "Once", "Always"}, need.Options)
	require.NotContains(t, err.Error(), "staging")
	require.Zero(t, ran)

	message, id := o.pendingCall("c1", need.ToolName, string(args))
	require.Equal(t, "counted", o.decide(o.inside("alice"), "s", message, answered(id, "approve", "once", "deploy"))[0].Vote)
	out, err := Decide(ctx, o.as("agent"), api.DecisionsRequest{SessionKey: "s", Messages: raws(message), Claim: true})
	require.NoError(t, err)
	claim := *out.Calls[0].Claim
	for _, other := range []string{`{"to":"production","token":"abc"}`, `{}`, `nope`} {
		_, err = deploy(WithClaim(ctx, claim), []byte(other))
		require.ErrorAs(t, err, &need)
	}
	got, err := deploy(WithClaim(ctx, claim), claim.Params)
	require.NoError(t, err)
	require.Equal(t, "done", got)
	require.Equal(t, 1, ran)

	free := Guard(api.MessageTool{Name: "x"}, func(context.Context, []byte) (string, error) { return "ok", nil })
	_, err = free(ctx, nil)
	require.NoError(t, err)
}

// Without ids the same message finds its approvals while they wait, and a name
// for the message makes it find them always.
func TestCallsWithoutIDs(t *testing.T) {
	o := newOffice(t)
	const message = `{"role":"model","parts":[{"functionCall":{"name":"deploy","args":{"n":1}}},{"functionCall":{"name":"deploy","args":{"n":2}}}]}`
	one, two := o.intercept(message), o.intercept(message)
	require.Equal(t, one, two)
	require.NotEqual(t, one.Calls[0].ApprovalID, one.Calls[1].ApprovalID)
	named := func(r *api.InterceptRequest) { r.MessageID = "turn-1" }
	three, four := o.intercept(message, named), o.intercept(message, named)
	require.Equal(t, three, four)
	require.Equal(t, o.get(one.Calls[0].ApprovalID).Code, o.get(three.Calls[0].ApprovalID).Code, "the same call of the same session, while it waits")
	got := o.decide(o.as("alice"), "s", string(three.Message), answered(three.Calls[0].ApprovalID, "approve", "once", "deploy"))
	require.Equal(t, "counted", got[0].Vote, "by its other name")
}

func TestRequestsAreChecked(t *testing.T) {
	o, ctx := newOffice(t), t.Context()
	for _, req := range []api.InterceptRequest{
		{Message: raws(chat("c", "deploy", `{}`))[0]},
		{SessionKey: "s", Message: raws(chat("c", "deploy", `{}`))[0], Format: "cohere"},
		{SessionKey: "s", Message: raws(chat("c", "deploy", `{}`))[0], Format: api.AnthropicMessages},
		{SessionKey: "s"},
	} {
		_, err := Intercept(ctx, o.as("agent"), req)
		require.Equal(t, "invalid_request", problemOf(err).Code)
	}
	for _, req := range []api.DecisionsRequest{{}, {SessionKey: "s", ClaimID: "x"}, {SessionKey: "s", Format: "x"}, {SessionKey: "s", Messages: raws(`[]`)}} {
		_, err := Decide(ctx, o.as("agent"), req)
		require.Equal(t, "invalid_request", problemOf(err).Code)
	}
	_, err := Intercept(ctx, o.as("alice"), api.InterceptRequest{SessionKey: "s", Message: raws(chat("c", "deploy", `{}`))[0]})
	require.Equal(t, "forbidden", problemOf(err).Code, "who may not ask gets no message")
}
