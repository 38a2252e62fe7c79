package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
)

const callbackSecret = "callback-secret-0123456789"

// called is an owner's side: what it was told, and what it answers.
type called struct {
	*httptest.Server
	away atomic.Bool // it answers 502
	got  chan api.Approval
}

func newCalled(t *testing.T) *called {
	c := &called{got: make(chan api.Approval, 10)}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		stamp, sum, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("X-Approvalbot-Signature"), "t="), ",v1=")
		mac := hmac.New(sha256.New, []byte(callbackSecret))
		mac.Write([]byte(stamp + "." + string(body)))
		if hex.EncodeToString(mac.Sum(nil)) != sum {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if c.away.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		var a api.Approval
		if json.Unmarshal(body, &a) == nil {
			c.got <- a
		}
	}))
	t.Cleanup(c.Close)
	return c
}

func (r *rig) heard(c *called) api.Approval {
	r.t.Helper()
	select {
	case a := <-c.got:
		return a
	case <-r.ctx().Done():
		require.Fail(r.t, "the owner was never called")
		return api.Approval{}
	}
}

// outstanding waits until the one call that an owner is still to get is as told.
func (r *rig) outstanding(what string, cond func(api.Callback) bool) (one api.Callback) {
	r.t.Helper()
	operator, ctx := r.operator(), r.ctx()
	require.Eventually(r.t, func() bool {
		list, err := operator.Callbacks(ctx)
		if err != nil || len(list.Items) != 1 {
			return false
		}
		one = list.Items[0]
		return cond(one)
	}, patient, 5*time.Millisecond, what)
	return one
}

func withCallbacks(r *rig) {
	r.agentHas = ", callbackSecret: " + callbackSecret + ", callbackAllow: [127.0.0.0/8, \"::1/128\"]"
}

func backTo(c *called) func(*api.CreateRequest) {
	return func(q *api.CreateRequest) { q.CallbackURL = c.URL + "/hook" }
}

func TestFlow_TheOwnerIsCalledBack(t *testing.T) {
	t.Parallel()
	r, owner := newRig(t, withCallbacks), newCalled(t)
	a := r.exec("git push origin main", backTo(owner))
	r.tap(r.alice, r.group, r.card(a).ID, "Allow once")
	got := r.heard(owner)
	require.Equal(t, a.ID, got.ID)
	require.EqualValues(t, "approved", got.Status)
	require.Equal(t, []string{"person:alice"}, got.DecidedBy)
	require.Nil(t, got.Claim, "raw params are in a claim only")
	require.Equal(t, 2, strings.Count(got.Receipt, "."), "a signed receipt")
	claim, err := r.agent().Claim(r.ctx(), a.ID, api.ClaimRequest{})
	require.NoError(t, err)
	require.Equal(t, got.Receipt, claim.Receipt, "one decision has one receipt, so that its id counts once")

	_, err = r.operator().RetryWithoutResult(r.ctx(), a.Code)
	require.NoError(t, err)
	require.Greater(t, r.heard(owner).ClaimUntilMs, int64(0), "a retry tells the owner")

	b := r.exec("git push origin other", backTo(owner))
	r.tap(r.bob, r.group, r.card(b).ID, "Deny")
	require.EqualValues(t, "denied", r.heard(owner).Status)
	require.EqualValues(t, "approved", r.tryExec("ls", backTo(owner)).Status)
	require.EqualValues(t, "approved", r.heard(owner).Status, "also what policy settled at once")
}

// A call that fails is made again after a restart.
func TestFlow_CallbacksSurviveARestart(t *testing.T) {
	t.Parallel()
	r, owner := newRig(t, withCallbacks), newCalled(t)
	owner.away.Store(true)
	a := r.exec("git push origin main", backTo(owner))
	r.tap(r.alice, r.group, r.card(a).ID, "Deny")
	r.final(a)
	r.outstanding("it has failed", func(c api.Callback) bool { return c.Error == "the owner answered 502" })
	r.stop()
	owner.away.Store(false)
	r.start()
	require.EqualValues(t, "denied", r.heard(owner).Status)
}

func TestFlow_CallbacksThatAreNotAllowed(t *testing.T) {
	t.Parallel()
	r, owner := newRig(t), newCalled(t)
	_, err := r.agent().Create(r.ctx(), api.CreateRequest{ToolName: "deploy", Params: []byte(`{}`), CallbackURL: owner.URL}, api.CreateOptions{})
	requireProblem(t, err, "invalid_request")
	require.Contains(t, err.(*api.Problem).Fields[0].Problem, "callbackSecret")

	r = newRig(t, func(r *rig) { r.agentHas = ", callbackSecret: " + callbackSecret })
	a := r.exec("git push origin main", backTo(owner))
	r.tap(r.alice, r.group, r.card(a).ID, "Deny")
	refused := r.outstanding("it is given up", func(c api.Callback) bool { return c.State == "failed" })
	require.Contains(t, refused.Error, "callbackAllow")
	require.NoError(t, r.operator().RetryCallback(r.ctx(), refused.ID))
	requireProblem(t, r.operator().RetryCallback(r.ctx(), "00000000-0000-0000-0000-000000000000"), "not_found")
	require.Empty(t, owner.got, "nothing private was reached")
}
