package web

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/people"
	"approvalbot/internal/signin"
	"approvalbot/internal/store"
)

const (
	botToken = "42:TEST-bot-token"
	base     = "https://example.com" // what the test server's certificate is for
)

// site is the desk's pages on a real Gate and a real store, reached over TLS by browsers.
type site struct {
	t      *testing.T
	gate   *core.Gate
	signin *signin.Door
	store  *store.Store
	web    *Web
	server *httptest.Server
	rules  core.Rules
}

// noPolicy judges nothing: nothing is asked here.
type noPolicy struct{ core.Policy }

func (noPolicy) Hash() string { return "p" }

func newSite(t *testing.T, change ...func(*Config)) *site {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{URL: "sqlite::memory:"})
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- s.Run(context.Background()) }()
	x := &site{t: t, store: s}
	x.rules = core.Rules{Enabled: true, Policy: noPolicy{}, People: peopleOf(t, "alice", "bob")}
	x.gate = core.NewGate(s.CoreStores(), x.rules, slog.New(slog.DiscardHandler))
	public, err := url.Parse(base)
	require.NoError(t, err)
	x.signin = signin.New(s.SignInStores(), x.gate)
	c := Config{Gate: x.gate, SignIn: x.signin, PublicURL: public, Log: slog.New(slog.DiscardHandler), BotToken: botToken}
	for _, f := range change {
		f(&c)
	}
	x.web, err = New(c)
	require.NoError(t, err)
	mux := http.NewServeMux()
	for pattern, h := range x.web.Handlers() {
		mux.Handle(pattern, h)
	}
	mux.Handle("GET /test/stream", x.web.guard.around(route{serve: x.stream}))
	x.server = httptest.NewTLSServer(mux)
	t.Cleanup(func() {
		x.server.Close()
		require.NoError(t, s.Close())
		require.NoError(t, <-done)
	})
	return x
}

// peopleOf gives alice, who is on Telegram and Discord, and bob, who is on Telegram, if they
// are named.
func peopleOf(t *testing.T, names ...string) *people.Directory {
	t.Helper()
	known := map[string]people.Person{
		"alice": {Name: "alice", Accounts: map[string]string{"telegram": "111", "discord": "222"}, Email: "Alice@example.org"},
		"bob":   {Name: "bob", Accounts: map[string]string{"telegram": "333"}},
	}
	r := people.Rights{AllowedUsers: map[string][]string{"telegram": {"111", "333"}, "discord": {"222"}}}
	for _, name := range names {
		r.People = append(r.People, known[name])
	}
	d, err := people.NewDirectory(r)
	require.NoError(t, err)
	return d
}

// configured makes only these people known from now on.
func (x *site) configured(names ...string) {
	x.rules.People = peopleOf(x.t, names...)
	x.gate.Use(x.rules)
	x.signin.RulesChanged()
}

// stream is a page that goes on as long as its session.
func (x *site) stream(out http.ResponseWriter, r *http.Request, _ signin.Session) {
	ctx, stop := x.web.sessions.lasting(r)
	defer stop()
	_, _ = io.WriteString(out, "open\n")
	_ = http.NewResponseController(out).Flush()
	<-ctx.Done()
}

// visitor is a browser: it keeps cookies, and stays where it is sent elsewhere.
type visitor struct {
	t    *testing.T
	http *http.Client
}

func (x *site) visitor() *visitor {
	x.t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(x.t, err)
	transport := x.server.Client().Transport.(*http.Transport).Clone()
	transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", x.server.Listener.Addr().String())
	}
	x.t.Cleanup(transport.CloseIdleConnections)
	return &visitor{x.t, &http.Client{Transport: transport, Jar: jar,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// answer is what came back.
type answer struct {
	*http.Response
	text string
}

func (v *visitor) do(method, path string, form url.Values, change ...func(*http.Request)) answer {
	v.t.Helper()
	r, err := http.NewRequest(method, base+path, strings.NewReader(form.Encode()))
	require.NoError(v.t, err)
	r.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	for _, f := range change {
		f(r)
	}
	out, err := v.http.Do(r)
	require.NoError(v.t, err)
	defer out.Body.Close()
	text, err := io.ReadAll(out.Body)
	require.NoError(v.t, err)
	return answer{out, string(text)}
}

func (v *visitor) get(path string) answer { v.t.Helper(); return v.do(http.MethodGet, path, nil) }

func (v *visitor) post(path string, form url.Values) answer {
	v.t.Helper()
	return v.do(http.MethodPost, path, form)
}

// leads gives where an answer sends the browser.
func (v *visitor) leads(a answer) string {
	v.t.Helper()
	require.Equal(v.t, http.StatusSeeOther, a.StatusCode, a.text)
	return a.Header.Get("Location")
}

// in reports whether the browser is signed in.
func (v *visitor) in() bool { v.t.Helper(); return v.get("/me").StatusCode == http.StatusOK }

// link makes a login link for a person, and gives its path.
func (x *site) link(person string) string {
	x.t.Helper()
	_, secret, err := x.signin.MakeLink(x.t.Context(), core.Caller{Token: "ops", MayAdmin: true}, person, false)
	require.NoError(x.t, err)
	return strings.TrimPrefix(x.web.LinkTo(secret), base)
}

// click spends a link as its page does.
func (v *visitor) click(link string) answer {
	v.t.Helper()
	return v.post("/signin", url.Values{"link": {secretIn(v.t, link)}})
}

func secretIn(t *testing.T, link string) string {
	t.Helper()
	u, err := url.Parse(link)
	require.NoError(t, err)
	return u.Query().Get("link")
}

// signedInAs is a browser in which a person is signed in.
func (x *site) signedInAs(person string) *visitor {
	x.t.Helper()
	v := x.visitor()
	require.Equal(x.t, "/", v.leads(v.click(x.link(person))))
	return v
}

// events are the log's entries of a type.
func (x *site) events(kind approval.EventType) (out []approval.Event) {
	x.t.Helper()
	all, err := x.store.Log(x.t.Context(), 0, 1000)
	require.NoError(x.t, err)
	for _, e := range all {
		if e.Type == kind {
			out = append(out, e.Event)
		}
	}
	return out
}

// storeKeep has nothing swept but what is over.
var storeKeep = store.Keep{}
