package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"syscall"

	"approvalbot/api"
	"approvalbot/internal/config"
	"approvalbot/internal/display"
)

// ExitCode is an error that ends the process with that exit status and no further
// word.
type ExitCode int

// Error implements error.
func (c ExitCode) Error() string { return fmt.Sprintf("exit status %d", int(c)) }

// Exit gives the exit status for a command's error and prints the error.
func (a *App) Exit(err error) int {
	var code ExitCode
	var mistakes config.Mistakes
	var refused *api.Problem
	switch {
	case err == nil:
		return ExitAllowed
	case errors.As(err, &code):
		return int(code)
	case errors.As(err, &mistakes):
		fmt.Fprintln(a.Stderr, mistakes.Error())
		return ExitError
	case errors.As(err, &refused) && a.JSON && a.form != asName:
		_ = a.PrintJSON(refused)
	}
	fmt.Fprintf(a.Stderr, "approvalbot: %s\n", a.Failure(err))
	return ExitError
}

// Failure words an error and, if it is known, the remedy.
func (a *App) Failure(err error) string {
	text, wayOut, code := Sentence(err), "", ""
	if refused := (*api.Problem)(nil); errors.As(err, &refused) {
		code = refused.Code
	}
	switch {
	case errors.Is(err, api.ErrNotReached) && !errors.Is(err, context.Canceled):
		wayOut = "is approvalbot serve running there? --server or APPROVALBOT_SERVER names another desk"
		if a.Verb != nil && a.Verb.Flags().Lookup("offline") != nil {
			wayOut += "; --offline reads its store"
		}
	case code == "unauthorized":
		wayOut = a.tokenWords() +
			"give one of the desk's server.tokens with --token, APPROVALBOT_TOKEN or the client file"
	case code == "forbidden":
		wayOut = a.tokenWords() + "name another token with --client or --token"
	case code == "not_found" && a.takesID():
		text = display.Escape(a.Words[0]) + ": " + text
		wayOut = a.lister() + " shows what this token may see"
	case code == "not_found":
		wayOut = "is it an approval desk of this version that answers there? --server or APPROVALBOT_SERVER names " +
			"another desk"
	}
	if wayOut != "" {
		text += "; " + wayOut
	}
	return text
}

// takesID reports whether the verb that runs is about the id that is its first word.
func (a *App) takesID() bool {
	if a.Verb == nil || len(a.Words) == 0 {
		return false
	}
	usage := strings.Fields(a.Verb.Use)
	return len(usage) > 1 && strings.HasSuffix(usage[1], "ID")
}

// lister names the verb that lists what the one that runs is about.
func (a *App) lister() string {
	if group := a.Verb.Parent(); group != nil {
		for _, c := range group.Commands() {
			if c.Name() == "list" {
				return c.CommandPath()
			}
		}
	}
	return a.Verb.Root().Name() + " list"
}

// tokenWords names the source of the token, if it was not given on the command
// line.
func (a *App) tokenWords() string {
	if a.TokenFrom == "" {
		return ""
	}
	return "the token came from " + a.TokenFrom + ": "
}

// Sentence says an error on one line that is safe on a terminal.
func Sentence(err error) string {
	var refused *api.Problem
	if !errors.As(err, &refused) {
		return display.Escape(err.Error())
	}
	if refused.Code == "approvals_disabled" {
		return "approvals disabled (the desk's configuration has no approvals.tools, or enabled: false); " +
			"set approvals.tools.enabled: true"
	}
	text := err.Error()
	for _, f := range refused.Fields {
		if words := f.Field + " " + f.Problem; !strings.Contains(refused.Detail, words) { // as of a reload
			text += "; " + words
		}
	}
	return display.Escape(text)
}

// ErrDisabled is what the desk answers to requests while approvals are disabled.
var ErrDisabled = &api.Problem{
	Type: "urn:approvalbot:problem:approvals_disabled", Title: "approvals disabled",
	Status: http.StatusServiceUnavailable,
	Detail: "approvals disabled", Code: "approvals_disabled",
}

// Standing is [ExitStatus] for a verb that does not claim. Over plain TCP any program
// could answer that a call is allowed; only a claim proves it.
func (a *App) Standing(got api.Approval) error {
	err := ExitStatus(got)
	if err == nil && a.plainTCP {
		return fmt.Errorf("the answer that approval %s is allowed came over plain TCP (plainTCP in the client "+
			"file), so it is %w; use approvalbot run, which checks the desk's receipt", got.Code, api.ErrNotBelieved)
	}
	return err
}

// ExitStatus is the exit status that tells scripts the state of an approval.
func ExitStatus(a api.Approval) error {
	switch {
	case a.Status == api.Approved && a.RevokedAtMs == 0:
		return nil
	case a.Status == api.Expired:
		return ExitCode(ExitExpired)
	case a.Status == api.Withdrawn:
		return ExitCode(ExitWithdrawn)
	case a.Status == api.Pending:
		return ExitCode(ExitPending)
	}
	return ExitCode(ExitDenied)
}

// ChildStatus gives the exit status that a shell would give: 128 and the
// signal's number for a command that a signal ended.
func ChildStatus(cmd *exec.Cmd, err error) (code int, summary string) {
	var exited *exec.ExitError
	if err != nil && !errors.As(err, &exited) {
		return ExitError, "its streams could not be copied"
	}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal()), fmt.Sprintf("ended by signal %d", int(ws.Signal()))
	}
	return cmd.ProcessState.ExitCode(), ""
}

// Passing reports whether the same request may succeed a little later.
func Passing(p *api.Problem) bool {
	switch p.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusGatewayTimeout:
		return true
	}
	return p.Status == http.StatusServiceUnavailable && p.Code != "approvals_disabled"
}

// The exit statuses of verbs that ask. Any other failure is exitError.
const (
	ExitAllowed   = 0
	ExitError     = 1
	ExitDenied    = 10
	ExitExpired   = 11
	ExitWithdrawn = 12
	ExitPending   = 13
)
