package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	_ "modernc.org/sqlite"

	"approvalbot/api"
	"approvalbot/bot/bottest"
)

// lifecycle measures start, memory and stop, with approvals pending.
func lifecycle(bin string, rounds int) error {
	var ready, idle, stop []float64
	for range rounds {
		d, err := start(bin, false)
		if err != nil {
			return err
		}
		idle = append(idle, d.resident())
		ready = append(ready, ms(d.ready))
		agent := d.client(agentToken)
		for n := range 50 {
			if _, err := ask(context.Background(), agent, n, 0); err != nil {
				d.stop()
				return err
			}
		}
		stop = append(stop, ms(d.stop()))
	}
	row("exec to /readyz 200", ready, "ms", "≤ 100 ms")
	row("resident when ready, no load", idle, "MB", "≤ 30 MB")
	row("SIGTERM to exit, 50 approvals pending", stop, "ms", "≤ 1000 ms")
	if info, err := os.Stat(bin); err == nil {
		row("binary, stripped, cgo off", []float64{float64(info.Size()) / (1 << 20)}, "MB", "≤ 30 MB")
	}
	return nil
}

// roundTrips measures asked → card in a chat → tapped → asker woken, one in
// flight, all durable, in units of one fdatasync of the same directory.
func roundTrips(bin string, rounds int) error {
	d, err := start(bin, true)
	if err != nil {
		return err
	}
	defer d.stop()
	var trips, chats, syncs, ratio []float64
	n := 0
	for range rounds {
		sync, err := fdatasync(d.dir, 100)
		if err != nil {
			return err
		}
		chat, err := chatServer(60)
		if err != nil {
			return err
		}
		trip, err := d.trips(60, &n)
		if err != nil {
			return err
		}
		trips, chats, syncs = append(trips, ms(trip)), append(chats, ms(chat)), append(syncs, ms(sync))
		ratio = append(ratio, float64(trip-chat)/float64(sync))
	}
	row("one fdatasync (reference), p50", syncs, "ms", "—")
	row("the fake chat server alone: post → tap → update (reference)", chats, "ms", "—")
	row("asked → card → tapped → woken, p50, chat server included", trips, "ms", "—")
	row("  beyond the chat server, in fdatasyncs", ratio, "×", "≤ 6")
	return nil
}

// chatServer measures what the fake chat server itself takes for one round: a
// message posted, tapped, and the tap handed to a waiting poll.
func chatServer(count int) (time.Duration, error) {
	tg, err := bottest.StartTelegram(bottest.TelegramOptions{})
	if err != nil {
		return 0, err
	}
	defer tg.Close()
	alice := tg.AddUser(bottest.TelegramProfile{FirstName: "Alice"})
	group := tg.AddSupergroup("ops", alice)
	client := &http.Client{}
	defer client.CloseIdleConnections()
	call := func(method string, params, result any) error {
		body, err := json.Marshal(params)
		if err != nil {
			return err
		}
		resp, err := client.Post(tg.URL()+"/bot123456:TEST/"+method, "application/json", bytes.NewReader(body))
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		return json.NewDecoder(resp.Body).Decode(result)
	}
	var took []time.Duration
	offset := 0
	for range count {
		began := time.Now()
		var updates struct {
			Result []struct {
				ID int `json:"update_id"`
			} `json:"result"`
		}
		polled := make(chan error, 1)
		go func() {
			polled <- call("getUpdates", map[string]any{"timeout": 20, "offset": offset, "allowed_updates": []string{"callback_query"}}, &updates)
		}()
		var sent struct {
			Result struct {
				ID int `json:"message_id"`
			} `json:"result"`
		}
		err := call("sendMessage", map[string]any{"chat_id": group.ID, "text": "a card", "reply_markup": map[string]any{
			"inline_keyboard": [][]any{{map[string]string{"text": "Allow", "callback_data": "x"}}}}}, &sent)
		if err != nil {
			return 0, err
		}
		alice.Tap(group, sent.Result.ID, "Allow")
		if err := <-polled; err != nil {
			return 0, err
		}
		if len(updates.Result) > 0 {
			offset = updates.Result[len(updates.Result)-1].ID + 1
		}
		took = append(took, time.Since(began))
	}
	return median(took), nil
}

func (d *desk) trips(count int, n *int) (time.Duration, error) {
	agent := d.client(agentToken)
	var took []time.Duration
	for range count {
		*n++
		seen := len(d.group.Messages())
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		done := make(chan error, 1)
		began := time.Now()
		go func() {
			_, err := ask(ctx, agent, *n, 20*time.Second)
			done <- err
		}()
		var card bottest.TelegramMessage
		err := d.tg.WaitFor(ctx, func() bool {
			all := d.group.Messages()
			if len(all) > seen {
				card = all[len(all)-1]
			}
			return len(all) > seen
		})
		if err == nil {
			d.alice.Tap(d.group, card.ID, "Allow once")
			err = <-done
		}
		cancel()
		if err != nil {
			return 0, err
		}
		took = append(took, time.Since(began))
	}
	return median(took), nil
}

// fdatasync gives the median time of appending a page and syncing it.
func fdatasync(dir string, count int) (time.Duration, error) {
	f, err := os.Create(filepath.Join(dir, "sync"))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	page := make([]byte, 4096)
	var took []time.Duration
	for range count {
		began := time.Now()
		if _, err := f.Write(page); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		took = append(took, time.Since(began))
	}
	return median(took), nil
}

// throughput measures the API with 64 in flight against references.
func throughput(bin string, rounds int) error {
	d, err := start(bin, false)
	if err != nil {
		return err
	}
	defer d.stop()
	echo := newEcho()
	defer echo.Close()
	var full, group, fullRatio, allowed, echoed, allowedRatio []float64
	n := 0
	for range rounds {
		ref, err := groupCommit(d.dir, 64, 3000)
		if err != nil {
			return err
		}
		got, err := d.resolves(64, 3000, &n)
		if err != nil {
			return err
		}
		group, full, fullRatio = append(group, ref), append(full, got), append(fullRatio, got/ref)
		e := hammer(64, 20000, func(c *http.Client) error { return post(c, echo.url, "", `{"toolName":"read","params":{"path":"a"}}`) })
		a := hammer(64, 6000, func(c *http.Client) error {
			return post(c, d.url+"/v1/approvals", agentToken, `{"toolName":"read","params":{"path":"/tmp/a"}}`)
		})
		echoed, allowed, allowedRatio = append(echoed, e), append(allowed, a), append(allowedRatio, a/e)
	}
	row("SQLite group commit (reference), 64 in flight", group, "/s", "—")
	row("asked → resolved → asker woken over HTTP, 64 in flight", full, "/s", "—")
	row("  against the group-commit reference", fullRatio, "×", "≥ 0.4")
	row("net/http JSON echo (reference), 64 connections", echoed, "/s", "—")
	row("POST /v1/approvals allowed by policy, on record", allowed, "/s", "—")
	row("  against echo", allowedRatio, "×", "≥ 0.25")
	return nil
}

// resolves runs whole round trips over HTTP and gives them per second.
func (d *desk) resolves(inFlight, count int, n *int) (float64, error) {
	agent, operator := d.client(agentToken), d.client(operatorToken)
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	var next atomic.Int64
	next.Store(int64(*n))
	*n += count
	last := int64(*n)
	errs := make(chan error, inFlight)
	began := time.Now()
	var all sync.WaitGroup
	for range inFlight {
		all.Go(func() {
			for i := next.Add(1); i <= last; i = next.Add(1) {
				if err := roundTrip(ctx, agent, operator, int(i)); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	all.Wait()
	select {
	case err := <-errs:
		return 0, err
	default:
		return float64(count) / time.Since(began).Seconds(), nil
	}
}

func roundTrip(ctx context.Context, agent, operator *api.Client, n int) error {
	a, err := ask(ctx, agent, n, 0)
	if err != nil {
		return err
	}
	woken := make(chan error, 1)
	go func() {
		got, err := agent.Get(ctx, a.ID, 30*time.Second)
		if err == nil && got.Status != "approved" {
			err = fmt.Errorf("approval %s is %s", got.ID, got.Status)
		}
		woken <- err
	}()
	if _, err := operator.Resolve(ctx, a.ID, api.ResolveRequest{Decision: "allow-once"}); err != nil {
		return err
	}
	return <-woken
}

// groupCommit is what SQLite itself gives: one writer drains up to 256 jobs into
// one transaction, three inserts and a savepoint each, answered after COMMIT.
func groupCommit(dir string, writers, count int) (float64, error) {
	file := filepath.Join(dir, fmt.Sprintf("reference-%d.db", time.Now().UnixNano()))
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=journal_mode(wal)&_pragma=synchronous(full)&_txlock=immediate")
	if err != nil {
		return 0, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b TEXT)"); err != nil {
		return 0, err
	}
	jobs := make(chan chan error, writers)
	go commitJobs(db, jobs)
	began := time.Now()
	var all sync.WaitGroup
	var failed atomic.Value
	for range writers {
		all.Go(func() {
			for range count / writers {
				done := make(chan error, 1)
				jobs <- done
				if err := <-done; err != nil {
					failed.Store(err)
					return
				}
			}
		})
	}
	all.Wait()
	close(jobs)
	if err, ok := failed.Load().(error); ok {
		return 0, err
	}
	return float64(count) / time.Since(began).Seconds(), nil
}

func commitJobs(db *sql.DB, jobs chan chan error) {
	payload := string(bytes.Repeat([]byte("x"), 300))
	for first := range jobs {
		batch := []chan error{first}
		for len(batch) < 256 && len(jobs) > 0 {
			batch = append(batch, <-jobs)
		}
		tx, err := db.Begin()
		for range batch {
			for _, q := range []string{"SAVEPOINT s", "", "", "", "RELEASE s"} {
				if err != nil {
					break
				}
				if q == "" {
					_, err = tx.Exec("INSERT INTO t (a, b) VALUES ($1, $2)", "key", payload)
				} else {
					_, err = tx.Exec(q)
				}
			}
		}
		if err == nil {
			err = tx.Commit()
		}
		for _, done := range batch {
			done <- err
		}
	}
}

type echoServer struct {
	http.Server
	url string
}

// newEcho is net/http decoding and encoding one JSON object.
func newEcho() *echoServer {
	s := &echoServer{}
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var v map[string]any
		if json.NewDecoder(r.Body).Decode(&v) == nil {
			_ = json.NewEncoder(w).Encode(v)
		}
	})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err) // loopback is always there
	}
	s.url = "http://" + ln.Addr().String()
	go func() { _ = s.Serve(ln) }()
	return s
}

// hammer runs count calls over connections and gives them per second.
func hammer(connections, count int, call func(*http.Client) error) float64 {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections}}
	defer client.CloseIdleConnections()
	var left atomic.Int64
	left.Store(int64(count))
	began := time.Now()
	var all sync.WaitGroup
	for range connections {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				if err := call(client); err != nil {
					fmt.Fprintln(os.Stderr, "bench:", err)
					return
				}
			}
		})
	}
	all.Wait()
	return float64(count) / time.Since(began).Seconds()
}

func post(c *http.Client, url, token, body string) error {
	req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode > 299 {
		return fmt.Errorf("%s answered %s", url, resp.Status)
	}
	return nil
}
