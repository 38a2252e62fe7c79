package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"approvalbot/api"
	"approvalbot/config"
	"approvalbot/display"
)

// app is what every verb is given: the streams, the environment and the root
// command's flags.
type app struct {
	args    []string // of the command line
	environ []string // NAME=value, as it was handed in
	env     config.Environ
	stdin   io.Reader
	stdout  io.Writer
	stderr  io.Writer

	server, token, config string
	clientFile            string // --client
	tokenFrom             string // where the token was found, for the sentence about a refusal
	json                  bool

	verb  *cobra.Command // that runs; nil: none yet
	words []string       // that it was given
}

// The exit statuses of verbs that ask. Any other failure is exitError.
const (
	exitAllowed   = 0
	exitError     = 1
	exitDenied    = 10
	exitExpired   = 11
	exitWithdrawn = 12
	exitPending   = 13
)

// exitCode is an error that ends the process with that exit status and no further
// word.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit status %d", int(c)) }

// exit gives the exit status for a command's error and says what went wrong.
func (a *app) exit(err error) int {
	var code exitCode
	var mistakes config.Mistakes
	var refused *api.Problem
	switch {
	case err == nil:
		return exitAllowed
	case errors.As(err, &code):
		return int(code)
	case errors.As(err, &mistakes):
		fmt.Fprintln(a.stderr, mistakes.Error())
		return exitError
	case errors.As(err, &refused) && a.json:
		_ = a.printJSON(refused)
	}
	fmt.Fprintf(a.stderr, "approvalbot: %s\n", a.failure(err))
	return exitError
}

// failure says an error and, where it is known, what to do about it.
func (a *app) failure(err error) string {
	text, wayOut, code := sentence(err), "", ""
	if refused := (*api.Problem)(nil); errors.As(err, &refused) {
		code = refused.Code
	}
	switch {
	case errors.Is(err, api.ErrNotReached) && !errors.Is(err, context.Canceled):
		wayOut = "is approvalbot serve running there? --server or APPROVALBOT_SERVER names another desk"
		if a.verb != nil && a.verb.Flags().Lookup("offline") != nil {
			wayOut += "; --offline reads its store"
		}
	case code == "unauthorized":
		wayOut = a.tokenWords() + "give one of the desk's server.tokens with --token, APPROVALBOT_TOKEN or the client file"
	case code == "forbidden":
		wayOut = a.tokenWords() + "--client or --token names another one"
	case code == "not_found" && a.takesID():
		text = safe(a.words[0]) + ": " + text
		wayOut = a.lister() + " shows what this token may see"
	case code == "not_found":
		wayOut = "is it an approval desk of this version that answers there? --server or APPROVALBOT_SERVER names another one"
	}
	if wayOut != "" {
		text += "; " + wayOut
	}
	return text
}

// takesID reports whether the verb that runs is about the id that is its first word.
func (a *app) takesID() bool {
	if a.verb == nil || len(a.words) == 0 {
		return false
	}
	usage := strings.Fields(a.verb.Use)
	return len(usage) > 1 && strings.HasSuffix(usage[1], "ID")
}

// lister names the verb that lists what the one that runs is about.
func (a *app) lister() string {
	if group := a.verb.Parent(); group != nil {
		for _, c := range group.Commands() {
			if c.Name() == "list" {
				return c.CommandPath()
			}
		}
	}
	return a.verb.Root().Name() + " list"
}

// tokenWords says where the token came from, if it was not given right here.
func (a *app) tokenWords() string {
	if a.tokenFrom == "" {
		return ""
	}
	return "the token came from " + a.tokenFrom + ": "
}

// sentence says an error on one line that is safe on a terminal.
func sentence(err error) string {
	var refused *api.Problem
	if !errors.As(err, &refused) {
		return display.Escape(err.Error())
	}
	if refused.Code == "approvals_disabled" {
		return "approvals disabled (the desk's configuration has no approvals.tools, or enabled: false); set approvals.tools.enabled: true"
	}
	text := err.Error()
	for _, f := range refused.Fields {
		if words := f.Field + " " + f.Problem; !strings.Contains(refused.Detail, words) { // as of a reload
			text += "; " + words
		}
	}
	return display.Escape(text)
}

// client makes the API client for a verb: flags, then environment, then the client
// file. --client goes before the environment. A token from a file goes to the file's
// own server only.
func (a *app) client() (*api.Client, error) {
	server, token := a.server, a.token
	if a.clientFile == "" {
		server, token = cmp.Or(server, a.env["APPROVALBOT_SERVER"]), cmp.Or(token, a.env["APPROVALBOT_TOKEN"])
	}
	if a.token == "" && token != "" {
		a.tokenFrom = "APPROVALBOT_TOKEN"
	}
	if server != "" && token != "" {
		return &api.Client{Server: server, Token: token}, nil
	}
	file, path, err := a.readClientFile()
	if err != nil {
		return nil, err
	}
	if token == "" {
		if server != "" && file.Server != server && path != "" {
			return nil, fmt.Errorf("no token for %s: %s is for another server; give one with --token or APPROVALBOT_TOKEN", server, path)
		}
		a.tokenFrom, token = path, string(file.Token)
	}
	if token == "" {
		return nil, errors.New("no API token: name a client file with --client or APPROVALBOT_CLIENT, or give a token with --token or APPROVALBOT_TOKEN; make run prints lines that do")
	}
	return &api.Client{Server: cmp.Or(server, file.Server, config.DefaultServer), Token: token}, nil
}

// desk makes the API client for a verb about approvals, and says so where they are
// disabled or the desk is not reached. The desk itself refuses requests only, so that
// programs can still read what is on record; people are told.
func (a *app) desk(ctx context.Context) (*api.Client, error) {
	c, err := a.client()
	if err != nil {
		return nil, err
	}
	return c, inForce(ctx, c)
}

// errDisabled is what the desk answers to requests while approvals are disabled.
var errDisabled = &api.Problem{
	Type: "urn:approvalbot:problem:approvals_disabled", Title: "approvals disabled", Status: http.StatusServiceUnavailable,
	Detail: "approvals disabled", Code: "approvals_disabled",
}

// inForce is errDisabled where the desk's approvals are disabled. What answers but
// does not tell its state is left to the next request.
func inForce(ctx context.Context, c *api.Client) error {
	state, err := c.Ready(ctx)
	var refused *api.Problem
	switch {
	case state.Policy == api.PolicyDisabled:
		return errDisabled
	case errors.As(err, &refused):
		return nil
	}
	return err
}

// printJSON writes v as the API writes it, indented.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
