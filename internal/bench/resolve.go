package main

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// throughput measures asked → resolved → asker woken through the API.
func throughput(b bench) error {
	d, err := start(b.bin, options{})
	if err != nil {
		return err
	}
	defer d.stop()
	ref, err := self("-serve", "desk", "-db", "sqlite:"+d.dir+"/reference.db")
	if err != nil {
		return err
	}
	defer ref.stop()
	const hand, ours, one, hand1 = "the same by hand: net/http + SQLite group commit (reference), 64 in flight", "asked → resolved → asker woken, 64 in flight", "asked → resolved → asker woken, 1 in flight, p50", "the same by hand (reference), 1 in flight, p50"
	const alone = "SQLite group commit alone, in process: two commits of three statements"
	s := series{}
	for i := range b.rounds {
		raw, err := groupCommits(fmt.Sprintf("sqlite:%s/alone-%d.db", d.dir, i), 64, 3000)
		if err != nil {
			return err
		}
		s.add(alone, raw)
		for _, x := range []struct {
			many, single string
			addr         string
			pid          int
		}{{hand, hand1, ref.addr, ref.cmd.Process.Pid}, {ours, one, d.addr, d.cmd.Process.Pid}} {
			used := processorTime(x.pid)
			got, err := roundTrip([]string{x.addr}, 64, 3000)
			if err != nil {
				return err
			}
			s.add(x.many, got.perSecond)
			s.add(x.many+": CPU of the server", us(processorTime(x.pid)-used)/float64(got.count))
			if got, err = roundTrip([]string{x.addr}, 1, 200); err != nil {
				return err
			}
			s.add(x.single, ms(got.p50))
		}
		s.ratio("… against the reference", ours, hand)
	}
	s.row(alone, "/s")
	s.row(hand, "/s")
	s.row(hand+": CPU of the server", "µs")
	s.row(ours, "/s")
	s.row(ours+": CPU of the server", "µs")
	s.atLeast("… against the reference", "×", 0.5)
	s.row(hand1, "ms")
	s.row(one, "ms")
	return nil
}

var asked atomic.Int64 // so that no two calls are the same

// roundTrip asks, waits and resolves so many times: asked and awaited at one of
// the desks, resolved at the next.
func roundTrip(addrs []string, inFlight, count int) (sample, error) {
	var left atomic.Int64
	left.Store(int64(count))
	var mu sync.Mutex
	var all []time.Duration
	var failed error
	var wg sync.WaitGroup
	began := time.Now()
	for i := range inFlight {
		wg.Go(func() {
			took, err := trips(addrs[i%len(addrs)], addrs[(i+1)%len(addrs)], &left)
			mu.Lock()
			defer mu.Unlock()
			all, failed = append(all, took...), errors.Join(failed, err)
		})
	}
	wg.Wait()
	return sample{perSecond: float64(count) / time.Since(began).Seconds(), p50: median(all), p99: quantile(all, 0.99), count: count}, failed
}

func trips(asker, operator string, left *atomic.Int64) (took []time.Duration, err error) {
	var c [3]*conn
	for i, addr := range []string{asker, asker, operator} {
		if c[i], err = dial(addr, 4096); err != nil {
			return nil, err
		}
		defer c[i].net.Close()
	}
	for left.Add(-1) >= 0 {
		began := time.Now()
		body, err := c[0].do(asking(int(asked.Add(1)), ""))
		if err != nil {
			return nil, err
		}
		id, err := idOf(body)
		if err != nil {
			return nil, err
		}
		if err := decide(c[1], c[2], id); err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
	}
	return took, nil
}

// decide resolves an approval while its asker waits, and gives when it is woken.
func decide(waiter, operator *conn, id string) error {
	woken := make(chan error, 1)
	go func() {
		body, err := waiter.do(request("GET", "/v1/approvals/"+id+"?wait=30s", agentToken, ""))
		if err == nil && !bytes.Contains(body, []byte(`"status":"approved"`)) {
			err = fmt.Errorf("an approval was not approved: %.200s", body)
		}
		woken <- err
	}()
	if _, err := operator.do(request("POST", "/v1/approvals/"+id+"/resolve", operatorToken, `{"decision":"allow-once"}`)); err != nil {
		return err
	}
	return <-woken
}

func idOf(body []byte) (string, error) {
	_, rest, ok := bytes.Cut(body, []byte(`"id":"`))
	id, _, ok2 := bytes.Cut(rest, []byte(`"`))
	if !ok || !ok2 {
		return "", fmt.Errorf("an answer without an id: %.200s", body)
	}
	return string(id), nil
}

// groupCommits is what SQLite itself gives without HTTP: so many writers, each
// of which asks and resolves.
func groupCommits(url string, writers, count int) (perSecond float64, err error) {
	p, err := openPlain(url)
	if err != nil {
		return 0, err
	}
	defer p.db.Close()
	var left atomic.Int64
	left.Store(int64(count))
	errs := make(chan error, writers)
	began := time.Now()
	for range writers {
		go func() {
			var err error
			for err == nil && left.Add(-1) >= 0 {
				id := uuid.NewString()
				if err = p.commit(asks(id, padding)...); err == nil {
					err = p.commit(resolves(id)...)
				}
			}
			errs <- err
		}()
	}
	for range writers {
		err = errors.Join(err, <-errs)
	}
	return float64(count) / time.Since(began).Seconds(), err
}
