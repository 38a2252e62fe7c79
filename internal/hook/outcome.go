package hook

import (
	"slices"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"approvalbot/api"
	"approvalbot/internal/lazy"
)

// How calls have ended, as told by bodies of events that come after them. If a body does not tell,
// no result is reported: a card without a result is true, and one that says "succeeded" of a failed
// push is not.

// ended is a decoder whose event also says how the call ended; nil if it does not.
func ended(d decoder, how func(*body) *api.ResultRequest) decoder {
	return func(raw []byte) (Call, error) {
		c, err := d(raw)
		if err == nil {
			c.outcome = how(readBody(raw))
		}
		return c, err
	}
}

// Ended reports whether an event says that the call has ended: of one that was interrupted, processes may be left.
func (c Call) Ended() bool {
	return c.outcome != nil && (c.outcome.Status == "succeeded" || c.outcome.ExitCode != nil)
}

// GoesOn reports whether an event after the call says that it goes on in the background, or that its user or the client did
// not wait for a tool server, which may go on.
func (c Call) GoesOn() bool {
	return c.outcome == nil || c.OfServer() && slices.Contains([]string{"interrupted", timedOut, noAnswer}, c.outcome.Summary)
}

func outcomeOf(status string) *api.ResultRequest { return &api.ResultRequest{Status: status} }

// claudeEnd reads PostToolUse, which comes if a tool did not fail: a command that goes on in the
// background has not ended.
func claudeEnd(b *body) *api.ResultRequest {
	v := b.members["tool_response"]
	if v.Kind() != '{' {
		return outcomeOf("succeeded")
	}
	var said struct {
		Interrupted bool    `json:"interrupted"`
		Background  *string `json:"backgroundTaskId"`
		Async       bool    `json:"isAsync"`
		Status      string  `json:"status"`
	}
	_ = jsonv2.Unmarshal(v, &said) // of another tool they are other things
	switch {
	case said.Interrupted:
		return &api.ResultRequest{Status: "failed", Summary: "interrupted"}
	case said.Background != nil || said.Async || said.Status == "async_launched":
		if b.ranConfined() != nil { // so that it asks if it comes again: its end is not seen
			return &api.ResultRequest{Status: "failed", Summary: "went on in the background", Confined: b.ranConfined()}
		}
		return nil
	}
	r := outcomeOf("succeeded")
	r.Confined = b.ranConfined()
	return r
}

// ranConfined says that the command that ran was the confined form of a call; nil: it was not. Claude Code reports the
// command that it ran.
func (b *body) ranConfined() *api.RanConfined {
	var in struct {
		Command string `json:"command"`
	}
	if jsonv2.Unmarshal(b.members["tool_input"], &in) != nil || !replacedForm.MatchString(in.Command) {
		return nil
	}
	return &api.RanConfined{}
}

// replacedForm matches what [replaced] makes of a command.
var replacedForm = lazy.Pattern(`^(?:'[^']*'|[A-Za-z0-9/._-]+) confine --asked `)

// How a call ended of which a tool server may know no end.
const (
	timedOut = "timed out"
	noAnswer = "no answer"
)

// lostAnswer finds an error of the way to a tool server, such as of a proxy or a closed connection (seen with Claude Code 2.1.330).
var lostAnswer = lazy.Pattern(`(?i)error posting|ECONN|EPIPE|socket|fetch failed|connection|-3200[01]|aborted|terminated|gateway|HTTP 5\d\d`)

// claudeExit is how the error of a command begins that ended with a status of its own.
var claudeExit = lazy.Pattern(`^Exit code (\d{1,3})(?:\n|$)`)

func claudeFailure(b *body) *api.ResultRequest {
	r := b.failure(claudeExit.FindStringSubmatch(b.text("error")))
	switch said := b.text("error"); {
	case r.Summary != "":
	case strings.Contains(said, "timed out"):
		r.Summary = timedOut
	case lostAnswer.MatchString(said):
		r.Summary = noAnswer
	}
	r.Confined = b.ranConfined()
	return r
}

// qwenExit matches the end of the text: what the command has printed comes before, and may contain the same lines.
var qwenExit = lazy.Pattern(`(?s)^Command: .*\nExit Code: (\d{1,3})\nSignal: \(none\)\nProcess Group PGID: [^\n]*$`)

// qwenEnd reads PostToolUse: a command that goes on in the background has no exit status in it.
func qwenEnd(b *body) *api.ResultRequest {
	v := b.members["tool_response"]
	var said struct {
		Text string `json:"llmContent"`
	}
	command := b.text("tool_name") == "run_shell_command"
	if v.Kind() != '{' || jsonv2.Unmarshal(v, &said) != nil || command && qwenExit.FindString(said.Text) == "" {
		if command {
			return nil
		}
	}
	return outcomeOf("succeeded")
}

func qwenFailure(b *body) *api.ResultRequest {
	return b.failure(qwenExit.FindStringSubmatch(b.text("error")))
}

// failure is a failed call, with the exit status that was found in its error.
func (b *body) failure(exit []string) *api.ResultRequest {
	r := outcomeOf("failed")
	var interrupted bool
	_ = jsonv2.Unmarshal(b.members["is_interrupt"], &interrupted)
	if interrupted {
		r.Summary = "interrupted"
	}
	if exit != nil {
		code, _ := strconv.Atoi(exit[1])
		r.ExitCode = &code
	}
	return r
}
