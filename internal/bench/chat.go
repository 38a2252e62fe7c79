package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"approvalbot/internal/fakechat"
)

// roundTrips measures asked → card in a chat → tapped → asker woken, one in
// flight, all durable, against the same done by hand. The same
// by hand says what that takes without anything that makes a desk.
func roundTrips(b bench) error {
	d, err := start(b.bin, options{chats: 1})
	if err != nil {
		return err
	}
	defer d.stop()
	hand, err := byHand(d.dir)
	if err != nil {
		return err
	}
	defer hand.stop()
	const sync, chat, trip, plain = "one fdatasync (reference), p50", "the fake chat server alone: this card → tap → update (reference)",
		"asked → card → tapped → woken, p50, chat server included", "the same by hand: net/http + SQLite (reference), p50"
	whole := room{d.addr, d.tg, d.groups[0], d.alice}
	if _, err := whole.trips(1); err != nil {
		return err
	}
	card, err := whole.card()
	if err != nil {
		return err
	}
	s := series{}
	for range b.rounds {
		one, err := fdatasync(d.dir, 100)
		if err != nil {
			return err
		}
		short, err := chatServer(60, message(0, "x"))
		if err != nil {
			return err
		}
		least, err := hand.trips(60)
		if err != nil {
			return err
		}
		alone, err := chatServer(60, card)
		if err != nil {
			return err
		}
		took, err := whole.trips(60)
		if err != nil {
			return err
		}
		s.add(sync, ms(one))
		s.add(chat, ms(alone))
		s.add(plain, ms(least))
		s.add(trip, ms(took))
		s.add("… against by hand, beyond the chat server", float64(took-alone)/float64(least-short))
	}
	s.row(sync, "ms")
	s.row(chat, "ms")
	s.row(plain, "ms")
	s.row(trip, "ms")
	s.atMost("… against by hand, beyond the chat server", "×", 2)
	return nil
}

// chatServer measures what the fake chat server itself takes for one round: the
// message posted, tapped, and the tap handed to a waiting poll.
func chatServer(count int, message map[string]any) (time.Duration, error) {
	r, err := newRoom()
	if err != nil {
		return 0, err
	}
	defer r.tg.Close()
	client := &http.Client{}
	defer client.CloseIdleConnections()
	call := func(method string, params, result any) error {
		body, err := json.Marshal(params)
		if err != nil {
			return err
		}
		resp, err := client.Post(r.tg.URL()+"/bot"+tgToken+"/"+method, "application/json", bytes.NewReader(body))
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		return json.NewDecoder(resp.Body).Decode(result)
	}
	message = maps.Clone(message)
	message["chat_id"] = r.group.ID
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
		err := call("sendMessage", message, &sent)
		if err != nil {
			return 0, err
		}
		r.alice.Tap(r.group, sent.Result.ID, "Allow once")
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

// message is the least that can be tapped.
func message(chat int64, data string) map[string]any {
	return map[string]any{"chat_id": chat, "text": "a card", "reply_markup": map[string]any{
		"inline_keyboard": [][]any{{map[string]string{"text": "Allow once", "callback_data": data}}}}}
}

// room is what a round trip needs: the server that is asked, at host:port, and the chat in
// which a person taps.
type room struct {
	addr  string
	tg    *fakechat.Telegram
	group *fakechat.TelegramChat
	alice *fakechat.TelegramUser
}

// newRoom makes a fake Telegram with one group.
func newRoom() (r room, err error) {
	if r.tg, err = fakechat.StartTelegram(fakechat.TelegramOptions{Token: tgToken}); err == nil {
		r.alice = r.tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice"})
		r.group = r.tg.AddSupergroup("ops", r.alice)
	}
	return r, err
}

// card is the last message that was posted here, as it was posted.
func (r room) card() (map[string]any, error) {
	calls := r.tg.Calls("sendMessage")
	if len(calls) == 0 {
		return nil, errors.New("no card was posted")
	}
	card := map[string]any{}
	for name, value := range calls[len(calls)-1].Params {
		card[name] = value
	}
	return card, nil
}

// trips gives the median of so many round trips through the chat.
func (r room) trips(count int) (time.Duration, error) {
	c, err := dial(r.addr, 4096)
	if err != nil {
		return 0, err
	}
	defer c.net.Close()
	var took []time.Duration
	for range count {
		one, err := r.trip(c)
		if err != nil {
			return 0, err
		}
		took = append(took, one)
	}
	return median(took), nil
}

func (r room) trip(c *conn) (time.Duration, error) {
	seen, _ := r.group.Newest()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	done := make(chan error, 1)
	began := time.Now()
	go func() {
		_, err := c.do(asking(int(asked.Add(1)), "?wait=20s"))
		done <- err
	}()
	var card fakechat.TelegramMessage
	err := r.tg.WaitFor(ctx, func() bool {
		card, _ = r.group.Newest()
		return card.ID > seen.ID
	})
	if err != nil {
		return 0, err
	}
	r.alice.Tap(r.group, card.ID, "Allow once")
	err = <-done
	return time.Since(began), err
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
		if err := syncData(f); err != nil {
			return 0, err
		}
		took = append(took, time.Since(began))
	}
	return median(took), nil
}
