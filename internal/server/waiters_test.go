package server

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/server/auth"
	"approvalbot/internal/server/connection"
	"approvalbot/internal/server/view"
)

// manner is what a waiter does while it waits for its call.
type manner int

const (
	stays     manner = iota // to claim it, and uses its connection again
	watches                 // by GET, and claims nothing
	pipelines               // to claim it, having asked for another call in the same breath
	halves                  // closes its half of the connection, and asks again on another one
	leaves                  // as watches, and vanishes
	vanishes                // closes or resets its connection
	mumbles                 // sends another request, and then vanishes
)

// mixes are who waits for one call together. A third vanish. Of the second mix nobody
// is left who would claim.
var mixes = [][]manner{
	{stays, vanishes, leaves, leaves, halves, watches, watches, watches},
	{vanishes, mumbles, leaves, watches, watches, watches, watches, watches},
	{pipelines, halves, mumbles, leaves, stays, watches, watches, watches},
}

// atOnce is how many waiters come at the same time: fewer than an address may have
// anonymous connections.
const atOnce = 48

// crowd is many waiters, each on a connection of its own. Two owners use the same ids
// for other calls.
type crowd struct {
	*desk
	address string
	proxied bool
	owners  []core.Caller
	waiting int // how many of them the desk should have
	all     []*waiter
	handed  map[string]int // how often each call was handed out, by its params
}

// waiter is one of them.
type waiter struct {
	*crowd
	job   int
	first bool // of those who wait for it
	does  manner
	more  bool // its second call
	line  *line
}

// Whoever waits, and however many vanish: everybody gets the answer to what they asked,
// each approved call is handed out once, and only to somebody who is still there, and
// nothing is left over. Behind proxies there are fewer, for the time.
func TestCrowdOfWaiters(t *testing.T) {
	t.Run("direct", func(t *testing.T) { gather(t, "", 2000) })
	for name := range proxies {
		t.Run(name, func(t *testing.T) { gather(t, name, 144) })
	}
}

func gather(t *testing.T, proxy string, n int) {
	c := &crowd{desk: newDesk(t), proxied: proxy != "", handed: map[string]int{}}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l := &accepted{Listener: tcp}
	c.address, _ = c.servingOn(c.srv, l)
	stop := func() {}
	if c.proxied {
		c.address, stop = startProxy(t, proxy, c.address)
	}
	c.owners = []core.Caller{c.holder("agent"), c.holder("other")}
	before := leftOver(t)

	c.come(n)
	c.leave(l)
	c.approveAll()
	c.collect()
	c.checkStore()

	for _, w := range c.all {
		_ = w.line.Close()
	}
	stop()
	c.untilWaiting(0)
	until(t, "nothing is left over", func() bool { return leftOver(t).within(before) })
}

func (c *crowd) holder(token string) core.Caller {
	who, _, known := c.srv.Tokens.Holder(auth.Hash(secretOf(token)))
	require.True(c.t, known)
	return who
}

func (c *crowd) those(does ...manner) (list []*waiter) {
	for _, w := range c.all {
		if slices.Contains(does, w.does) {
			list = append(list, w)
		}
	}
	return list
}

// come has all of them ask, a few at a time, and some of them ask twice.
func (c *crowd) come(n int) {
	for len(c.all) < n {
		begin := len(c.all)
		for len(c.all) < min(n, begin+atOnce) {
			job, place := len(c.all)/len(mixes[0]), len(c.all)%len(mixes[0])
			c.all = append(c.all, &waiter{crowd: c, job: job, first: place == 0, does: mixes[job/2%len(mixes)][place]})
		}
		c.ask(c.all[begin:])
	}
	of := c.those(halves)
	for begin := 0; begin < len(of); begin += atOnce {
		c.closeHalves(of[begin:min(len(of), begin+atOnce)])
	}
}

// ask returns when all of those wait.
func (c *crowd) ask(those []*waiter) {
	for _, w := range those {
		conn, err := net.Dial("tcp", c.address)
		require.NoError(c.t, err)
		w.line = &line{c.t, conn, bufio.NewReader(conn)}
		if w.first {
			_, _, err := c.gate.Submit(c.t.Context(), w.owner(), view.CallOf(request("ask", w.params(), asID(w.id()))))
			require.NoError(c.t, err)
		}
		switch w.does {
		case watches, leaves:
			w.line.send(w.request("GET", w.path()+"?wait=60s", ""))
		case pipelines:
			w.line.send(w.creation() + w.second().creation())
		default:
			w.line.send(w.creation())
		}
	}
	c.untilWaiting(c.waiting + len(those))
}

// untilWaiting returns when the desk has so many who wait.
func (c *crowd) untilWaiting(n int) {
	c.t.Helper()
	c.waiting = n
	until(c.t, fmt.Sprintf("%d wait", n), func() bool {
		return strings.Contains(c.do("GET", "/metrics", "", "").text, fmt.Sprintf("approvalbot_waiting_requests %d\n", n))
	})
}

// until returns when something holds. It needs no goroutine, for those are counted.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); !holds(); <-tick.C {
		require.True(t, time.Now().Before(end), "not within a minute: %s", what)
	}
}

// closeHalves has those close half of their connections, and read what comes on the
// other half at once: how things stand. Then they ask again.
func (c *crowd) closeHalves(those []*waiter) {
	for _, w := range those {
		require.NoError(c.t, w.line.Conn.(*net.TCPConn).CloseWrite())
	}
	for _, w := range those {
		w.answeredAtOnce()
		require.NoError(c.t, w.line.Close())
	}
	c.untilWaiting(c.waiting - len(those))
	c.ask(those)
}

// answeredAtOnce reads how things stand. A proxy may take its client for gone.
func (w *waiter) answeredAtOnce() {
	res, err := http.ReadResponse(w.line.r, nil)
	if w.proxied && err != nil {
		return
	}
	require.NoError(w.t, err)
	defer res.Body.Close()
	if w.proxied && res.StatusCode >= http.StatusBadRequest {
		return
	}
	var a api.Approval
	require.NoError(w.t, json.NewDecoder(res.Body).Decode(&a))
	require.Equal(w.t, api.Pending, a.Status)
	w.checkMine(a)
}

// leave has a third of them vanish, and returns when the desk could know it.
func (c *crowd) leave(l *accepted) {
	for i, w := range c.those(vanishes, leaves) {
		if i%2 == 0 {
			require.NoError(c.t, w.line.Conn.(*net.TCPConn).SetLinger(0)) // a reset
		}
		require.NoError(c.t, w.line.Close())
	}
	hidden := c.those(mumbles)
	for _, w := range hidden {
		w.line.send(w.request("GET", w.path(), ""))
		require.NoError(c.t, w.line.Close())
	}
	gone := len(c.those(vanishes, leaves))
	if c.proxied {
		gone += len(hidden) // a proxy sends nothing more before it hangs up
	} else {
		until(c.t, "the desk could know who has gone", func() bool { return l.left() >= len(hidden) })
	}
	c.untilWaiting(c.waiting - gone)
}

// approveAll has a person approve everything that is pending.
func (c *crowd) approveAll() {
	alice := c.holder("alice")
	var voting sync.WaitGroup
	pending := c.stored(approval.Pending)
	for turn := range atOnce {
		voting.Go(func() {
			for i := turn; i < len(pending); i += atOnce {
				_, err := c.gate.VoteAs(c.t.Context(), alice, pending[i].Code, approval.AllowOnce, "", "")
				assert.NoError(c.t, err)
			}
		})
	}
	voting.Wait()
}

// stored gives all approvals of a status; "" for every one.
func (c *crowd) stored(status approval.Status) (all []approval.Approval) {
	for f := (core.Filter{Status: status, Limit: pageMax}); ; {
		page, err := c.gate.List(c.t.Context(), c.holder("alice"), f)
		require.NoError(c.t, err)
		all = append(all, page.Items...)
		if f.Cursor = page.Next; f.Cursor == "" {
			return all
		}
	}
}

// collect has those who stayed read their answers. Connections are used again.
func (c *crowd) collect() {
	for _, w := range c.those(stays, halves, pipelines) {
		w.takeClaim()
	}
	for _, w := range c.those(watches) {
		w.readMine()
		w.line.send(w.request("GET", w.path(), ""))
	}
	for _, w := range c.those(stays) {
		w.line.send(w.request("GET", w.path(), ""))
	}
	for _, w := range c.those(watches, stays) {
		w.readMine()
	}
	c.untilWaiting(len(c.those(pipelines)))
	c.approveAll()
	for _, w := range c.those(pipelines) {
		w.second().takeClaim()
	}
}

// checkStore compares what was handed out with what is on record. What nobody has
// claimed can be claimed still.
func (c *crowd) checkStore() {
	claimed := 0
	for _, a := range c.stored("") {
		require.Equal(c.t, approval.Approved, a.Status)
		if a.ClaimedAtMs != 0 {
			claimed++
		}
	}
	require.Equal(c.t, len(c.handed), claimed, "claims were handed to nobody")
	for _, w := range c.those(watches) {
		if c.handed[w.params()] == 0 {
			w.line.send(w.request("POST", w.path()+"/claim", ""))
			_, body := w.line.hear("POST")
			var claim api.Claim
			require.NoError(c.t, json.Unmarshal([]byte(body), &claim))
			w.handedOut(claim)
		}
	}
	for params, times := range c.handed {
		require.Equal(c.t, 1, times, params)
	}
}

func (w *waiter) id() string         { return fmt.Sprintf("job-%d-%v", w.job/2, w.more) }
func (w *waiter) owner() core.Caller { return w.owners[w.job%2] }
func (w *waiter) params() string     { return fmt.Sprintf(`{"job":"%d, %v"}`, w.job, w.more) }
func (w *waiter) path() string       { return "/v1/approvals/" + w.id() }

// second is the same waiter with its second call.
func (w *waiter) second() *waiter {
	other := *w
	other.more = true
	return &other
}

// request is one request as text.
func (w *waiter) request(method, path, body string) string {
	return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: desk\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s",
		method, path, secretOf(w.owner().Token), len(body), body)
}

// creation is the request that asks, waits and claims.
func (w *waiter) creation() string {
	return w.request("POST", "/v1/approvals?wait=60s&claim=1", `{"id":"`+w.id()+`","toolName":"ask","params":`+w.params()+`}`)
}

// readMine reads the answer that it is approved.
func (w *waiter) readMine() (a api.Approval) {
	res, body := w.line.hear("POST")
	require.Equal(w.t, http.StatusOK, res.StatusCode, body)
	require.NoError(w.t, json.Unmarshal([]byte(body), &a))
	require.Equal(w.t, api.Approved, a.Status)
	w.checkMine(a)
	return a
}

// takeClaim reads the answer to who wanted to claim: it is handed out, or was to
// another one.
func (w *waiter) takeClaim() {
	res, body := w.line.hear("POST")
	if res.StatusCode == http.StatusConflict {
		var p api.Problem
		require.NoError(w.t, json.Unmarshal([]byte(body), &p))
		require.Equal(w.t, string(approval.CodeAlreadyUsed), p.Code)
		require.Equal(w.t, w.path(), res.Header.Get("Location"))
		return
	}
	require.Equal(w.t, http.StatusOK, res.StatusCode, body)
	var a api.Approval
	require.NoError(w.t, json.Unmarshal([]byte(body), &a))
	w.checkMine(a)
	require.NotNil(w.t, a.Claim)
	w.handedOut(*a.Claim)
}

// checkMine requires that an answer is about what was asked, of which an id says half:
// two owners use the same.
func (w *waiter) checkMine(a api.Approval) {
	require.Equal(w.t, w.id(), a.ID)
	require.Equal(w.t, w.owner().Token, a.Owner)
}

func (w *waiter) handedOut(claim api.Claim) {
	require.JSONEq(w.t, w.params(), string(claim.Params))
	w.handed[w.params()]++
}

// accepted is a listener that remembers its connections.
type accepted struct {
	net.Listener
	mu  sync.Mutex
	all []net.Conn
}

// Accept implements net.Listener.
func (l *accepted) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.mu.Lock()
		l.all = append(l.all, c)
		l.mu.Unlock()
	}
	return c, err
}

// left says how many connections the server holds whose client has gone.
func (l *accepted) left() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.all {
		if connection.HungUp(c) {
			n++
		}
	}
	return n
}

// remains is what a test may leave over.
type remains struct{ goroutines, files int }

func (r remains) within(before remains) bool {
	return r.goroutines <= before.goroutines && r.files <= before.files
}

// leftOver counts goroutines and open files.
func leftOver(t *testing.T) remains {
	files, err := os.ReadDir("/proc/self/fd") // one of them is this directory
	if !os.IsNotExist(err) {
		require.NoError(t, err)
	}
	return remains{runtime.NumGoroutine(), len(files)}
}
