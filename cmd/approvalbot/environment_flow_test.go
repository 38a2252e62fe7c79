package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/cli/app"
)

// warehouse is a program that is an MCP server: its tool says which database it is of.
func warehouse() {
	_ = database(os.Getenv("DATABASE_URL")).Run(context.Background(), &sdk.StdioTransport{})
}

// database is an MCP server whose only tool says what it is told here.
func database(says string) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "warehouse", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "refresh_view"},
		func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "ran on " + says}}}, nil, nil
		})
	return s
}

// deploytool is a folder with a program of that name, which says what it would deploy to.
func deploytool(t *testing.T, says string) string {
	t.Helper()
	dir := t.TempDir()
	text := "#!/bin/sh\necho " + says + " $PROFILE $OLDPWD\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "deploytool"), []byte(text), 0o755))
	return dir
}

// runUnder starts "run -- deploytool status" with further variables.
func (r *rig) runUnder(session string, env ...string) <-chan cliRun {
	done := make(chan cliRun, 1)
	go func() {
		var out, errs bytes.Buffer
		env := append([]string{"APPROVALBOT_SERVER=" + r.url, "APPROVALBOT_TOKEN=" + agentSecret, "PATH=" + os.Getenv("PATH")}, env...)
		code := run(r.ctx(), []string{"run", "--session", session, "--", "deploytool", "status"}, env, strings.NewReader(""), &out, &errs)
		done <- cliRun{code, out.String(), errs.String()}
	}()
	return done
}

// A yes for a command covers its words with the environment that they had, as long as
// that can change what they do.
func TestAdversary_G6_AYesToRunIsForItsEnvironment(t *testing.T) {
	t.Setenv("PATH", deploytool(t, "deployed")+":"+os.Getenv("PATH"))
	for _, scope := range []api.Decision{api.AllowAlways, api.AllowSession} {
		t.Run(string(scope), func(t *testing.T) {
			r := newRig(t)
			got := r.runUnder("s", "PROFILE=dev", "TERM=xterm", "OLDPWD=/srv")
			a := r.onlyPending()
			require.Contains(t, r.cli(operatorSecret, nil, "view", a.Code).out, ", environment "+*a.Bind.EnvHash+"\n")
			r.decides(a, scope, "")
			require.Equal(t, "deployed dev\n", (<-got).out, "it gets what counts, and not what is withheld")
			require.Equal(t, "deployed dev\n", (<-r.runUnder("s", "TERM=dumb", "COLUMNS=80", "PROFILE=dev", "TMUX_PANE=%7")).out)
			for _, other := range []string{"PROFILE=PROD", "PATH=/tmp/evil:" + os.Getenv("PATH"), "LD_PRELOAD=/tmp/evil.so"} {
				got := r.runUnder("s", "PROFILE=dev", other)
				r.decides(r.onlyPending(), api.Deny, "")
				require.Equal(t, app.ExitDenied, (<-got).code, other)
			}
		})
	}
}

// An operator's pattern on the allowlist is for words, in any environment, and so is a rule of the
// configuration.
func TestRun_APatternIsForWords(t *testing.T) {
	t.Setenv("PATH", deploytool(t, "deployed")+":"+os.Getenv("PATH"))
	r := newRig(t)
	added := r.cli(operatorSecret, nil, "allowlist", "add", "--owner", "agent", "--yes", "--", "deploytool", "*")
	require.Contains(t, added.out, "granted: ")
	require.Equal(t, "deployed dev\n", (<-r.runUnder("s", "PROFILE=dev")).out)

	ruled := newRig(t, func(r *rig) {
		r.tools = "    rules: [{name: status, match: {command: \"deploytool status\"}, outcome: allow}]\n"
	})
	require.Equal(t, "deployed dev\n", (<-ruled.runUnder("s", "PROFILE=dev")).out)
}

// refreshed calls the tool of a server behind mcp-proxy, and gives its answer.
func (r *rig) refreshed(t *testing.T, env []string, args ...string) <-chan result {
	t.Helper()
	s := stdioMCP(t, env, append([]string{"mcp-proxy", "--session", "s", "--server", r.url, "--token-file", r.tokenFile(agentSecret)}, args...)...)
	_, err := s.ListTools(r.ctx(), nil) // what is not listed may have changed, and is asked for once
	require.NoError(t, err)
	return callTool(r.ctx(), s, "refresh_view", map[string]any{"view": "orders"})
}

// Servers of one name are told apart by what they are started with, or by address and headers.
func TestAdversary_G5_AYesToAToolIsForItsServer(t *testing.T) {
	t.Parallel()
	keys := t.TempDir()
	header := func(tenant string) string {
		path := filepath.Join(keys, tenant)
		require.NoError(t, os.WriteFile(path, []byte("X-Tenant: "+tenant+"\n"), 0o600))
		return path
	}
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server {
		return database(r.Header.Get("X-Tenant"))
	}, nil))
	t.Cleanup(web.Close)
	type server struct{ env, args []string }
	local := func(url, term string, words ...string) server {
		env := []string{"PATH=" + os.Getenv("PATH"), "DATABASE_URL=" + url, "TERM=" + term}
		return server{env, append([]string{"--", "warehouse"}, words...)}
	}
	remote := func(url, tenant string) server {
		return server{nil, []string{"--url", url, "--header-file", header(tenant)}}
	}
	for name, tt := range map[string]struct {
		first, same server
		others      []server
	}{
		"a program": {local("staging", "xterm"), local("staging", "dumb"),
			[]server{local("prod", "xterm"), local("staging", "xterm", "--prod")}},
		"an address": {remote(web.URL, "staging"), remote(web.URL, "staging"),
			[]server{remote(web.URL, "prod"), remote(web.URL+"/prod", "staging")}},
	} {
		for _, named := range [][]string{nil, {"--name", "warehouse"}} {
			for _, scope := range []api.Decision{api.AllowAlways, api.AllowSession} {
				t.Run(strings.Join(append([]string{name, string(scope)}, named...), " "), func(t *testing.T) {
					r := newRig(t)
					call := func(s server) <-chan result { return r.refreshed(t, s.env, append(named, s.args...)...) }
					got := call(tt.first)
					r.decides(r.onlyPending(), scope, "")
					require.Equal(t, "ran on staging", said(t, <-got))
					require.Equal(t, "ran on staging", said(t, <-call(tt.same)))
					for _, other := range tt.others {
						got := call(other)
						r.decides(r.onlyPending(), api.Deny, "not there")
						require.Contains(t, said(t, <-got), "not there")
					}
				})
			}
		}
	}
}
