package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/approval"
)

// lingers is how long after it a piece of trouble may still cost something: leases
// go over after ten seconds, a chat rests for five, and a slow machine takes longer.
const lingers = patient

// atAStop is what a call that is under way has at least when its instance is told to
// stop.
const atAStop = 600 * time.Millisecond

// check looks at the end from outside: through every instance, in the chats, at the
// owner's, in the log.
func (c *chaos) check(ctx context.Context) {
	require.NotEmpty(c.t, c.load.all)
	byCode := map[string]api.Approval{}
	for i, a := range c.load.all {
		got, err := c.settled(ctx, a, c.desks[i%len(c.desks)])
		if err != nil {
			c.t.Errorf("%s %s (%s): %v", a.kind, a.id, a.code, err)
			continue
		}
		byCode[a.code] = got
		c.checkVotes(a, got)
		c.checkEverywhere(ctx, a, got, i)
	}
	c.checkLog(ctx)
	c.checkCards(ctx, byCode)
	c.checkCost("cards", c.cardsTooMany(c.admitted("telegram")))
	c.checkCalls(ctx)
}

// settled waits until all cards of an approval show its end, as far as the desk
// knows, and gives it.
func (c *chaos) settled(ctx context.Context, a *asked, p *process) (got api.Approval, err error) {
	for {
		got, err = p.client(operatorSecret).Get(ctx, a.code, 0)
		if err == nil && !slices.ContainsFunc(got.Deliveries, func(d api.Delivery) bool { return d.State != "settled" && d.State != "failed" }) {
			return got, nil
		}
		select {
		case <-ctx.Done():
			return got, fmt.Errorf("its cards do not settle: %+v, %w", got.Deliveries, cmp.Or(err, ctx.Err()))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// checkVotes: what was confirmed to a voter, or to whoever waited, stands.
func (c *chaos) checkVotes(a *asked, got api.Approval) {
	for _, tap := range a.tapped {
		said, _ := tap.said()
		switch {
		case strings.HasPrefix(said, "Allowed. It may run once"), strings.HasPrefix(said, "Counted ("), said == denied:
			a.voted = append(a.voted, tap.confirmed)
		}
	}
	for _, v := range a.voted {
		if !slices.ContainsFunc(got.Votes, func(x api.Vote) bool {
			return x.Voter != nil && x.Voter.Person == v.person && (x.Verdict == "approve") == v.allow
		}) {
			c.t.Errorf("%s %s (%s): the vote of %s was confirmed and is not there: %+v", a.kind, a.id, a.code, v.person, got.Votes)
		}
	}
	want := map[string]api.Status{"tap": api.Approved, "pair": api.Approved, "deny": api.Denied, "withdraw": api.Withdrawn, "expire": api.Expired}[a.kind]
	if !got.Status.Final() || a.status != got.Status || want != "" && got.Status != want {
		c.t.Errorf("%s %s (%s) is %s, and somebody was told %s", a.kind, a.id, a.code, got.Status, a.status)
	}
	if failed := slices.ContainsFunc(got.Deliveries, func(d api.Delivery) bool { return d.State == "failed" }); failed {
		c.t.Errorf("%s %s (%s): a card failed: %+v", a.kind, a.id, a.code, got.Deliveries)
	}
}

// checkEverywhere: the other instances say the same.
func (c *chaos) checkEverywhere(ctx context.Context, a *asked, want api.Approval, i int) {
	got, err := c.desks[(i+1)%len(c.desks)].client(operatorSecret).Get(ctx, a.code, 0)
	if err != nil || got.Status != want.Status || !slices.Equal(got.DecidedBy, want.DecidedBy) {
		c.t.Errorf("%s (%s) is %s by %v at one instance and %s by %v at another: %v", a.id, a.code, want.Status, want.DecidedBy, got.Status, got.DecidedBy, err)
	}
}

// checkLog: the chain is whole, and every approval has begun and ended in it once,
// and was handed out once at most.
func (c *chaos) checkLog(ctx context.Context) {
	report, err := c.desks[0].client(operatorSecret).VerifyAudit(ctx)
	require.NoError(c.t, err)
	require.True(c.t, report.OK, report.Problem)
	counts := map[string]map[approval.EventType]int{}
	for cursor := ""; ; {
		page, err := c.desks[1].client(operatorSecret).Audit(ctx, api.AuditOptions{Oldest: true, Limit: 200, Cursor: cursor})
		require.NoError(c.t, err)
		for _, e := range page.Items {
			if counts[e.Key] == nil {
				counts[e.Key] = map[approval.EventType]int{}
			}
			counts[e.Key][approval.EventType(e.Type)]++
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	delete(counts, "")
	require.Len(c.t, counts, len(c.load.all), "approvals in the log")
	claims, claimed := 0, 0
	for key, n := range counts {
		if ends := n[approval.EventResolved] + n[approval.EventExpired] + n[approval.EventWithdrawn]; n[approval.EventRequested] != 1 || ends != 1 || n[approval.EventClaimed] > 1 {
			c.t.Errorf("approval %s has %v in the log", key, n)
		}
		claimed += n[approval.EventClaimed]
	}
	for _, a := range c.load.all {
		if claims += a.claims; a.claims > 1 {
			c.t.Errorf("%s (%s) was handed out twice", a.id, a.code)
		}
	}
	require.Equal(c.t, claimed, claims, "what was handed out and what the log says")
}

// checkCards: every card in every chat shows the end. In Telegram, one whose id was
// lost with its instance does after a tap; in Discord a nonce finds it again, so
// that there is never another.
func (c *chaos) checkCards(ctx context.Context, byCode map[string]api.Approval) {
	for code, cards := range c.cards() {
		a, known := byCode[code]
		if !known {
			c.t.Errorf("a card shows %s, and there is no such approval", code)
			continue
		}
		for i, p := range cards {
			chat := c.roomNamed(p.room)
			known := slices.ContainsFunc(a.Deliveries, func(d api.Delivery) bool { return d.MessageID == p.id })
			switch {
			case chat.target().Channel == "discord" && (i > 0 || !known):
				c.t.Errorf("%s (%s): card %s in %s is one too many, or the desk does not know it", a.ID, code, p.id, p.room)
			case !known:
				chat.tap(0, p.id, "/deny "+code)
			}
			if text, err := chat.waitFor(ctx, p.id, a); err != nil {
				c.t.Errorf("%s (%s): card %s does not show %s: %v: %q", a.ID, code, p.id, a.Status, err, text)
			}
		}
	}
}

// cards are all cards that were ever posted, by code.
func (c *chaos) cards() map[string][]posted {
	c.seen.mu.Lock()
	defer c.seen.mu.Unlock()
	return maps.Clone(c.seen.cards)
}

// cardsTooMany gives when each chat got a further card of an approval, beyond so
// many of each code.
func (c *chaos) cardsTooMany(but map[string]int) map[string][]time.Time {
	extra := map[string][]time.Time{}
	for code, cards := range c.cards() {
		for _, p := range cards[min(1+but[code], len(cards)):] {
			extra[p.room] = append(extra[p.room], p.at)
		}
	}
	return extra
}

// unsure are the log lines of an instance that does not know what became of a call, or could not write it down.
var unsure = [...]string{
	"could not send a message; trying again later",
	"could not send a message at the last attempt; it was given up",
	"could not record a delivery; the message may be sent a second time",
}

// admitted counts by code how often an instance says in its log that it does not
// know what became of a call on that channel, or could not write it down: on a slow
// machine that needs no trouble. A stop that left the call no time is no excuse.
func (c *chaos) admitted(channel string) map[string]int {
	n := map[string]int{}
	for _, p := range c.desks {
		p.mu.Lock()
		stops := slices.Clone(p.stops)
		p.mu.Unlock()
		for text := range strings.Lines(p.logs.String()) {
			var said struct {
				Time                  time.Time
				Msg, Approval, Target string
			}
			if json.Unmarshal([]byte(text), &said) != nil || !strings.HasPrefix(said.Target, channel+":") ||
				!slices.Contains(unsure[:], said.Msg) {
				continue
			}
			if !slices.ContainsFunc(stops, func(at time.Time) bool { return said.Time.After(at) && said.Time.Before(at.Add(atAStop)) }) {
				n[core.KeyCode(said.Approval)]++
			}
		}
	}
	return n
}

// harmless is trouble that costs nothing: a stop hands over, and a lost gateway
// leaves what goes out alone.
var harmless = map[string]bool{"stop": true, "drop gateway": true, "end gateway session": true}

// checkCost: for each place, every repetition goes back to a piece of trouble of
// its own.
func (c *chaos) checkCost(what string, extra map[string][]time.Time) {
	for place, at := range extra {
		slices.SortFunc(at, time.Time.Compare)
		left := slices.Clone(c.troubles)
		slices.SortFunc(left, func(a, b spell) int { return a.end.Compare(b.end) })
		for _, when := range at {
			i := slices.IndexFunc(left, func(s spell) bool {
				return !harmless[s.kind] && when.After(s.begin) && when.Before(s.end.Add(lingers))
			})
			if i < 0 {
				c.t.Errorf("%s: %s repeated %d times, which trouble does not explain: %v", place, what, len(at), at)
				break
			}
			left = slices.Delete(left, i, i+1)
		}
	}
}

// checkCalls: every owner who wanted to be was called back, and told the truth.
func (c *chaos) checkCalls(ctx context.Context) {
	extra, admitted := map[string][]time.Time{}, c.admitted(approval.CallbackChannel)
	for _, a := range c.load.all {
		if !a.called {
			continue
		}
		for !c.owner.told(a) {
			if ctx.Err() != nil {
				c.t.Errorf("%s (%s): its owner was not told that it is %s: %v", a.id, a.code, a.status, c.owner.said[a.id])
				break
			}
			time.Sleep(20 * time.Millisecond) // only paces the question
		}
		c.owner.mu.Lock()
		extra[a.id] = slices.Clone(c.owner.calls[a.id][min(1+admitted[a.code], len(c.owner.calls[a.id])):])
		c.owner.mu.Unlock()
	}
	c.checkCost("calls back", extra)
}

func (o *callee) told(a *asked) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Equal(o.said[a.id], []api.Status{a.status})
}

// report says what was survived.
func (c *chaos) report() {
	kinds, votes, extra, worst, discord := map[string]int{}, 0, 0, 0, 0
	for _, s := range c.troubles {
		kinds[s.kind]++
	}
	statuses := map[api.Status]int{}
	var took []time.Duration
	for _, a := range c.load.all {
		votes += len(a.voted)
		statuses[a.status]++
		if a.room.target().Channel == "discord" {
			discord++
		}
		if a.kind == "tap" || a.kind == "deny" {
			took = append(took, a.took)
		}
	}
	for _, at := range c.cardsTooMany(nil) {
		extra, worst = extra+len(at), max(worst, len(at))
	}
	slices.Sort(took)
	c.t.Logf("survived: %v", kinds)
	c.t.Logf("%d approvals, %d of them on Discord (%v), %d votes confirmed, %d requests and %d taps made again, %d cards too many (at most %d in one chat)",
		len(c.load.all), discord, statuses, votes, c.load.tries, c.load.tappedAgain, extra, worst)
	if len(took) > 0 {
		c.t.Logf("asked to decided by a tap: median %v, 99%% %v, longest %v", took[len(took)/2], took[len(took)*99/100], took[len(took)-1])
	}
}
