package discord

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/bot/textcmd"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/fakechat"
)

var errDown = errors.New("the store is away")

// memory is an inbox with the store's promises: a known update stays as it is.
type memory struct {
	mu      sync.Mutex
	rows    []approval.Inbound
	handled map[approval.InboundRef]int
	fail    error
}

func newMemory() *memory { return &memory{handled: map[approval.InboundRef]int{}} }

func (m *memory) SaveInbound(_ context.Context, in []approval.Inbound) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return m.fail
	}
	for _, i := range in {
		if !slices.ContainsFunc(m.rows, func(o approval.Inbound) bool { return o.InboundRef == i.InboundRef }) {
			m.rows = append(m.rows, i)
		}
	}
	return nil
}

func (m *memory) Inbound(_ context.Context, source string, limit int) ([]approval.Inbound, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var open []approval.Inbound
	for _, i := range m.rows {
		if i.Source == source && m.handled[i.InboundRef] == 0 && len(open) < limit {
			open = append(open, i)
		}
	}
	return open, m.fail
}

func (m *memory) mark(_ context.Context, ref approval.InboundRef) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return m.fail
	}
	m.handled[ref]++
	return nil
}

func (m *memory) setFail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = err
}

func (m *memory) stored() []approval.Inbound {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.rows)
}

// recorder is a desk that keeps what it was asked and answers as the test says.
type recorder struct {
	inbox     *memory
	answer    func(textcmd.Message) (textcmd.Reply, error)
	strangers map[string]bool // who may not decide

	mu      sync.Mutex
	seen    []textcmd.Message
	reasons []string
}

func (d *recorder) Handle(ctx context.Context, m textcmd.Message) (textcmd.Reply, error) {
	d.mu.Lock()
	d.seen = append(d.seen, m)
	answer := d.answer
	d.mu.Unlock()
	reply, err := answer(m)
	if err == nil {
		err = d.inbox.mark(ctx, *m.Update)
	}
	return reply, err
}

func (d *recorder) Reason(ctx context.Context, m textcmd.Message, code string) (textcmd.Reply, error) {
	d.mu.Lock()
	d.reasons = append(d.reasons, code+": "+m.Text)
	d.mu.Unlock()
	return textcmd.Reply{Text: "Noted."}, d.inbox.mark(ctx, *m.Update)
}

func (d *recorder) Choices(_ context.Context, m textcmd.Message, _ int) ([]textcmd.Choice, error) {
	if !d.MayDecide(m.Voter) {
		return nil, nil
	}
	return []textcmd.Choice{{Code: "7KQ2AB", Label: "7KQ2AB · typed " + m.Text}}, nil
}

func (d *recorder) MayDecide(v approval.Voter) bool { return !d.strangers[v.UserID] }

func (d *recorder) reply(f func(textcmd.Message) (textcmd.Reply, error)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answer = f
}

func (d *recorder) messages() []textcmd.Message {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.seen)
}

func (d *recorder) given() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.reasons)
}

type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.String()
}

// rig is a bot beside a Discord, in a bubble of its own time.
type rig struct {
	t     *testing.T
	dc    *fakechat.Discord
	inbox *memory
	desk  *recorder
	bot   *Bot
	logs  *lockedBuffer
	stop  func()
	cfg   Config

	alice *fakechat.DiscordUser
	guild *fakechat.DiscordGuild
	ops   *fakechat.DiscordChannel
}

// scene runs a story in a bubble: the bot is not started yet.
func scene(t *testing.T, story func(*rig), opts ...func(*fakechat.DiscordOptions)) {
	t.Helper()
	outer := t
	synctest.Test(t, func(t *testing.T) {
		o := fakechat.DiscordOptions{InMemory: true}
		for _, f := range opts {
			f(&o)
		}
		r := &rig{t: t, dc: fakechat.NewDiscord(t, o), inbox: newMemory(), logs: &lockedBuffer{}, stop: func() {}}
		r.desk = &recorder{inbox: r.inbox, strangers: map[string]bool{}}
		r.desk.reply(func(m textcmd.Message) (textcmd.Reply, error) { return textcmd.Reply{Text: "heard " + m.Text}, nil })
		r.cfg = Config{Token: r.dc.Token(), APIURL: r.dc.URL(), Transport: r.dc.HTTPClient().Transport, Dial: r.dc.DialContext}
		r.alice = r.dc.AddUser(fakechat.DiscordProfile{Username: "alice"})
		r.guild = r.dc.AddGuild("desk", r.alice)
		r.ops = r.guild.AddChannel("ops")
		defer func() {
			r.stop()
			if strings.Contains(r.logs.String(), r.cfg.Token) {
				t.Errorf("the token is in the log:\n%s", r.logs.String())
			}
			if t.Failed() || outer.Failed() {
				t.Logf("transcript:\n%s\nlog:\n%s", r.dc.Transcript(), r.logs.String())
			}
			time.Sleep(5 * time.Second) // discordgo sleeps before it ends
		}()
		r.bot = r.newBot()
		story(r)
	})
}

func (r *rig) newBot() *Bot {
	r.t.Helper()
	log := slog.New(slog.NewTextHandler(r.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	b, err := New(r.cfg, r.desk, r.inbox, r.inbox.mark, log)
	require.NoError(r.t, err)
	return b
}

// run starts the bot; r.stop ends it and waits.
func (r *rig) run() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	bot := r.bot
	go func() { done <- bot.Run(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Errorf("Run: %v", err)
		}
	})
}

// crash stops the bot and puts a new one beside the same inbox.
func (r *rig) crash() {
	r.stop()
	r.bot = r.newBot()
}

func (r *rig) running() {
	r.t.Helper()
	r.run()
	r.until("the bot is up", func() bool { return r.bot.State().Up })
}

// until waits, in the bubble's time.
func (r *rig) until(what string, cond func() bool) {
	r.t.Helper()
	end := time.Now().Add(10 * time.Minute)
	for {
		synctest.Wait()
		if cond() {
			return
		}
		if time.Now().After(end) {
			r.t.Fatalf("waited in vain: %s", what)
		}
		time.Sleep(50 * time.Millisecond) // the bubble's time: passes at once when nothing else runs
	}
}

func (r *rig) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	r.t.Cleanup(cancel)
	return ctx
}

// told waits for what only that person sees of an interaction's answer.
func (r *rig) told(i *fakechat.DiscordInteraction) string {
	r.t.Helper()
	require.NoError(r.t, i.Err)
	s, err := i.EphemeralText(r.ctx())
	require.NoError(r.t, err)
	return s
}

// card posts a card into the channel and gives its message id.
func (r *rig) card() string {
	r.t.Helper()
	posted, err := r.bot.Post(r.ctx(), place(r.ops), core.Posting{Card: pendingCard(), Nonce: "n1"})
	require.NoError(r.t, err)
	return posted.MessageID
}

func (r *rig) texts() []string {
	var all []string
	for _, m := range r.desk.messages() {
		all = append(all, m.Text)
	}
	return all
}

func place(c *fakechat.DiscordChannel) approval.Target {
	return approval.Target{Channel: "discord", To: c.ID}
}

func pendingCard() *card.Card {
	return &card.Card{
		Code: "7KQ2AB", Status: approval.Pending, Risk: approval.R3, Headline: card.Words{{Text: "main-agent asks to run"}},
		Call: card.Blocks([]card.Fact{{Name: "command", Value: "git push --force", Block: true}}), Place: card.Words{{Text: "in "}, {Text: "/srv/app", Theirs: true}},
		Why: "R3 external change or irreversible", State: card.State{UntilMs: 1_800_000_000_000, Until: "until 15:04 UTC (15 min)"},
		Offers: []approval.Decision{approval.AllowOnce, approval.AllowSession},
		Wider:  []string{"Allow session: “git push” without other options, on anything except files outside the workspace; by agent main in this session, up to risk R3 and for no other reason than here, for 12 hours at most."},
	}
}

func endedCard() card.Card {
	c := *pendingCard()
	c.Status, c.Outcome, c.Offers, c.Call = approval.Approved, card.Words{{Text: "✅ Allowed once by alice"}}, nil, nil
	return c
}

func heard(m textcmd.Message) (textcmd.Reply, error) {
	return textcmd.Reply{Text: "heard " + m.Text}, nil
}
