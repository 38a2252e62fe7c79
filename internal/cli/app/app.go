// Package app is what every verb is given: streams, environment, the root command's
// flags, the API client that they name, and how a verb ends.
package app

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"approvalbot/api"
	"approvalbot/internal/cli/show"
	"approvalbot/internal/config"
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
	Environ []string // NAME=value, as given by the caller
	Env     config.Environ
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer

	Server, Token, Config string
	ClientFile            string // --client
	TokenFrom             string // how the token was given, for the sentence about a refusal
	JSON                  bool

	Now      func() time.Time // nil: [time.Now]
	warned   bool             // that the client file says not by what its desk is known
	form     string           // of -o; empty means JSON
	plainTCP bool             // the client's answers, except claims, may not be the desk's

	Verb  *cobra.Command // that runs; nil if not known yet
	Words []string       // that it was given
}

// Clock gives the time.
func (a *App) Clock() func() time.Time {
	if a.Now != nil {
		return a.Now
	}
	return time.Now
}

// Column is stdout as cards are written on it.
func (a *App) Column() show.Column {
	return show.Column{To: a.Stdout, Width: show.Width(a.Stdout), Paint: a.Paint()}
}

// Paint reports whether stdout takes colours.
func (a *App) Paint() show.Paint {
	return show.Paint(show.IsTerminal(a.Stdout) && a.Env["NO_COLOR"] == "" && a.Env["TERM"] != "dumb")
}
