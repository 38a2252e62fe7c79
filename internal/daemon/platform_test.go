package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/bot/textcmd"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/config"
	"approvalbot/internal/config/effective"
	"approvalbot/internal/platform"
)

// Each platform's row has an adapter, and each adapter a row.
func TestPlatform_EachRowHasAnAdapter(t *testing.T) {
	for _, name := range platform.Names() {
		require.NotNil(t, adapters[name].bot, name)
		require.NotNil(t, adapters[name].probe, name)
	}
	require.Len(t, adapters, len(platform.Rows))
}

// A platform is a folder, a row, an adapter and a key: these four bring an approval to a person of a platform that
// nothing else in the desk knows, and their tap back.
//
// The folder is toyBot. Its messages are in memory.
type toyBot struct {
	desk          *textcmd.Handler
	posted        atomic.Int64
	cards, edited chan card.Card
	caughtUp      chan struct{}
}

func (b *toyBot) Post(_ context.Context, _ approval.Target, p core.Posting) (core.Posted, error) {
	if p.Card != nil {
		b.cards <- *p.Card
	}
	return core.Posted{MessageID: fmt.Sprint(b.posted.Add(1))}, nil
}

func (b *toyBot) Edit(_ context.Context, _ approval.Target, _ string, c card.Card) error {
	b.edited <- c
	return nil
}

func (b *toyBot) Attach(context.Context, approval.Target, card.File) error      { return nil }
func (b *toyBot) AttachParts(context.Context, approval.Target, card.File) error { return nil }
func (b *toyBot) Run(ctx context.Context) error                                 { <-ctx.Done(); return nil }
func (b *toyBot) CaughtUp() <-chan struct{}                                     { return b.caughtUp }
func (b *toyBot) State() core.ChannelState                                      { return core.ChannelState{Up: true} }
func (b *toyBot) Poke()                                                         {}

// tap presses a button of the card that was posted first.
func (b *toyBot) tap(ctx context.Context, chat approval.Target, user, payload string) (textcmd.Reply, error) {
	return b.desk.Handle(ctx, textcmd.Message{Voter: approval.Voter{Channel: chat.Channel, UserID: user}, Name: "Alice", Chat: chat,
		Tap: true, Text: payload, MessageID: "1", OwnMessage: true, ReceivedMs: time.Now().UnixMilli()})
}

// The row and the adapter stand in the tables before any test reads these.
func TestMain(m *testing.M) {
	platform.Rows = append(platform.Rows, platform.Row{
		Name: "toy", Title: "Toy", Place: "room", Example: "toy:-5", APIURL: "https://toy.example.org", Pulled: "asking",
		WrongUser: func(id string) string {
			if len(id) > 3 {
				return "is no Toy id"
			}
			return ""
		},
	})
	adapters["toy"] = adapter{
		bot: func(_ string, _ config.Channel, d *Daemon) (bot, http.Handler, error) {
			b := &toyBot{desk: d.talk, cards: make(chan card.Card, 8), edited: make(chan card.Card, 8), caughtUp: make(chan struct{})}
			close(b.caughtUp)
			return b, nil, nil
		},
		probe: func(_ context.Context, channel string, _ config.Channel, at []approval.Target, users []string) []core.Diagnostic {
			return []core.Diagnostic{core.OK(channel, fmt.Sprint(at, users))}
		},
	}
	os.Exit(m.Run())
}

// The key is the row's name, under channels and for a person.
const toyConfig = `
server:
  listen: 127.0.0.1:0
  socket: off
  web: {enabled: false}
  tokens: [{name: agent, token: agent-secret-0123456789, scopes: [approvals.request]}]
store: {url: "sqlite:desk.db", keyFile: desk.key}
people: [{name: alice, toy: 7}]
channels: {toy: {botToken: secret, allowedUserIds: [7]}}
approvals: {tools: {routing: {targets: ["toy:-5"]}}}
`

func TestPlatform_AToyIsAFolderARowAnAdapterAndAKey(t *testing.T) {
	cfg, _, err := effective.Parse(filepath.Join(t.TempDir(), "f.yaml"), []byte(toyConfig), config.Environ{}, nil)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	d, err := New(ctx, cfg, Options{Version: "test", Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	ln, err := Listen(cfg.Server)
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx, ln) }()
	defer func() { stop(); require.NoError(t, <-done) }()

	agent := &api.Client{Server: "http://" + ln.Addr().String(), Token: "agent-secret-0123456789"}
	asked, err := agent.Create(ctx, api.CreateRequest{ToolName: "deploy", Params: []byte(`{"to":"production"}`),
		Requester: &api.Requester{Channel: "toy", UserID: "8"}}, api.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, api.Pending, asked.Status)

	toy, room := d.bots["toy"].(*toyBot), approval.Target{Channel: "toy", To: "-5"}
	shown := next(t, toy.cards)
	allow := textcmd.Buttons(shown, textcmd.MenuMain)[0][0]
	answer, err := toy.tap(ctx, room, "9", allow.Data)
	require.NoError(t, err)
	require.Equal(t, "You are not authorized to approve/deny this request.", answer.Text)
	answer, err = toy.tap(ctx, room, "7", allow.Data)
	require.NoError(t, err)
	require.Equal(t, "Allowed. It may run once, within 5 minutes.", answer.Text)
	for shown = next(t, toy.edited); shown.Status != approval.Approved; {
		shown = next(t, toy.edited)
	}
	decided, err := agent.Get(ctx, asked.ID, 0)
	require.NoError(t, err)
	require.Equal(t, []string{"person:alice"}, decided.DecidedBy)

	found := Probe(ctx, cfg, "toy", []approval.Target{room}, []string{"7"})
	require.Equal(t, []core.Diagnostic{core.OK("toy", "[toy:-5] [7]")}, found)
	require.True(t, d.ready(ctx).Channels["toy"].Up)
}

// Each field of the pages' configuration is filled, so no page is empty on a real desk and full in its own tests.
func TestWebConfig_IsFilled(t *testing.T) {
	text := strings.Replace(toyConfig, "web: {enabled: false}", `publicUrl: https://desk.example.org
  web: {embedOrigins: [https://embed.example.org], push: {vapidKeyFile: vapid.key}, oidc: {issuer: "https://login.example.org", clientId: desk, clientSecret: s}}`, 1)
	text = strings.Replace(text, "channels: {", "channels: {telegram: {botToken: 123456:abcdefghijklmnopqrstuvwxyz}, ", 1)
	cfg, _, err := effective.Parse(filepath.Join(t.TempDir(), "f.yaml"), []byte(text), config.Environ{}, nil)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	d, err := New(ctx, cfg, Options{Version: "test", Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	made := reflect.ValueOf(d.webConfig(&url.URL{}))
	for i := range made.NumField() {
		require.False(t, made.Field(i).IsZero(), "webConfig leaves %s empty", made.Type().Field(i).Name)
	}
	stop()
	ln, err := Listen(cfg.Server)
	require.NoError(t, err)
	require.NoError(t, d.Run(ctx, ln)) // closes the store
}

// next is the card that comes next.
func next(t *testing.T, cards chan card.Card) card.Card {
	t.Helper()
	select {
	case c := <-cards:
		return c
	case <-time.After(time.Minute):
		require.Fail(t, "no card")
		return card.Card{}
	}
}

// The row alone makes the keys of the configuration, and what is said of a wrong value.
func TestPlatform_TheRowSaysWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"people: [{name: a, toy: 1234}]":                        "people[0].toy: is no Toy id",
		"channels: {toy: {updates: gateway}}":                   "channels.toy.updates: must be asking",
		"channels: {toy: {updates: {webhook: {url: x}}}}":       "channels.toy.updates: must be a single value",
		"channels: {toy: {allowedRoleIds: [1]}}":                "channels.toy.allowedRoleIds: unknown key",
		"channels: {toi: {botToken: a}}":                        "channels.toi: unknown key (did you mean toy?)",
		"approvals: {tools: {routing: {targets: ['toy:x']}}}":   "or toy:-5",
		"approvals: {tools: {routing: {targets: [{to: 1}]}}}":   "needs a channel: telegram, discord or toy",
		"approvals: {tools: {routing: {targets: ['slack:1']}}}": "must be a chat with numeric ids, such as ",
	} {
		_, _, err := effective.Parse("f.yaml", []byte(text), config.Environ{}, nil)
		require.ErrorContains(t, err, want, text)
	}
	_, err := approval.ParseTarget("slack:1")
	require.EqualError(t, err, `channel "slack" is neither telegram, discord nor toy`)
	require.True(t, strings.HasSuffix(approval.Target{Channel: "toy", To: "x"}.Validate().Error(), `toy room "x" is not a numeric id`))
	require.True(t, slices.Contains(effective.Outboxes(), "toy"))
}
