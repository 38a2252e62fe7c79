package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/fakechat"
	"approvalbot/internal/store/pgtest"
)

// chaos is three instances on one PostgreSQL, a fake Telegram and a fake Discord,
// all kinds of trouble, and people and programs who go on asking and deciding
// meanwhile.
type chaos struct {
	t    *testing.T
	plan chaosPlan
	dir  string

	tg       *fakechat.Telegram
	people   []*fakechat.TelegramUser // as chaosPeople
	chats    []*fakechat.TelegramChat
	dc       *fakechat.Discord       // nil where no channels are planned
	accounts []*fakechat.DiscordUser // as chaosPeople
	channels []*fakechat.DiscordChannel
	seen     *witness
	owner    *callee

	server   *pgtest.Server
	database string
	desks    []*process
	busy     []sync.Mutex // an instance's trouble

	mu       sync.Mutex
	troubles []spell
	calm     time.Time // when the last was over
	load     chaosLoad
}

// chaosPlan is how hard it gets.
type chaosPlan struct {
	seed   uint64
	lasts  time.Duration
	rate   int           // approvals a second
	chats  int           // of Telegram
	rooms  int           // channels of Discord, beside them
	gap    time.Duration // between two beginnings of trouble
	settle time.Duration // for everything to end afterwards
	desks  int
	kinds  []string // of trouble, the first of which comes first
}

// spell is one piece of trouble.
type spell struct {
	kind       string
	begin, end time.Time
}

// chaosPlanned is the short form, or the full one where APPROVALBOT_CHAOS says how
// long it lasts. APPROVALBOT_CHAOS_SEED and APPROVALBOT_CHAOS_RATE are settable.
func chaosPlanned(t *testing.T) chaosPlan {
	p := chaosPlan{seed: rand.Uint64(), lasts: 9 * time.Second, rate: 8, chats: 16, rooms: 5, gap: 900 * time.Millisecond, settle: 2 * patient, desks: 3,
		kinds: []string{"freeze long", "kill", "restart database", "sever", "deaden", "kill", "stop", "freeze", "cut connections", "drop gateway", "end gateway session"}}
	var err error
	if full := os.Getenv("APPROVALBOT_CHAOS"); full != "" {
		p.rate, p.chats, p.rooms, p.gap, p.settle = 50, 160, 50, 4*time.Second, 5*time.Minute
		p.lasts, err = time.ParseDuration(full)
		require.NoError(t, err)
	}
	if rate := os.Getenv("APPROVALBOT_CHAOS_RATE"); rate != "" {
		p.rate, err = strconv.Atoi(rate)
		require.NoError(t, err)
	}
	if seed := os.Getenv("APPROVALBOT_CHAOS_SEED"); seed != "" {
		p.seed, err = strconv.ParseUint(seed, 10, 64)
		require.NoError(t, err)
	}
	return p
}

// Whatever happens to instances, their database and the way there: every approval
// ends once, what was confirmed to anybody stands, every card shows the outcome,
// and a piece of trouble costs a chat at most one card too many.
func TestAdversary_P2_Chaos(t *testing.T) {
	t.Parallel()
	newChaos(t, chaosPlanned(t)).run()
}

// run is the whole of it.
func (c *chaos) run() {
	t := c.t
	t.Logf("APPROVALBOT_CHAOS_SEED=%d: %d approvals a second over %d chats and %d channels for %v", c.plan.seed, c.plan.rate, c.plan.chats, c.plan.rooms, c.plan.lasts)
	ctx, cancel := context.WithTimeout(t.Context(), c.plan.lasts+c.plan.settle)
	defer cancel()
	asking, stop := context.WithTimeout(ctx, c.plan.lasts)
	defer stop()
	loaded := make(chan struct{})
	go func() {
		defer close(loaded)
		c.ask(asking, ctx)
	}()
	c.trouble(asking, ctx)
	<-loaded
	defer c.report()
	c.check(ctx)
}

func newChaos(t *testing.T, plan chaosPlan) *chaos {
	c := &chaos{t: t, plan: plan, dir: t.TempDir(), owner: newCallee()}
	t.Cleanup(c.owner.Close)
	bin, err := faultyBinary()
	require.NoError(t, err)
	c.server = pgtest.Start(t)
	c.database = c.server.New(t)
	c.tg = fakechat.NewTelegram(t, fakechat.TelegramOptions{})
	for _, name := range chaosPeople {
		c.people = append(c.people, c.tg.AddUser(fakechat.TelegramProfile{FirstName: name}))
	}
	for i := range c.plan.chats {
		c.chats = append(c.chats, c.tg.AddSupergroup(fmt.Sprint("ops", i), c.people...))
	}
	c.seen = newWitness()
	telegram, discord := c.seen.front(t, c.tg.URL(), c.tg.Close).URL, ""
	if plan.rooms > 0 {
		discord = c.addDiscord()
	}
	c.busy = make([]sync.Mutex, plan.desks)
	config := c.config()
	require.NoError(t, os.WriteFile(config, []byte(c.yaml(telegram, discord)), 0o600))
	for i := range c.busy {
		c.desks = append(c.desks, newProcess(t, fmt.Sprint("desk", i), bin, config, c.database))
	}
	if c.dc != nil {
		require.NoError(t, c.dc.Gateway().WaitReady(t.Context()))
	}
	t.Cleanup(func() {
		if t.Failed() {
			for _, p := range c.desks {
				t.Log(p.name, p.tail())
			}
		}
	})
	return c
}

func (c *chaos) config() string { return filepath.Join(c.dir, "approvalbot.yaml") }

// addDiscord puts a Discord with the same people beside the Telegram, and gives
// where the instances reach it.
func (c *chaos) addDiscord() string {
	c.dc = fakechat.NewDiscord(c.t, fakechat.DiscordOptions{})
	guild := c.dc.AddGuild("desk")
	for _, name := range chaosPeople {
		u := c.dc.AddUser(fakechat.DiscordProfile{Username: name})
		guild.AddMember(u)
		c.accounts = append(c.accounts, u)
	}
	for i := range c.plan.rooms {
		c.channels = append(c.channels, guild.AddChannel(fmt.Sprint("ops", i)))
	}
	return c.seen.front(c.t, c.dc.URL(), c.dc.Close).URL
}

// yaml is the configuration of all instances.
func (c *chaos) yaml(telegram, discord string) string {
	var chats, ids, accounts, people []string
	for _, r := range c.rooms() {
		chats = append(chats, strconv.Quote(roomName(r.target())))
	}
	for i, u := range c.people {
		account := ""
		ids = append(ids, fmt.Sprint(u.ID))
		if c.dc != nil {
			account = fmt.Sprintf(", discord: %q", c.accounts[i].ID)
			accounts = append(accounts, strconv.Quote(c.accounts[i].ID))
		}
		people = append(people, fmt.Sprintf("  - {name: %s, telegram: %d%s}\n", chaosPeople[i], u.ID, account))
	}
	if c.dc != nil {
		discord = fmt.Sprintf("  discord: {botToken: %q, apiUrl: %q, allowedUserIds: [%s]}\n", c.dc.Token(), discord, strings.Join(accounts, ", "))
	}
	return fmt.Sprintf(`server:
  listen: 127.0.0.1:0
  limits: {pending: 100000, requestsPerSecond: 100000}
  tokens:
    - {name: agent, token: %s, scopes: [approvals.request], callbackSecret: %s, callbackAllow: [127.0.0.0/8], sessionChats: [%s]}
    - {name: desk-operator, token: %s, scopes: [operator.approvals, operator.audit, operator.admin], person: olga}
store: {keyFile: %q}
people:
  - {name: olga}
%schannels:
  telegram: {botToken: %q, apiUrl: %q, allowedUserIds: [%s]}
%sapprovals:
  tools:
    enabled: true
    routing: {mode: session, digestAbove: 0}
    rules:
      - {name: pairs, match: {tool: pair}, risk: R3, minApprovals: 2}
`, agentSecret, callbackSecret, strings.Join(chats, ", "), operatorSecret, c.dir+"/desk.key",
		strings.Join(people, ""), c.tg.Token(), telegram, strings.Join(ids, ", "), discord)
}

// trouble makes one piece of it after another until asking ends, and waits until
// all is over.
func (c *chaos) trouble(asking, ctx context.Context) {
	r := rand.New(rand.NewPCG(c.plan.seed, 1))
	deck := slices.Clone(c.plan.kinds)
	r.Shuffle(len(deck)-1, func(i, j int) { deck[i+1], deck[j+1] = deck[j+1], deck[i+1] })
	var over sync.WaitGroup
	for asking.Err() == nil {
		if len(deck) == 0 {
			deck = slices.Clone(c.plan.kinds)
			r.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
		}
		kind, i, hold := deck[0], r.IntN(len(c.desks)), time.Duration(r.IntN(3000))*time.Millisecond
		deck = deck[1:]
		switch kind {
		case "restart database", "cut connections": // in the test's goroutine
			c.toDatabase(kind, hold)
		case "drop gateway", "end gateway session":
			c.toGateway(kind)
		default:
			over.Go(func() {
				c.busy[i].Lock()
				defer c.busy[i].Unlock()
				c.toInstance(ctx, kind, c.desks[i], hold)
			})
		}
		select {
		case <-time.After(c.plan.gap/2 + time.Duration(r.Int64N(int64(c.plan.gap)))):
		case <-asking.Done():
		}
	}
	over.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calm = time.Now()
}

func (c *chaos) toDatabase(kind string, hold time.Duration) {
	begin := time.Now()
	if kind == "restart database" {
		c.server.Stop(c.t)
		time.Sleep(hold)
		c.server.Start(c.t)
	} else {
		c.cutConnections()
	}
	c.suffered(kind, begin)
}

// toGateway cuts Discord's connection to whoever is connected; the session goes on
// with the next one, or is over.
func (c *chaos) toGateway(kind string) {
	begin := time.Now()
	if kind == "end gateway session" {
		c.dc.Gateway().EndSessions()
	}
	c.dc.Gateway().Cut()
	c.suffered(kind, begin)
}

// toInstance lets an instance suffer, and waits until it is well again.
func (c *chaos) toInstance(ctx context.Context, kind string, p *process, hold time.Duration) {
	begin := time.Now()
	switch kind {
	case "kill", "stop":
		p.end(map[string]syscall.Signal{"kill": syscall.SIGKILL, "stop": syscall.SIGTERM}[kind])
		time.Sleep(hold)
		p.start()
	case "freeze", "freeze long":
		if p.freeze(); kind == "freeze long" {
			hold += 11 * time.Second // its leases go to others meanwhile
		}
		time.Sleep(hold)
		p.thaw()
	case "sever", "deaden":
		if kind == "sever" {
			p.line.sever()
		} else {
			p.line.deaden()
			hold *= 4
		}
		time.Sleep(hold)
		p.line.heal()
	}
	c.suffered(kind, begin)
	if err := p.await(ctx); err != nil {
		c.t.Errorf("after %s: %v", kind, err)
	}
}

func (c *chaos) suffered(kind string, begin time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.troubles = append(c.troubles, spell{kind, begin, time.Now()})
}

// cutConnections ends every session of the instances, as an administrator would.
func (c *chaos) cutConnections() {
	cutSessions(c.t, c.database, "")
}
