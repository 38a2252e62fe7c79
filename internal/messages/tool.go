package messages

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"approvalbot/api"
)

// RequestApproval is the name of the call that replaces a waiting one.
const RequestApproval = "client.requestApproval"

// maxClaim is the longest claim that the desk accepts, in bytes.
const maxClaim = 2000

// idPrefix marks the ids of injected calls; the approval's own id follows.
const idPrefix = "approval_"

// The options of a request, in the order in which they are shown.
const (
	Cancel = "Cancel" // deny
	Once   = "Once"   // allow this call; the next one asks again
	Always = "Always" // allow, and trust the same for this session
)

// ApprovalRequired is the error of a tool that must not run before it is approved.
// The program that runs tools finds it with errors.As, asks the desk, and calls
// the tool again with the claim in its context: see [Guard].
type ApprovalRequired struct {
	ToolName string
	ToolArgs []byte   // a JSON object, sanitised: see [Sanitise]
	Message  string   // the text for the person
	Options  []string // of Cancel, Once and Always
}

// Error names the tool, and keeps its args out of the text.
func (e *ApprovalRequired) Error() string { return "Approval required for " + e.ToolName }

// NeedsApproval makes the error for one call of a tool. Its args are sanitised,
// so that the error may be logged.
func NeedsApproval(t api.MessageTool, args []byte) *ApprovalRequired {
	return &ApprovalRequired{ToolName: t.Name, ToolArgs: Sanitise(args), Message: MessageOf(t),
		Options: optionsOf(t, nil)}
}

// MessageOf is the text for the person about a call of the tool: the tool's own
// message, else its description (or name) and a sentence.
func MessageOf(t api.MessageTool) string {
	if t.Approval != nil && t.Approval.Message != "" {
		return t.Approval.Message
	}
	return cmp.Or(t.Description, t.Name) + "\n\nThis tool requires your approval to execute."
}

// mustAsk reports whether only a person's yes lets the tool run.
func mustAsk(t api.MessageTool) bool { return t.Approval != nil && t.Approval.Required }

// optionsOf gives the options that both the tool and the desk offer. Cancel is
// always among them. If offers is nil, the tool's options alone count.
func optionsOf(t api.MessageTool, offers []api.Decision) []string {
	wanted := []string{Cancel, Once, Always}
	if t.Approval != nil && len(t.Approval.Options) > 0 {
		wanted = t.Approval.Options
	}
	offered := func(list ...api.Decision) bool {
		return offers == nil ||
			slices.ContainsFunc(list, func(d api.Decision) bool { return slices.Contains(offers, d) })
	}
	out := []string{Cancel}
	if slices.Contains(wanted, Once) && offered(api.AllowOnce) {
		out = append(out, Once)
	}
	if slices.Contains(wanted, Always) && offered(api.AllowSession, api.AllowAlways) {
		out = append(out, Always)
	}
	return out
}

// decisionsOf gives the decisions that the tool's own options mean; nil if it names no
// options.
func decisionsOf(t api.MessageTool) []api.Decision {
	if t.Approval == nil || len(t.Approval.Options) == 0 {
		return nil
	}
	out := []api.Decision{api.Deny}
	if slices.Contains(t.Approval.Options, Once) {
		out = append(out, api.AllowOnce)
	}
	if slices.Contains(t.Approval.Options, Always) {
		out = append(out, api.AllowSession, api.AllowAlways)
	}
	return out
}

// ownMessage is the tool's own message, cut to the length that the desk accepts for
// a claim.
func ownMessage(t api.MessageTool) string {
	if t.Approval == nil {
		return ""
	}
	s := strings.ToValidUTF8(strings.ReplaceAll(t.Approval.Message, "\x00", ""), "\uFFFD")
	for len(s) > maxClaim {
		_, last := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-last]
	}
	return s
}

// toolsOf checks the descriptions of tools and gives them by name.
func toolsOf(list []api.MessageTool) (map[string]api.MessageTool, error) {
	tools := map[string]api.MessageTool{}
	for _, t := range list {
		_, twice := tools[t.Name]
		switch {
		case t.Name == "" || twice:
			return nil, invalid("tools", "must each have a name of their own")
		case reserved(t.Name):
			return nil, invalid("tools", "must not be named client.*: that is for what the desk puts in")
		case t.Location != "" && t.Location != "server" && t.Location != "client":
			return nil, invalid("tools", "must have the location server or client")
		}
		if t.Approval != nil {
			for _, o := range t.Approval.Options {
				if o != Cancel && o != Once && o != Always {
					return nil, invalid("tools", "must have approval options of Cancel, Once and Always")
				}
			}
		}
		t.Location = cmp.Or(t.Location, "server")
		tools[t.Name] = t
	}
	return tools, nil
}

// reserved reports whether a name is one that only the desk may put into a
// conversation, however it is written.
func reserved(name string) bool {
	plain := strings.Map(func(r rune) rune {
		if r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}, strings.ToLower(name))
	return strings.HasPrefix(plain, "client.")
}

// ours reports whether a call or result belongs to the approval flow, and not
// to the model.
func ours(id, name string) bool { return reserved(name) || strings.HasPrefix(id, idPrefix) }
