// Package gateway keeps a connection to Discord's gateway, version 10, open, and passes
// on its events. The connection is discordgo's, below a supervisor and a socket that
// reads along, because the library hangs, and resumes and gives up differently than
// Discord asks.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"

	"approvalbot/bot/discord/rest"
	"approvalbot/bot/textcmd"
)

const (
	identifyPause = 5500 * time.Millisecond // Topics, Gateway, Rate Limiting: one IDENTIFY in 5 seconds
	openTimeout   = dialTimeout + 2*helloTimeout
	firstWait     = 500 * time.Millisecond
	longestWait   = 2 * time.Minute
	steady        = 30 * time.Second // after that time a connection's end is no failure
	resumeTries   = 4                // until a session counts as lost
	libraryClose  = 3 * time.Second  // discordgo sleeps a second when it closes
)

// fatalCodes are the close codes after which a retry is useless (Topics,
// Opcodes and Status Codes, Gateway Close Event Codes).
var fatalCodes = sync.OnceValue(func() map[int]string {
	return map[int]string{
		4004: rest.BadToken,
		4010: "Discord refuses the desk's shard (close code 4010). This is an error in approvalbot; please report it.",
		4011: "Discord wants this bot to be sharded (close code 4011): it is in too many servers. " +
			"Use a bot of the desk's own.",
		4012: "Discord no longer knows the gateway version that the desk speaks (close code 4012). " +
			"Update the desk.",
		4013: "Discord does not know the intents that the desk asks for (close code 4013). " +
			"Update the desk.",
		4014: "Discord does not allow this bot the intents that the desk asks for (close code 4014). " +
			"Check the bot in the developer portal, or use updates: interactions.",
	}
})

// sessionLost are the close codes after which a session cannot be resumed (Topics,
// Opcodes and Status Codes, Gateway Close Event Codes).
var sessionLost = []int{4003, 4007, 4009}

// Run keeps a gateway connection open until ctx ends, even if Discord says that
// a retry is useless.
func Run(ctx context.Context, cfg Config) {
	c := &connection{cfg: cfg, ctx: ctx}
	for failures := 0; ctx.Err() == nil; failures++ {
		began := time.Now()
		opened, end := c.once()
		if ctx.Err() != nil {
			return
		}
		if text := fatal(end); text != "" {
			cfg.Health.Set(false, text, end.cause())
			<-ctx.Done()
			return
		}
		if opened && time.Since(began) > steady {
			failures = 0
		}
		c.keepSession(end, failures)
		wait := textcmd.Backoff(failures, firstWait, longestWait)
		if opened && failures == 0 {
			wait = 0 // taps wait no longer than three seconds
		}
		if end.invalid {
			wait = max(wait, time.Second+rand.N(4*time.Second)) // Topics, Gateway, Resuming
		}
		if failures > 0 || c.session == nil {
			cfg.Health.Set(false, describe(end), end.cause())
		}
		if !textcmd.Sleep(ctx, max(wait, rest.RetryAfter(end.err))) {
			return
		}
	}
}

// fatal says why a retry is useless, or "".
func fatal(e ending) string {
	if rest.Rejected(e.err) {
		return rest.BadToken
	}
	return fatalCodes()[e.code]
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
func (c *connection) keepSession(e ending, failures int) {
	lost := e.invalid && !e.resumable || slices.Contains(sessionLost, e.code)
	if lost || failures >= resumeTries {
		c.session = nil
	}
}

// once opens a connection and waits for its end. opened reports whether it was
// open.
func (c *connection) once() (opened bool, end ending) {
	if c.session == nil {
		if err := c.prepare(); err != nil {
			return false, ending{err: err}
		}
		c.closed = make(chan struct{}, 8)
		c.session = c.newSession(c.closed)
	}
	for len(c.closed) > 0 {
		<-c.closed
	}
	ready := c.begin()
	session, result := c.session, make(chan error, 1)
	go func() { result <- session.Open() }() // if it never returns, it is abandoned
	err, returned := c.await(result)
	s := c.current()
	switch {
	case err != nil && s == nil:
		c.forget(!returned)
		return false, ending{err: c.cfg.REST.Unreachable(err)}
	case err != nil:
		c.forget(!returned)
		_ = s.cut(ending{err: err})
		return false, s.end
	}
	return c.stand(s, ready)
}

// It waits for the end of a connection that the library has opened.
func (c *connection) stand(s *Socket, ready <-chan struct{}) (opened bool, end ending) {
	select {
	case <-ready:
		opened = true
		c.cfg.Health.Set(true, "", nil)
	case <-s.down:
	case <-c.ctx.Done():
	}
	select {
	case <-s.down:
		c.settle()
	case <-c.ctx.Done():
		s.farewell()
	}
	c.forget(false)
	return opened, s.end
}

// forget drops the session if it hangs in the library, or never had its READY:
// then it cannot be resumed.
func (c *connection) forget(hangs bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if hangs || !c.begun {
		c.session = nil
	}
}

// await waits until the library has opened the connection or failed; returned is
// false if it does neither.
func (c *connection) await(result <-chan error) (err error, returned bool) {
	timer := time.NewTimer(openTimeout)
	defer timer.Stop()
	select {
	case err := <-result:
		return err, true
	case <-timer.C:
		return errors.New("the gateway did not answer in time"), false
	case <-c.ctx.Done():
		return c.ctx.Err(), false
	}
}

// settle waits until the library has closed the connection, so that it can open
// the next one of the session.
func (c *connection) settle() {
	timer := time.NewTimer(libraryClose)
	defer timer.Stop()
	select {
	case <-c.closed:
	case <-timer.C:
		c.session = nil // it hangs
	case <-c.ctx.Done():
	}
}

// prepare asks for the gateway's address and whether a session may begin, and
// waits until it may (Topics, Gateway, Get Gateway Bot).
func (c *connection) prepare() error {
	var info discordgo.GatewayBotResponse
	ctx, cancel := context.WithTimeout(c.ctx, rest.Timeout)
	defer cancel()
	err := c.cfg.REST.Call(ctx, http.MethodGet, "/gateway/bot", nil, &info)
	if err != nil {
		return err
	}
	u, err := url.Parse(info.URL)
	if err != nil || u.Host == "" || !slices.Contains([]string{"wss", "ws"}, u.Scheme) {
		return rest.Unanswered("it names no gateway")
	}
	if limit := info.SessionStartLimit; limit.Total > 0 && limit.Remaining <= 0 {
		wait := time.Duration(limit.ResetAfter) * time.Millisecond
		detail := fmt.Sprintf("Discord lets this bot begin no more sessions for %s. "+
			"Stop other programs that use its token.", wait.Round(time.Second))
		c.cfg.Health.Set(false, detail, errors.New("session_start_limit"))
		if !textcmd.Sleep(c.ctx, max(wait, time.Second)) {
			return c.ctx.Err()
		}
	}
	if !textcmd.Sleep(c.ctx, max(0, time.Until(c.identified.Add(identifyPause)))) {
		return c.ctx.Err()
	}
	c.identified = time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.start, c.resume, c.begun = u, "", false
	return nil
}
