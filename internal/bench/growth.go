package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/term"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/progress"
	"approvalbot/internal/store"
)

// grown says what growth fills, and in which directory.
type grown struct {
	size    int    // approvals that have ended
	pending int    // and that wait
	engine  string // "sqlite" or "postgres"
	dir     string // kept, and not filled again if it holds a store; empty: a fresh one
}

const (
	growthDays  = 80  // over which the approvals are spread
	growthBatch = 250 // approvals of one commit
)

// growth fills a store through its own package and prints what the desk's operations cost at that size.
func growth(b bench, g grown) (err error) {
	if g.dir == "" {
		if g.dir, err = os.MkdirTemp("", "approvalbot-growth-*"); err != nil {
			return err
		}
		defer os.RemoveAll(g.dir)
	}
	to := "sqlite:" + g.dir + "/desk.db"
	if g.engine == "postgres" {
		pg, err := startPostgres()
		if err != nil {
			return err
		}
		defer pg.stop()
		to = pg.url("desks1")
	} else if g.engine != "sqlite" {
		return fmt.Errorf("-engine %s is none; give sqlite or postgres", g.engine)
	}
	if _, err := os.Stat(g.dir + "/desk.db"); err != nil {
		began := time.Now()
		if err := g.fill(to); err != nil {
			return fmt.Errorf("filling: %w", err)
		}
		fmt.Printf("  %-44s %10.1f s   %d approvals and %d pending\n", "filled", time.Since(began).Seconds(), g.size, g.pending)
	}
	port, err := ownPort()
	if err != nil {
		return err
	}
	addr := "127.0.0.1:" + strconv.Itoa(port)
	config := fmt.Sprintf(growthConfig, addr, agentToken, operatorToken)
	d, err := start(b.bin, options{dir: g.dir, store: to, addr: addr, example: config})
	if err != nil {
		return err
	}
	defer d.stop()
	l := looker{desk: d, bin: b.bin, rounds: b.rounds, client: &http.Client{Timeout: 10 * time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	l.row("start to ready", []time.Duration{d.ready})
	fmt.Printf("  %-44s %10.1f MB  anonymous %.1f MB\n", "resident when ready", d.resident(), d.anonymous())
	if err := l.signIn(); err != nil {
		return err
	}
	l.everything()
	fmt.Printf("  %-44s %10.1f MB  anonymous %.1f MB\n", "resident after all of it", d.resident(), d.anonymous())
	for _, name := range []string{"desk.db", "desk.db-wal"} {
		if f, err := os.Stat(filepath.Join(g.dir, name)); err == nil {
			fmt.Printf("  %-44s %10.1f MB  %.0f bytes an approval\n", name, float64(f.Size())/1e6, float64(f.Size())/float64(g.size))
		}
	}
	return nil
}

const growthConfig = `server:
  publicUrl: http://%s
  tokens:
    - {name: agent, token: %s, scopes: [approvals.request]}
    - {name: laptop, token: %s, scopes: [operator.approvals, operator.audit, operator.admin], person: bob}
people: [{name: bob}]
approvals: {tools: {enabled: true}}
`

// fill writes the approvals, oldest first, by several callers at once.
func (g grown) fill(to string) error {
	ctx := context.Background()
	s, err := store.Open(ctx, store.Options{URL: to, KeyFile: g.dir + "/desk.key", Version: "growth"})
	if err != nil {
		return err
	}
	ran := make(chan error, 1)
	go func() { ran <- s.Run(ctx) }()
	var next atomic.Int64
	var first atomic.Pointer[error]
	var wg sync.WaitGroup
	line := progress.Start(os.Stderr, term.IsTerminal(int(os.Stderr.Fd())), "filling")
	defer line.End()
	for range 4 {
		wg.Go(func() {
			for first.Load() == nil {
				from := int(next.Add(growthBatch)) - growthBatch
				if from >= g.size+g.pending {
					return
				}
				line.At(fmt.Sprintf("filling: %d approvals", from), int64(from), int64(g.size+g.pending))
				if err := g.write(ctx, s, from); err != nil {
					first.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	wg.Wait()
	err = errors.Join(s.Close(), <-ran)
	if failed := first.Load(); failed != nil {
		err = *failed
	}
	return err
}

// write writes one batch, and again as long as a busy PostgreSQL takes too long to begin with it.
func (g grown) write(ctx context.Context, s *store.Store, from int) error {
	for tries := 0; ; tries++ {
		err := s.Create(ctx, core.Lookup{Owner: "agent"}, func(core.Existing) (all []core.Change, _ error) {
			for i := from; i < min(from+growthBatch, g.size+g.pending); i++ {
				all = append(all, g.made(i))
			}
			return all, nil
		})
		if tries == 100 || approval.CodeOf(err) != approval.CodeUnavailable {
			return err
		}
	}
}

// made is one approval: nine of ten are calls that policy allows, one is asked and resolved, with a card; the last ones
// wait. Agents, sessions and tools are as many as a team's.
func (g grown) made(i int) core.Change {
	key := fmt.Sprintf("%08x", uint32(i+1)*2654435761<<2) + uuid.NewString()[8:] // each with a code of its own
	now := time.Now().UnixMilli()
	at := now - int64(float64(growthDays*24*time.Hour.Milliseconds())*(1-float64(i)/float64(g.size+g.pending)))
	path := fmt.Sprintf("/workspace/service-%d/internal/handler_%d.go", i%37, i)
	a := approval.Approval{
		Names: approval.Names{Key: key, ID: key, Code: core.KeyCode(key), Owner: "agent"},
		Asked: approval.Asked{ToolName: "read", Summary: "read " + path, Fingerprint: "sha256:" + key + key, AgentID: fmt.Sprintf("agent-%d", i%20),
			SessionKey: fmt.Sprintf("agent:%d:%d", i%20, i%200), CreatedAtMs: at, ExpiresAtMs: at + 600_000},
		Judged: approval.Judged{Assessment: approval.Assessment{RiskClass: approval.R0, SideEffects: []approval.SideEffect{approval.FilesystemRead},
			Confidence: 1, Source: "static", ReasonCodes: []string{"tool-read"}}, PolicyHash: "sha256:" + strings.Repeat("0", 64)},
		Ended: approval.Ended{Status: approval.Approved, Decision: approval.AllowOnce, DecidedBy: []string{"policy"}, ResolvedAtMs: at,
			ClaimUntilMs: at + 600_000},
	}
	if i < g.size && i%10 != 0 {
		return core.Change{Approval: a, New: true, Events: []approval.Event{a.Event(approval.EventResolved, at, approval.EventData{})}}
	}
	a.ToolName, a.Summary = fmt.Sprintf("crm__update_%d", i%11), fmt.Sprintf("crm__update_%d: order %d", i%11, i)
	a.Assessment = approval.Assessment{RiskClass: approval.R3, SideEffects: []approval.SideEffect{approval.ExternalWrite}, Confidence: 0.8,
		Source: "static", ReasonCodes: []string{"unknown-tool", "external-write"}}
	a.Rule = approval.Rule{Allowed: []approval.Factor{approval.UserRequest}, Disabled: []approval.Factor{},
		Effective: []approval.Factor{approval.UserRequest}, MinApprovals: 1, RequiresHuman: true}
	a.Ended = approval.Ended{Status: approval.Pending}
	if i >= g.size {
		a.ExpiresAtMs = now + 24*time.Hour.Milliseconds()
	}
	c := core.Change{New: true, Seal: fmt.Appendf(nil, `{"params":{"id":%d,"title":"order %d","text":"%s"},"toolName":"%s"}`, i, i,
		strings.Repeat("y", 120), a.ToolName), Events: []approval.Event{a.Event(approval.EventRequested, at, approval.EventData{})}}
	if i < g.size {
		took := int64(2_000 + i*7919%300_000)
		v := approval.Vote{Approver: approval.UserRequest, Verdict: approval.Approve, Decision: approval.AllowOnce,
			Voter: &approval.Voter{Person: "bob", Channel: "telegram", UserID: "1"}, DecidedAtMs: at + took}
		a.Votes, a.LookedAtMs = []approval.Vote{v}, at+took
		a.Ended = approval.Ended{Status: approval.Approved, Decision: approval.AllowOnce, DecidedBy: []string{"person:bob"},
			ResolvedAtMs: at + took, ClaimUntilMs: at + took + 600_000}
		a.GoneAtMs = at + took + 600_000 // it was not claimed, and the desk has closed it since
		c.Deliveries = []approval.Delivery{{Kind: approval.CardDelivery, Target: approval.Target{Channel: "telegram", To: "1"},
			State: approval.Settled, MessageID: strconv.Itoa(i), CreatedMs: at, SentMs: at + 150}}
		c.Events = append(c.Events, a.Event(approval.EventVote, at+took, approval.EventData{Vote: &v}),
			a.Event(approval.EventResolved, at+took, approval.EventData{}))
	}
	c.Approval = a
	return c
}

// looker asks a desk for what takes longer the more it keeps.
type looker struct {
	*desk
	bin    string
	rounds int
	client *http.Client
	cookie string
	asked  int
}

func (l *looker) everything() {
	l.settle()
	l.each("ask, allowed", 100, func() error {
		l.asked++
		_, err := l.get("POST", "/v1/approvals", agentToken, fmt.Sprintf(`{"toolName":"read","params":{"path":"/workspace/f%d.go"}}`, l.asked))
		return err
	})
	l.each("ask, pending", 100, func() error { return l.ask() })
	for _, x := range [][2]string{{"list 50", ""}, {"list, common agent", "&agentId=agent-3"}, {"list, tool, none such", "&toolName=none"},
		{"list, session, none such", "&sessionKey=none"}, {"list, agent, none such", "&agentId=none"},
		{"list, status=denied (none)", "&status=denied"}, {"list, status=expired (none)", "&status=expired"},
		{"list, pending", "&status=pending"}, {"list, tool and agent that never meet", "&toolName=none&agentId=agent-3"},
		{"list, approved, tool, none such", "&status=approved&toolName=none"}} {
		l.each(x[0], l.rounds, func() error { _, err := l.get("GET", "/v1/approvals?limit=50"+x[1], operatorToken, ""); return err })
	}
	for _, path := range []string{"/", "/history", "/history?tool=none", "/history?session=none", "/history?status=denied", "/history?risk=R4",
		"/history?q=nothingsuch", "/history?to=2020-01-01", "/numbers", "/audit", "/health"} {
		l.each("page "+path, min(3, l.rounds), func() error { _, err := l.get("GET", path, "", ""); return err })
	}
	l.each("metrics", l.rounds, func() error { _, err := l.get("GET", "/metrics", operatorToken, ""); return err })
	for _, words := range []string{"list", "stats --since 1h", "stats --since 7d", "stats --since 100d", "audit verify", "audit verify --new", "doctor"} {
		l.command(strings.Fields(words)...)
	}
	l.beside()
}

// settle waits until the desk has added up what it counts by, or five minutes, and has signed its first checkpoint.
func (l *looker) settle() {
	began := time.Now()
	for took := time.Hour; took > 300*time.Millisecond && time.Since(began) < 5*time.Minute; time.Sleep(time.Second) {
		at := time.Now()
		if _, err := l.get("GET", "/v1/stats?sinceMs=0", operatorToken, ""); err != nil {
			fmt.Printf("  stats: %v\n", err)
			return
		}
		took = time.Since(at)
	}
	fmt.Printf("  %-44s %10.1f s\n", "until all is counted within 0.3 s", time.Since(began).Seconds())
	time.Sleep(time.Until(began.Add(35 * time.Second))) // the first one comes after half a minute
}

// ask asks for a call that a person must allow.
func (l *looker) ask() error {
	l.asked++
	_, err := l.get("POST", "/v1/approvals", agentToken, fmt.Sprintf(`{"toolName":"crm__update_1","params":{"n":%d}}`, l.asked))
	return err
}

// beside asks while a backup, eight lists and a check of the log run.
func (l *looker) beside() {
	var busy sync.WaitGroup
	over := make(chan struct{})
	for _, words := range [][]string{{"audit", "verify"}, {"backup", filepath.Join(l.dir, "backup.db")}} {
		busy.Go(func() { l.command(words...) })
	}
	go func() { busy.Wait(); close(over) }()
	var lists sync.WaitGroup
	for range 8 {
		lists.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
					_, _ = l.get("GET", "/v1/approvals?toolName=none", operatorToken, "")
				}
			}
		})
	}
	var took []time.Duration
	for len(took) < 20 || !closed(over) {
		began := time.Now()
		if err := l.ask(); err != nil {
			fmt.Printf("  asks beside these and eight lists: %v\n", err)
			break
		}
		took = append(took, time.Since(began))
	}
	lists.Wait()
	l.row("asks beside these two and eight lists", took)
	os.Remove(filepath.Join(l.dir, "backup.db"))
}

func closed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// each prints how long something takes, and what is wrong if it fails.
func (l *looker) each(name string, times int, work func() error) {
	var took []time.Duration
	for range times {
		began := time.Now()
		if err := work(); err != nil {
			fmt.Printf("  %-44s %v\n", name, err)
			return
		}
		took = append(took, time.Since(began))
	}
	l.row(name, took)
}

func (l *looker) row(name string, took []time.Duration) {
	p50, p99, worst := median(took), quantile(took, 0.99), quantile(took, 1)
	fmt.Printf("  %-44s %10.1f ms  p99 %.1f, worst %.1f of %d\n", name, ms(p50), ms(p99), ms(worst), len(took))
}

// command runs a verb of the program and prints how long it took, and how much memory.
func (l *looker) command(words ...string) {
	began := time.Now()
	cmd := exec.Command(l.bin, words...)
	cmd.Env = append(l.cmd.Env, "APPROVALBOT_SERVER=http://"+l.addr, "APPROVALBOT_TOKEN="+operatorToken,
		"APPROVALBOT_CONFIG="+filepath.Join(l.dir, "config.yaml"))
	if words[0] == "doctor" || words[0] == "backup" {
		cmd.Args = append(cmd.Args, "--config", filepath.Join(l.dir, "config.yaml"))
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Start()
	most := float64(0)
	if err == nil {
		over := make(chan error, 1)
		go func() { over <- cmd.Wait() }()
		for running := true; running; { // its own account at the end counts the memory of this process, too
			most = max(most, memory(cmd.Process.Pid, "VmHWM"))
			select {
			case err = <-over:
				running = false
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
	said := "ok"
	if err != nil {
		said = fmt.Sprintf("%v: %.200s", err, out.Bytes()[max(0, out.Len()-200):])
	}
	fmt.Printf("  %-44s %10.1f ms  %.0f MB, %s\n", "approvalbot "+strings.Join(words[:min(3, len(words))], " "), ms(time.Since(began)), most, said)
}

func (l *looker) get(method, path, token, body string) ([]byte, error) {
	req, err := http.NewRequest(method, "http://"+l.addr+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if token == "" {
		req.Header.Set("Cookie", l.cookie)
	} else {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := l.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %d %.200s", method, path, resp.StatusCode, b)
	}
	return b, err
}

var loginLink = regexp.MustCompile(`link=([A-Za-z0-9_-]+)`)

// signIn gets the cookie of a session at the pages, by a link as approvalbot login makes one.
func (l *looker) signIn() error {
	cmd := exec.Command(l.bin, "login")
	cmd.Env = append(l.cmd.Env, "APPROVALBOT_SERVER=http://"+l.addr, "APPROVALBOT_TOKEN="+operatorToken)
	out, err := cmd.Output()
	found := loginLink.FindSubmatch(out)
	if err != nil || found == nil {
		return fmt.Errorf("no login link: %w: %.300s", err, out)
	}
	req, err := http.NewRequest("POST", "http://"+l.addr+"/signin", strings.NewReader(url.Values{"link": {string(found[1])}}.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", "http://"+l.addr)
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	resp, err := l.client.Do(req)
	if err != nil {
		return err
	}
	resp.Body.Close()
	for _, c := range resp.Cookies() {
		l.cookie = c.Name + "=" + c.Value
		return nil
	}
	return fmt.Errorf("the pages gave no cookie: %d", resp.StatusCode)
}
