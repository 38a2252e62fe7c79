// Package app is what every verb is given: streams, environment, the root command's
// flags, the API client that they name, and how a verb ends.
package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"approvalbot/api"
	"approvalbot/cli/show"
	"approvalbot/config"
)

// PageSize is how many entries verbs ask for at once.
const PageSize = 200

// CountingEvery is how often the time that is left is said anew.
const CountingEvery = time.Second

// App is what every verb is given: the streams, the environment and the root
// command's flags.
type App struct {
	Version string // of this program
	// OpenStore gives a client that reads the configured store itself, and what ends it.
	OpenStore func(context.Context, *App) (*api.Client, func(), error)

	Args    []string // of the command line
	Environ []string // NAME=value, as it was handed in
	Env     config.Environ
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer

	Server, Token, Config string
	ClientFile            string // --client
	TokenFrom             string // where the token was found, for the sentence about a refusal
	JSON                  bool

	Verb  *cobra.Command // that runs; nil: none yet
	Words []string       // that it was given
}

// Client makes the API client for a verb: flags, then environment, then the client
// file. --client goes before the environment. A token from a file goes to the file's
// own server only.
func (a *App) Client() (*api.Client, error) {
	server, token := a.Server, a.Token
	if a.ClientFile == "" {
		server, token = cmp.Or(server, a.Env["APPROVALBOT_SERVER"]), cmp.Or(token, a.Env["APPROVALBOT_TOKEN"])
	}
	if a.Token == "" && token != "" {
		a.TokenFrom = "APPROVALBOT_TOKEN"
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
		a.TokenFrom, token = path, string(file.Token)
	}
	if token == "" {
		return nil, errors.New("no API token: name a client file with --client or APPROVALBOT_CLIENT, or give a token with --token or APPROVALBOT_TOKEN; make run prints lines that do")
	}
	return &api.Client{Server: cmp.Or(server, file.Server, config.DefaultServer), Token: token}, nil
}

// Desk makes the API client for a verb about approvals, and says so where they are
// disabled or the desk is not reached. The desk itself refuses requests only, so that
// programs can still read what is on record; people are told.
func (a *App) Desk(ctx context.Context) (*api.Client, error) {
	c, err := a.Client()
	if err != nil {
		return nil, err
	}
	return c, InForce(ctx, c)
}

// InForce is errDisabled where the desk's approvals are disabled. What answers but
// does not tell its state is left to the next request.
func InForce(ctx context.Context, c *api.Client) error {
	state, err := c.Ready(ctx)
	var refused *api.Problem
	switch {
	case state.Policy == api.PolicyDisabled:
		return ErrDisabled
	case errors.As(err, &refused):
		return nil
	}
	return err
}

// PrintJSON writes v as the API writes it, indented.
func (a *App) PrintJSON(v any) error {
	enc := json.NewEncoder(a.Stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// Paint says whether stdout takes colours.
func (a *App) Paint() show.Paint {
	return show.Paint(show.IsTerminal(a.Stdout) && a.Env["NO_COLOR"] == "" && a.Env["TERM"] != "dumb")
}
