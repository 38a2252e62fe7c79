package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/approval"
)

// What a token has no right to is on record with its name and the route, 30 times a minute
// at most: it is the best sign of an agent gone wrong.
func TestAdversary_T17_ForbiddenAttempts(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	a := d.ask("write", `{"path":"a"}`)
	routes := [][3]string{
		{"POST", "/v1/approvals/" + a.ID + "/resolve", "POST /v1/approvals/{id}/resolve"},
		{"POST", "/v1/approvals/" + a.ID + "/retry", "POST /v1/approvals/{id}/retry"},
		{"POST", "/v1/grants", "POST /v1/grants"}, {"GET", "/v1/grants", "GET /v1/grants"},
		{"POST", "/v1/policy/reload", "POST /v1/policy/reload"}, {"POST", "/v1/login-links", "POST /v1/login-links"},
		{"PUT", "/v1/people/alice/away", "PUT /v1/people/{name}/away"}, {"GET", "/v1/audit", "GET /v1/audit"},
		{"POST", "/v1/pairing", "POST /v1/pairing"},
	}
	for _, x := range routes {
		require.Equal(t, http.StatusForbidden, d.do(x[0], x[1], "agent", "{}").StatusCode, x[1])
	}
	got := d.refusals()
	for _, x := range routes {
		require.Contains(t, got, [2]string{"token:agent", "forbidden: " + x[2]})
	}
	for range 60 {
		d.do("GET", "/v1/audit", "other", "")
	}
	of := map[string]int{}
	for _, x := range d.refusals() {
		of[x[0]]++
	}
	require.LessOrEqual(t, of["token:other"], 60, "at most 30 in each of the two minutes that this may touch")
	require.GreaterOrEqual(t, of["token:other"], 30)
	// What the route's scopes let pass and a step refuses is there, too.
	require.Equal(t, http.StatusForbidden, d.do("POST", "/v1/approvals/"+a.Code+"/resolve", "viewer", `{"decision":"deny"}`).StatusCode)
	require.Contains(t, d.refusals(), [2]string{"token:viewer", "forbidden: POST /v1/approvals/{id}/resolve"})
}

// refusals are by whom each refusal on record is, and why.
func (d *desk) refusals() (out [][2]string) {
	d.t.Helper()
	all, err := d.store.Log(d.t.Context(), 0, 1000)
	require.NoError(d.t, err)
	for _, e := range all {
		var data struct{ By, Why string }
		require.NoError(d.t, json.Unmarshal(e.Data, &data))
		if e.Type == approval.EventRefused {
			out = append(out, [2]string{data.By, data.Why})
		}
	}
	return out
}

// Metrics name people to operators alone.
func TestAdversary_T23_MetricsNameNobody(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	a := d.ask("mail.send", `{}`)
	_, err := d.bob.Resolve(t.Context(), a.ID, api.ResolveRequest{Decision: api.Deny})
	require.NoError(t, err)
	const count = `approvalbot_person_vote_seconds_count{person="%s",verdict="reject"} 1`
	scrape := func(as string, headers ...string) string { return d.do("GET", "/metrics", as, "", headers...).text }
	for as, text := range map[string]string{"nobody": scrape(""), "an agent": scrape("agent"),
		"an unknown token": scrape("", "Authorization", "Bearer nonsense")} {
		require.Contains(t, text, fmt.Sprintf(count, "hidden"), as)
		require.NotContains(t, text, "bob", as)
		require.NotContains(t, text, "alice", as)
	}
	for _, as := range []string{"alice", "viewer", "bob"} {
		require.Contains(t, scrape(as), fmt.Sprintf(count, "bob"))
		require.NotContains(t, scrape(as), "hidden\"")
	}
}

// A secret that an asker has in its ids is for nobody else to read, in no answer, event or record;
// calls and grants are matched by the ids all the same.
func TestAdversary_T19_SecretsInIDs(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	secret := "ghp_" + strings.Repeat("a1B2", 9)
	withIDs := func(r *api.CreateRequest) {
		r.AgentID, r.SessionKey = "agent "+secret, "session:"+secret
	}
	a := d.ask("ask", `{"to":"x"}`, withIDs)
	require.Equal(t, "session:"+secret, a.SessionKey, "its own id, by which the asker knows it")
	_, err := d.bob.Resolve(t.Context(), a.Code, api.ResolveRequest{Decision: api.AllowSession})
	require.NoError(t, err)
	b := d.ask("ask", `{"to":"y"}`, withIDs)
	require.Equal(t, api.Approved, b.Status, "the grant of that session")
	own, err := d.agent.Get(t.Context(), a.ID, 0)
	require.NoError(t, err)
	require.Equal(t, "agent "+secret, own.AgentID)
	other := d.ask("ask", `{"to":"y"}`, func(r *api.CreateRequest) { withIDs(r); r.SessionKey += "2" })
	require.Equal(t, api.Pending, other.Status, "another session, redacted alike")

	for _, path := range []string{"/v1/approvals", "/v1/approvals/" + a.Code, "/v1/grants",
		"/v1/approvals?sessionKey=" + url.QueryEscape("session:"+secret)} {
		text := d.do("GET", path, "bob", "").text
		require.NotContains(t, text, secret, path)
		require.Contains(t, text, "[REDACTED]", path)
	}
	log, err := d.store.Log(t.Context(), 0, 1000)
	require.NoError(t, err)
	require.Contains(t, string(log[0].Data), "session:[REDACTED]")
	for _, e := range log {
		require.NotContains(t, string(e.Data), secret, e.Type)
	}
	require.NotContains(t, d.logs.String(), secret)
	n, err := d.bob.EndSession(t.Context(), "session:"+secret)
	require.NoError(t, err)
	require.Equal(t, 1, n)
}
