package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"

	"github.com/google/uuid"
)

// hand is a running reference for the round trip through a chat.
type hand struct {
	room
	*process
}

// byHand starts it, with its database in dir.
func byHand(dir string) (h hand, err error) {
	if h.room, err = newRoom(); err != nil {
		return h, err
	}
	h.process, err = self("-serve", "desk", "-db", "sqlite:"+dir+"/reference.db",
		"-chat", h.tg.URL()+"/bot"+tgToken, "-group", strconv.FormatInt(h.group.ID, 10))
	if err != nil {
		h.tg.Close()
		return h, err
	}
	h.room.addr = h.process.addr
	return h, nil
}

func (h hand) stop() {
	h.process.stop()
	h.tg.Close()
}

// chat is what [plain] knows of a chat: a message is posted for what is asked, and a tap on
// it resolves that. It does not redraw messages or answer taps, and loses what a crash cuts
// off.
type chat struct {
	url   string // of the Bot API, with the token
	group int64
}

func (c chat) call(method string, params, result any) error {
	body, err := json.Marshal(params)
	if err != nil {
		return err
	}
	resp, err := http.Post(c.url+"/"+method, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(result)
}

// post shows an approval and waits until it has ended.
func (p *plain) post(id string, ended <-chan struct{}) error {
	var sent struct{ OK bool }
	if err := p.chat.call("sendMessage", message(p.chat.group, id), &sent); err != nil || !sent.OK {
		return fmt.Errorf("a message was not posted: %w", err)
	}
	<-ended
	return nil
}

// poll resolves what is tapped. It ends with the process.
func (p *plain) poll() {
	for offset := 0; ; {
		var updates struct {
			Result []struct {
				ID  int `json:"update_id"`
				Tap struct {
					Data string `json:"data"`
				} `json:"callback_query"`
			} `json:"result"`
		}
		if err := p.chat.call("getUpdates", map[string]any{"timeout": 20, "offset": offset,
			"allowed_updates": []string{"callback_query"}}, &updates); err != nil {
			fmt.Fprintln(os.Stderr, "bench: the reference hears no taps:", err)
			return
		}
		for _, u := range updates.Result {
			offset = u.ID + 1
			work := append(resolves(u.Tap.Data), statement{"INSERT INTO e VALUES ($1, $2)", []any{uuid.NewString(), u.Tap.Data}})
			if err := p.commit(work...); err != nil {
				fmt.Fprintln(os.Stderr, "bench: the reference cannot write:", err)
				return
			}
			p.wake(u.Tap.Data)
		}
	}
}
