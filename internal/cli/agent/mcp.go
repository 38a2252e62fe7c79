package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"approvalbot/internal/cli/app"
	"approvalbot/internal/hook/ask"
	"approvalbot/internal/hook/mcp"
)

func newMCPCommand(a *app.App) *cobra.Command {
	var f hookFlags
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve the desk to an agent as an MCP server on standard input and output",
		Long: "Serve the desk to an agent as an MCP server on standard input and output: tools hook, permission_prompt,\n" +
			"request_approval and await_approval. Of the desk's flags only these count: --server, and --client or\n" +
			"--token-file with an absolute path. " +
			"Without them, or if the desk cannot be reached, every answer is a deny.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			desk := ask.Approvals{}
			if desk.Client, desk.Fault = streamClient(a, f); desk.Fault != nil {
				fmt.Fprintf(a.Stderr, "approvalbot: every call is denied: %s\n", app.Sentence(desk.Fault))
			}
			s := mcp.Server{
				Desk: desk, Version: a.Version, Session: "mcp-" + rand.Text(), Workdir: currentDir(),
				Log: slog.New(slog.NewTextHandler(a.Stderr, nil)),
			}
			return quiet(cmd.Context(), s.Serve(cmd.Context(), streamsOf(a)))
		},
	}
	f.add(cmd)
	return cmd
}

// currentDir is the working directory, as a claim; empty if not known.
func currentDir() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	return dir
}

// streamsOf are this process's own.
func streamsOf(a *app.App) *sdk.IOTransport {
	return &sdk.IOTransport{Reader: io.NopCloser(a.Stdin), Writer: notClosed{a.Stdout}}
}

// notClosed keeps a stream that others write too.
type notClosed struct{ io.Writer }

// Close implements io.Closer.
func (notClosed) Close() error { return nil }

// quiet gives err, or nil if the end was asked for.
func quiet(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, io.EOF) || errors.Is(err, sdk.ErrConnectionClosed) {
		return nil
	}
	return err
}
