package approval

import (
	"cmp"
	"fmt"
	"strings"
)

// CallbackChannel is the channel of calls back to owners; its chats are the
// approvals' keys.
const CallbackChannel = "callback"

// VerifierChannel is the channel of the verifier's own bot on Telegram, if it has another
// bot than channels.telegram. Its chats are Telegram's; an origin or a target never names
// them. Accounts are those of channel telegram: one person is the same to both bots.
const VerifierChannel = "verifier"

// Target is a place a card goes: a chat of a channel, perhaps a thread in it.
// Two targets are the same place exactly when they are equal after [Target.Normal].
type Target struct {
	Channel  string `json:"channel"`            // "telegram", "discord", VerifierChannel, CallbackChannel or PushChannel
	To       string `json:"to"`                 // the chat's id on its platform; "dm:<user>" for a Discord direct message
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
	switch {
	case t.Channel != "telegram" && t.Channel != "discord":
		return fmt.Errorf("channel %q is neither telegram nor discord", t.Channel)
	case t.Channel == "telegram" && !decimal(strings.TrimPrefix(t.To, "-")):
		return fmt.Errorf("telegram chat %q is not a numeric id (a @name can change hands)", t.To)
	case t.Channel == "discord" && !decimal(strings.TrimPrefix(t.To, "dm:")):
		return fmt.Errorf("discord channel %q is not a numeric id", t.To)
	case t.ThreadID != "" && !decimal(t.ThreadID):
		return fmt.Errorf("thread %q is not a numeric id", t.ThreadID)
	}
	return nil
}

// Normal gives the one spelling of a place: leading zeros dropped, Telegram's
// General topic (thread 1, which the Bot API refuses as message_thread_id)
// written as no thread.
func (t Target) Normal() Target {
	t.Channel = strings.ToLower(strings.TrimSpace(t.Channel))
	t.To = NormalID(strings.TrimSpace(t.To))
	t.ThreadID = NormalID(strings.TrimSpace(t.ThreadID))
	onTelegram := t.Channel == "telegram" || t.Channel == VerifierChannel
	if onTelegram && t.ThreadID == "1" || t.ThreadID == "0" {
		t.ThreadID = ""
	}
	return t
}

// DirectChat is the private chat of an account with the bot of its platform.
func DirectChat(channel, userID string) Target {
	if channel == "discord" {
		return Target{Channel: channel, To: "dm:" + userID}
	}
	return Target{Channel: channel, To: userID}
}

// On is the same place as another channel's bot has it.
func (t Target) On(channel string) Target { t.Channel = channel; return t }

// IsGroup reports whether a Telegram chat is a group or channel, which is the same one
// to every bot. A private chat is each bot's own.
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

func NormalID(s string) string {
	digits := strings.TrimPrefix(strings.TrimPrefix(s, "dm:"), "-")
	if !decimal(digits) || digits[0] != '0' {
		return s
	}
	return strings.TrimSuffix(s, digits) + cmp.Or(strings.TrimLeft(digits, "0"), "0")
}

func decimal(s string) bool {
	for _, c := range s {
		if c < '0' || c > '9' {
			return false
		}
	}
	return s != ""
}
