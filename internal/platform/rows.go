package platform

import (
	"math"
	"strconv"
)

// Rows are the platforms, in the order in which the desk tries and names them. Only a test that brings a platform
// of its own appends to it, before anything has read it.
var Rows = []Row{
	{
		Name: "telegram", Title: "Telegram", Place: "chat", Example: "telegram:-1001234567890",
		NoThread: "1", // the General topic, which the Bot API refuses as message_thread_id
		Renames:  " (a @name can change hands)", WrongUser: wrongTelegramUser,
		APIURL: "https://api.telegram.org", Token: `[0-9]+:[A-Za-z0-9_-]{20,}`, Pulled: "polling", Pushed: "webhook",
	},
	{
		Name: "discord", Title: "Discord", Place: "channel", Example: "discord:123456789012345678",
		DM: true, WrongUser: wrongSnowflake,
		APIURL: "https://discord.com", Token: `[A-Za-z0-9_-]{17,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{17,}`, Roles: true,
		Pulled: "gateway", Pushed: "interactions",
	},
}

// maxTelegramID is above every id that Telegram gives out: its documentation says that 52 bits suffice.
const maxTelegramID = 1 << 52

// wrongTelegramUser accepts the id of a single human: not of a group, a bot or a service, and one that Telegram could
// have given out.
func wrongTelegramUser(id string) string {
	switch id { // Telegram shows messages under these that no single person sent
	case "1087968824":
		return "is the id of anonymous group administrators, never a person's"
	case "136817688":
		return "is the id of channels that post in groups, never a person's"
	case "777000":
		return "is the id of Telegram itself, never a person's"
	}
	switch n, err := strconv.ParseInt(id, 10, 64); {
	case n < 0:
		return "is the id of a group or channel; only people may be listed here"
	case err != nil || n == 0 || n > maxTelegramID:
		return "is not a Telegram user id"
	}
	return ""
}

// wrongSnowflake accepts an id of Discord.
func wrongSnowflake(id string) string {
	if n, err := strconv.ParseInt(id, 10, 64); err != nil || n <= 0 || n == math.MaxInt64 {
		return "is not a Discord id"
	}
	return ""
}
