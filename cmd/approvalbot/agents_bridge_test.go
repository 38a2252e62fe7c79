package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What opencode serve asks its user, the bridge has answered by the desk: events as
// they come, and what waited before the bridge was there. OpenCode's side is played from
// what version 1.18.33 sent and took.
func TestExamples_OpenCodeBridge(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node: not tested, install it")
	}
	asked := func(id, command string) string {
		return fmt.Sprintf(`{"id":%q,"sessionID":"ses_1","permission":"bash","patterns":[%[2]q],"metadata":{"command":%[2]q},`+
			`"always":["mv *"],"tool":{"messageID":"msg_1","callID":"call_1"}}`, id, command)
	}
	type reply struct{ id, reply, message, directory string }
	replies := make(chan reply, 4)
	events := make(chan string)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /permission", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "[%s]", asked("per_waits", "mv waiting away"))
	})
	mux.HandleFunc("GET /event", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"type\":\"server.connected\",\"properties\":{}}\n\n")
		for {
			w.(http.Flusher).Flush()
			select {
			case e := <-events:
				fmt.Fprintf(w, "data: {\"type\":\"permission.asked\",\"properties\":%s}\n\n", e)
			case <-r.Context().Done():
				return
			}
		}
	})
	mux.HandleFunc("GET /session/ses_1/message/msg_1", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"info":{},"parts":[{"type":"text"},{"type":"tool","callID":"call_1","tool":"bash","state":{"status":"running",`+
			`"input":{"command":"mv it away","workdir":"/elsewhere","description":"tidy up"}}}]}`)
	})
	mux.HandleFunc("POST /permission/{id}/reply", func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Reply, Message string }
		_ = json.NewDecoder(r.Body).Decode(&in)
		replies <- reply{r.PathValue("id"), in.Reply, in.Message, r.URL.Query().Get("directory")}
		fmt.Fprint(w, "true")
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "opencode" || password != "pw" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	defer server.Close()
	defer server.CloseClientConnections()

	r := newRig(t, asksAlways)
	bridge := exec.Command(node, "../../examples/agents-in-node/opencode-bridge.mjs", server.URL, "/home/u/project")
	bridge.Env = append(os.Environ(), "OPENCODE_SERVER_PASSWORD=pw", "APPROVALBOT_SERVER="+r.url, "APPROVALBOT_TOKEN="+agentSecret, "NO_PROXY=*")
	log := background(t, bridge)
	got := func() reply {
		select {
		case a := <-replies:
			return a
		case <-time.After(patient):
			require.Fail(t, "no reply", log.String())
			return reply{}
		}
	}
	card := r.asked("mv it away")
	require.Contains(t, card.Text, "/elsewhere", "OpenCode's question does not say where")
	require.Contains(t, card.Text, "tidy up")
	r.tap(r.alice, r.group, card.ID, "Allow once")
	require.Equal(t, reply{"per_waits", "once", "", "/home/u/project"}, got())
	r.settled(r.group, card.ID) // the next card says the same

	events <- asked("per_comes", "mv build build.old")
	r.tap(r.alice, r.group, r.asked("mv it away").ID, "Deny")
	denied := got()
	require.Equal(t, "reject", denied.reply)
	require.Contains(t, denied.message, "denied by alice")

	r.stop() // without a desk nothing is allowed
	events <- asked("per_down", "mv other away")
	down := got()
	require.Equal(t, "reject", down.reply)
	require.True(t, strings.Contains(down.message, "not run"), down.message)
}

// background runs a program until the test ends; what it prints can be read meanwhile.
func background(t *testing.T, c *exec.Cmd) *safeBuffer {
	t.Helper()
	out := &safeBuffer{}
	c.Stdout, c.Stderr = out, out
	require.NoError(t, c.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.Wait()
	}()
	t.Cleanup(func() {
		_ = c.Process.Kill()
		<-ended
		if t.Failed() {
			t.Log(out.String())
		}
	})
	return out
}
