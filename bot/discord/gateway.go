package discord

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"

	"approvalbot/bot/textcmd"
)

// intents are what the bot asks to be told beside interactions, which need none:
// messages, of which it sees the text only where it is mentioned or written to.
// None of them is privileged.
const intents = discordgo.IntentGuildMessages | discordgo.IntentDirectMessages

const (
	identifyPause = 5500 * time.Millisecond // Topics, Gateway, Rate Limiting: one IDENTIFY in 5 seconds
	openTimeout   = dialTimeout + 2*helloTimeout
	firstWait     = 500 * time.Millisecond
	longestWait   = 2 * time.Minute
	steady        = 30 * time.Second // from there on a connection's end is no failure
	resumeTries   = 4                // until a session counts as lost
	libraryClose  = 3 * time.Second  // discordgo sleeps a second when it closes
)

// fatalCodes are the close codes after which there is no use in trying again
// (Topics, Opcodes and Status Codes, Gateway Close Event Codes).
var fatalCodes = map[int]string{
	4004: sayBanned,
	4010: "Discord refuses the desk's shard (close code 4010). This is a mistake in the desk; please report it.",
	4011: "Discord wants this bot to be sharded (close code 4011): it is in too many servers. Use a bot of the desk's own.",
	4012: "Discord no longer knows the gateway version that the desk speaks (close code 4012). Update the desk.",
	4013: "Discord does not know the intents that the desk asks for (close code 4013). Update the desk.",
	4014: "Discord does not allow this bot the intents that the desk asks for (close code 4014). Check the bot in the developer portal, or use updates: interactions.",
}

// line is the gateway connection of a bot, one after the other.
type line struct {
	b    *Bot
	ctx  context.Context // ends when the bot is to stop
	work context.Context // for first answers that have begun

	session    *discordgo.Session // nil: the next connection begins a session
	closed     chan struct{}      // gets a word when the library is through with a connection
	identified time.Time

	mu     sync.Mutex
	start  *url.URL      // where a session begins
	resume string        // where it goes on (READY, resume_gateway_url)
	begun  bool          // the session has had its READY
	ready  chan struct{} // closed at the next READY or RESUMED
	socket *socket
}

// superviseGateway keeps a gateway connection open until ctx ends, or until
// Discord says that there is no use in it.
func (b *Bot) superviseGateway(ctx, work context.Context) {
	l := &line{b: b, ctx: ctx, work: work}
	for failures := 0; ctx.Err() == nil; failures++ {
		began := time.Now()
		opened, end := l.once()
		if ctx.Err() != nil {
			return
		}
		if words := fatal(end); words != "" {
			b.health.Set(false, words, end.cause())
			<-ctx.Done()
			return
		}
		if opened && time.Since(began) > steady {
			failures = 0
		}
		l.keepSession(end, failures)
		wait := textcmd.Backoff(failures, firstWait, longestWait)
		if opened && failures == 0 {
			wait = 0 // taps wait no longer than three seconds
		}
		if end.invalid {
			wait = max(wait, time.Second+rand.N(4*time.Second)) // Topics, Gateway, Resuming
		}
		if failures > 0 || l.session == nil {
			b.health.Set(false, describe(end), end.cause())
		}
		if !textcmd.Sleep(ctx, max(wait, retryAfter(end.err))) {
			return
		}
	}
}

// fatal says why there is no use in trying again, or nothing.
func fatal(e ending) string {
	if rejected(e.err) {
		return sayBanned
	}
	return fatalCodes[e.code]
}

// cause is what ended the connection, for the log.
func (e ending) cause() error {
	if e.code != 0 {
		return fmt.Errorf("close code %d", e.code)
	}
	return e.err
}

func describe(e ending) string {
	switch {
	case e.invalid:
		return "Discord has ended the gateway session; the desk begins another one."
	case e.code != 0:
		return fmt.Sprintf("Discord closed the gateway connection (close code %d); the desk keeps trying.", e.code)
	}
	return fmt.Sprintf("The gateway connection is lost: %v. Check the network; the desk keeps trying.", e.err)
}

// keepSession forgets a session that cannot go on.
func (l *line) keepSession(e ending, failures int) {
	if e.invalid && !e.resumable || e.code == 4003 || e.code == 4007 || e.code == 4009 || failures >= resumeTries {
		l.session = nil
	}
}

// once opens a connection and waits for its end. opened says whether it stood.
func (l *line) once() (opened bool, end ending) {
	if l.session == nil {
		if err := l.prepare(); err != nil {
			return false, ending{err: err}
		}
		l.closed = make(chan struct{}, 8)
		l.session = l.newSession(l.closed)
	}
	for len(l.closed) > 0 {
		<-l.closed
	}
	ready := l.begin()
	session, result := l.session, make(chan error, 1)
	go func() { result <- session.Open() }() // should it never return, it is left behind
	err, returned := l.await(result)
	s := l.current()
	switch {
	case err != nil && s == nil:
		l.forget(!returned)
		return false, ending{err: l.b.wire.unreachable(err)}
	case err != nil:
		l.forget(!returned)
		_ = s.cut(ending{err: err})
		return false, s.end
	}
	return l.stand(s, ready)
}

// stand waits for the end of a connection that the library has opened.
func (l *line) stand(s *socket, ready <-chan struct{}) (opened bool, end ending) {
	select {
	case <-ready:
		opened = true
		l.b.health.Set(true, "", nil)
	case <-s.down:
	case <-l.ctx.Done():
	}
	select {
	case <-s.down:
		l.settle()
	case <-l.ctx.Done():
		s.farewell()
	}
	l.forget(false)
	return opened, s.end
}

// begin makes ready for a connection, and gives what is closed once it stands.
func (l *line) begin() (ready <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ready, l.socket = make(chan struct{}), nil
	return l.ready
}

// forget drops the session if it hangs in the library, or never had its READY:
// then there is nothing to resume.
func (l *line) forget(hangs bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if hangs || !l.begun {
		l.session = nil
	}
}

// await waits until the library has opened the connection or failed; returned is
// false when it does neither.
func (l *line) await(result <-chan error) (err error, returned bool) {
	timer := time.NewTimer(openTimeout)
	defer timer.Stop()
	select {
	case err := <-result:
		return err, true
	case <-timer.C:
		return errors.New("the gateway did not answer in time"), false
	case <-l.ctx.Done():
		return l.ctx.Err(), false
	}
}

// settle waits until the library has put the connection away, so that it opens
// the next one of the session.
func (l *line) settle() {
	timer := time.NewTimer(libraryClose)
	defer timer.Stop()
	select {
	case <-l.closed:
	case <-timer.C:
		l.session = nil // it hangs
	case <-l.ctx.Done():
	}
}

// prepare asks where the gateway is and whether a session may begin, and waits
// until it may (Topics, Gateway, Get Gateway Bot).
func (l *line) prepare() error {
	var info struct {
		URL   string `json:"url"`
		Limit struct {
			Total      int   `json:"total"`
			Remaining  *int  `json:"remaining"`
			ResetAfter int64 `json:"reset_after"`
		} `json:"session_start_limit"`
	}
	err := limited(l.ctx, restTimeout, func(ctx context.Context) error {
		return l.b.wire.call(ctx, http.MethodGet, "/gateway/bot", nil, &info)
	})
	if err != nil {
		return err
	}
	u, err := url.Parse(info.URL)
	if err != nil || u.Host == "" || u.Scheme != "wss" && u.Scheme != "ws" {
		return unanswered("it names no gateway")
	}
	if r := info.Limit.Remaining; r != nil && *r <= 0 {
		wait := time.Duration(info.Limit.ResetAfter) * time.Millisecond
		l.b.health.Set(false, fmt.Sprintf("Discord lets this bot begin no more sessions for %s. Stop other programs that use its token.", wait.Round(time.Second)), errors.New("session_start_limit"))
		if !textcmd.Sleep(l.ctx, max(wait, time.Second)) {
			return l.ctx.Err()
		}
	}
	if !textcmd.Sleep(l.ctx, max(0, time.Until(l.identified.Add(identifyPause)))) {
		return l.ctx.Err()
	}
	l.identified = time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.start, l.resume, l.begun = u, "", false
	return nil
}
