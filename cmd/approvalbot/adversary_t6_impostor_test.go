package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/cli/reach"
	"approvalbot/internal/config"
	"approvalbot/internal/config/local"
	"approvalbot/internal/hook/ask"
	"approvalbot/internal/hook/mcp"
)

// allowsAll is a desk that allows every call by policy, so that all that runs not is
// refused by the program that asks.
func allowsAll(r *rig) { r.tools = "    mode: 'off'\n" }

// clientFileFor writes a client file of the rig's agent, with the desk's keys.
func (r *rig) clientFileFor(server, more string) string {
	r.t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "server: %s\ntoken: %s\n%sdeskKeys:\n", server, agentSecret, more)
	for _, k := range r.desk.Auditor.DeskKeys() {
		fmt.Fprintf(&b, "  - {id: %q, publicKey: %q}\n", k.ID, k.PublicKey)
	}
	return r.clientFile(b.String())
}

func (r *rig) clientFile(text string) string {
	r.t.Helper()
	path := filepath.Join(r.t.TempDir(), "client.yaml")
	require.NoError(r.t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// asker is a program of ours that lets something run when the desk allows it.
type asker func(t *testing.T, client string) (ran bool, said string)

// believers are all of them, by their real command lines but for the proxy's streams.
var believers = map[string]asker{
	"hook": func(t *testing.T, client string) (bool, string) {
		_, out, errs := hookWords(t, hookBody, "hook", "claude-code", "PreToolUse", "--client", client)
		return strings.Contains(out, `"permissionDecision":"allow"`), out + errs
	},
	"run": func(t *testing.T, client string) (bool, string) {
		mark := filepath.Join(t.TempDir(), "ran")
		_, out, errs := hookWords(t, "", "--client", client, "run", "--", "touch", mark)
		_, err := os.Stat(mark)
		return err == nil, out + errs
	},
	"request": func(t *testing.T, client string) (bool, string) {
		code, out, errs := hookWords(t, "", "--client", client, "request", "--tool", "deploy", "--params", `{"n":1}`, "--wait")
		return code == app.ExitAllowed, out + errs
	},
	"mcp": func(t *testing.T, client string) (bool, string) {
		s := stdioMCP(t, []string{"HOME=" + t.TempDir()}, "mcp", "--client", client)
		got := <-callTool(t.Context(), s, "request_approval", map[string]any{"toolName": "deploy", "params": map[string]any{"n": 1}})
		text := said(t, got)
		return !got.res.IsError && strings.Contains(text, `"approved"`), text
	},
	"mcp hook": func(t *testing.T, client string) (bool, string) {
		s := stdioMCP(t, []string{"HOME=" + t.TempDir()}, "mcp", "--client", client)
		got := <-callTool(t.Context(), s, "hook", map[string]any{"tool_name": "Bash", "tool_input": map[string]any{"command": "ls"}})
		text := said(t, got)
		return strings.Contains(text, `"permissionDecision":"allow"`), text
	},
	"mcp proxy": proxied,
	"acp": func(t *testing.T, client string) (bool, string) {
		answer, stdin := filepath.Join(t.TempDir(), "answer"), neverEnds{t.Context()}
		question := `{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c",` +
			`"kind":"execute","rawInput":{"command":"ls"}},"options":[{"optionId":"yes","kind":"allow_once"},{"optionId":"no","kind":"reject_once"}]}}`
		var out, errs safeBuffer
		run(t.Context(), []string{"acp", "--client", client, "--", "sh", "-c", `echo "$1"; head -n 1 >"$2"`, "sh", question, answer},
			[]string{"HOME=" + t.TempDir()}, stdin, &out, &errs)
		text, err := os.ReadFile(answer)
		require.NoError(t, err)
		return strings.Contains(string(text), `"yes"`), string(text) + errs.String()
	},
}

// neverEnds is the input of an editor that says nothing.
type neverEnds struct{ ctx context.Context }

func (n neverEnds) Read([]byte) (int, error) {
	<-n.ctx.Done()
	return 0, io.EOF
}

// proxied makes a call of a tool behind the proxy.
func proxied(t *testing.T, client string) (bool, string) {
	file, err := config.OpenClientFile(client)
	require.NoError(t, err)
	desk, err := reach.Connect(file, client, nil)
	require.NoError(t, err)
	ran := false
	server := sdk.NewServer(&sdk.Implementation{Name: "shop", Version: "1"}, nil)
	server.AddTool(&sdk.Tool{Name: "order", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			ran = true
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "ordered"}}}, nil
		})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	near, far := sdk.NewInMemoryTransports()
	toProxy, fromClient := sdk.NewInMemoryTransports()
	_, err = server.Connect(ctx, far, nil)
	require.NoError(t, err)
	up, err := near.Connect(ctx)
	require.NoError(t, err)
	down, err := toProxy.Connect(ctx)
	require.NoError(t, err)
	p := mcp.Proxy{Desk: ask.Approvals{Client: desk}, Name: "shop", Server: "shop", Session: "s"}
	go func() { done <- p.Run(ctx, down, up) }()
	defer func() { cancel(); <-done }()
	got := <-callTool(ctx, mcpClient(t, fromClient), "order", map[string]any{"n": 1})
	return ran, said(t, got)
}

// impostor answers, at the address of a desk that is down, that everything is allowed.
type impostor struct {
	net.Listener
	heard *safeBuffer // all that was said to it
}

func (i impostor) Accept() (net.Conn, error) {
	c, err := i.Listener.Accept()
	return overheard{c, i.heard}, err
}

type overheard struct {
	net.Conn
	heard *safeBuffer
}

func (o overheard) Read(b []byte) (int, error) {
	n, err := o.Conn.Read(b)
	_, _ = o.heard.Write(b[:n])
	return n, err
}

// takePlace listens where the desk was; by, if not nil, is its certificate.
func (r *rig) takePlace(t *testing.T, by *tls.Certificate) *safeBuffer {
	t.Helper()
	var ln net.Listener
	require.Eventually(t, func() (ok bool) { // another test's connection may have got the port, which is free, for a moment
		var err error
		ln, err = net.Listen("tcp", r.addr)
		return err == nil
	}, 30*time.Second, 20*time.Millisecond, "the desk's port is free again")
	heard, asked := &safeBuffer{}, &safeBuffer{}
	var listening net.Listener = impostor{ln, heard}
	if by != nil { // what is said within TLS is overheard
		listening = impostor{tls.NewListener(ln, &tls.Config{Certificates: []tls.Certificate{*by}}), asked}
	}
	var mu sync.Mutex
	var tool, params any
	s := &http.Server{ErrorLog: log.New(io.Discard, "", 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		var in map[string]any
		_ = json.NewDecoder(q.Body).Decode(&in)
		mu.Lock()
		defer mu.Unlock()
		if in["toolName"] != nil {
			tool, params = in["toolName"], in["params"]
		}
		claim := map[string]any{"toolName": tool, "params": params, "bind": in["bind"], "claimId": in["claimId"], "decision": "allow-once"}
		var out any = claim
		if !strings.HasSuffix(q.URL.Path, "/claim") {
			out = map[string]any{"id": "x", "code": "7KQ2M5", "status": "approved", "decision": "allow-once", "decidedBy": []string{"policy"},
				"sessionKey": in["sessionKey"], "toolName": tool, "claim": claim}
		}
		_ = json.NewEncoder(w).Encode(out)
	})}
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(listening) }()
	t.Cleanup(func() { _ = s.Close(); <-done })
	if by != nil {
		return asked
	}
	return heard
}

// selfSigned is a certificate of a key that is no desk's; der, if not nil, is somebody
// else's certificate, shown with that key.
func selfSigned(t *testing.T, der []byte) *tls.Certificate {
	t.Helper()
	public, secret, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	if der == nil {
		about := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}}
		der, err = x509.CreateCertificate(rand.Reader, about, about, public, secret)
		require.NoError(t, err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: secret}
}

// While the desk is down, what listens on its port gets no token, and nothing runs by its word.
func TestAdversary_T6_AnImpostorAtTheDesksPort(t *testing.T) {
	t.Parallel()
	r := newRig(t, allowsAll)
	pinned := r.clientFileFor(r.url, "")
	byTLS := r.clientFileFor("https://"+r.addr, "")
	unknown := r.clientFile("server: " + r.url + "\ntoken: " + agentSecret + "\n")
	socketOnly := r.clientFile("server: " + r.url + "\ntoken: " + agentSecret + "\nsocket: /nowhere/desk.sock\n")
	for name, asks := range believers {
		ran, said := asks(t, pinned)
		require.True(t, ran, "%s, of the desk itself: %s", name, said)
		ran, said = asks(t, byTLS)
		require.True(t, ran, "%s, of the desk itself, https: %s", name, said)
	}
	copied := certificateOf(t, r.addr)
	r.stop()
	for place, by := range map[string]*tls.Certificate{
		"plain": nil, "its own key": selfSigned(t, nil), "a copied certificate": selfSigned(t, copied),
	} {
		t.Run(place, func(t *testing.T) {
			heard := r.takePlace(t, by)
			for name, asks := range believers {
				for file, client := range map[string]string{"deskKeys": pinned, "https": byTLS, "socket": socketOnly} {
					ran, said := asks(t, client)
					require.False(t, ran, "%s, %s: %s", name, file, said)
					require.NotContains(t, said, agentSecret)
				}
			}
			require.NotContains(t, heard.String(), agentSecret)
			if by == nil { // that is the attack
				ran, _ := believers["hook"](t, unknown)
				require.True(t, ran, "a client file of 0.1.0 goes on")
				require.Contains(t, heard.String(), agentSecret)
			}
		})
	}
}

// certificateOf is the certificate that a desk shows.
func certificateOf(t *testing.T, addr string) []byte {
	t.Helper()
	conn, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true})
	require.NoError(t, err)
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].Raw
}

// relay stands before a desk and changes what passes.
type relay struct {
	ask    func(q *http.Request, in map[string]any)
	answer func(approval, claim map[string]any)
	look   func(method string, approval map[string]any) // any answer that is pending
}

func (x relay) serve(t *testing.T, desk string) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &http.Server{ErrorLog: log.New(io.Discard, "", 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		var in, out map[string]any
		if json.NewDecoder(q.Body).Decode(&in) == nil && x.ask != nil {
			x.ask(q, in)
		}
		body, _ := json.Marshal(in)
		to, _ := http.NewRequest(q.Method, desk+q.URL.RequestURI(), bytes.NewReader(body))
		to.Header = q.Header
		res, err := http.DefaultClient.Do(to)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer res.Body.Close()
		_ = json.NewDecoder(res.Body).Decode(&out)
		claim, _ := out["claim"].(map[string]any)
		if strings.HasSuffix(q.URL.Path, "/claim") && res.StatusCode == http.StatusOK {
			claim = out
		}
		if claim != nil && x.answer != nil {
			x.answer(out, claim)
		}
		if out["status"] == "pending" && x.look != nil {
			x.look(q.Method, out)
		}
		w.WriteHeader(res.StatusCode)
		_ = json.NewEncoder(w).Encode(out)
	})}
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(ln) }()
	t.Cleanup(func() { _ = s.Close(); <-done })
	return "http://" + ln.Addr().String()
}

// Where plain TCP is trusted with the token, an allow still needs the desk's receipt of this
// call and this claim.
func TestAdversary_T6_ARelayBeforeTheDesk(t *testing.T) {
	t.Parallel()
	r := newRig(t, allowsAll)
	var asked any
	kept := "" // a receipt of the same call from before
	for name, x := range map[string]relay{
		"honest": {},
		"asks for another call": {
			ask: func(_ *http.Request, in map[string]any) {
				if in["params"] != nil {
					asked, in["params"] = in["params"], map[string]any{"command": "echo harmless"}
				}
			},
			answer: func(_, claim map[string]any) { claim["params"] = asked },
		},
		"hands out another call":  {answer: func(_, claim map[string]any) { claim["params"] = map[string]any{"command": "rm -rf /"} }},
		"hands out another tool":  {answer: func(_, claim map[string]any) { claim["toolName"] = "mcp__shop__burn" }},
		"hands out another place": {answer: func(_, claim map[string]any) { claim["bind"] = map[string]any{"workdir": "/"} }},
		"names another call":      {answer: func(_, claim map[string]any) { claim["fingerprint"] = strings.Repeat("ab", 32) }},
		"gives no receipt":        {answer: func(_, claim map[string]any) { delete(claim, "receipt") }},
		"gives no claim at once": {answer: func(a, claim map[string]any) {
			delete(a, "claim")
			delete(claim, "receipt")
		}},
		"claims for itself": {
			ask: func(q *http.Request, in map[string]any) {
				if v := q.URL.Query(); v.Get("claim") != "" {
					v.Set("claimId", "mine")
					q.URL.RawQuery = v.Encode()
				}
				if in["claimId"] != nil {
					in["claimId"] = "mine"
				}
			},
		},
		"replays a receipt": {answer: func(_, claim map[string]any) {
			if receipt, _ := claim["receipt"].(string); kept == "" {
				kept = receipt
			}
			claim["receipt"] = kept
		}},
	} {
		t.Run(name, func(t *testing.T) {
			client := r.clientFileFor(x.serve(t, r.url), "plainTCP: true\n")
			for verb, asks := range believers {
				if kept = ""; name == "replays a receipt" {
					ran, said := asks(t, client)
					require.Equal(t, verb != "request", ran, "%s, the first time: %s", verb, said)
				}
				ran, said := asks(t, client)
				require.Equal(t, name == "honest" && verb != "request", ran, "%s: %s", verb, said)
				require.NotContains(t, said, agentSecret)
			}
		})
	}
}

// socketLine waits until the desk has its socket, and gives the line for a client file.
func (r *rig) socketLine() string {
	r.t.Helper()
	path := r.desk.Config().SocketFile()
	require.Eventually(r.t, func() bool {
		conn, err := reach.DialSocket(r.ctx(), path)
		if err != nil {
			return false
		}
		return conn.Close() == nil
	}, patient, 5*time.Millisecond)
	return fmt.Sprintf("socket: %q\n", path)
}

// The socket comes first; without it the server is asked by its pinned key. A socket that
// somebody else could have put there is not asked.
func TestAdversary_T6_TheSocketThenThePinnedKey(t *testing.T) {
	t.Parallel()
	r := newRig(t, allowsAll)
	line := r.socketLine()
	dead := "http://127.0.0.1:9"
	writable := t.TempDir()
	require.NoError(t, os.Chmod(writable, 0o777))
	planted, err := net.Listen("unix", filepath.Join(writable, "desk.sock"))
	require.NoError(t, err)
	defer planted.Close()
	notOne := filepath.Join(t.TempDir(), "desk.sock")
	require.NoError(t, os.WriteFile(notOne, nil, 0o600))
	for name, c := range map[string]struct {
		file string
		runs bool
	}{
		"the socket alone":             {r.clientFile("server: " + dead + "\ntoken: " + agentSecret + "\n" + line), true},
		"the socket and keys":          {r.clientFileFor(dead, line), true},
		"no socket there":              {r.clientFileFor(r.url, "socket: /nowhere/desk.sock\n"), true},
		"one that others could put":    {r.clientFileFor(r.url, "socket: "+planted.Addr().String()+"\n"), true},
		"a file":                       {r.clientFileFor(r.url, "socket: "+notOne+"\n"), true},
		"others could put it, no keys": {r.clientFile("server: " + r.url + "\ntoken: " + agentSecret + "\nsocket: " + planted.Addr().String() + "\n"), false},
	} {
		ran, said := believers["hook"](t, c.file)
		require.Equal(t, c.runs, ran, "%s: %s", name, said)
	}
	both := r.clientFileFor(r.url, line)
	r.stop()
	heard := r.takePlace(t, nil)
	ran, said := believers["hook"](t, both)
	require.False(t, ran, said)
	require.NotContains(t, heard.String(), agentSecret)
}

// A desk whose key was rotated is still the desk, by the chain that its old key signed; one
// whose key others may have is not, until somebody says so.
func TestAdversary_T6_ARotatedKey(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		exposed bool
		how     string // the client reaches the desk
	}{{false, ""}, {false, "plainTCP: true\n"}, {true, ""}, {true, "plainTCP: true\n"}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			r := newRig(t, allowsAll)
			pinned := r.clientFileFor(r.url, c.how)
			text, err := os.ReadFile(pinned)
			require.NoError(t, err)
			for range 2 {
				r.stop()
				args := []string{"keys", "rotate", "--config", filepath.Join(r.dir, "approvalbot.yaml")}
				if c.exposed {
					args = append(args, "--exposed")
				}
				code, _, errs := hookWords(t, "", args...)
				require.Zero(t, code, errs)
				r.start()
			}
			ran, said := believers["hook"](t, pinned)
			require.Equal(t, !c.exposed, ran, said)
			after, err := os.ReadFile(pinned)
			require.NoError(t, err)
			require.Equal(t, string(text), string(after), "only a person renews the file")

			code, _, errs := hookWords(t, "", "keys", "trust", "--client", pinned)
			if c.exposed {
				require.Equal(t, app.ExitError, code)
				require.Contains(t, errs, "--replace")
				ran, _ := believers["hook"](t, pinned)
				require.False(t, ran)
				code, _, errs = hookWords(t, "", "keys", "trust", "--client", pinned, "--replace")
			}
			require.Zero(t, code, errs)
			file, err := config.OpenClientFile(pinned)
			require.NoError(t, err)
			for i, k := range r.desk.Auditor.DeskKeys() {
				require.Equal(t, config.DeskKey(k), file.DeskKeys[i])
			}
			ran, said = believers["hook"](t, pinned)
			require.True(t, ran, said)
		})
	}
}

// A client file of 0.1.0 goes on, with a line for people and none for runtimes; the line's
// way writes the keys, and leaves all else as it is.
func TestAdversary_T6_AClientFileOf010(t *testing.T) {
	t.Parallel()
	r := newRig(t, allowsAll)
	text := "# mine\nserver: " + r.url + "\ntoken: " + agentSecret + " # the agent's"
	old := r.clientFile(text)
	for name, asks := range believers {
		ran, said := asks(t, old)
		require.True(t, ran, "%s: %s", name, said)
		people := name == "run" || name == "request"
		require.Equal(t, people, strings.Contains(said, "keys trust --client "+old), "%s: %s", name, said)
	}
	code, out, errs := hookWords(t, "", "keys", "trust", "--client", old)
	require.Zero(t, code, errs)
	require.Contains(t, out, "trusted this first answer")
	after, err := os.ReadFile(old)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(after), text+"\ndeskKeys:\n"), string(after))
	info, err := os.Stat(old)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	for name, asks := range believers {
		ran, said := asks(t, old)
		require.True(t, ran, "%s: %s", name, said)
		require.NotContains(t, said, "keys trust", name)
	}
	_, out, _ = hookWords(t, "", "keys", "trust", "--client", old)
	require.Contains(t, out, "known by the keys in the file", "now the desk is asked for the token's name")
	_, out, _ = hookWords(t, "", "keys", "trust", "--client", old)
	require.Contains(t, out, "has the desk's keys")
}

// Doctor says of a client file by what its desk is known, and fails if it is another.
func TestAdversary_T6_DoctorLooksWhoAnswers(t *testing.T) {
	t.Parallel()
	r := newRig(t, allowsAll)
	line := r.socketLine()
	asked := func(client string) string {
		_, out, _ := hookWords(t, "", "doctor", "--client", client, "--config", filepath.Join(r.dir, "approvalbot.yaml"))
		return out
	}
	old := r.clientFile("server: " + r.url + "\ntoken: " + agentSecret + "\n")
	require.Contains(t, asked(old), "warn  client: "+old+" has no deskKeys")
	require.Contains(t, asked(old), "run: approvalbot admin keys trust --client "+old)
	good := asked(r.clientFileFor(r.url, line))
	require.Contains(t, good, "ok    client: "+r.url+" has a key of deskKeys")
	require.Contains(t, good, "ok    client: the socket ")
	require.Contains(t, asked(r.clientFileFor(r.url, "plainTCP: true\n")), "has no owner")
	require.NotContains(t, asked(r.clientFileFor(r.url, "plainTCP: true\nowner: agent\n")), "has no owner")
	pinned, other := r.clientFileFor(r.url, ""), newRig(t, allowsAll)
	require.Contains(t, asked(other.clientFileFor(r.url, "")), "FAIL  client: the program at "+r.addr)
	require.Contains(t, asked(r.clientFileFor(r.url, other.socketLine())), "FAIL  client: the program at")
	r.stop()
	require.NotContains(t, asked(pinned), "FAIL  client", "that it is down is said once")
	r.takePlace(t, selfSigned(t, nil))
	require.Contains(t, asked(pinned), "FAIL  client: ")
}

// The client files that serve --local and init write know their desk from its first start
// on, and so does each later one.
func TestAdversary_T6_TheClientFilesOfOurOwn(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(dir string) []string{
		"serve --local": func(dir string) []string { return []string{"--local", dir} },
		"init": func(dir string) []string {
			config := filepath.Join(dir, "desk.yaml")
			code, out, errs := hookWords(t, "", "init", config, "--decide", "terminal", "--who", "alice")
			require.Zero(t, code, errs)
			require.Contains(t, out, "--client "+local.DeskFiles.In(dir).Operator+" watch")
			return []string{"--config", config}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			args := append([]string{"serve"}, start(dir)...)
			files := local.DeskFiles.In(dir)
			for range 2 {
				ctx, stop := context.WithCancel(t.Context())
				var out, errs safeBuffer
				done := make(chan int, 1)
				go func() {
					done <- run(ctx, args, []string{"APPROVALBOT_CFG__SERVER__LISTEN=127.0.0.1:0"}, nil, &out, &errs)
				}()
				var file config.ClientFile
				require.Eventually(t, func() bool {
					file, _ = config.OpenClientFile(files.Operator)
					conn, err := reach.DialSocket(ctx, file.Socket)
					return err == nil && conn.Close() == nil && len(file.DeskKeys) == 2
				}, patient, 5*time.Millisecond, "%s", &errs)
				require.Equal(t, filepath.Join(dir, "approvalbot.sock"), file.Socket)
				require.NotEmpty(t, file.Owner)
				code, _, said := hookWords(t, "", "--client", files.Operator, "list")
				require.Zero(t, code, said)
				require.Empty(t, said)
				stop()
				require.Zero(t, <-done, errs.String())
			}
		})
	}
}

// A person's yes is believed like the policy's, however long it was waited for. That a
// request is approved is worth nothing before the desk hands it out.
func TestAdversary_T6_APersonsYesAndWhoSaysSo(t *testing.T) {
	t.Parallel()
	r := newRig(t, asksAlways)
	lie := relay{look: func(_ string, a map[string]any) {
		a["status"], a["decision"], a["decidedBy"] = "approved", "allow-once", []string{"person:alice"}
		a["claim"] = map[string]any{"toolName": a["toolName"], "params": map[string]any{}, "receipt": "a.b.c"}
	}}
	later := relay{look: func(method string, a map[string]any) {
		if method == http.MethodGet {
			lie.look(method, a)
		}
	}}
	for _, c := range [][2]string{ // the liars last: what is denied below them is not asked again
		{"TLS", r.clientFileFor(r.url, "")}, {"the socket", r.clientFileFor(r.url, r.socketLine())},
		{"a relay", r.clientFileFor(relay{}.serve(t, r.url), "plainTCP: true\n")},
		{"a liar", r.clientFileFor(lie.serve(t, r.url), "plainTCP: true\n")},
		{"a liar in a look", r.clientFileFor(later.serve(t, r.url), "plainTCP: true\n")},
	} {
		way, client := c[0], c[1]
		t.Run(way, func(t *testing.T) {
			for name, asks := range believers {
				done := make(chan struct{})
				var ran bool
				var said string
				go func() {
					defer close(done)
					ran, said = asks(t, client)
				}()
				honest := !strings.HasPrefix(way, "a liar")
				if honest {
					a := r.onePending()
					_, err := r.operator().Resolve(r.ctx(), a.Code, api.ResolveRequest{Decision: api.AllowOnce})
					require.NoError(t, err)
				}
				<-done
				require.Equal(t, honest && (name != "request" || way != "a relay"), ran, "%s: %s", name, said)
				r.endPending()
			}
		})
	}
}

// onePending waits for the one request that is pending.
func (r *rig) onePending() (a api.Approval) {
	r.t.Helper()
	operator, ctx := r.operator(), r.ctx()
	require.Eventually(r.t, func() bool {
		got, err := operator.List(ctx, api.Filter{Status: api.Pending})
		if err != nil || len(got.Items) != 1 {
			return false
		}
		a = got.Items[0]
		return true
	}, patient, 5*time.Millisecond)
	return a
}

// endPending denies what is still pending.
func (r *rig) endPending() {
	r.t.Helper()
	got, err := r.operator().List(r.ctx(), api.Filter{Status: api.Pending})
	require.NoError(r.t, err)
	for _, a := range got.Items {
		_, err := r.operator().Resolve(r.ctx(), a.Code, api.ResolveRequest{Decision: api.Deny})
		require.NoError(r.t, err)
	}
}
