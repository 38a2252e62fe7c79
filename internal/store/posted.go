package store

import (
	"sync"

	"approvalbot/internal/approval"
)

// posted are the messages that are in chats already and whose records are queued.
type posted struct {
	mu    sync.Mutex
	known map[message]approval.Delivery
	more  chan struct{} // closed when there is another one
}

type message struct {
	chat approval.Target
	id   string
}

func messageOf(d approval.Delivered) message {
	return message{d.Was.Target.Normal().Chat(), d.MessageID}
}

func (p *posted) note(d approval.Delivered) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d.MessageID == "" || d.Was.ID == "" {
		return
	}
	now := d.Was
	now.MessageID, now.State, now.Shown, now.Attached = d.MessageID, d.State, d.Shown, d.Attached
	p.known[messageOf(d)] = now
	close(p.more)
	p.more = make(chan struct{})
}

func (p *posted) forget(d approval.Delivered) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.known, messageOf(d))
}

func (p *posted) find(chat approval.Target, id string) (approval.Delivery, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	d, ok := p.known[message{chat, id}]
	return d, ok
}
