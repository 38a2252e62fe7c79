package fakechat

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// telegramMethod is one method of the API. run expects the lock, waits takes it.
type telegramMethod struct {
	run    func(*Telegram, *tgQuery) (any, *apiError)
	waits  func(*Telegram, context.Context, *tgQuery) (any, *apiError)
	weight callWeight
}

// telegramMethods are the methods that are faked, by their lower-case names.
// All others answer 404 "Not Found: method not found".
func telegramMethods() map[string]telegramMethod {
	return map[string]telegramMethod{
		"getupdates":             {waits: (*Telegram).getUpdates},
		"setwebhook":             {run: (*Telegram).setWebhook},
		"deletewebhook":          {run: (*Telegram).setWebhook},
		"getwebhookinfo":         {run: (*Telegram).getWebhookInfo},
		"getme":                  {run: (*Telegram).getMe},
		"sendmessage":            {run: (*Telegram).sendMessage, weight: weighsMessage},
		"senddocument":           {run: (*Telegram).sendDocument, weight: weighsMessage},
		"editmessagetext":        {run: (*Telegram).editMessageText, weight: weighsEdit},
		"editmessagecaption":     {run: (*Telegram).editMessageCaption, weight: weighsEdit},
		"editmessagereplymarkup": {run: (*Telegram).editMessageReplyMarkup, weight: weighsEdit},
		"deletemessage":          {run: (*Telegram).deleteMessage},
		"answercallbackquery":    {run: (*Telegram).answerCallbackQuery},
		"sendchataction":         {run: (*Telegram).sendChatAction},
		"setmycommands":          {run: (*Telegram).setMyCommands},
		"getmycommands":          {run: (*Telegram).getMyCommands},
		"deletemycommands":       {run: (*Telegram).deleteMyCommands},
		"getchat":                {run: (*Telegram).getChat},
		"getchatmember":          {run: (*Telegram).getChatMember},
		"getchatmembercount":     {run: (*Telegram).getChatMemberCount},
		"getchatadministrators":  {run: (*Telegram).getChatAdministrators},
	}
}

// getMe implements getMe.
func (tg *Telegram) getMe(*tgQuery) (any, *apiError) {
	return struct {
		*wireUser
		CanJoinGroups   bool `json:"can_join_groups"`
		CanReadAll      bool `json:"can_read_all_group_messages"`
		SupportsInline  bool `json:"supports_inline_queries"`
		SupportsGuest   bool `json:"supports_guest_queries"`
		CanBusiness     bool `json:"can_connect_to_business"`
		HasMainWebApp   bool `json:"has_main_web_app"`
		HasTopics       bool `json:"has_topics_enabled"`
		UsersMakeTopics bool `json:"allows_users_to_create_topics"`
		CanManageBots   bool `json:"can_manage_bots"`
	}{wireUser: tg.me.wire(), CanJoinGroups: true, CanReadAll: tg.opts.CanReadAllGroupMessages}, nil
}

// isMe says whether a command's "@name" means this bot.
func (tg *Telegram) isMe(name string) bool { return strings.EqualFold(name, tg.me.Username) }

// sendChatAction implements sendChatAction without showing anything.
func (tg *Telegram) sendChatAction(q *tgQuery) (any, *apiError) {
	actions := []string{
		"cancel", "typing", "record_video", "upload_video", "record_audio", "record_voice", "upload_audio", "upload_voice",
		"upload_photo", "upload_document", "choose_sticker", "pick_up_location", "find_location", "record_video_note", "upload_video_note",
	}
	if !slices.Contains(actions, strings.ToLower(q.params["action"])) {
		return nil, badRequest("wrong parameter action in request")
	}
	_, err := tg.openChat(q, toWrite)
	return true, err
}

// TelegramCommand is a BotCommand of the Bot API.
type TelegramCommand struct {
	Command     string `json:"command"`
	Description string `json:"description"`
}

// Commands returns the commands that were set for a scope and language. The scope is its
// type, followed by ":" and chat_id, and ":" and user_id, if it has them: "default",
// "chat:-100123", "chat_member:-100123:42".
func (tg *Telegram) Commands(scope, language string) []TelegramCommand {
	tg.mu.Lock()
	defer tg.mu.Unlock()
	return slices.Clone(tg.commands[scope+"/"+language])
}

// setMyCommands implements setMyCommands (td, BotCommand.cpp; the errors in
// capitals come from the data centre, that of too many commands is a guess).
func (tg *Telegram) setMyCommands(q *tgQuery) (any, *apiError) {
	raw := q.params["commands"]
	if raw != "" && !json.Valid([]byte(raw)) {
		return nil, badRequest("can't parse commands JSON object")
	}
	var raws []json.RawMessage
	if raw != "" && (json.Unmarshal([]byte(raw), &raws) != nil || raws == nil) {
		return nil, badRequest("expected an Array of BotCommand")
	}
	commands := make([]TelegramCommand, 0, len(raws))
	for _, raw := range raws {
		command, err := parseCommand(raw)
		if err != nil {
			return nil, err
		}
		commands = append(commands, command)
	}
	key, err := q.commandScope()
	if err != nil {
		return nil, err
	}
	if len(commands) > 100 {
		return nil, badRequest("BOT_COMMANDS_TOO_MUCH")
	}
	tg.commands[key] = commands
	return true, nil
}

func parseCommand(raw json.RawMessage) (TelegramCommand, *apiError) {
	var c TelegramCommand
	object, ok := parseObject(raw)
	if !ok {
		return c, badRequest("can't parse BotCommand: expected an Object")
	}
	for name, field := range map[string]*string{"command": &c.Command, "description": &c.Description} {
		if _, ok := object[name]; !ok {
			return c, badRequest(`can't parse BotCommand: Can't find field "` + name + `"`)
		}
		value, complaint := object.text(name)
		if complaint != "" {
			return c, badRequest("can't parse BotCommand: " + complaint)
		}
		*field = strings.TrimSpace(value)
	}
	c.Command = strings.TrimPrefix(c.Command, "/")
	switch {
	case c.Command == "":
		return c, badRequest("command must be non-empty")
	case utf8.RuneCountInString(c.Command) > 32:
		return c, badRequest("command length must not exceed 32")
	case c.Description == "":
		return c, badRequest("command description must be non-empty")
	case utf8.RuneCountInString(c.Description) > 256:
		return c, badRequest("command description length must not exceed 256")
	case !regexp.MustCompile(`^[a-z0-9_]+$`).MatchString(c.Command):
		return c, badRequest("BOT_COMMAND_INVALID")
	}
	return c, nil
}

// commandScope reads scope and language_code as the key of [Telegram.Commands].
func (q *tgQuery) commandScope() (string, *apiError) {
	key, fields := "default", []string(nil)
	if raw := q.params["scope"]; raw != "" {
		object, ok := parseObject([]byte(raw))
		if !ok {
			return "", badRequest("can't parse BotCommandScope JSON object")
		}
		key, _ = object.text("type")
		switch key {
		case "default", "all_private_chats", "all_group_chats", "all_chat_administrators":
		case "chat", "chat_administrators":
			fields = []string{"chat_id"}
		case "chat_member":
			fields = []string{"chat_id", "user_id"}
		default:
			return "", badRequest("can't parse BotCommandScope: Unsupported type specified")
		}
		for _, name := range fields {
			value, _ := object.text(name)
			if value == "" {
				return "", badRequest(`can't parse BotCommandScope: Can't find field "` + name + `"`)
			}
			key += ":" + value
		}
	}
	return key + "/" + q.params["language_code"], nil
}

// getMyCommands implements getMyCommands.
func (tg *Telegram) getMyCommands(q *tgQuery) (any, *apiError) {
	key, err := q.commandScope()
	if err != nil {
		return nil, err
	}
	return append([]TelegramCommand{}, tg.commands[key]...), nil
}

// deleteMyCommands implements deleteMyCommands.
func (tg *Telegram) deleteMyCommands(q *tgQuery) (any, *apiError) {
	key, err := q.commandScope()
	if err != nil {
		return nil, err
	}
	delete(tg.commands, key)
	return true, nil
}

// getChat implements getChat with the fields that every chat has.
func (tg *Telegram) getChat(q *tgQuery) (any, *apiError) {
	c, err := tg.openChat(q, toRead)
	if err != nil {
		return nil, err
	}
	return struct {
		*wireChat
		AccentColorID    int              `json:"accent_color_id"`
		MaxReactionCount int              `json:"max_reaction_count"`
		ActiveUsernames  []string         `json:"active_usernames,omitempty"`
		Permissions      *wirePermissions `json:"permissions,omitempty"`
	}{wireChat: c.wire(), MaxReactionCount: 11, ActiveUsernames: nonEmpty(c.wire().Username), Permissions: c.permissions()}, nil
}

func nonEmpty(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

// getChatMember implements getChatMember; a user who never was in the chat has left.
func (tg *Telegram) getChatMember(q *tgQuery) (any, *apiError) {
	id, err := strconv.ParseInt(q.params["user_id"], 10, 64)
	if err != nil || id <= 0 {
		return nil, badRequest("invalid user_id specified")
	}
	c, failure := tg.openChat(q, toRead)
	if failure != nil {
		return nil, failure
	}
	user := tg.users[id]
	if user == nil {
		return nil, badRequest("user not found")
	}
	status, ok := c.members[id]
	switch {
	case c.person == user:
		status = statusMember
	case !ok:
		status = statusLeft
	}
	return c.wireMember(user, status), nil
}

// getChatMemberCount implements getChatMemberCount.
func (tg *Telegram) getChatMemberCount(q *tgQuery) (any, *apiError) {
	c, err := tg.openChat(q, toRead)
	if err != nil {
		return nil, err
	}
	n := boolInt(c.person != nil)
	for _, status := range c.members {
		n += boolInt(status != statusLeft && status != statusKicked)
	}
	return n, nil
}

// getChatAdministrators implements getChatAdministrators: other bots are left
// out (Client.cpp, JsonChatMembers).
func (tg *Telegram) getChatAdministrators(q *tgQuery) (any, *apiError) {
	c, err := tg.openChat(q, toRead)
	if err != nil {
		return nil, err
	}
	if c.Type == TelegramPrivate {
		return nil, badRequest("there are no administrators in the private chat")
	}
	admins := []wireMember{}
	for _, id := range c.order {
		user, status := tg.users[id], c.members[id]
		if (status == statusOwner || status == statusAdmin) && (!user.Bot || user == tg.me) {
			admins = append(admins, c.wireMember(user, status))
		}
	}
	return admins, nil
}
