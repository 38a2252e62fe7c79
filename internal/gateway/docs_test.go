package gateway

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

// The conversation in the documentation, played against a real desk.
func TestDocumentedConversation(t *testing.T) {
	text, err := os.ReadFile("../../docs/gateway.md")
	require.NoError(t, err)
	d := newDesk(t, atUsualPace)
	play := &player{t: t, values: map[string]string{}}
	sockets := map[string]*client{}
	lines := 0
	for _, block := range regexp.MustCompile("(?s)```transcript\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		for line := range strings.Lines(block[1]) {
			lines++
			who, rest, _ := strings.Cut(line, " ")
			c := sockets[who]
			if c == nil {
				ws, _, err := websocket.Dial(t.Context(), "ws://"+d.addr+"/v1/gateway", nil)
				require.NoError(t, err)
				defer func() { _ = ws.CloseNow() }()
				c = &client{t: t, ws: ws, asked: map[string]string{}}
				sockets[who] = c
			}
			if sent, is := strings.CutPrefix(rest, "→ "); is {
				play.send(c, sent)
			} else {
				play.expect(c, strings.TrimPrefix(rest, "← "))
			}
		}
	}
	require.Greater(t, lines, 15)
}

// player keeps what the desk's values are called in the documentation.
type player struct {
	t      *testing.T
	values map[string]string
}

func (p *player) send(c *client, text string) {
	text = strings.NewReplacer("AGENT_TOKEN", secretOf("agent"), "ALICE_TOKEN", secretOf("alice")).Replace(text)
	for name, value := range p.values {
		text = strings.ReplaceAll(text, name, value)
	}
	var req request
	require.NoError(p.t, json.Unmarshal([]byte(text), &req), text)
	c.asked[string(req.ID)] = req.Method
	check(p.t, "request", []byte(text))
	check(p.t, req.Method+".params", req.Params)
	c.raw(text)
}

// expect waits for a frame: events and answers come in an order of their own,
// the documentation has them in one of those.
func (p *player) expect(c *client, text string) {
	var want map[string]any
	require.NoError(p.t, json.Unmarshal([]byte(text), &want), text)
	var got frame
	if want["type"] == "event" {
		got = c.event(want["event"].(string))
	} else {
		id, err := json.Marshal(want["id"])
		require.NoError(p.t, err)
		got = c.answer(string(id))
	}
	raw, err := json.Marshal(got)
	require.NoError(p.t, err)
	var is map[string]any
	require.NoError(p.t, json.Unmarshal(raw, &is))
	for _, name := range []string{"id", "ok", "payload", "error", "event", "seq"} {
		if _, told := want[name]; !told {
			delete(is, name) // the frame type of the tests has them all
		}
	}
	p.match("frame", want, is)
}

func (p *player) match(at string, want, is any) {
	switch w := want.(type) {
	case map[string]any:
		m, ok := is.(map[string]any)
		require.True(p.t, ok, at)
		for name, v := range w {
			if name != "…" {
				require.Contains(p.t, m, name, at)
				p.match(at+"."+name, v, m[name])
			}
		}
		if _, open := w["…"]; !open {
			require.Len(p.t, m, len(w), "%s: %v", at, m)
		}
	case string:
		if w == "<ms>" {
			require.IsType(p.t, 1.0, is, at)
		} else if strings.HasPrefix(w, "<") && p.values[w] == "" {
			require.IsType(p.t, "", is, at)
			p.values[w] = is.(string)
		} else if strings.HasPrefix(w, "<") {
			require.Equal(p.t, p.values[w], is, at)
		} else {
			require.Equal(p.t, w, is, at)
		}
	default:
		require.Equal(p.t, want, is, at)
	}
}
