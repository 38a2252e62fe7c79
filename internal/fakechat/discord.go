package fakechat

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"net"
	"net/http"
	"strconv"
	"time"
)

// DiscordOptions configures a [Discord]. The zero value is usable.
type DiscordOptions struct {
	// Token is the bot's token without "Bot ". Default: three parts, the first
	// of which is the base64 of the bot's user id, as real ones are.
	Token string
	// ApplicationID and BotUserID are snowflakes. Default: the same new one, as
	// for applications made since 2016.
	ApplicationID, BotUserID string
	// BotName is the bot's username. Default "approval_test_bot".
	BotName string
	// Seed of the application's Ed25519 key, 32 bytes. Default: a random key.
	// The key signs interactions that are delivered by HTTP.
	Seed []byte
	// Now is the clock; it must not call the fake. Default time.Now. [Discord.Advance] adds
	// to its time.
	Now func() time.Time
	// AckWindow is how long an interaction waits for its first response, and
	// TokenLife how long its token is valid (Discord, "Receiving and Responding
	// to Interactions": 3 s and 15 minutes, the defaults).
	AckWindow, TokenLife time.Duration
	// HeartbeatInterval is what HELLO says. Default 41.25 s.
	HeartbeatInterval time.Duration
	// PrivilegedIntents are those that are switched on in the developer portal; to ask for
	// another one closes the gateway with 4014. Default: all are off.
	PrivilegedIntents DiscordIntents
	// Limits switches the rate limiter on. Default: only the headers are sent.
	Limits *DiscordLimits
	// AnyUserAgent accepts requests without a User-Agent "DiscordBot (url,
	// version)" (Discord, "API Reference": user agent). Default: 403, 40333.
	AnyUserAgent bool
	// EndpointClient sends the HTTP interactions. Default: a client that reaches only
	// loopback addresses.
	EndpointClient *http.Client
	// Addr is the address to listen on. Default "127.0.0.1:0".
	Addr string
	// InMemory serves over net.Pipe instead of TCP, for tests that run inside a
	// testing/synctest bubble. The bot must then use [Discord.HTTPClient] and
	// [Discord.DialContext].
	InMemory bool
}

// Discord is a Discord with one application: its REST API under /api/v9 and
// /api/v10, its gateway, and the people. All methods are safe for concurrent
// use.
type Discord struct {
	stage
	opts   DiscordOptions
	key    ed25519.PrivateKey
	url    string
	server *http.Server
	pipe   *pipeListener // nil when on TCP
	mux    *http.ServeMux
	ctx    context.Context // ends at Close
	cancel context.CancelFunc

	token   string
	revoked bool
	lastID  int64
	me      *dcUser
	users   map[string]*dcUser
	guilds  map[string]*DiscordGuild
	order   []*DiscordGuild
	places  map[string]*DiscordChannel

	interactions map[string]*DiscordInteraction // by token
	byInteract   map[string]*DiscordInteraction // by id
	commands     []*dcCommand
	endpoint     endpointState
	gateway      DiscordGateway
	limits       dcLimiter

	faults  []*dcFault
	journal []*DiscordCall
}

// NewDiscord starts a fake that is closed when the test ends.
func NewDiscord(tb TB, opts DiscordOptions) *Discord {
	tb.Helper()
	dc, err := StartDiscord(opts)
	if err != nil {
		tb.Fatalf("fakechat: %v", err)
	}
	dc.tb = tb
	tb.Cleanup(dc.Close)
	return dc
}

// StartDiscord starts a fake without a test. The caller closes it.
func StartDiscord(opts DiscordOptions) (*Discord, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	dc := &Discord{
		stage:        stage{clock: opts.Now, changed: make(chan struct{})},
		users:        make(map[string]*dcUser),
		guilds:       make(map[string]*DiscordGuild),
		places:       make(map[string]*DiscordChannel),
		interactions: make(map[string]*DiscordInteraction),
		byInteract:   make(map[string]*DiscordInteraction),
	}
	dc.ctx, dc.cancel = context.WithCancel(context.Background())
	if err := dc.configure(opts); err != nil {
		return nil, err
	}
	dc.me = &dcUser{DiscordProfile: DiscordProfile{ID: dc.opts.BotUserID, Username: dc.opts.BotName, Bot: true}}
	dc.users[dc.me.ID] = dc.me
	dc.gateway.start(dc)
	dc.limits.set(opts.Limits)
	dc.mux = dc.routes()
	if err := dc.listen(); err != nil {
		return nil, err
	}
	return dc, nil
}

// configure fills in the defaults.
func (dc *Discord) configure(o DiscordOptions) error {
	id := dc.newID()
	o.ApplicationID = cmp.Or(o.ApplicationID, o.BotUserID, id)
	o.BotUserID = cmp.Or(o.BotUserID, o.ApplicationID)
	for _, snowflake := range []string{o.ApplicationID, o.BotUserID} {
		if !isSnowflake(snowflake) {
			return &strconv.NumError{Func: "snowflake", Num: snowflake, Err: strconv.ErrSyntax}
		}
	}
	o.Token = cmp.Or(o.Token, tokenFor(o.BotUserID))
	o.BotName = cmp.Or(o.BotName, "approval_test_bot")
	o.AckWindow = cmp.Or(o.AckWindow, 3*time.Second)
	o.TokenLife = cmp.Or(o.TokenLife, 15*time.Minute)
	o.HeartbeatInterval = cmp.Or(o.HeartbeatInterval, 41250*time.Millisecond)
	o.Addr = cmp.Or(o.Addr, "127.0.0.1:0")
	if o.EndpointClient == nil {
		o.EndpointClient = loopbackClient()
	}
	if o.Seed == nil {
		_, dc.key, _ = ed25519.GenerateKey(nil)
	} else {
		dc.key = ed25519.NewKeyFromSeed(o.Seed)
	}
	dc.opts, dc.token = o, o.Token
	return nil
}

func (dc *Discord) listen() error {
	var listener net.Listener
	if dc.opts.InMemory {
		dc.pipe = newPipeListener()
		listener, dc.url = dc.pipe, "http://discord.invalid"
	} else {
		tcp, err := net.Listen("tcp", dc.opts.Addr)
		if err != nil {
			return err
		}
		listener, dc.url = tcp, "http://"+tcp.Addr().String()
	}
	dc.server = &http.Server{Handler: http.HandlerFunc(dc.serve)}
	dc.running.Go(func() { dc.server.Serve(listener) })
	return nil
}

// Close ends all waiting requests and gateway connections and stops the server.
// It may be called twice.
func (dc *Discord) Close() {
	dc.mu.Lock()
	dc.closed = true
	dc.cancel()
	for _, i := range dc.byInteract {
		i.timer.Stop()
	}
	dc.gateway.cut()
	dc.wake()
	dc.mu.Unlock()
	dc.server.Close()
	dc.running.Wait()
	dc.opts.EndpointClient.CloseIdleConnections()
}

// URL is the base of the REST API: URL + "/api/v10/channels/…".
func (dc *Discord) URL() string { return dc.url }

// GatewayURL is what GET /gateway answers: "ws://…/gateway".
func (dc *Discord) GatewayURL() string { return "ws" + dc.url[len("http"):] + "/gateway" }

// HTTPClient returns a new client that reaches the fake, also when it is in
// memory. The caller may change it.
func (dc *Discord) HTTPClient() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: dc.DialContext}}
}

// DialContext connects to the fake, also when it is in memory; there the address
// does not matter.
func (dc *Discord) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	if dc.pipe != nil {
		return dc.pipe.dial(ctx, network, addr)
	}
	return new(net.Dialer).DialContext(ctx, network, addr)
}

// PublicKey is the application's key in hexadecimal, as the developer portal
// shows it.
func (dc *Discord) PublicKey() string {
	return hex.EncodeToString(dc.key.Public().(ed25519.PublicKey))
}

// ApplicationID is the application's id.
func (dc *Discord) ApplicationID() string { return dc.opts.ApplicationID }

// BotUserID is the id of the bot's user.
func (dc *Discord) BotUserID() string { return dc.opts.BotUserID }

// Token is the bot's token.
func (dc *Discord) Token() string {
	dc.mu.Lock()
	defer dc.mu.Unlock()
	return dc.token
}

// RevokeToken makes every call with the bot's token fail with 401 and closes the
// gateway with 4004, as a token reset does.
func (dc *Discord) RevokeToken() {
	dc.mu.Lock()
	defer dc.mu.Unlock()
	dc.revoke()
}

func (dc *Discord) revoke() {
	dc.revoked = true
	dc.gateway.closeAll(4004, "Authentication failed.")
	dc.wake()
}

// SetToken replaces the token; the old one stops working.
func (dc *Discord) SetToken(token string) {
	dc.mu.Lock()
	defer dc.mu.Unlock()
	dc.revoke()
	dc.token, dc.revoked = token, false
}
