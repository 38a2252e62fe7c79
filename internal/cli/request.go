package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"approvalbot/api"
	"approvalbot/internal/approval"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/cli/show"
	"approvalbot/internal/display"
	"approvalbot/internal/platform"
)

// askFlags are what request and run may say about a call.
type askFlags struct {
	id, agent, session     string
	origin, requester      string
	justification, summary string
	life                   time.Duration
}

func (f *askFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.id, "id", "", "your own id for the approval: asking again with it gives the same one")
	fl.StringVar(&f.agent, "agent", "", "agent id")
	fl.StringVar(&f.session, "session", "", "session key")
	fl.StringVar(&f.origin, "origin", "", "chat the session lives in, as channel:chat or channel:chat:thread")
	fl.StringVar(&f.requester, "requester", "", "human who asked, as "+requesters())
	fl.StringVar(&f.justification, "justification", "", "why, in your words; shown as a claim")
	fl.StringVar(&f.summary, "summary", "", "what it does, in your words; shown as a claim")
	fl.DurationVar(&f.life, "timeout", 0, "how long people have to decide (0: the desk's default)")
}

// request makes the body of the request for one call.
func (f *askFlags) request(tool string, params json.RawMessage) (api.CreateRequest, error) {
	req := api.CreateRequest{
		ID: f.id, ToolName: tool, Params: params, AgentID: f.agent, SessionKey: f.session,
		Justification: f.justification, ActionSummary: f.summary, TimeoutMs: f.life.Milliseconds(),
	}
	if f.origin != "" {
		t, err := approval.ParseTarget(f.origin)
		if err != nil {
			return req, fmt.Errorf("--origin: %w", err)
		}
		req.Origin = &api.Target{Channel: t.Channel, To: t.To, ThreadID: t.ThreadID}
	}
	if f.requester != "" {
		channel, who, ok := strings.Cut(f.requester, ":")
		switch {
		case !ok || who == "":
			return req, errors.New("--requester must be " + requesters())
		case channel == "person":
			req.Requester = &api.Requester{Person: who}
		default:
			req.Requester = &api.Requester{Channel: channel, UserID: who}
		}
	}
	return req, nil
}

// requesters says how a human who asked is written.
func requesters() string {
	forms := []string{"person:NAME"}
	for _, name := range platform.Names() {
		forms = append(forms, name+":ID")
	}
	return platform.Join(forms, "or")
}

// callFlags are the call that request and evaluate are about.
type callFlags struct {
	askFlags
	tool, params string
}

func (f *callFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.tool, "tool", "", "the tool's name, such as exec")
	fl.StringVar(&f.params, "params", "{}", "the call's parameters: a JSON object, @FILE, or - for standard input")
	f.askFlags.add(cmd)
	_ = cmd.MarkFlagRequired("tool")
}

// request makes the body of the request for the call.
func (f *callFlags) request(a *app.App) (api.CreateRequest, error) {
	raw, err := readParams(a, f.params)
	if err != nil {
		return api.CreateRequest{}, err
	}
	return f.askFlags.request(f.tool, raw)
}

func newRequestCommand(a *app.App) *cobra.Command {
	var call callFlags
	var workdir, supersedes string
	var wait bool
	var patience time.Duration
	cmd := &cobra.Command{
		Use:   "request --tool NAME --params JSON",
		Short: "Ask for a call; with --wait, until it is decided",
		Long: "Ask for a call. Exit status: 0 allowed, 10 denied, 11 expired, 12 withdrawn, 13 still pending, 1 error.\n" +
			"An allowed call is neither claimed nor run; the verb run does both.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			req, err := call.request(a)
			if err != nil {
				return err
			}
			if req.Supersedes = supersedes; workdir != "" {
				req.Bind = &api.Bind{Workdir: new(workdir)}
			}
			return makeRequest(cmd.Context(), a, req, wait || patience > 0, patience)
		},
	}
	call.add(cmd)
	fl := cmd.Flags()
	fl.StringVar(&workdir, "bind-workdir", "", "tie the approval to this working directory")
	fl.StringVar(&supersedes, "supersedes", "", "id of a pending request of yours that this one replaces")
	fl.BoolVar(&wait, "wait", false, "wait until it is decided")
	fl.DurationVar(&patience, "for", 0, "wait at most so long (0: until it is decided)")
	return cmd
}

// readParams gives the JSON object of --params, byte by byte.
func readParams(a *app.App, text string) (json.RawMessage, error) {
	var err error
	raw := []byte(text)
	if text == "-" {
		raw, err = io.ReadAll(a.Stdin)
	} else if path, ok := strings.CutPrefix(text, "@"); ok {
		raw, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("--params: %w", err)
	}
	raw = []byte(strings.TrimSpace(string(raw)))
	if !json.Valid(raw) || raw[0] != '{' {
		return nil, errors.New("--params must be a JSON object")
	}
	return raw, nil
}

func makeRequest(ctx context.Context, a *app.App, req api.CreateRequest, wait bool, patience time.Duration) error {
	c, err := a.Client()
	if err != nil {
		return err
	}
	got, err := c.Create(ctx, req, api.CreateOptions{})
	if err != nil {
		return err
	}
	if !wait || patience != 0 {
		tellNoCard(ctx, a, c, got)
	}
	if wait && !got.Status.Final() {
		tellWaiting(a, got)
		if patience == 0 {
			got = tellCards(ctx, a, c, got)
		}
		if !got.Status.Final() {
			stop := countdown(a, got.ExpiresAtMs)
			got, err = awaitFinal(ctx, c, got, patience)
			stop()
		}
		if err != nil {
			return err
		}
	}
	return printStanding(a, got)
}

// printStanding prints the state of an approval and gives the matching exit status.
func printStanding(a *app.App, got api.Approval) error {
	if !a.JSON {
		show.Fields(a.Stdout, 7, "ID", display.Escape(got.ID), "Code", display.Escape(got.Code), "Status", show.Ending(got))
		for _, n := range got.Notes {
			show.Fields(a.Stdout, 7, "Note", display.UpperFirst(strings.TrimPrefix(show.Note(n), "note ")))
		}
	} else if err := a.PrintJSON(got); err != nil {
		return err
	}
	return a.Standing(got)
}
