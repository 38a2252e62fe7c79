package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
)

// webhook is a verifier that answers the n-th question, counted from one.
func webhook(t *testing.T, answer func(n int64) string) (*httptest.Server, *atomic.Int64) {
	asked := &atomic.Int64{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"decision":%q}`, answer(asked.Add(1)))
	}))
	t.Cleanup(srv.Close)
	return srv, asked
}

func verifiedBy(srv *httptest.Server) func(*rig) {
	return func(r *rig) {
		r.top = fmt.Sprintf("tools:\n  verifier: {enabled: true, webhook: {url: %q}}\n", srv.URL+"/verify?key=k")
	}
}

// One id at two instances at the same moment: both may ask the webhook, and it is one
// approval all the same. A deny of either ends what is pending.
func TestCluster_OneIDAtTwoInstancesAtOnce(t *testing.T) {
	t.Parallel()
	for verdict, want := range map[string]api.Status{"allow": api.Pending, "deny": api.Denied} {
		t.Run(verdict, func(t *testing.T) {
			second := make(chan struct{})
			srv, asked := webhook(t, func(n int64) string {
				if n == 2 {
					close(second)
					return verdict
				}
				<-second
				return "allow"
			})
			a := newRig(t, onPostgres(t), verifiedBy(srv))
			b := a.another()
			req := api.CreateRequest{ID: "job", ToolName: "deploy", Params: []byte(`{"n":1}`), AgentID: "main"}
			answers := make(chan api.Approval, 2)
			for _, at := range []*rig{a, b} {
				go func() {
					got, err := at.agent().Create(at.ctx(), req, api.CreateOptions{})
					if err != nil {
						t.Error(err)
					}
					answers <- got
				}()
			}
			one, two := <-answers, <-answers
			require.Equal(t, one.Code, two.Code)
			for range 3 {
				got, err := b.agent().Create(b.ctx(), req, api.CreateOptions{})
				require.NoError(t, err)
				require.Equal(t, want, got.Status)
			}
			require.EqualValues(t, 2, asked.Load(), "nobody is asked again")
			all, err := a.operator().List(a.ctx(), api.Filter{})
			require.NoError(t, err)
			require.Len(t, all.Items, 1)
			for _, c := range all.Items[0].Consulted {
				require.Equal(t, srv.Listener.Addr().String()+"/verify", c.Endpoint)
			}
		})
	}
}

// A failed run is retried through any instance, and claimed at another one.
func TestCluster_RetryAtAnyInstance(t *testing.T) {
	t.Parallel()
	srv, asked := webhook(t, func(int64) string { return "allow" })
	a := newRig(t, onPostgres(t), verifiedBy(srv))
	b := a.another()
	x := a.ask(`{"n":1}`)
	_, err := b.operator().Resolve(b.ctx(), x.Code, api.ResolveRequest{Decision: api.AllowOnce})
	require.NoError(t, err)
	for _, at := range []*rig{a, b} {
		_, err = at.agent().Claim(at.ctx(), x.ID, api.ClaimRequest{})
		require.NoError(t, err)
		_, err = at.agent().Result(at.ctx(), x.ID, api.ResultRequest{Status: "failed"})
		require.NoError(t, err)
		_, err = at.operator().Retry(at.ctx(), x.Code)
		require.NoError(t, err)
	}
	_, err = a.agent().Claim(a.ctx(), x.ID, api.ClaimRequest{})
	require.NoError(t, err)
	_, err = a.agent().Result(a.ctx(), x.ID, api.ResultRequest{Status: "succeeded"})
	require.NoError(t, err)
	_, err = b.operator().Retry(b.ctx(), x.Code)
	requireProblem(t, err, "retry_data_gone")
	require.EqualValues(t, 1, asked.Load(), "once for the approval, whatever becomes of it")
}
