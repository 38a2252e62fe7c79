package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

// line is an instance's way to its database: TCP, which can be cut, or go dead so
// that neither side learns of it.
type line struct {
	ln       net.Listener
	upstream string // PostgreSQL's socket
	wg       sync.WaitGroup

	mu    sync.Mutex
	cut   bool
	open  chan struct{} // closed while bytes flow
	conns map[net.Conn]bool
}

// newLine gives a line to the database of that URL, and the URL at its near end.
func newLine(t *testing.T, database string) (*line, string) {
	u, err := url.Parse(database)
	require.NoError(t, err)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l := &line{ln: ln, upstream: path.Join(u.Query().Get("host"), ".s.PGSQL."+u.Query().Get("port")), open: make(chan struct{}), conns: map[net.Conn]bool{}}
	close(l.open)
	l.wg.Go(l.accept)
	t.Cleanup(func() {
		ln.Close()
		l.heal()
		l.closeAll()
		l.wg.Wait()
	})
	return l, "postgres://" + u.Query().Get("user") + "@" + ln.Addr().String() + u.Path + "?sslmode=disable"
}

func (l *line) accept() {
	for {
		in, err := l.ln.Accept()
		if err != nil {
			return
		}
		l.wg.Go(func() { l.carry(in) })
	}
}

func (l *line) carry(in net.Conn) {
	defer in.Close()
	if l.wait(); !l.keep(in) {
		return
	}
	defer l.drop(in)
	out, err := net.Dial("unix", l.upstream)
	if err != nil {
		return
	}
	defer out.Close()
	if !l.keep(out) {
		return
	}
	defer l.drop(out)
	var both sync.WaitGroup
	both.Go(func() { l.pump(out, in) })
	l.pump(in, out)
	both.Wait()
}

// pump carries bytes, and the end, as long as the line is not dead.
func (l *line) pump(to, from net.Conn) {
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		l.wait()
		if n > 0 {
			if _, failed := to.Write(b[:n]); failed != nil {
				err = failed
			}
		}
		if err != nil {
			to.Close()
			from.Close()
			return
		}
	}
}

func (l *line) wait() {
	l.mu.Lock()
	open := l.open
	l.mu.Unlock()
	<-open
}

func (l *line) keep(c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		return false
	}
	l.conns[c] = true
	return true
}

func (l *line) drop(c net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
}

func (l *line) closeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		c.Close()
	}
}

// sever cuts all connections and refuses new ones.
func (l *line) sever() {
	l.mu.Lock()
	l.cut = true
	l.mu.Unlock()
	l.closeAll()
}

// deaden lets nothing through any more, neither bytes nor the end of a connection.
func (l *line) deaden() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = make(chan struct{})
}

// heal ends both.
func (l *line) heal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = false
	select {
	case <-l.open:
	default:
		close(l.open)
	}
}

// posted is a card that stands in a chat.
type posted struct {
	room string // its name
	id   string // of the message
	at   time.Time
}

// witness stands between the instances and the fakes and sees each card as the
// chat got it, whatever became of the instance that sent it.
type witness struct {
	client *http.Client

	mu      sync.Mutex
	cards   map[string][]posted // by code
	waiting map[string]chan struct{}
}

func newWitness() *witness {
	return &witness{client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
		cards: map[string][]posted{}, waiting: map[string]chan struct{}{}}
}

// front is a server that stands before a fake for the length of the test.
func (w *witness) front(t *testing.T, upstream string, closeFake func()) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.carry(rw, r, upstream) }))
	t.Cleanup(func() {
		s.CloseClientConnections()
		closeFake()
		s.Close()
		w.client.CloseIdleConnections()
	})
	return s
}

var (
	offeredCode = regexp.MustCompile(`"/(?:approve|deny) ([0-9A-Z]{6})`)
	sentMessage = regexp.MustCompile(`"message_id":(\d+)`)
	sentToChat  = regexp.MustCompile(`"chat":\{[^}]*?"id":(-?\d+)`)
	intoChannel = regexp.MustCompile(`^/api/v\d+/channels/\d+/messages$`)
)

// carry carries a call. What has begun goes on when the caller dies, as it would
// on the platform's side; a poll ends with the poller.
func (w *witness) carry(rw http.ResponseWriter, r *http.Request, upstream string) {
	method, ctx := path.Base(r.URL.Path), r.Context()
	if method != "getUpdates" {
		ctx = context.WithoutCancel(ctx)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, upstream+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	req.Header = r.Header
	resp, err := w.client.Do(req)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	switch {
	case resp.StatusCode != http.StatusOK:
	case method == "sendMessage":
		w.telegram(string(answer))
	case r.Method == http.MethodPost && intoChannel.MatchString(r.URL.Path):
		w.discord(answer)
	}
	maps.Copy(rw.Header(), resp.Header)
	rw.WriteHeader(resp.StatusCode)
	_, _ = rw.Write(answer)
}

// telegram sees what was sent there.
func (w *witness) telegram(answer string) {
	id, chat := sentMessage.FindStringSubmatch(answer), sentToChat.FindStringSubmatch(answer)
	if id != nil && chat != nil {
		w.note(answer, posted{"telegram:" + chat[1], id[1], time.Now()})
	}
}

// discord sees what was sent there. A nonce may give a message that stands.
func (w *witness) discord(answer []byte) {
	var m struct {
		ID      string `json:"id"`
		Channel string `json:"channel_id"`
	}
	if json.Unmarshal(answer, &m) == nil {
		w.note(string(answer), posted{"discord:" + m.Channel, m.ID, time.Now()})
	}
}

// note keeps a message that offers to decide an approval.
func (w *witness) note(answer string, p posted) {
	m := offeredCode.FindStringSubmatch(answer)
	if m == nil {
		return
	}
	code := m[1]
	w.mu.Lock()
	defer w.mu.Unlock()
	if slices.ContainsFunc(w.cards[code], func(o posted) bool { return o.room == p.room && o.id == p.id }) {
		return
	}
	if w.cards[code] = append(w.cards[code], p); len(w.cards[code]) == 1 {
		close(w.news(code))
	}
}

// news is closed when the first card of a code stands; mu is held.
func (w *witness) news(code string) chan struct{} {
	if w.waiting[code] == nil {
		w.waiting[code] = make(chan struct{})
	}
	return w.waiting[code]
}

// card waits for the first card of an approval.
func (w *witness) card(ctx context.Context, code string) (posted, error) {
	w.mu.Lock()
	news := w.news(code)
	w.mu.Unlock()
	select {
	case <-news:
	case <-ctx.Done():
		return posted{}, context.Cause(ctx)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cards[code][0], nil
}

// cutSessions ends the database's sessions whose last statement begins so.
func cutSessions(t *testing.T, database, statement string) {
	t.Helper()
	conn, err := pgconn.Connect(t.Context(), database)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
 WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE '`+statement+`%'`).ReadAll()
	require.NoError(t, err)
}
