// Package events follows the log for those who listen to what happens to approvals.
package events

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/approval"
)

const (
	ringSize  = 512         // entries kept in memory for those who keep up
	feedPage  = 256         // entries read or handed out at once
	pollEvery = time.Second // other instances write too, and a nudge may be lost
)

// Log is what the feed reads.
type Log interface {
	// Log gives at most limit entries that come after number after (0: from the
	// start), in commit order. No entry ever appears below one that was given.
	Log(ctx context.Context, after int64, limit int) ([]approval.Entry, error)
	// Head gives the number and hash of the newest entry.
	Head(ctx context.Context) (seq int64, hash string, err error)
	// Get gives an approval by its key, for what the log does not keep of it.
	Get(ctx context.Context, key string) (approval.Approval, error)
}

// Entry is an entry of the log as listeners get it.
type Entry struct {
	Seq   int64
	Key   string     // of the approval
	Owner string     // other callers who may see it
	Event *api.Event // nil: about no approval, or for auditors only
	chunk []byte     // Event, or what is said of a person, as a server-sent event
}

// For reports whether that token's holder may see the entry: operators see all
// of them, an asker what happens to its own approvals.
func (e Entry) For(who core.Caller) bool {
	own := who.MayRequest && e.Owner == who.Token
	return e.Event != nil && (who.MayDecide || own)
}

// Stream is what that listener may see of a batch, as server-sent events.
func Stream(batch []Entry, who core.Caller) (out []byte) {
	for _, t := range batch {
		if t.For(who) || t.chunk != nil && t.Event == nil && who.MayDecide {
			out = append(out, t.chunk...)
		}
	}
	return out
}

// Feed reads the log once for all listeners. It keeps the newest entries in
// memory; a listener that is further behind reads the log itself. Numbers of the
// log have no gaps, so a listener neither misses an entry nor gets one twice.
// Safe for concurrent use.
type Feed struct {
	log    Log
	logger *slog.Logger
	nudge  chan struct{}

	// Keep is how many entries stay in memory, at least: 512, unless it is changed
	// before Run.
	Keep int

	listeners atomic.Int64

	reading sync.Mutex // one reader of the log at a time
	known   bool       // the log has been followed since its end was last looked up

	mu   sync.Mutex
	ring []Entry // the newest, in order; its elements never change
	head int64
	news chan struct{} // closed when head moves
}

// NewFeed makes a Feed. It follows the log only while [Feed.Run] runs.
func NewFeed(log Log, logger *slog.Logger) *Feed {
	return &Feed{log: log, logger: cmp.Or(logger, slog.New(slog.DiscardHandler)), nudge: make(chan struct{}, 1),
		Keep: ringSize, news: make(chan struct{})}
}

// Notify says that something was committed. It is made for the Gate's
// after-commit hook and never blocks.
func (f *Feed) Notify(core.Change) {
	select {
	case f.nudge <- struct{}{}:
	default:
	}
}

// Listen registers a listener until done is called; without listeners the log
// is not followed.
func (f *Feed) Listen() (done func()) {
	f.listeners.Add(1)
	f.Notify(core.Change{}) // what was missed while there were no listeners
	return func() { f.listeners.Add(-1) }
}

// Run follows the log for those who listen until ctx ends.
func (f *Feed) Run(ctx context.Context) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		if f.listeners.Load() == 0 {
			f.forget()
		} else if _, err := f.Head(ctx); err != nil && ctx.Err() == nil {
			f.logger.Error("could not read the audit log; event streams wait until it can be read", "reason", err)
		}
		select {
		case <-f.nudge:
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// Head gives the number of the log's last entry, as of now.
func (f *Feed) Head(ctx context.Context) (int64, error) {
	f.reading.Lock()
	defer f.reading.Unlock()
	if !f.known {
		head, _, err := f.log.Head(ctx)
		if err != nil {
			return 0, err
		}
		f.restart(head)
		f.known = true
	}
	for {
		page, err := f.read(ctx, f.head, feedPage)
		if err != nil {
			return 0, err
		}
		if len(page) == 0 {
			return f.head, nil
		}
		f.push(page)
	}
}

func (f *Feed) read(ctx context.Context, after int64, limit int) ([]Entry, error) {
	page, err := f.log.Log(ctx, after, limit)
	if err != nil {
		return nil, err
	}
	out := make([]Entry, len(page))
	for i, e := range page {
		out[i] = Entry{Seq: e.Seq, Key: e.Key, Owner: e.Owner}
		if ofPeople(e.Type) {
			said, err := absenceOf(e.Event)
			if err == nil {
				out[i].chunk, err = chunkOf(e.Event, said)
			}
			if err != nil {
				f.logger.Error("event streams do not get a record of the audit log, because it cannot be read",
					"record", e.Seq, "approval", e.Key, "reason", err)
			}
			continue
		}
		if out[i].Event, err = eventOf(e.Event); err != nil {
			f.logger.Error("event streams do not get a record of the audit log, because it cannot be read",
				"record", e.Seq, "approval", e.Key, "reason", err)
		}
		if out[i].Event == nil {
			continue
		}
		if e.Type == approval.EventRequested {
			a, err := f.log.Get(ctx, e.Key)
			if err != nil && approval.CodeOf(err) != approval.CodeNotFound { // it may be older than the retention
				return nil, err
			}
			out[i].Event.ParamsSummary = a.Summary
		}
		if out[i].chunk, err = chunkOf(e.Event, out[i].Event); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// chunkOf is a server-sent event.
func chunkOf(e approval.Event, body any) ([]byte, error) {
	data, err := json.Marshal(body)
	return fmt.Appendf(nil, "id: %d\nevent: %s\ndata: %s\n\n", e.Seq, e.Type, data), err
}

// forget drops the entries in memory when there are no listeners left; the next one
// starts anew.
func (f *Feed) forget() {
	f.reading.Lock()
	defer f.reading.Unlock()
	f.known = false
}

// restart follows the log from its entry head on. A listener that is behind it
// reads the log.
func (f *Feed) restart(head int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ring, f.head = nil, head
	close(f.news)
	f.news = make(chan struct{})
}

func (f *Feed) push(page []Entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ring = append(f.ring, page...)
	if extra := len(f.ring) - f.Keep; extra > f.Keep {
		f.ring = slices.Clone(f.ring[extra:])
	}
	f.head = page[len(page)-1].Seq
	close(f.news)
	f.news = make(chan struct{})
}

// News is closed when an entry is committed that was not handed out yet. There must be a
// listener, see [Feed.Listen].
func (f *Feed) News() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.news
}

// After gives at most some hundred entries after number after, in order, from
// memory or else from the log. If there are no newer ones yet, news is closed
// as soon as there may be some.
func (f *Feed) After(ctx context.Context, after int64) (batch []Entry, news <-chan struct{}, err error) {
	batch, news, behind := f.recent(after)
	if behind {
		batch, err = f.read(ctx, after, feedPage)
	}
	return batch, news, err
}

// recent looks in memory only. behind: the log has what memory has not.
func (f *Feed) recent(after int64) (batch []Entry, news <-chan struct{}, behind bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if after >= f.head {
		return nil, f.news, false
	}
	if len(f.ring) == 0 || after < f.ring[0].Seq-1 {
		return nil, f.news, true
	}
	i, _ := slices.BinarySearchFunc(f.ring, after+1, func(t Entry, seq int64) int { return cmp.Compare(t.Seq, seq) })
	return f.ring[i:min(len(f.ring), i+feedPage)], f.news, false
}
