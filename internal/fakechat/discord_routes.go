package fakechat

import (
	"context"
	"net/http"
	"slices"
	"time"
)

// Routes, for [DiscordFault] and [Discord.Calls].
const (
	RouteGateway        = "/gateway"
	RouteGatewayBot     = "/gateway/bot"
	RouteMe             = "/users/@me"
	RouteOpenDM         = "/users/@me/channels"
	RouteChannel        = "/channels/{channel}"
	RouteMessages       = "/channels/{channel}/messages"
	RouteMessage        = "/channels/{channel}/messages/{message}"
	RouteThreads        = "/channels/{channel}/threads"
	RouteMessageThreads = "/channels/{channel}/messages/{message}/threads"
	RouteCallback       = "/interactions/{interaction}/{token}/callback"
	RouteFollowups      = "/webhooks/{application}/{token}"
	RouteFollowup       = "/webhooks/{application}/{token}/messages/{message}" // also @original
	RouteCommands       = "/applications/{application}/commands"
	RouteGuildCommands  = "/applications/{application}/guilds/{guild}/commands"
	RouteMember         = "/guilds/{guild}/members/{user}"
	RouteApplication    = "/applications/@me"
	routeCommand        = RouteCommands + "/{command}"
	routeGuildCommand   = RouteGuildCommands + "/{command}"
	identifiesPerDay    = 1000
	identifyWindow      = 24 * time.Hour
	maxConcurrency      = 1
)

func (dc *Discord) routes() *http.ServeMux {
	mux := http.NewServeMux()
	for pattern, run := range map[string]dcRoute{
		"GET " + RouteGateway:            func(*dcQuery) (any, *dcError) { return obj{"url": dc.GatewayURL()}, nil },
		"GET " + RouteGatewayBot:         dc.getGatewayBot,
		"GET " + RouteMe:                 func(*dcQuery) (any, *dcError) { return dc.me.wire(), nil },
		"GET /users/{user}":              dc.getUser,
		"GET /users/@me/guilds":          dc.getGuilds,
		"GET " + RouteApplication:        dc.getApplication,
		"GET /oauth2" + RouteApplication: dc.getApplication,

		"GET " + RouteChannel:             dc.getChannel,
		"PATCH " + RouteChannel:           dc.editChannel,
		"DELETE " + RouteChannel:          dc.deleteChannel,
		"POST /channels/{channel}/typing": dc.typing,
		"GET " + RouteMessages:            dc.getMessages,
		"POST " + RouteMessages:           dc.createMessage,
		"GET " + RouteMessage:             dc.getMessage,
		"PATCH " + RouteMessage:           dc.editMessage,
		"DELETE " + RouteMessage:          dc.deleteMessage,
		"POST " + RouteOpenDM:             dc.openDM,
		"POST " + RouteThreads:            dc.createThread,
		"POST " + RouteMessageThreads:     dc.createThread,

		"GET /guilds/{guild}":          dc.getGuild,
		"GET /guilds/{guild}/channels": dc.getGuildChannels,
		"GET /guilds/{guild}/roles":    dc.getRoles,
		"GET " + RouteMember:           dc.getMember,

		"POST " + RouteCallback:   dc.callback,
		"POST " + RouteFollowups:  dc.createFollowup,
		"GET " + RouteFollowup:    dc.getFollowup,
		"PATCH " + RouteFollowup:  dc.editFollowup,
		"DELETE " + RouteFollowup: dc.deleteFollowup,

		"GET " + RouteCommands:        dc.getCommands,
		"PUT " + RouteCommands:        dc.putCommands,
		"POST " + RouteCommands:       dc.postCommand,
		"DELETE " + routeCommand:      dc.deleteCommand,
		"GET " + RouteGuildCommands:   dc.getCommands,
		"PUT " + RouteGuildCommands:   dc.putCommands,
		"POST " + RouteGuildCommands:  dc.postCommand,
		"DELETE " + routeGuildCommand: dc.deleteCommand,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			q := r.Context().Value(queryKey{}).(*dcQuery)
			q.r, q.path = r, r.PathValue
			q.perform(w, run)
		})
	}
	return mux
}

type queryKey struct{}

func withQuery(ctx context.Context, q *dcQuery) context.Context {
	return context.WithValue(ctx, queryKey{}, q)
}

func (dc *Discord) getGatewayBot(*dcQuery) (any, *dcError) {
	left, reset := dc.gateway.sessionsLeft()
	return obj{"url": dc.GatewayURL(), "shards": 1, "session_start_limit": obj{
		"total": identifiesPerDay, "remaining": left, "reset_after": reset.Milliseconds(), "max_concurrency": maxConcurrency,
	}}, nil
}

func (dc *Discord) getUser(q *dcQuery) (any, *dcError) {
	user := dc.users[q.path("user")]
	if user == nil {
		return nil, failure(http.StatusNotFound, 10013, "Unknown User")
	}
	return user.wire(), nil
}

func (dc *Discord) getGuilds(*dcQuery) (any, *dcError) {
	list := []obj{}
	for _, g := range dc.order {
		list = append(list, obj{"id": g.ID, "name": g.Name, "icon": nil, "owner": false,
			"permissions": g.permissions(g.members[dc.me.ID]).wire(), "features": []string{}})
	}
	return list, nil
}

// getApplication is GET /applications/@me. The flags say which privileged
// intents an application with few guilds may use.
func (dc *Discord) getApplication(*dcQuery) (any, *dcError) {
	return obj{
		"id": dc.opts.ApplicationID, "name": dc.opts.BotName, "description": "", "icon": nil, "bot_public": false,
		"bot_require_code_grant": false, "verify_key": dc.PublicKey(), "flags": dc.applicationFlags(), "team": nil, "bot": dc.me.wire(),
		"interactions_endpoint_url": dc.endpoint.orNil(),
	}, nil
}

func (dc *Discord) applicationFlags() int {
	flags := 0
	for intent, flag := range map[DiscordIntents]int{IntentGuildPresences: 1 << 13, IntentGuildMembers: 1 << 15,
		IntentMessageContent: 1 << 19} {
		if dc.opts.PrivilegedIntents&intent != 0 {
			flags |= flag
		}
	}
	return flags
}

func (dc *Discord) getChannel(q *dcQuery) (any, *dcError) {
	c, err := dc.readable(q.path("channel"))
	if err != nil {
		return nil, err
	}
	return c.wire(), nil
}

func (dc *Discord) typing(q *dcQuery) (any, *dcError) {
	c, err := dc.readable(q.path("channel"))
	if err == nil {
		err = c.writable()
	}
	return nil, err
}

// editChannel changes name, archived, locked and auto_archive_duration.
func (dc *Discord) editChannel(q *dcQuery) (any, *dcError) {
	c, err := dc.readable(q.path("channel"))
	if err != nil {
		return nil, err
	}
	f := &form{fields: q.fields}
	name, archived, locked, duration := c.name, c.archived, c.locked, c.autoArchive
	f.read("name", &name)
	f.read("archived", &archived)
	f.read("locked", &locked)
	f.read("auto_archive_duration", &duration)
	f.length("name", name, 1, 100)
	switch {
	case f.err() != nil:
		return nil, f.err()
	case c.locked && archived == c.archived && !locked, c.access == DiscordNoSend:
		return nil, failure(http.StatusForbidden, 50013, "Missing Permissions")
	case c.archived && archived:
		return nil, failure(http.StatusBadRequest, 50083, "Thread is archived")
	}
	c.name, c.archived, c.locked, c.autoArchive = name, archived, locked, duration
	c.announce()
	return c.wire(), nil
}

func (dc *Discord) deleteChannel(q *dcQuery) (any, *dcError) {
	c, err := dc.readable(q.path("channel"))
	if err != nil {
		return nil, err
	}
	if c.Guild != nil {
		c.deleted = true
		c.announce()
	}
	return c.wire(), nil
}

// openDM gives the same channel each time. If the person does not want messages, that shows
// only on send.
func (dc *Discord) openDM(q *dcQuery) (any, *dcError) {
	f := &form{fields: q.fields}
	id := f.snowflake("recipient_id", q.fields["recipient_id"])
	if err := f.err(); err != nil {
		return nil, err
	}
	person := dc.users[id]
	switch {
	case person == nil:
		return nil, failure(http.StatusNotFound, 10013, "Unknown User")
	case person.Bot:
		return nil, failure(http.StatusForbidden, 50007, "Cannot send messages to this user")
	case person.dm == nil:
		if err := dc.limits.takeDM(dc.now()); err != nil {
			return nil, err
		}
	}
	return dc.direct(person).wire(), nil
}

func (dc *Discord) guild(q *dcQuery) (*DiscordGuild, *dcError) {
	g := dc.guilds[q.path("guild")]
	switch {
	case g == nil:
		return nil, failure(http.StatusNotFound, 10004, "Unknown Guild")
	case g.members[dc.me.ID] == nil:
		return nil, failure(http.StatusForbidden, 50001, "Missing Access")
	}
	return g, nil
}

func (dc *Discord) getGuild(q *dcQuery) (any, *dcError) {
	g, err := dc.guild(q)
	if err != nil {
		return nil, err
	}
	return g.wire(false), nil
}

func (dc *Discord) getGuildChannels(q *dcQuery) (any, *dcError) {
	g, err := dc.guild(q)
	if err != nil {
		return nil, err
	}
	list := []obj{}
	for _, c := range g.channels {
		if !c.isThread() && !c.deleted {
			list = append(list, c.wire())
		}
	}
	return list, nil
}

func (dc *Discord) getRoles(q *dcQuery) (any, *dcError) {
	g, err := dc.guild(q)
	if err != nil {
		return nil, err
	}
	return g.wire(false)["roles"], nil
}

func (dc *Discord) getMember(q *dcQuery) (any, *dcError) {
	g, err := dc.guild(q)
	if err != nil {
		return nil, err
	}
	id := q.path("user")
	switch {
	case dc.users[id] == nil:
		return nil, failure(http.StatusNotFound, 10013, "Unknown User")
	case g.members[id] == nil:
		return nil, failure(http.StatusNotFound, 10007, "Unknown Member")
	}
	return g.members[id].wire(), nil
}

// createThread makes a thread of a channel or message, or a post in a forum,
// whose first message has the id of the thread (Discord, "Channel": start thread
// in forum).
func (dc *Discord) createThread(q *dcQuery) (any, *dcError) {
	c, err := dc.readable(q.path("channel"))
	switch {
	case err != nil:
		return nil, err
	case c.access == DiscordNoSend:
		return nil, failure(http.StatusForbidden, 50013, "Missing Permissions")
	case c.Guild == nil || c.isThread():
		return nil, failure(http.StatusBadRequest, 50024, "Cannot execute action on this channel type")
	}
	id, from := dc.newID(), q.path("message")
	if from != "" {
		m, err := dc.findMessage(q)
		if err != nil {
			return nil, err
		}
		if dc.places[m.id] != nil {
			return nil, failure(http.StatusBadRequest, 160004, "A thread has already been created for this message")
		}
		id = m.id
	}
	f := &form{fields: q.fields}
	name, duration, tags := "", 4320, []string{}
	f.read("name", &name)
	f.length("name", name, 1, 100)
	if f.read("auto_archive_duration", &duration) && !slices.Contains([]int{60, 1440, 4320, 10080}, duration) {
		f.add("auto_archive_duration", "BASE_TYPE_CHOICES", "Value must be one of (60, 1440, 4320, 10080).")
	}
	f.read("applied_tags", &tags)
	f.count("applied_tags", len(tags), 0, 5)
	if c.Type == DiscordForum && !f.has("message") {
		f.add("message", "BASE_TYPE_REQUIRED", "This field is required")
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	if err := c.checkTags(tags); err != nil {
		return nil, err
	}
	t := &DiscordChannel{dc: dc, Guild: c.Guild, Parent: c, Type: DiscordPublicThread, name: name}
	first := &dcMessage{channel: t, author: dc.me}
	if c.Type == DiscordForum {
		if err := q.inner("message").write(first, allMentions()); err != nil {
			return nil, err.under("message")
		}
	}
	t = c.Guild.newChannel(DiscordPublicThread, name, c, id)
	t.autoArchive, t.applied, t.owner = duration, tags, dc.me.ID
	dc.emit("THREAD_CREATE", intentGuilds, t.wire())
	if c.Type != DiscordForum {
		return dcResult{http.StatusCreated, t.wire()}, nil
	}
	first.id = id
	t.post(first)
	wire := t.wire()
	wire["message"] = first.wire()
	return dcResult{http.StatusCreated, wire}, nil
}

func (c *DiscordChannel) checkTags(tags []string) *dcError {
	if c.tagRequired && len(tags) == 0 {
		return failure(http.StatusBadRequest, 40067, "A tag is required to create a forum post in this channel")
	}
	for _, id := range tags {
		if !slices.ContainsFunc(c.tags, func(t DiscordTag) bool { return t.ID == id }) {
			return failure(http.StatusBadRequest, 10087, "Unknown Tag")
		}
	}
	return nil
}
