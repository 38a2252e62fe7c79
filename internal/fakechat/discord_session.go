package fakechat

import (
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"time"
)

// DiscordIntents say which events a bot wants (Discord, "Gateway": intents).
type DiscordIntents int

// The intents that the fake has events for, and the privileged ones.
const (
	intentGuilds         DiscordIntents = 1 << 0
	IntentGuildMembers   DiscordIntents = 1 << 1
	IntentGuildPresences DiscordIntents = 1 << 8
	intentGuildMessages  DiscordIntents = 1 << 9
	intentDirectMessages DiscordIntents = 1 << 12
	IntentMessageContent DiscordIntents = 1 << 15

	privilegedIntents = IntentGuildMembers | IntentGuildPresences | IntentMessageContent
	knownIntents      = 1<<26 - 1
)

const identifyTogether = 5 * time.Second

// identify begins a session. It counts against the session start limit; when
// that is used up the token is reset.
func (c *gwConn) identify(data json.RawMessage) {
	var d struct {
		Token      string          `json:"token"`
		Intents    *DiscordIntents `json:"intents"`
		Compress   bool            `json:"compress"`
		Shard      []int           `json:"shard"`
		Properties json.RawMessage `json:"properties"`
	}
	g, dc := &c.dc.gateway, c.dc
	if json.Unmarshal(data, &d) != nil || d.Intents == nil || len(d.Properties) == 0 {
		c.close(4002, "Error while decoding payload.")
		return
	}
	now := dc.now()
	busy := dc.limits.identify.wait(now, dc.limits.Identifies, identifyTogether) > 0
	dc.limits.identify = append(dc.limits.identify, now)
	g.identifies.wait(now, 0, identifyWindow)
	g.identifies = append(g.identifies, now)
	switch {
	case c.session != nil:
		c.close(4005, "Already authenticated.")
	case dc.revoked || trimBot(d.Token) != dc.token:
		c.close(4004, "Authentication failed.")
	case g.refused(c):
	case len(g.identifies) > identifiesPerDay:
		dc.revoke()
	case len(d.Shard) != 0 && (len(d.Shard) != 2 || d.Shard[0] < 0 || d.Shard[0] >= d.Shard[1]):
		c.close(4010, "Invalid shard.")
	case *d.Intents < 0 || *d.Intents&^knownIntents != 0:
		c.close(4013, "Invalid intent(s).")
	case *d.Intents&privilegedIntents&^dc.opts.PrivilegedIntents != 0:
		c.close(4014, "Disallowed intent(s).")
	case busy:
		c.send(opInvalidSession, false)
	default:
		s := &gwSession{id: sessionID(), intents: *d.Intents, conn: c}
		g.sessions[s.id] = s
		c.session, c.compress = s, d.Compress
		g.add(GatewayEvent{Kind: GatewayIdentified, Session: s.id})
		s.ready(dc, d.Shard)
	}
}

// trimBot: libraries send the token with or without "Bot " in front of it.
func trimBot(token string) string {
	const prefix = "Bot "
	if len(token) > len(prefix) && token[:len(prefix)] == prefix {
		return token[len(prefix):]
	}
	return token
}

func sessionID() string {
	id := make([]byte, 16)
	for i := range id {
		id[i] = byte(rand.IntN(256))
	}
	return hex.EncodeToString(id)
}

// ready sends READY, in which guilds are unavailable, and then GUILD_CREATE.
func (s *gwSession) ready(dc *Discord, shard []int) {
	if len(shard) == 0 {
		shard = []int{0, 1}
	}
	guilds := []obj{}
	for _, g := range dc.order {
		guilds = append(guilds, obj{"id": g.ID, "unavailable": true})
	}
	s.dispatch("READY", encodeJSON(obj{
		"v": 10, "user": dc.me.wire(), "guilds": guilds, "session_id": s.id, "resume_gateway_url": "ws" + dc.url[len("http"):] + resumePath,
		"shard": shard, "application": obj{"id": dc.opts.ApplicationID, "flags": dc.applicationFlags()},
		"private_channels": []obj{}, "relationships": []obj{}, "presences": []obj{}, "user_settings": obj{}, "session_type": "normal", "_trace": []string{},
	}))
	if s.intents&intentGuilds == 0 {
		return
	}
	for _, g := range dc.order {
		s.dispatch("GUILD_CREATE", encodeJSON(g.wire(true)))
	}
}

// resume replays what a session missed and then sends RESUMED. One that is not
// there any more is invalid; a sequence number that never was closes with 4007.
func (c *gwConn) resume(data json.RawMessage) {
	var d struct {
		Token   string `json:"token"`
		Session string `json:"session_id"`
		Seq     int    `json:"seq"`
	}
	g := &c.dc.gateway
	if json.Unmarshal(data, &d) != nil {
		c.close(4002, "Error while decoding payload.")
		return
	}
	s := g.sessions[d.Session]
	switch {
	case c.session != nil:
		c.close(4005, "Already authenticated.")
	case c.dc.revoked || trimBot(d.Token) != c.dc.token:
		c.close(4004, "Authentication failed.")
	case g.refused(c):
	case s == nil:
		c.send(opInvalidSession, false)
	case d.Seq > s.seq || d.Seq < 0:
		c.close(4007, "Invalid seq.")
		delete(g.sessions, s.id)
	default:
		if old := s.conn; old != nil {
			old.close(4000, "Unknown error.")
		}
		s.conn, c.session = c, s
		g.add(GatewayEvent{Kind: GatewayResumed, Session: s.id, Resume: c.resuming})
		for _, event := range s.events {
			if event.seq > d.Seq {
				c.dispatch(event.body)
			}
		}
		s.dispatch("RESUMED", encodeJSON(obj{"_trace": []string{}}))
	}
}

// refused closes with the code that a test asked for.
func (g *DiscordGateway) refused(c *gwConn) bool {
	if g.refuseTimes == 0 {
		return false
	}
	if g.refuseTimes > 0 {
		g.refuseTimes--
	}
	c.close(g.refuse, "")
	return true
}

// sessionsLeft is the session start limit: how many IDENTIFY are left, and when
// the oldest one stops counting.
func (g *DiscordGateway) sessionsLeft() (int, time.Duration) {
	now := g.dc.now()
	g.identifies.wait(now, 0, identifyWindow)
	if len(g.identifies) == 0 {
		return identifiesPerDay, 0
	}
	return max(0, identifiesPerDay-len(g.identifies)), g.identifies[0].Add(identifyWindow).Sub(now)
}

// intent is what a bot needs to hear of the messages of a channel.
func (c *DiscordChannel) intent() DiscordIntents {
	if c.Guild == nil {
		return intentDirectMessages
	}
	return intentGuildMessages
}

// broadcast tells the bot of a message, unless only one person sees it. Without
// MESSAGE_CONTENT what people wrote is empty, except in direct messages and messages that
// mention the bot (Discord, "Gateway": message content intent).
func (m *dcMessage) broadcast(event string) {
	dc, c := m.channel.dc, m.channel
	dc.wake()
	if m.flags&flagEphemeral != 0 || c.access == DiscordNoAccess || c.deleted {
		return
	}
	dc.emitRaw(event, c.intent(), func(s *gwSession) json.RawMessage {
		w := m.wire()
		if c.Guild != nil {
			w["guild_id"] = c.Guild.ID
			if member := c.Guild.members[m.author.ID]; member != nil && m.webhookID == "" {
				w["member"] = member.bare()
			}
		}
		if s.intents&IntentMessageContent == 0 {
			m.blank(w)
		}
		return encodeJSON(w)
	})
}

// blank empties what needs MESSAGE_CONTENT: all content, except in the bot's own messages,
// in direct messages, and in messages that mention the bot.
func (m *dcMessage) blank(w obj) {
	me := m.channel.dc.me
	if m.channel.Guild != nil && m.author != me && !mentions(m.content, me.ID) {
		w["content"], w["embeds"], w["components"], w["attachments"] = "", []obj{}, []obj{}, []obj{}
	}
}

// seen is a message as the REST API gives it, blanked in the same way.
func (dc *Discord) seen(m *dcMessage) obj {
	w := m.wire()
	if dc.opts.PrivilegedIntents&IntentMessageContent == 0 {
		m.blank(w)
	}
	return w
}
