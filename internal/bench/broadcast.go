package main

import (
	"fmt"
	"time"
)

// toEveryChat measures how long an asker waits whose call goes to 500 chats: one commit promises all of these cards.
func toEveryChat(b bench) error {
	s := series{}
	const asks, everyChat, oneChat = 20, "asked → 201, of a call that goes to 500 chats, p50", "… that goes to one chat (reference), p50"
	for _, x := range []struct {
		name  string
		chats int
	}{{oneChat, 1}, {everyChat, 500}} {
		d, err := start(b.bin, options{chats: x.chats})
		if err != nil {
			return err
		}
		defer d.stop()
		for range b.rounds {
			took, err := d.askEveryChat(asks)
			if err != nil {
				return err
			}
			s.add(x.name, ms(median(took)))
		}
	}
	s.row(oneChat, "ms")
	s.atMost(everyChat, "ms", 20)
	return nil
}

// askEveryChat asks one by one, each when all cards of the one before are out.
func (d *desk) askEveryChat(n int) (took []time.Duration, err error) {
	c, err := dial(d.addr, 4096)
	if err != nil {
		return nil, err
	}
	defer c.net.Close()
	for range n {
		sent := len(d.tg.Calls("sendMessage"))
		began := time.Now()
		if _, err := c.do(asking(int(asked.Add(1)), "")); err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
		for end := time.Now().Add(time.Minute); len(d.tg.Calls("sendMessage"))-sent < len(d.groups); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				return nil, fmt.Errorf("after a minute only %d of %d cards are there", len(d.tg.Calls("sendMessage"))-sent, len(d.groups))
			}
		}
	}
	return took, nil
}
