// Package fakechat holds servers that behave like the chat platforms a bot
// talks to, so that tests drive the real bot code over real HTTP.
//
// [Telegram] is a Telegram Bot API server. It is written from the platform's
// documentation (core.telegram.org/bots/api, /bots/faq, /bots/features) and from
// the sources of the official server (tdlib/telegram-bot-api, tdlib/td), never
// from what a client library happens to do: a bot that works here by accident
// would fail there. If neither says what happens, the comment at that place says that it is
// a guess.
//
// [Discord] is Discord with one application: REST API, gateway, interactions. It
// is written from docs.discord.com (and the discord-api-docs repository behind
// it) in the same spirit.
//
// A test of Telegram has three handles. The bot under test gets [Telegram.URL] and talks the
// wire protocol. The people in the story are [TelegramUser] values: they write, edit,
// forward and tap. What a person would see is [TelegramChat.Messages]. A test never needs to
// sleep: [Telegram.WaitFor] wakes at every change, and time is moved with
// [Telegram.Advance]. Discord is alike: [Discord.URL], [DiscordUser] and
// [DiscordChannel.Messages]; what a person gets for a click or a command is in the
// [DiscordInteraction] that it returns.
//
// Internal convention: methods with an upper-case name take the lock; methods
// with a lower-case name expect it to be held, unless their comment says so.
package fakechat
