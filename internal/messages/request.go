package messages

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"approvalbot/api"
	"approvalbot/internal/lazy"
)

// request is the content of an injected client.requestApproval call.
type request struct {
	id, name string          // of the model's own call
	args     json.RawMessage // of it, sanitised
}

// requestArgs writes the args of an injected call.
func requestArgs(t api.MessageTool, r request, a api.Approval) json.RawMessage {
	args, honest := sanitise(r.args, 0)
	options := optionsOf(t, a.Offers)
	if !honest {
		options = []string{Cancel} // a part that acts may be hidden, so a person who looks here has not seen it
	}
	words := make([]json.RawMessage, len(options))
	for i, o := range options {
		words[i] = quote(o)
	}
	id := json.RawMessage(nil)
	if r.id != "" {
		id = quote(r.id)
	}
	message := MessageOf(t)
	if !honest {
		message += "\n\nNot everything is shown here; " +
			"it can be allowed only on a surface that shows the whole call, and only cancelled here."
	}
	return pairs(
		"originalToolCall", pairs("id", id, "name", r.name, "args", args).encode(),
		"message", message,
		"options", encodeArray(words),
		"code", a.Code,
		"riskClass", a.RiskClass,
		"expiresAtMs", json.RawMessage(strconv.FormatInt(a.ExpiresAtMs, 10)),
	).encode()
}

// readRequest reads the args of an injected call back, as the client sent them
// back.
func readRequest(args json.RawMessage) (request, bool) {
	o, err := parseObject(args)
	if err != nil {
		return request{}, false
	}
	original, err := parseObject(o.get("originalToolCall"))
	if err != nil {
		return request{}, false
	}
	return request{id: original.text("id"), name: original.text("name"), args: original.get("args")}, true
}

// shows reports whether the request showed the very call that the approval is
// about: all of it, or all but plain secrets.
func (r request) shows(l Look) bool {
	if r.name != l.Approval.ToolName || r.args == nil {
		return false
	}
	if fingerprint(r.name, r.args, l.Approval.Bind) == l.Approval.ArgsFingerprint {
		return true
	}
	if l.Params == nil {
		return false
	}
	shown, honest := sanitise(l.Params, 0)
	want, got := canonical(shown), canonical(r.args)
	return honest && want != nil && bytes.Equal(want, got)
}

// fingerprint is the call's, as the desk computes it; "" if it has no fingerprint.
func fingerprint(name string, params json.RawMessage, b *api.Bind) string {
	where := json.RawMessage(nil)
	if b != nil {
		where, _ = json.Marshal(b)
	}
	c := canonical(pairs("bind", where, "params", params, "toolName", name).encode())
	if c == nil {
		return ""
	}
	sum := sha256.Sum256(c)
	return hex.EncodeToString(sum[:])
}

var (
	ownID  = lazy.Pattern(`^msg-[0-9a-f]{26}$`)
	someID = lazy.Pattern(`^[A-Za-z0-9._:-]+$`)
)

func validID(id string) bool {
	return len(id) <= 128 && someID.MatchString(id) && id != "." && id != ".."
}

// approvalID is the asker's own id of the approval for a call: the same for the same
// call of the same message. It is "" if neither the message nor the call has a name;
// then the desk makes an id. A call for which a person must be asked gets another id
// than the same call if policy may allow it.
func approvalID(req api.InterceptRequest, index int, it item, mustAsk bool) string {
	if it.id == "" && req.MessageID == "" {
		return ""
	}
	at := it.id
	if at == "" {
		at = fmt.Sprintf("#%d", index)
	}
	names := []string{req.SessionKey, req.MessageID, at, fingerprint(it.name, it.args, req.Bind)}
	if mustAsk {
		names = append(names, "must ask")
	}
	return digest("msg-", names...)
}

// digest makes one short name from several, in such a way that their boundaries
// count.
func digest(prefix string, names ...string) string {
	h := sha256.New()
	for _, n := range names {
		fmt.Fprintf(h, "%d:%s", len(n), n)
	}
	return prefix + hex.EncodeToString(h.Sum(nil))[:26]
}

// names reports whether id is the approval's full id, and not a code or a prefix
// that an operator might also use.
func names(id string, a api.Approval) bool { return id == a.ID || ownID.MatchString(id) }

// verdict is a decision as a client writes it into a result.
type verdict struct {
	decision api.Decision // deny, allow-once, allow-session, allow-always
	toolName string
	reason   string
}

// readVerdict reads the result of an injected call: {decision, scope, toolName},
// or one of the options as a word. Anything else is no verdict.
func readVerdict(output json.RawMessage) (verdict, bool) {
	if o, err := parseObject(output); err == nil && len(o) == 1 {
		// Google's results are objects, and its libraries wrap other values.
		for _, wrapper := range []string{"result", "output", "content"} {
			if inner := o.get(wrapper); inner != nil {
				output = inner
			}
		}
	}
	if s, ok := resultText(output); ok {
		switch strings.TrimSpace(s) {
		case Cancel:
			return verdict{decision: api.Deny}, true
		case Once:
			return verdict{decision: api.AllowOnce}, true
		case Always:
			return verdict{decision: api.AllowAlways}, true
		}
		output = json.RawMessage(s)
	}
	o, err := parseObject(output)
	if err != nil {
		return verdict{}, false
	}
	for _, m := range o {
		if !slices.Contains([]string{"decision", "scope", "toolName", "reason"}, m.name) || kindOf(m.value) != '"' {
			return verdict{}, false
		}
	}
	v := verdict{toolName: o.text("toolName"), reason: o.text("reason")}
	switch o.text("decision") + " " + o.text("scope") {
	case "deny none", "deny ", "deny once", "deny session", "deny always":
		v.decision = api.Deny
	case "approve once", "approve ":
		v.decision = api.AllowOnce
	case "approve session":
		v.decision = api.AllowSession
	case "approve always":
		v.decision = api.AllowAlways
	default:
		return verdict{}, false
	}
	return v, true
}

// resultText gives a result that is text, or one block of text.
func resultText(output json.RawMessage) (string, bool) {
	switch kindOf(output) {
	case '"':
		return unquote(output), true
	case '[':
		list, err := parseArray(output)
		if err != nil || len(list) != 1 {
			return "", false
		}
		o, err := parseObject(list[0])
		return o.text("text"), err == nil && kindOf(o.get("text")) == jsontext.Kind('"')
	}
	return "", false
}
