package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"approvalbot/api"
)

// An answer that is too large ends its call with a sentence, and no other; how the tool ended is not
// known, so nothing is reported.
func TestProxy_T30_ALargeAnswerIsCut(t *testing.T) {
	s := newStage(t)
	s.approval = ""
	s.listed()
	large := `"x":"` + strings.Repeat(`a\"{[,`, maxFrame/6) + `"`
	for _, answer := range []string{
		`{"jsonrpc":"2.0","id":%s,"result":{` + large + `}}`, `{"result":{` + large + `},"jsonrpc":"2.0", "id" : %s }`,
	} {
		s.says(s.client, `{"jsonrpc":"2.0","id":"big","method":"tools/call","params":{"name":"order"}}`)
		s.says(s.server, answer, s.heard(s.toServer).id())
		m := s.heard(s.toClient)
		require.Equal(t, `"big"`, m.id())
		require.Contains(t, m.raw, "larger than 16 MiB")
		require.Contains(t, m.raw, `"isError":true`)
		require.Empty(t, s.reported)
	}
	s.says(s.client, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"order"}}`)
	s.ran()
	require.Equal(t, "succeeded", (<-s.reported).Status)
}

// What names no request, or one twice, or asks something itself, answers none.
func TestAdversary_T30_OfALargeMessageOnlyItsOwnIdCounts(t *testing.T) {
	large := strings.Repeat("x", maxFrame)
	for text, want := range map[string]string{
		`{"id":7,"result":"` + large + `"}`:                      "7",
		`{"result":"` + large + `","id":"q7"}`:                   "q7",
		`{"result":{"id":8,"x":"` + large + `"},"id":7}`:         "7",
		`{"result":"\",\"id\":8,` + large + `","id":7}`:          "7",
		`{"result":{"id":8,"x":"` + large + `"}}`:                "",
		`{"id":7,"result":"` + large + `","id":8}`:               "",
		`{"id":7,"method":"ping","params":"` + large + `"}`:      "",
		`{"id":{"x":7},"result":"` + large + `"}`:                "",
		`[{"id":7,"result":"` + large + `"}]`:                    "",
		`{"id":7,"result":"` + large:                             "",
		`{"id":7.5,"result":"` + large + `"}`:                    "",
		`{"id":"` + strings.Repeat("7", 200) + `","r":"` + large: "",
	} {
		_, err := readLine(bufio.NewReaderSize(strings.NewReader(text+"\n{}\n"), 4096))
		var bad unreadable
		require.ErrorAs(t, err, &bad)
		got := ""
		if bad.of.IsValid() {
			got = fmt.Sprint(bad.of.Raw())
		}
		require.Equal(t, want, got, text[:30])
	}
}

// A client that asked for progress hears of its call until it is decided, with a number that grows.
func TestProxy_T30_ProgressGoesOn(t *testing.T) {
	out, in := io.Pipe()
	x := &relay{Proxy: Proxy{pause: time.Millisecond}, client: Lines(io.NopCloser(strings.NewReader("")), in)}
	ctx, cancel := context.WithCancel(t.Context())
	go x.waiting(ctx, call{token: jsontext.Value(`"p"`)})(api.Approval{Code: "K7QX2M"})
	lines, before := bufio.NewScanner(out), 0.0
	for range 5 {
		require.True(t, lines.Scan())
		var m struct {
			Params struct {
				Token    string  `json:"progressToken"`
				Progress float64 `json:"progress"`
				Message  string  `json:"message"`
			}
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &m))
		require.Equal(t, "p", m.Params.Token)
		require.Equal(t, "waiting for approval K7QX2M", m.Params.Message)
		require.Greater(t, m.Params.Progress, before)
		require.Less(t, m.Params.Progress, 1.0)
		before = m.Params.Progress
	}
	cancel()
	_ = out.Close()
	x.work.Wait()
}

// A server over HTTP asks for the client's roots on a stream that belongs to no request, and gets them.
func TestRemote_T30_ServesItsOwnStream(t *testing.T) {
	answered := make(chan string, 1)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.Unmarshal(body, &m)
		switch {
		case r.Method == http.MethodGet:
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"id\":\"r1\",\"method\":\"roots/list\"}\n\n")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case m.Method == initialize:
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}`, m.ID)
		case m.Method == "":
			answered <- string(body)
			fallthrough
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	t.Cleanup(web.Close)
	in, out, _ := before(t, web.URL)
	t.Cleanup(web.CloseClientConnections)
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`)
	_, err := out.ReadString('\n')
	require.NoError(t, err)
	fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	line, err := out.ReadString('\n')
	require.NoError(t, err)
	var asked struct{ ID json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(line), &asked))
	require.Contains(t, line, "roots/list")
	fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%s,"result":{"roots":[]}}`+"\n", asked.ID)
	require.Contains(t, <-answered, `"r1"`)
}
