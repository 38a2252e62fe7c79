package approval

import (
	"cmp"
	"fmt"
	"strings"

	"approvalbot/internal/platform"
)

// CallbackChannel is the channel of calls back to owners; its chats are the
// approvals' keys.
const CallbackChannel = "callback"

// VerifierChannel is the channel of the verifier's own bot, if it has another bot than its
// platform ([platform.Verifier]). Its chats are the platform's; an origin or a target never
// names them. Accounts are those of the platform: one person is the same to both bots.
const VerifierChannel = "verifier"

// Target is a place a card goes: a chat of a channel, perhaps a thread in it.
// Two targets are the same place exactly when they are equal after [Target.Normal].
type Target struct {
	Channel  string `json:"channel"`            // a platform's name, VerifierChannel, CallbackChannel or PushChannel
	To       string `json:"to"`                 // the chat's id on its platform; "dm:<user>" for direct messages, if it writes them so
	ThreadID string `json:"threadId,omitempty"` // topic or thread; empty for the chat itself
}

// ParseTarget reads the text form: channel:to or channel:to:thread. to may be dm:<user>. It
// refuses empty parts and returns the normal form.
func ParseTarget(s string) (Target, error) {
	parts := strings.Split(s, ":")
	if len(parts) >= 3 && parts[1] == "dm" {
		parts = append([]string{parts[0], "dm:" + parts[2]}, parts[3:]...)
	}
	if len(parts) < 2 || len(parts) > 3 {
		return Target{}, fmt.Errorf("target %q is not channel:chat or channel:chat:thread", s)
	}
	t := Target{Channel: parts[0], To: parts[1]}
	if len(parts) == 3 {
		t.ThreadID = parts[2]
	}
	return t, t.Validate()
}

// Validate says what is wrong with the target, or nil.
func (t Target) Validate() error {
	on := platform.ByName(t.Channel)
	if on == nil {
		return fmt.Errorf("channel %q is neither %s", t.Channel, platform.List("nor"))
	}
	if err := on.CheckPlace(t.To); err != nil {
		return err
	}
	if t.ThreadID != "" && !platform.Decimal(t.ThreadID) {
		return fmt.Errorf("thread %q is not a numeric id", t.ThreadID)
	}
	return nil
}

// Normal gives the one spelling of a place: leading zeros dropped, and the thread that
// means the chat itself ([platform.Row.NoThread]) written as no thread.
func (t Target) Normal() Target {
	t.Channel = strings.ToLower(strings.TrimSpace(t.Channel))
	t.To = NormalID(strings.TrimSpace(t.To))
	t.ThreadID = NormalID(strings.TrimSpace(t.ThreadID))
	if t.ThreadID == "0" {
		t.ThreadID = ""
	} else if on := platform.ByName(Platform(t)); on != nil && t.ThreadID == on.NoThread {
		t.ThreadID = ""
	}
	return t
}

// Platform is the platform of a place: the channel of the accounts in a chat.
func Platform(t Target) string {
	if t.Channel == VerifierChannel {
		return platform.Verifier
	}
	return t.Channel
}

// DirectChat is the private chat of an account with the bot of its platform.
func DirectChat(channel, userID string) Target {
	if on := platform.ByName(channel); on != nil {
		userID = on.Private(userID)
	}
	return Target{Channel: channel, To: userID}
}

// On is the same place as another channel's bot has it.
func (t Target) On(channel string) Target { t.Channel = channel; return t }

// IsGroup reports whether a chat whose id has a sign is a group, which is the same one to every
// bot of its platform. A private chat is each bot's own.
func (t Target) IsGroup() bool { return strings.HasPrefix(t.To, "-") }

// Chat is the target without its thread: the unit of pace, order and failure.
func (t Target) Chat() Target { t.ThreadID = ""; return t }

// String is the text form that ParseTarget reads.
func (t Target) String() string {
	s := t.Channel + ":" + t.To
	if t.ThreadID != "" {
		s += ":" + t.ThreadID
	}
	return s
}

// Names reports whether t, as an operator wrote it, covers place: the same chat, and the
// same thread if t names one.
func (t Target) Names(place Target) bool {
	t, place = t.Normal(), place.Normal()
	return t.Chat() == place.Chat() && (t.ThreadID == "" || t.ThreadID == place.ThreadID)
}

// NormalID drops leading zeros of a numeric id, and leaves others alone.
func NormalID(s string) string {
	digits := strings.TrimPrefix(strings.TrimPrefix(s, "dm:"), "-")
	if !platform.Decimal(digits) || digits[0] != '0' {
		return s
	}
	return strings.TrimSuffix(s, digits) + cmp.Or(strings.TrimLeft(digits, "0"), "0")
}
