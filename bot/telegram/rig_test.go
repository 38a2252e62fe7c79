package telegram

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"approvalbot/bot/textcmd"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/fakechat"
)

const secretPart = "AAsecretSECRETsecret"

// memory is an inbox with the store's promises: a known update stays as it is.
type memory struct {
	mu      sync.Mutex
	rows    []approval.Inbound
	handled map[approval.InboundRef]int
	saved   int // how often updates were stored by themselves
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
		m.save(i)
	}
	m.saved++
	return nil
}

func (m *memory) saves() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.saved
}

func (m *memory) save(i approval.Inbound) {
	if !slices.ContainsFunc(m.rows, func(o approval.Inbound) bool { return o.InboundRef == i.InboundRef }) {
		m.rows = append(m.rows, i)
	}
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
	if ref.Unstored != nil {
		m.save(*ref.Unstored)
		ref.Unstored = nil
	}
	m.handled[ref]++
	return nil
}

func (m *memory) setFail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = err
}

func (m *memory) open() int {
	open, _ := m.Inbound(context.Background(), "telegram:123456", 1<<20)
	return len(open)
}

func (m *memory) stored() []approval.Inbound {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.rows)
}

// recorder is a desk that keeps what it was asked and answers as the test says.
type recorder struct {
	inbox  *memory
	answer func(textcmd.Message) (textcmd.Reply, error)

	mu    sync.Mutex
	seen  []textcmd.Message
	drawn string // what Redraw was asked last
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

func (d *recorder) Redraw(_ context.Context, key string, version int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.drawn = fmt.Sprint(key, " ", version)
	return nil
}

func (d *recorder) redrawn() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.drawn
}

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

// rig is a bot beside a Telegram, in a bubble of its own time.
type rig struct {
	t     *testing.T
	tg    *fakechat.Telegram
	inbox *memory
	desk  *recorder
	bot   *Bot
	logs  *lockedBuffer
	stop  func()
	cfg   Config

	alice *fakechat.TelegramUser
	group *fakechat.TelegramChat
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

// scene runs a story in a bubble: the bot is not started yet.
func scene(t *testing.T, story func(*rig), opts ...func(*fakechat.TelegramOptions)) {
	t.Helper()
	outer := t
	synctest.Test(t, func(t *testing.T) {
		o := fakechat.TelegramOptions{Token: "123456:" + secretPart, InMemory: true, CanReadAllGroupMessages: true}
		for _, f := range opts {
			f(&o)
		}
		r := &rig{t: t, tg: fakechat.NewTelegram(t, o), inbox: newMemory(), logs: &lockedBuffer{}, stop: func() {}}
		r.desk = &recorder{inbox: r.inbox}
		r.desk.reply(func(m textcmd.Message) (textcmd.Reply, error) { return textcmd.Reply{Text: "heard " + m.Text}, nil })
		r.cfg = Config{Token: r.tg.Token(), APIURL: r.tg.URL(), Transport: r.tg.HTTPClient().Transport}
		r.alice = r.tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice"})
		r.group = r.tg.AddSupergroup("ops", r.alice)
		defer func() {
			r.stop()
			if strings.Contains(r.logs.String(), secretPart) {
				t.Errorf("the token is in the log:\n%s", r.logs.String())
			}
			if t.Failed() || outer.Failed() {
				t.Logf("transcript:\n%s\nlog:\n%s", r.tg.Transcript(), r.logs.String())
			}
		}()
		r.bot = r.newBot()
		story(r)
	})
}

func (r *rig) newBot() *Bot {
	r.t.Helper()
	log := slog.New(slog.NewTextHandler(r.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	b, err := New(r.cfg, r.desk, r.inbox, r.inbox.mark, log)
	if err != nil {
		r.t.Fatal(err)
	}
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
	r.until("the bot polls", r.tg.Polling)
}

// until waits, in the bubble's time, for something about the fake, and for whatever
// follows from it at once.
func (r *rig) until(what string, cond func() bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	for {
		synctest.Wait()
		if cond() {
			return
		}
		if ctx.Err() != nil {
			r.t.Fatalf("waited in vain: %s", what)
		}
		time.Sleep(50 * time.Millisecond) // the bubble's time: passes at once when nothing else runs
	}
}

func (r *rig) answered(tap *fakechat.TelegramTap) fakechat.TelegramAnswer {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	answer, err := tap.Answer(ctx)
	if err != nil {
		r.t.Fatalf("the tap was not answered: %v", err)
	}
	return answer
}

func (r *rig) caughtUp() bool { return !open(r.bot.CaughtUp()) }

// card posts a card into the group and gives its message id.
func (r *rig) card() (id int) {
	r.t.Helper()
	posted, err := r.bot.Post(context.Background(), r.place(), core.Posting{Card: pendingCard()})
	if err != nil {
		r.t.Fatal(err)
	}
	return number(posted.MessageID)
}

func (r *rig) place() approval.Target { return target(r.group.ID) }

func (r *rig) texts() []string {
	var all []string
	for _, m := range r.desk.messages() {
		all = append(all, m.Text)
	}
	return all
}

var errDown = errors.New("the store is away")

func pendingCard() *card.Card {
	return &card.Card{
		Code: "7KQ2AB", Status: approval.Pending, Risk: approval.R3, Headline: card.Words{{Text: "main-agent asks to run"}},
		Call: card.Blocks([]card.Fact{{Name: "command", Value: "git push --force", Block: true}}), Place: card.Words{{Text: "in "}, {Text: "/srv/app", Theirs: true}},
		Why: "R3 external change or irreversible", State: card.State{UntilMs: 1_800_000_000_000, Until: "until 15:04 UTC (15 min)"},
		Offers: []approval.Decision{approval.AllowOnce, approval.AllowSession},
		Wider:  []string{"Allow session: “git push” without other options, on anything except files outside the workspace; by agent main in this session, up to risk R3 and for no other reason than here, for 12 hours at most."},
	}
}

func target(chat int64) approval.Target {
	return approval.Target{Channel: "telegram", To: strconv.FormatInt(chat, 10)}
}

// forgetfulDesk never marks anything handled.
type forgetfulDesk struct{ n int }

func (*forgetfulDesk) Redraw(context.Context, string, int64) error { return nil }

func (d *forgetfulDesk) Handle(context.Context, textcmd.Message) (textcmd.Reply, error) {
	d.n++
	return textcmd.Reply{Text: "ok"}, nil
}
