package agent

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"approvalbot/internal/cli/answer"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/hook/ask"
	"approvalbot/internal/hook/mcp"
	"approvalbot/internal/lazy"
)

// proxyFlags are the flags of mcp-proxy.
type proxyFlags struct {
	hookFlags
	name, url, headers, session string
}

func newMCPProxyCommand(a *app.App) *cobra.Command {
	var f proxyFlags
	cmd := &cobra.Command{
		Use:   "mcp-proxy [flags] -- SERVER [ARG...]",
		Short: "Run an MCP server behind the desk: ask for every call of its tools",
		Long: "Run an MCP server behind the desk, and ask for every call of its tools. What is denied is a tool error with the\n" +
			"reason; what is allowed is claimed, passed on with the very params that were approved, and its result reported.\n" +
			"Tools of which the desk refuses every call are not listed. Of the desk's flags only these count: --server,\n" +
			"and --client or --token-file with an absolute path.",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, argv []string) error { return mcpProxy(cmd.Context(), a, f, argv) },
	}
	f.add(cmd)
	fl := cmd.Flags()
	fl.SetInterspersed(false)
	fl.StringVar(&f.name, "name", "",
		"what you call the server: what the desk knows of that name counts, if the token has trustToolHints")
	fl.StringVar(&f.url, "url", "", "address of a server that speaks streamable HTTP, instead of a command")
	fl.StringVar(&f.headers, "header-file", "",
		"file with further headers for --url, one Name: value a line; an absolute path, and its owner's alone")
	fl.StringVar(&f.session, "session", "", "session key of its calls (default: one of its own)")
	return cmd
}

var serverName = lazy.Pattern(`^[A-Za-z0-9]([A-Za-z0-9.-]|_[A-Za-z0-9.-]){0,63}$`)

func mcpProxy(ctx context.Context, a *app.App, f proxyFlags, argv []string) error {
	switch {
	case (f.url == "") == (len(argv) == 0):
		return errors.New("give the server's command after --, or its address with --url")
	case f.name != "" && !serverName.MatchString(f.name):
		return errors.New("--name must be letters, digits, dots, dashes and single underscores, at most 64")
	case f.headers != "" && f.url == "":
		return errors.New("--header-file is for --url")
	}
	client, err := streamClient(a, f.hookFlags)
	if err != nil {
		return err
	}
	p := mcp.Proxy{
		Desk: ask.Approvals{Client: client}, Name: f.name, Server: f.name, Session: f.session, Workdir: currentDir(),
		Log: func(text string) { fmt.Fprintf(a.Stderr, "approvalbot: %s\n", app.Sentence(errors.New(text))) },
	}
	if p.Server == "" {
		p.Server = unnamed(f.url, argv)
	}
	if p.Session == "" {
		p.Session = "mcp-" + rand.Text()
	}
	server, err := upstreamOf(ctx, a, f, argv, &p)
	if err != nil {
		return err
	}
	own := streamsOf(a)
	return quiet(ctx, p.Run(ctx, mcp.Lines(own.Reader, own.Writer), server))
}

// upstreamOf connects to the server behind the proxy, and binds p's calls to it: to its argv and
// environment, or to its address and headers, even if it has a name.
func upstreamOf(ctx context.Context, a *app.App, f proxyFlags, argv []string, p *mcp.Proxy) (sdk.Connection, error) {
	if f.url != "" {
		to, err := url.Parse(f.url)
		if err != nil || to.Host == "" || to.Scheme != "http" && to.Scheme != "https" {
			return nil, errors.New("--url must be an http or https URL, such as https://mcp.example.com/mcp")
		}
		header, err := readHeaders(f.headers)
		if err != nil {
			return nil, err
		}
		var headers strings.Builder
		_ = header.Write(&headers) // a Builder takes all
		p.EnvHash = app.EnvironmentHash(p.Desk.Client.Token, nil, f.url, headers.String())
		remote := &mcp.Remote{URL: to, Header: header}
		p.Negotiated = remote.Negotiated
		return remote.Connect(ctx), nil
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Stderr = app.Environment(outerEnviron(a), p.Workdir), a.Stderr
	p.EnvHash = app.EnvironmentHash(p.Desk.Client.Token, cmd.Env, argv...)
	server, err := mcp.Command(cmd)
	if err != nil {
		return nil, fmt.Errorf("the MCP server could not be started: %w", err)
	}
	return server, nil
}

// readHeaders reads a file of headers, empty if path is empty.
func readHeaders(path string) (http.Header, error) {
	if path == "" {
		return http.Header{}, nil
	}
	text, err := answer.ReadNamed("--header-file", path)
	if err != nil {
		return nil, err
	}
	lines := textproto.NewReader(bufio.NewReader(strings.NewReader(strings.TrimSpace(string(text)) + "\n\n")))
	header, err := lines.ReadMIMEHeader()
	if err != nil {
		return nil, fmt.Errorf("%s must have one header a line, as in Authorization: Bearer …", path)
	}
	return http.Header(header), nil
}

// unnamed identifies a server that was given no name: the last part of its program's
// path or its host, and a hash of all of it.
func unnamed(address string, argv []string) string {
	all, label := strings.Join(argv, "\x00"), ""
	if len(argv) > 0 {
		label = filepath.Base(argv[0])
	} else if to, err := url.Parse(address); err == nil {
		all, label = address, to.Hostname()
	}
	var kept strings.Builder
	for _, c := range label {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if letter && kept.Len() < 24 {
			kept.WriteRune(c)
		}
	}
	sum := sha256.Sum256([]byte(all))
	return strings.Trim(kept.String()+"-"+hex.EncodeToString(sum[:12]), "-")
}

// outerEnviron is the environment for an agent's own programs: without what
// is meant for approvalbot, a token for one.
func outerEnviron(a *app.App) []string {
	out := []string{}
	for _, v := range a.Environ {
		if !strings.HasPrefix(v, "APPROVALBOT_") {
			out = append(out, v)
		}
	}
	return out
}
