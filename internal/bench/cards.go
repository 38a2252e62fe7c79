package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"approvalbot/internal/fakechat"
)

const asksEach = 20 // a round's calls, each to every chat

// cards measures what a card costs the desk beyond the HTTP call that carries
// it, and whether a chat that answers 429 for ever keeps the others waiting.
func cards(b bench) error {
	s := series{}
	if err := cardCost(b, s); err != nil {
		return err
	}
	return deadChat(b, s)
}

// cardCost compares calls that go to ten chats, and to a hundred, with calls that
// go to one: the rest of a call's cost is the same.
func cardCost(b bench, s series) error {
	chats := []int{1, 10, 100}
	var all []*desk
	for _, n := range chats {
		d, err := start(b.bin, options{chats: n})
		if err != nil {
			return err
		}
		defer d.stop()
		all = append(all, d)
	}
	const call = "CPU of the same message by a plain net/http client (reference)"
	whole := func(n int) string {
		return fmt.Sprintf("CPU of the desk per card, HTTP call included, %d chats", n)
	}
	beyond := func(n int) string { return fmt.Sprintf("CPU per card beyond the HTTP call, %d chats", n) }
	for range b.rounds {
		plain, err := plainCost(all[0], 2000)
		if err != nil {
			return err
		}
		s.add(call, us(plain))
		var used [3]time.Duration
		for i, d := range all {
			asks := asksEach * max(1, 20/chats[i]) // enough of them for the kernel's clock
			if used[i], err = d.fanOut(asks); err != nil {
				return err
			}
			used[i] /= time.Duration(asks)
			if n := chats[i]; n > 1 {
				per := us(used[i]-used[0]) / float64(n-1)
				s.add(whole(n), per)
				s.add(beyond(n), per-us(plain))
			}
		}
	}
	s.row(call, "µs")
	for _, n := range chats[1:] {
		s.row(whole(n), "µs")
		s.atMost(beyond(n), "µs", 100)
	}
	return nil
}

// fanOut asks for so many calls, waits until every chat has its cards, and gives
// the processor time that took the desk.
func (d *desk) fanOut(n int) (time.Duration, error) {
	sent := len(d.tg.Calls("sendMessage"))
	used := d.processorTime()
	c, err := dial(d.addr, 4096)
	if err != nil {
		return 0, err
	}
	defer c.net.Close()
	for range n {
		if _, err := c.do(asking(int(asked.Add(1)), "")); err != nil {
			return 0, err
		}
	}
	for end := time.Now().Add(60 * time.Second); len(d.tg.Calls("sendMessage"))-sent < n*len(d.groups); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			return 0, fmt.Errorf("after a minute only %d of %d cards are there", len(d.tg.Calls("sendMessage"))-sent, n*len(d.groups))
		}
	}
	time.Sleep(100 * time.Millisecond) // the last answers are still on their way into the store
	return d.processorTime() - used, nil
}

// plainCost is the processor time that one message costs a client of its own process that
// only sends messages.
func plainCost(d *desk, n int) (time.Duration, error) {
	name, err := os.Executable()
	if err != nil {
		return 0, err
	}
	url := fmt.Sprintf("%s/bot%s/sendMessage#%d", d.tg.URL(), tgToken, d.groups[0].ID)
	out, err := exec.Command(name, "-calls", strconv.Itoa(n), url).Output()
	if err != nil {
		return 0, err
	}
	used, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	return time.Duration(used / int64(n)), err
}

// plainCalls posts a message as large as a card so many times, and prints the nanoseconds
// of processor time that it took. The url ends in # and the chat's id.
func plainCalls(url string, n int) error {
	url, id, _ := strings.Cut(url, "#")
	chat, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return err
	}
	m := message(chat, "x")
	m["text"] = strings.Repeat("a card of the usual size ", 40)
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
	var left atomic.Int64
	left.Store(int64(n))
	var failed atomic.Value
	var wg sync.WaitGroup
	began := own()
	for range 8 {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				if err := postOnce(client, url, body); err != nil {
					failed.Store(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if err, ok := failed.Load().(error); ok {
		return err
	}
	fmt.Println((own() - began).Nanoseconds())
	return nil
}

func postOnce(client *http.Client, url string, body []byte) error {
	resp, err := client.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the chat answered %s", resp.Status)
	}
	var out struct{ OK bool }
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// own is this process's processor time.
func own() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// deadChat compares the time until nine chats have their cards, with a tenth
// that takes them and with one that answers 429 for ever.
func deadChat(b bench, s series) error {
	var desks [2]*desk
	for i := range desks {
		d, err := start(b.bin, options{chats: 10})
		if err != nil {
			return err
		}
		defer d.stop()
		desks[i] = d
	}
	desks[1].tg.Fault(fakechat.TelegramFault{Chat: desks[1].groups[9].ID, Times: -1, When: fakechat.Before,
		Kind: fakechat.TooManyRequests, RetryAfter: 1})
	names := []string{"asked → nine chats have their cards, p50", "the same with a tenth that answers 429"}
	for range b.rounds {
		for i, d := range desks {
			took, err := d.nine(20)
			if err != nil {
				return err
			}
			s.add(names[i], ms(took))
		}
		s.ratio("… against a healthy tenth", names[1], names[0])
	}
	s.row(names[0], "ms")
	s.row(names[1], "ms")
	s.atMost("… against a healthy tenth", "×", 1.1)
	return nil
}

func (d *desk) nine(n int) (time.Duration, error) {
	c, err := dial(d.addr, 4096)
	if err != nil {
		return 0, err
	}
	defer c.net.Close()
	var took []time.Duration
	for range n {
		seen := make([]int, 9)
		for i := range seen {
			seen[i] = newest(d.groups[i])
		}
		began := time.Now()
		if _, err := c.do(asking(int(asked.Add(1)), "")); err != nil {
			return 0, err
		}
		for i := 0; i < 9; {
			switch {
			case newest(d.groups[i]) > seen[i]:
				i++
			case time.Since(began) > 10*time.Second:
				return 0, fmt.Errorf("a chat got no card in ten seconds")
			default:
				time.Sleep(50 * time.Microsecond)
			}
		}
		took = append(took, time.Since(began))
		time.Sleep(5 * time.Millisecond) // the tenth chat's too
	}
	return median(took), nil
}

// newest is the id of a chat's last message, 0 in an empty one.
func newest(chat *fakechat.TelegramChat) int {
	m, _ := chat.Newest()
	return m.ID
}
