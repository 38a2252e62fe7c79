package verifier

import (
	"github.com/go-json-experiment/json"

	"approvalbot/internal/display"
)

// maxReason bounds a reason, in characters.
const maxReason = 500

// readReply reads a webhook's answer. Only {"decision": "allow" or "deny",
// "reason"?: text} is one: other members are ignored, but a repeated member,
// another type, another word or any text after the object make it invalid.
func readReply(body []byte) reply {
	var r struct {
		Decision string  `json:"decision"`
		Reason   *string `json:"reason"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return malformed("its answer is not the JSON object that was asked for")
	}
	if r.Decision != "allow" && r.Decision != "deny" {
		return malformed(`its answer has no decision that is "allow" or "deny"`)
	}
	out := reply{allow: r.Decision == "allow"}
	if r.Reason != nil {
		out.reason, _ = display.Clip(display.Safe(*r.Reason), maxReason)
	}
	return out
}

func malformed(text string) reply { return reply{fail: problem("invalid", text)} }
