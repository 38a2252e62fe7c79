package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
)

// trips answers requests from a list, in order.
type trips struct {
	mu    sync.Mutex
	asked []string // Last-Event-ID of each request
	next  []func(*http.Request) (*http.Response, error)
}

func (t *trips) RoundTrip(r *http.Request) (*http.Response, error) {
	t.mu.Lock()
	t.asked = append(t.asked, r.Header.Get("Last-Event-ID"))
	answer := t.next[min(len(t.asked), len(t.next))-1]
	t.mu.Unlock()
	return answer(r)
}

func streams(body func(*http.Request) io.ReadCloser) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body(r)}, nil
	}
}

func text(s string) func(*http.Request) io.ReadCloser {
	return func(*http.Request) io.ReadCloser { return io.NopCloser(strings.NewReader(s)) }
}

// silent is a connection on which nothing comes, until the client lets go of it.
func silent(r *http.Request) io.ReadCloser {
	pr, pw := io.Pipe()
	context.AfterFunc(r.Context(), func() { pw.CloseWithError(r.Context().Err()) })
	return pr
}

func event(seq int) string {
	return fmt.Sprintf("id: %d\nevent: tool.approval.vote\ndata: {\"type\":\"tool.approval.vote\",\r\ndata: \"seq\":%d}\n\n", seq, seq)
}

func (t *trips) client() *api.Client {
	return &api.Client{Server: "http://desk.invalid", Token: "t", HTTP: &http.Client{Transport: t}}
}

// A connection that breaks, in the middle of an event perhaps, is taken up after
// the last whole event; one on which nothing comes is given up.
func TestEventsResumeWhereTheyWere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }
		trip := &trips{next: []func(*http.Request) (*http.Response, error){
			streams(text(": hello\nretry: 1000\n\n" + event(7) + event(9) + "id: 12\ndata: {\"se")),
			away, away, streams(silent), streams(text(event(12))), streams(silent),
		}}
		ctx, cancel := context.WithCancel(t.Context())
		var got []int64
		var states []bool
		err := trip.client().Follow(ctx, "5", func(open bool) { states = append(states, open) }, func(e api.Event) error {
			if got = append(got, e.Seq); e.Seq == 12 {
				cancel()
			}
			return nil
		})
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, []int64{7, 9, 12}, got)
		require.Equal(t, []string{"5", "9", "9", "9", "9"}, trip.asked)
		require.Equal(t, []bool{true, false, true, false, true, false}, states)
	})
}

func TestEventsEnd(t *testing.T) {
	for name, status := range map[string]int{"unauthorized": 401, "forbidden": 403, "not_found": 404, "invalid_request": 422, "approvals_disabled": 503} {
		d := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"code":%q}`, name)
		}))
		err := (&api.Client{Server: d.URL, Token: "t"}).Events(t.Context(), "", func(api.Event) error { return nil })
		var refused *api.Problem
		require.ErrorAs(t, err, &refused, name)
		require.Equal(t, name, refused.Code)
		d.Close()
	}
	stop := errors.New("enough")
	trip := &trips{next: []func(*http.Request) (*http.Response, error){streams(text(event(1)))}}
	require.ErrorIs(t, trip.client().Events(t.Context(), "", func(api.Event) error { return stop }), stop)
	page := &trips{next: []func(*http.Request) (*http.Response, error){func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader("{}"))}, nil
	}}}
	require.ErrorContains(t, page.client().Events(t.Context(), "", func(api.Event) error { return nil }), "event stream")
	odd := &trips{next: []func(*http.Request) (*http.Response, error){streams(text("data: nonsense\n\n"))}}
	require.ErrorContains(t, odd.client().Events(t.Context(), "", func(api.Event) error { return nil }), "not the JSON")
}

// A desk that is busy says when to come back.
func TestEventsWaitAsLongAsTheDeskAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 429, Header: http.Header{"Retry-After": {"30"}}, Body: io.NopCloser(strings.NewReader(`{"code":"rate_limited"}`))}, nil
		}
		trip := &trips{next: []func(*http.Request) (*http.Response, error){busy, streams(text(event(1)))}}
		begun, stop := time.Now(), errors.New("enough")
		require.ErrorIs(t, trip.client().Events(t.Context(), "", func(api.Event) error { return stop }), stop)
		require.GreaterOrEqual(t, time.Since(begun), 30*time.Second)
	})
}
