package main

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const crowd = 10_000

// pending measures a desk with ten thousand approvals pending and as many
// askers waiting, beside an empty one of the same run.
func pending(b bench) error {
	dir, err := os.MkdirTemp("", "approvalbot-bench-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	full, err := start(b.bin, options{dir: dir})
	if err != nil {
		return err
	}
	empty, err := start(b.bin, options{})
	if err != nil {
		full.stop()
		return err
	}
	defer empty.stop()
	s := series{}
	stopped := false
	defer func() {
		if !stopped {
			full.stop()
		}
	}()
	if err := full.fill(); err != nil {
		return err
	}
	s.add("10,000 pending, nobody waiting: resident", full.resident())
	w, err := full.await()
	if err != nil {
		return err
	}
	defer w.close()
	const none, all = "decision → asker woken, empty desk (reference), p50", "decision → asker woken, 10,000 pending and waiting, p50"
	for range b.rounds {
		for _, x := range []struct {
			name string
			d    *desk
		}{{none, empty}, {all, full}} {
			took, err := x.d.decisions(100)
			if err != nil {
				return err
			}
			s.add(x.name, ms(took))
		}
		s.ratio("… against empty", all, none)
		s.add("10,000 pending and 10,000 waiting: resident", full.resident())
	}
	if n := w.lost.Load(); n > 0 {
		return fmt.Errorf("%d of those who wait were cut off", n)
	}
	s.add("… SIGTERM to exit", ms(full.stop()))
	stopped = true
	for range b.rounds {
		again, err := start(b.bin, options{dir: dir})
		if err != nil {
			return err
		}
		s.add("restart with 10,000 pending, exec to /readyz 200", ms(again.ready))
		again.stop()
	}
	s.row("10,000 pending, nobody waiting: resident", "MB")
	s.atMost("10,000 pending and 10,000 waiting: resident", "MB", 480)
	s.row(none, "ms")
	s.row(all, "ms")
	s.atMost("… against empty", "×", 1.1)
	s.atMost("… SIGTERM to exit", "ms", 2000)
	s.atMost("restart with 10,000 pending, exec to /readyz 200", "ms", 500)
	return nil
}

func waitingID(n int) string { return fmt.Sprintf("bench-%d", n) }

// fill makes the pending approvals.
func (d *desk) fill() error {
	var next atomic.Int64
	errs := make(chan error, connections)
	var wg sync.WaitGroup
	for range connections {
		wg.Go(func() {
			c, err := dial(d.addr, 4096)
			if err != nil {
				errs <- err
				return
			}
			defer c.net.Close()
			for n := next.Add(1); n <= crowd; n = next.Add(1) {
				body := fmt.Sprintf(`{"id":%q,"toolName":"bench.wait","params":{"n":%d}}`, waitingID(int(n)), n)
				if _, err := c.do(request("POST", "/v1/approvals", agentToken, body)); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}

// waiters are those who wait, each on a connection of its own.
type waiters struct {
	conns  []*conn
	closed atomic.Bool
	lost   atomic.Int64 // cut off before the waiters were closed
}

// await lets an asker wait for each of the pending approvals; an asker that is answered
// because its minute is over waits again.
func (d *desk) await() (*waiters, error) {
	w := &waiters{}
	for n := 1; n <= crowd; n++ {
		c, err := dial(d.addr, 512)
		if err != nil {
			w.close()
			return nil, err
		}
		w.conns = append(w.conns, c)
		req := request("GET", "/v1/approvals/"+waitingID(n)+"?wait=60s", agentToken, "")
		go func() {
			for {
				if _, err := c.do(req); err != nil {
					if !w.closed.Load() {
						w.lost.Add(1)
					}
					return
				}
			}
		}()
	}
	time.Sleep(2 * time.Second) // all requests have arrived and settled down
	return w, nil
}

func (w *waiters) close() {
	w.closed.Store(true)
	for _, c := range w.conns {
		c.net.Close()
	}
}

// decisions gives the median time from a decision to the asker's waking.
func (d *desk) decisions(n int) (time.Duration, error) {
	var c [3]*conn
	var err error
	for i := range c {
		if c[i], err = dial(d.addr, 4096); err != nil {
			return 0, err
		}
		defer c[i].net.Close()
	}
	var took []time.Duration
	for range n {
		body, err := c[0].do(asking(int(asked.Add(1)), ""))
		if err != nil {
			return 0, err
		}
		id, err := idOf(body)
		if err != nil {
			return 0, err
		}
		began := time.Now()
		if err := decide(c[1], c[2], id); err != nil {
			return 0, err
		}
		took = append(took, time.Since(began))
	}
	return median(took), nil
}
