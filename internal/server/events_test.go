package server

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"approvalbot/api"
	"approvalbot/internal/approval"
	"approvalbot/internal/server/auth"
	"approvalbot/internal/server/events"
)

// listener is a client of the event stream.
type listener struct {
	t    require.TestingT
	res  *http.Response
	in   *bufio.Reader
	stop context.CancelFunc
}

// listen opens the stream as the token of that name and waits for its head.
func listen(t require.TestingT, addr, as, last string) *listener {
	ctx, stop := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/v1/events", nil)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+secretOf(as))
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	require.NoError(t, err)
	l := &listener{t: t, res: res, in: bufio.NewReader(res.Body), stop: stop}
	require.Equal(t, 200, res.StatusCode)
	require.Equal(t, "text/event-stream", res.Header.Get("Content-Type"))
	require.Equal(t, []string{"retry: 1000"}, l.block())
	return l
}

func (l *listener) close() { l.stop(); _ = l.res.Body.Close() }

// block reads up to the next empty line; nil: the stream ended.
func (l *listener) block() (lines []string) {
	for {
		line, err := l.in.ReadString('\n')
		switch {
		case err != nil:
			return nil // what is not complete does not count
		case line == "\n":
			return lines
		}
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
}

// next gives the next event; false: the stream ended.
func (l *listener) next() (api.Event, bool) {
	for {
		lines := l.block()
		switch {
		case lines == nil:
			return api.Event{}, false
		case len(lines) == 3:
			var e api.Event
			require.NoError(l.t, json.Unmarshal([]byte(strings.TrimPrefix(lines[2], "data: ")), &e))
			require.Equal(l.t, fmt.Sprintf("id: %d", e.Seq), lines[0])
			require.Equal(l.t, "event: "+e.Type, lines[1])
			return e, true
		}
		require.True(l.t, strings.HasPrefix(lines[0], ":"), lines)
	}
}

func (l *listener) must() api.Event {
	e, ok := l.next()
	require.True(l.t, ok, "the stream ended")
	return e
}

func TestEventsTellWhatHappens(t *testing.T) {
	d := newDesk(t)
	addr, _ := d.serving(d.srv)
	d.ask("ask", `{"n":0}`) // before anybody listens
	operator, owner := listen(t, addr, "alice", ""), listen(t, addr, "agent", "")
	defer operator.close()
	defer owner.close()
	other := listen(t, addr, "other", "0")
	defer other.close()

	a := d.allow(`{"password":"hunter2hunter2"}`)
	_, err := d.agent.Claim(t.Context(), a.ID, api.ClaimRequest{})
	require.NoError(t, err)
	_, err = d.agent.Result(t.Context(), a.ID, api.ResultRequest{Status: "succeeded"})
	require.NoError(t, err)
	b := d.ask("ask", `{"n":2}`)
	_, err = d.agent.Withdraw(t.Context(), b.ID, api.WithdrawRequest{})
	require.NoError(t, err)
	c := d.allow(`{"n":3}`)
	_, err = d.alice.Revoke(t.Context(), c.ID, api.RevokeRequest{})
	require.NoError(t, err)
	own, err := d.other.Create(t.Context(), request("read", `{}`), api.CreateOptions{})
	require.NoError(t, err)

	want := []string{".requested " + a.ID, ".vote " + a.ID, ".resolved " + a.ID, ".result " + a.ID, ".requested " + b.ID,
		".withdrawn " + b.ID, ".requested " + c.ID, ".vote " + c.ID, ".resolved " + c.ID, ".revoked " + c.ID}
	for _, w := range want {
		for _, l := range []*listener{operator, owner} {
			e := l.must()
			require.Equal(t, "tool.approval"+w, e.Type+" "+e.ID)
			require.Equal(t, "R3", e.RiskClass)
			require.NotContains(t, fmt.Sprintf("%+v", e), "hunter2")
			require.Equal(t, strings.HasPrefix(w, ".requested"), e.ParamsSummary != "")
			require.Equal(t, w == ".revoked "+c.ID, e.RevokedAtMs != 0 && e.RevokedAtMs == e.AtMs)
		}
	}
	last := operator.must()
	require.Equal(t, own.ID, last.ID)
	require.Equal(t, "other", last.Owner)
	require.Equal(t, last, other.must(), "and nothing of anybody else's")
	require.Equal(t, api.AllowOnce, last.Decision)
	require.Equal(t, []string{"policy"}, last.DecidedBy)
	require.Equal(t, own.CreatedAtMs, last.CreatedAtMs)
}

func TestEventsRefuse(t *testing.T) {
	d := newDesk(t)
	require.Equal(t, 401, d.do("GET", "/v1/events", "", "").StatusCode)
	require.Equal(t, "forbidden", d.do("GET", "/v1/events", "auditor", "").problem(t).Code)
	for _, id := range []string{"x", "-1", "1.5", "99", "99999999999999999999"} {
		p := d.do("GET", "/v1/events", "alice", "", "Last-Event-ID", id).problem(t)
		require.Equal(t, "invalid_request", p.Code, id)
		require.Equal(t, "Last-Event-ID", p.Fields[0].Field)
		require.Equal(t, "lastEventId", d.do("GET", "/v1/events?lastEventId="+id, "alice", "").problem(t).Fields[0].Field)
	}
	r := d.do("HEAD", "/v1/events", "alice", "")
	require.Equal(t, 200, r.StatusCode)
	require.Empty(t, r.text)
	srv, err := New(Config{Gate: d.gate, Tokens: testTokens()})
	require.NoError(t, err)
	d.agent.HTTP = &http.Client{Transport: &inProcess{t: t, h: srv.Handler(), contract: contractOf(srv)}}
	require.Equal(t, "unavailable", d.do("GET", "/v1/events", "alice", "").problem(t).Code)
}

func TestEventsEndWithTheDesk(t *testing.T) {
	d := newDesk(t)
	addr, stop := d.serving(d.srv)
	l := listen(t, addr, "alice", "")
	defer l.close()
	require.NoError(t, stop())
	_, ok := l.next()
	require.False(t, ok)
}

func TestAdversary_I9_ARemovedTokensStreamEnds(t *testing.T) {
	d := newDesk(t)
	addr, _ := d.serving(d.srv)
	gone, stays := listen(t, addr, "viewer", ""), listen(t, addr, "alice", "")
	defer gone.close()
	defer stays.close()
	var left []auth.Token
	for _, token := range testTokens() {
		if token.Name != "viewer" {
			left = append(left, token)
		}
	}
	require.NoError(t, d.srv.Tokens.Use(left))
	_, ok := gone.next()
	require.False(t, ok)
	a := d.ask("ask", `{}`)
	require.Equal(t, a.ID, stays.must().ID)
}

func TestEventsOfAThousandListeners(t *testing.T) {
	d := newDesk(t)
	addr, _ := d.serving(d.srv)
	const n = 1000
	all := make([]*listener, n)
	for i := range all {
		all[i] = listen(t, addr, "alice", "")
		defer all[i].close()
	}
	a := d.ask("ask", `{}`)
	var done sync.WaitGroup
	for _, l := range all {
		done.Go(func() {
			if e, ok := l.next(); !ok || e.ID != a.ID {
				t.Error("a listener missed the event")
			}
		})
	}
	done.Wait()
}

// A listener that does not read does not hold up the desk, the others or the
// stop.
func TestEventsToAListenerThatNeverReads(t *testing.T) {
	d := newDesk(t)
	addr, stop := d.serving(d.srv)
	stuck, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer stuck.Close()
	require.NoError(t, stuck.(*net.TCPConn).SetReadBuffer(1))
	fmt.Fprintf(stuck, "GET /v1/events HTTP/1.1\r\nHost: desk\r\nAuthorization: Bearer %s\r\nLast-Event-ID: 0\r\n\r\n", secretOf("alice"))
	l := listen(t, addr, "alice", "")
	defer l.close()
	for i := range 300 {
		d.ask("read", fmt.Sprintf(`{"n":%d}`, i))
		require.Equal(t, approval.EventResolved, approval.EventType(l.must().Type))
	}
	require.NoError(t, stop())
}

// Whatever is cut and whenever the desk is started again: a listener that
// resumes hears everything once, in order.
func TestEventsHaveNoGapAndNoDuplicate(outer *testing.T) {
	rapid.Check(outer, func(t *rapid.T) {
		d := newDesk(outer, tempStore(outer))
		addr, stop := d.serving(d.srv)
		as := rapid.SampledFrom([]string{"alice", "agent"}).Draw(t, "as")
		l, last, heard := listen(t, addr, as, "0"), "0", []int64{}
		hear := func(n int) {
			for ; n > 0 && len(heard) < len(d.tellable(t, as)); n-- {
				e, ok := l.next()
				require.True(t, ok)
				heard, last = append(heard, e.Seq), fmt.Sprint(e.Seq)
			}
		}
		ask := func() api.Approval {
			c := rapid.SampledFrom([]*api.Client{d.agent, d.other}).Draw(t, "asker")
			a, err := c.Create(context.Background(), request(rapid.SampledFrom([]string{"ask", "read", "rm"}).Draw(t, "tool"), `{}`), api.CreateOptions{})
			require.NoError(t, err)
			return a
		}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0, 1:
				ask()
			case 2, 3:
				if a := ask(); a.Status == api.Pending {
					_, err := d.alice.Resolve(context.Background(), a.Code, api.ResolveRequest{Decision: api.Deny})
					require.NoError(t, err)
				}
			case 4, 5, 6:
				hear(rapid.IntRange(0, 5).Draw(t, "hears"))
			case 7, 8:
				l.close()
				l = listen(t, addr, as, last)
			case 9:
				l.close()
				require.NoError(t, stop())
				d.deaf()
				d.reopen()
				addr, stop = d.serving(d.srv)
				l = listen(t, addr, as, last)
			}
		}
		want := d.tellable(t, as)
		hear(len(want))
		require.Equal(t, want, heard)
		l.close()
		require.NoError(t, stop())
		d.deaf()
		require.NoError(t, d.store.Close())
	})
}

// tellable are the numbers of the log that the token of that name may hear of.
func (d *desk) tellable(t require.TestingT, as string) []int64 {
	log, err := d.store.Log(context.Background(), 0, 10_000)
	require.NoError(t, err)
	out := []int64{}
	for _, e := range log {
		if events.Public(e.Type) && (as == "alice" || e.Owner == as) {
			out = append(out, e.Seq)
		}
	}
	return out
}

// The feed finds the log's end however long the log is, and reads on from
// anywhere, in memory or behind it.
func TestFeedReadsFromAnywhere(t *testing.T) {
	d := newDesk(t)
	for n := range int64(40) {
		feed := events.NewFeed(d.store, nil)
		head, err := feed.Head(t.Context())
		require.NoError(t, err)
		require.Equal(t, n, head)
		require.NoError(t, d.store.Append(t.Context(), nil, approval.Event{AtMs: n, Type: approval.EventRefused}))
	}
	for at := range int64(40) {
		var got []int64
		for next := at; next < 40; next = got[len(got)-1] {
			_, err := d.feed.Head(t.Context())
			require.NoError(t, err)
			batch, _, err := d.feed.After(t.Context(), next)
			require.NoError(t, err)
			for _, e := range batch {
				got = append(got, e.Seq)
				require.Nil(t, e.Event, "for auditors only")
			}
		}
		for i, seq := range got {
			require.Equal(t, at+1+int64(i), seq)
		}
		require.Len(t, got, int(40-at))
	}
}

// One token does not use up everybody's file descriptors: it has so many streams
// and no more, and one that ends makes room, also across a reload.
func TestStreamsOfATokenAreBounded(t *testing.T) {
	d := newDesk(t)
	addr, _ := d.serving(d.srv)
	token := auth.Hash(secretOf("agent"))
	var done []func()
	for range auth.MaxStreams - 1 {
		f, err := d.srv.Tokens.Stream(token)
		require.NoError(t, err)
		done = append(done, f)
	}
	last := listen(t, addr, "agent", "")
	require.NoError(t, d.srv.Tokens.Use(testTokens()))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+"/v1/events", nil)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+secretOf("agent"))
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, http.StatusTooManyRequests, res.StatusCode)
	require.Equal(t, "1", res.Header.Get("Retry-After"))
	other := listen(t, addr, "other", "")
	defer other.close()
	done[0]()
	again := listen(t, addr, "agent", "")
	again.close()
	last.close()

	list := testTokens()
	list[0].Caller.MaxPending = auth.MaxStreams + 5
	require.NoError(t, d.srv.Tokens.Use(list))
	for range 5 {
		_, err := d.srv.Tokens.Stream(token)
		require.NoError(t, err)
	}
}
