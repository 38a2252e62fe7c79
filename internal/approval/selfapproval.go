package approval

import (
	"strings"
)

// Person gives the account whose private chat with the bot the place is. The place
// is in normal form.
func (t Target) Person() (r Requester, private bool) {
	switch {
	case t.Channel == "telegram" && decimal(t.To): // groups and channels have negative ids
		return Requester{Channel: t.Channel, UserID: t.To}, true
	case t.Channel == "discord" && strings.HasPrefix(t.To, "dm:"):
		return Requester{Channel: t.Channel, UserID: strings.TrimPrefix(t.To, "dm:")}, true
	}
	return Requester{}, false
}
