// Package platform has one row for each chat platform. A [Row] answers what the desk asks about a platform: how
// its chats and accounts are written, which keys of the configuration its bot has, and how updates may arrive. Two
// other places know a platform's name: its own room (bot/NAME), which speaks its protocol, and its adapter in
// package daemon, which makes its bot. The package is pure and imports nothing of the desk.
package platform

import (
	"fmt"
	"strings"
)

// Verifier is the platform of the verifier's own chat (tools.verifier.telegram).
const Verifier = "telegram"

// Row is one chat platform. Ids are decimal; a group may have a minus in front.
type Row struct {
	Name    string // of its channel and of its keys: telegram
	Title   string // for people: Telegram
	Place   string // what it calls a place for messages: chat or channel
	Example string // a target, for refusals: telegram:-1001234567890

	// DM says how a private chat between a person and the bot is written. true: dm:<user>. false: as the user's
	// id; then groups have negative ids.
	DM       bool
	NoThread string // the thread id that means the chat itself; empty if it has none
	Renames  string // the end of a refusal of a chat that is given by its name; may be empty

	// WrongUser says what is wrong with the id of a person, or of a role; empty if it can be one.
	WrongUser func(id string) string

	// Settings of its bot, which are below channels.NAME.
	APIURL string // the default of apiUrl
	Token  string // a regular expression: how its bot tokens look
	Roles  bool   // it has allowedRoleIds, too
	Pulled string // the word of updates for updates that the bot fetches: polling
	Pushed string // the key below updates for updates that are sent to [Row.Path]: webhook; empty if it sends none
}

// ByName gives a platform's row, or nil if there is none of that name.
func ByName(name string) *Row {
	for i := range Rows {
		if Rows[i].Name == name {
			return &Rows[i]
		}
	}
	return nil
}

// Names are the names of all platforms, in the order of the rows.
func Names() []string {
	names := make([]string, len(Rows))
	for i, r := range Rows {
		names[i] = r.Name
	}
	return names
}

// List writes the platforms' names as "a, b WORD c".
func List(word string) string { return Join(Names(), word) }

// Join writes words as "a, b WORD c".
func Join(words []string, word string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " " + word + " " + words[last]
}

// CheckPlace says what is wrong with the id of a place, or nil.
func (r *Row) CheckPlace(to string) error {
	id := strings.TrimPrefix(to, "-")
	if r.DM {
		id = strings.TrimPrefix(to, "dm:")
	}
	if !Decimal(id) {
		return fmt.Errorf("%s %s %q is not a numeric id%s", r.Name, r.Place, to, r.Renames)
	}
	return nil
}

// Private is the id of the private chat between a user and the bot.
func (r *Row) Private(user string) string {
	if r.DM {
		return "dm:" + user
	}
	return user
}

// User gives the user whose private chat with the bot a place is.
func (r *Row) User(to string) (user string, private bool) {
	if r.DM {
		return strings.CutPrefix(to, "dm:")
	}
	return to, Decimal(to) // the ids of groups are negative
}

// Path is the path at which the desk takes updates that are sent to it: /telegram/webhook.
func (r *Row) Path() string { return "/" + r.Name + "/" + r.Pushed }

// Has reports whether the settings of the platform's bot have a key that only some platforms have.
func (r *Row) Has(key string) bool { return key == "allowedRoleIds" && r.Roles || key == r.Pushed }

// PlaceVariable is the environment variable by which serve --local is told its chat: TELEGRAM_CHAT_ID.
func (r *Row) PlaceVariable() string { return r.Variable(r.Place + "_id") }

// UserVariable is the environment variable by which serve --local is told who decides: TELEGRAM_USER_ID.
func (r *Row) UserVariable() string { return r.Variable("user_id") }

// Variable is an environment variable of the platform: TELEGRAM_BOT_TOKEN for bot_token.
func (r *Row) Variable(word string) string { return strings.ToUpper(r.Name + "_" + word) }

// Decimal reports whether s is one or more decimal digits.
func Decimal(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
