package main

import (
	"crypto/ed25519"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/config"
	"approvalbot/proof"
)

// serveKeys answers as a desk with those keys would, allows everything, and keeps what it was
// asked, with the tokens.
func serveKeys(t *testing.T, ln net.Listener, keys func() any) (heard *safeBuffer) {
	t.Helper()
	heard = &safeBuffer{}
	s := &http.Server{ErrorLog: log.New(io.Discard, "", 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		_, _ = heard.Write([]byte(q.URL.Path + " " + q.Header.Get("Authorization") + "\n"))
		var out any = map[string]any{"id": "x", "code": "7KQ2M5", "status": "approved", "decision": "allow-once", "decidedBy": []string{"policy"},
			"name": "agent", "scopes": []string{"approvals.request"}, "agentId": "main", "ready": true, "policy": "ok"}
		switch {
		case strings.HasSuffix(q.URL.Path, "approvalbot-keys"):
			out = keys()
		case strings.HasPrefix(q.URL.Path, "/v1/pairing"):
			w.WriteHeader(http.StatusNotFound) // else pair would wait
		}
		_ = json.NewEncoder(w).Encode(out)
	})}
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(ln) }()
	t.Cleanup(func() { _ = s.Close(); <-done })
	return heard
}

// keysOf is what a desk of that certificate publishes.
func keysOf(by *tls.Certificate) map[string]any {
	key := proof.DeskKeyOf(by.PrivateKey.(ed25519.PrivateKey).Public().(ed25519.PublicKey))
	return map[string]any{"deskKeys": []proof.DeskKey{key}, "successions": []string{}}
}

// withHome runs a command line in a home, with further variables.
func withHome(t *testing.T, home string, env []string, words ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs safeBuffer
	code = run(t.Context(), words, append([]string{"HOME=" + home}, env...), strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// A configuration in the working directory, as a repository brings one along, does not say at
// which socket this user's desk is; one that the user named or has in a folder of their own does.
func TestAdversary_T6_TheWorkingDirectoryNamesNoSocket(t *testing.T) {
	r := newRig(t, allowsAll, func(r *rig) { r.agentHas = ", agentId: main" })
	repo, err := os.MkdirTemp("/tmp", "ab")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(repo) })
	t.Chdir(repo)
	sock := filepath.Join(repo, "s")
	ln, err := net.Listen("unix", sock)
	require.NoError(t, err)
	keys := map[string]any{"deskKeys": r.desk.Auditor.DeskKeys(), "successions": []string{}} // they are public
	heard := serveKeys(t, ln, func() any { return keys })
	text := strings.Replace(r.yaml(), "listen: 127.0.0.1:0", "listen: "+r.addr+"\n  socket: "+sock, 1)
	write := func(path string) string {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	here := write(filepath.Join(repo, "approvalbot.yaml"))
	for name, own := range map[string]func(home string) (of string, env, words []string){
		"only the working directory": func(string) (string, []string, []string) { return "", nil, nil },
		"--config":                   func(string) (string, []string, []string) { return here, nil, []string{"--config", here} },
		"APPROVALBOT_CONFIG":         func(string) (string, []string, []string) { return here, []string{"APPROVALBOT_CONFIG=" + here}, nil },
		"the user's folder": func(home string) (string, []string, []string) {
			return write(filepath.Join(config.Home(config.Environ{"HOME": home}), "approvalbot.yaml")), nil, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			home, client := t.TempDir(), r.clientFileFor(r.url, "")
			of, env, words := own(home)
			before := strings.Count(heard.String(), agentSecret)
			code, out, errs := withHome(t, home, env, append(words, "install", "claude-code", "--user", "--client", client)...)
			require.Zero(t, code, errs)
			file, err := config.OpenClientFile(client)
			require.NoError(t, err)
			if of == "" {
				require.Empty(t, file.Socket)
				require.Equal(t, before, strings.Count(heard.String(), agentSecret))
				return
			}
			require.Equal(t, sock, file.Socket)
			require.Contains(t, out, "the socket "+sock+", which "+of+" names")
		})
	}
}

// A client file without keys is not given those of what happens to answer, if it names a socket or an
// https server: by these the desk is known. A first answer is trusted on loopback alone. --replace
// takes other keys, by the same ways.
func TestAdversary_T6_AFirstTrustKeepsToTheWayThatTheFileNames(t *testing.T) {
	t.Parallel()
	r := newRig(t, allowsAll)
	line, token, pinned := r.socketLine(), "token: "+agentSecret+"\n", r.clientFileFor(r.url, r.socketLine())
	both, err := os.ReadFile(pinned)
	require.NoError(t, err)
	r.stop()
	by := selfSigned(t, nil)
	keys := keysOf(by)
	serve := func(config *tls.Config) (addr string, heard *safeBuffer) {
		at := r.addr
		if config == nil {
			at = "127.0.0.1:0"
		}
		ln, err := net.Listen("tcp", at)
		require.NoError(t, err)
		if config != nil {
			ln = tls.NewListener(ln, config)
		}
		return ln.Addr().String(), serveKeys(t, ln, func() any { return keys })
	}
	_, heard := serve(&tls.Config{Certificates: []tls.Certificate{*by}})
	plain, heardPlain := serve(nil)
	all := []string{"install", "pair", "keys trust", "keys trust --replace"}
	for name, c := range map[string]struct {
		text, says string
		verbs      []string
	}{
		"https":                      {"server: https://" + r.addr + "\n" + token, "certificate", all},
		"https, the socket gone":     {"server: https://" + r.addr + "\n" + token + line, "start the desk", all},
		"http, the socket gone":      {"server: " + r.url + "\n" + token + line, "start the desk", all},
		"plainTCP, the socket gone":  {"server: http://" + plain + "\nplainTCP: true\n" + token + line, "start the desk", all},
		"with keys, the socket gone": {string(both), "start the desk", all[3:]},
		"another machine":            {"server: http://192.0.2.1:9\n" + token, "copy deskKeys", all[2:]}, // it is not dialled
		"another one by plainTCP":    {"server: http://192.0.2.1:9\nplainTCP: true\n" + token, "copy deskKeys", all[2:]},
	} {
		for _, verb := range c.verbs {
			words := strings.Fields(verb)
			if verb == "install" {
				words = append(words, "claude-code", "--user")
			}
			t.Run(name+", "+verb, func(t *testing.T) {
				client := r.clientFile(c.text)
				code, _, errs := hookWords(t, "", append([]string{"--client", client}, words...)...)
				require.NotZero(t, code)
				require.Contains(t, errs, c.says)
				after, err := os.ReadFile(client)
				require.NoError(t, err)
				require.Equal(t, c.text, string(after))
			})
		}
	}
	require.NotContains(t, heard.String()+heardPlain.String(), agentSecret)
}

// The file that is renewed is the one that was read. Root renews an agent's file, and while the desk
// that this names is asked, the agent has the path lead to another file.
func TestAdversary_T6_TheFileIsSwappedWhileItsDeskIsAsked(t *testing.T) {
	t.Parallel()
	by := selfSigned(t, nil)
	for name, swap := range map[string]func(t *testing.T, agents, others string){
		"a link": func(t *testing.T, agents, others string) {
			require.NoError(t, os.Remove(agents))
			require.NoError(t, os.Symlink(others, agents))
		},
		"a hard link": func(t *testing.T, agents, others string) {
			require.NoError(t, os.Remove(agents))
			require.NoError(t, os.Link(others, agents))
		},
		"its directory is a link": func(t *testing.T, agents, others string) {
			require.NoError(t, os.RemoveAll(filepath.Dir(agents)))
			require.NoError(t, os.Symlink(filepath.Dir(others), filepath.Dir(agents)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var paths [2]string
			const text = "server: http://%s\ntoken: %s\n"
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			for i, who := range [2]string{"agent", "other"} {
				paths[i] = filepath.Join(dir, who, "client.yaml")
				require.NoError(t, os.Mkdir(filepath.Dir(paths[i]), 0o700))
				require.NoError(t, os.WriteFile(paths[i], fmt.Appendf(nil, text, ln.Addr(), who), 0o600))
			}
			if os.Geteuid() == 0 {
				require.NoError(t, os.Chown(paths[0], 65534, -1))
			}
			swapped := false
			serveKeys(t, tls.NewListener(ln, &tls.Config{Certificates: []tls.Certificate{*by}}), func() any {
				swap(t, paths[0], paths[1])
				swapped = true
				return keysOf(by)
			})
			code, _, errs := hookWords(t, "", "keys", "trust", "--client", paths[0])
			require.True(t, swapped)
			require.NotZero(t, code)
			require.Contains(t, errs, paths[0])
			after, err := os.ReadFile(paths[1])
			require.NoError(t, err)
			require.Equal(t, fmt.Sprintf(text, ln.Addr(), "other"), string(after))
			entries, err := os.ReadDir(filepath.Dir(paths[1]))
			require.NoError(t, err)
			require.Len(t, entries, 1)
		})
	}
}

// A relay has a token of its own and asks with it: the desk's allow for that token counts for no other.
// Who knows the desk writes the token's name into the file; a relay cannot change it.
func TestAdversary_T6_AReceiptForAnotherToken(t *testing.T) {
	t.Parallel()
	r := newRig(t, allowsAll, func(r *rig) { r.agentHas = ", agentId: main" })
	second := func(q *http.Request, _ map[string]any) { q.Header.Set("Authorization", "Bearer "+secondSecret) }
	by := relay{ask: second}.serve(t, r.url)
	honest := relay{}.serve(t, r.url)
	for name, c := range map[string]struct {
		server, owner string
		runs          bool
	}{
		"the file names no owner, as before 0.2": {by, "", true},
		"the file names the owner":               {by, "owner: agent\n", false},
		"an honest relay":                        {honest, "owner: agent\n", true},
	} {
		client := r.clientFileFor(c.server, "plainTCP: true\n"+c.owner)
		for verb, asks := range believers {
			if verb == "request" {
				continue // it believes nothing by plainTCP
			}
			ran, said := asks(t, client)
			require.Equal(t, c.runs, ran, "%s: %s: %s", name, verb, said)
		}
	}
	owner := func(text string, words ...string) string {
		client := r.clientFile(text)
		code, _, errs := hookWords(t, "", append(words, "--client", client)...)
		require.Zero(t, code, errs)
		file, err := config.OpenClientFile(client)
		require.NoError(t, err)
		return file.Owner
	}
	read := func(client string) string { return string(must(os.ReadFile(client))) }
	known, plain := read(r.clientFileFor(r.url, "")), read(r.clientFileFor(by, "plainTCP: true\nowner: agent\n"))
	trust, hooks := []string{"keys", "trust"}, []string{"install", "claude-code", "--user"}
	require.Equal(t, "agent", owner(known, trust...))
	require.Equal(t, "agent", owner(known, hooks...))
	require.Equal(t, "agent", owner(known+"owner: renamed\n", trust...), "a desk that is known says how it calls the token")
	require.Equal(t, "agent", owner("server: "+r.url+"\ntoken: "+agentSecret+"\n", hooks...), "install uses the token there at once")
	require.Empty(t, owner("server: "+r.url+"\ntoken: "+agentSecret+"\n", trust...), "a first answer is not given the token")
	require.Equal(t, "agent", owner(plain, trust...))
	key := r.desk.Auditor.DeskKeys()
	flow := fmt.Sprintf("{server: %q, token: %q, deskKeys: [{id: %q, publicKey: %q}, {id: %q, publicKey: %q}]}\n", r.url, agentSecret,
		key[0].ID, key[0].PublicKey, key[1].ID, key[1].PublicKey)
	require.Empty(t, owner(flow, hooks...), "a file in which nothing can be written goes on with its keys")
}

// A token from elsewhere has not the name of the file's.
func TestAdversary_T6_TheOwnerIsTheFilesOwnTokens(t *testing.T) {
	t.Parallel()
	r := newRig(t, allowsAll)
	client := r.clientFileFor(r.url, "owner: agent\n")
	for token, env := range map[string][]string{"the file's": nil, "another": {"APPROVALBOT_TOKEN=" + secondSecret, "APPROVALBOT_CLIENT=" + client}} {
		words := []string{"run", "--", "true"}
		if env == nil {
			words = append([]string{"--client", client}, words...)
		}
		code, _, errs := withHome(t, t.TempDir(), env, words...)
		require.Zero(t, code, "%s: %s", token, errs)
	}
}

// A token without a client file goes to anything that answers at the port: people are told so, once and
// on standard error; a runtime that reads what a hook writes is not, nor is a program that reads JSON.
func TestAdversary_T6_ATokenWithoutAClientFile(t *testing.T) {
	t.Parallel()
	r := newRig(t, allowsAll)
	const says = "any program that answers at "
	secret := r.tokenFile(agentSecret)
	both := []string{"APPROVALBOT_SERVER=" + r.url, "APPROVALBOT_TOKEN=" + agentSecret}
	flags := []string{"--server", r.url, "--token-file", secret}
	for name, c := range map[string]struct {
		env, words []string
		times      int
	}{
		"the environment": {both, []string{"list"}, 1},
		"a run":           {both, []string{"run", "--", "true"}, 1},
		"flags":           {nil, []string{"--server", r.url, "--token", agentSecret, "list"}, 1},
		"JSON":            {both, []string{"list", "--json"}, 0},
		"https":           {[]string{"APPROVALBOT_SERVER=https://" + r.addr, both[1]}, []string{"list"}, 0},
		"a client file":   {[]string{"APPROVALBOT_CLIENT=" + r.clientFileFor(r.url, "")}, []string{"list"}, 0},
		"mcp":             {nil, append([]string{"mcp"}, flags...), 1},
		"mcp-proxy":       {nil, append(append([]string{"mcp-proxy", "--name", "x"}, flags...), "--", "true"), 1},
		"acp":             {nil, append(append([]string{"acp"}, flags...), "--", "true"), 1},
		"hook":            {nil, append([]string{"hook", "claude-code", "PreToolUse"}, flags...), 0},
	} {
		_, _, errs := withHome(t, t.TempDir(), c.env, c.words...)
		require.Equal(t, c.times, strings.Count(errs, says), "%s: %s", name, errs)
		require.NotContains(t, errs, agentSecret)
	}
	_, out, _ := withHome(t, t.TempDir(), both, "doctor", "--config", r.configFile())
	require.Contains(t, out, "warn  client: APPROVALBOT_SERVER and APPROVALBOT_TOKEN")
}
