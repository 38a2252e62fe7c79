package fakechat

import (
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"
)

// Why an interaction was not sent.
var (
	errDisabled  = errors.New("fakechat: the button is disabled")
	errLinkOnly  = errors.New("fakechat: the button only opens a link")
	errNoCommand = errors.New("fakechat: there is no such command here")
)

// Types of interactions (Discord, "Receiving and Responding to Interactions").
const (
	interactionPing         = 1
	interactionCommand      = 2
	interactionComponent    = 3
	interactionAutocomplete = 4
	interactionModal        = 5
)

// DiscordInteraction is what a person did, and what they got for it.
type DiscordInteraction struct {
	dc *Discord
	// ID and Token of the interaction.
	ID, Token string
	// Err says why no interaction was sent: because the button is disabled or a link, or
	// because it is not there, which is also reported as a failure of the test.
	Err error

	kind      int
	user      *dcUser
	installed bool
	channel   *DiscordChannel
	message   *dcMessage // the component's
	data      obj
	created   time.Time
	timer     *time.Timer
	payload   []byte // as it went out
	stamp     string // the timestamp that was signed
	status    int    // what the endpoint answered

	acked     bool
	response  DiscordResponse
	original  *dcMessage // @original
	awaiting  bool       // the first follow-up fills the deferred response
	followups []*dcMessage
	shown     []*dcMessage // all messages, in order of appearance
}

// Click clicks the button with this label.
func (u *DiscordUser) Click(c *DiscordChannel, messageID, label string) *DiscordInteraction {
	u.dc.mu.Lock()
	defer u.dc.mu.Unlock()
	m := c.byID[messageID]
	if m == nil {
		return u.nothing(u.dc.fail("Click: %s never showed a message %s", c.label(), messageID))
	}
	button, ok := m.public().Button(label)
	switch {
	case !ok:
		return u.nothing(u.dc.fail("Click: message %s has no button %q but %q", m.id, label, m.public().Labels()))
	case button.Disabled:
		return u.nothing(errDisabled)
	case button.CustomID == "":
		return u.nothing(errLinkOnly)
	}
	return u.component(c, m, componentButton, button.CustomID, nil)
}

// ClickData clicks a button by its custom_id, also one that the message does not
// show now: a click can be on its way while the bot edits the message.
func (u *DiscordUser) ClickData(c *DiscordChannel, messageID, customID string) *DiscordInteraction {
	return u.choose(c, messageID, componentButton, customID, nil)
}

// Select chooses values of a string select.
func (u *DiscordUser) Select(c *DiscordChannel, messageID, customID string, values ...string) *DiscordInteraction {
	return u.choose(c, messageID, componentSelect, customID, values)
}

func (u *DiscordUser) choose(c *DiscordChannel, messageID string, kind int, customID string, values []string) *DiscordInteraction {
	u.dc.mu.Lock()
	defer u.dc.mu.Unlock()
	m := c.byID[messageID]
	if m == nil {
		return u.nothing(u.dc.fail("%s never showed a message %s", c.label(), messageID))
	}
	return u.component(c, m, kind, customID, values)
}

func (u *DiscordUser) component(c *DiscordChannel, m *dcMessage, kind int, customID string, values []string) *DiscordInteraction {
	data := obj{"component_type": kind, "custom_id": customID}
	if found := findComponent(m.components, customID); found != nil {
		data["id"] = found.ID
	}
	if values != nil {
		data["values"] = values
	}
	return u.interact(interactionComponent, c, m, data)
}

func (u *DiscordUser) nothing(err error) *DiscordInteraction {
	return &DiscordInteraction{dc: u.dc, Err: err, user: u.dc.users[u.ID]}
}

// SubmitModal submits the modal that an interaction of this person was answered
// with. Fields are by custom_id; those that are left out are empty.
func (u *DiscordUser) SubmitModal(opened *DiscordInteraction, fields map[string]string) *DiscordInteraction {
	u.dc.mu.Lock()
	defer u.dc.mu.Unlock()
	modal := opened.response.Modal
	if modal == nil {
		return u.nothing(u.dc.fail("SubmitModal: the interaction opened no modal"))
	}
	filled := maps.Clone(fields)
	components := modal.filled(filled)
	if len(filled) > 0 {
		return u.nothing(u.dc.fail("SubmitModal: the modal has no fields %q", slices.Collect(maps.Keys(filled))))
	}
	return u.interact(interactionModal, opened.channel, opened.message, obj{"custom_id": modal.CustomID, "components": components})
}

// DiscordArgs are the options given to a slash command, by name; values are strings, ints,
// float64s or bools. A subcommand is [DiscordSub].
type DiscordArgs map[string]any

// DiscordSub are the options of a subcommand.
type DiscordSub DiscordArgs

// Slash uses a command that is registered for the guild or globally; in a direct
// message only global ones exist.
func (u *DiscordUser) Slash(c *DiscordChannel, name string, args DiscordArgs) *DiscordInteraction {
	return u.command(interactionCommand, c, name, args, "")
}

// Autocomplete asks for choices for the option that is being typed.
func (u *DiscordUser) Autocomplete(c *DiscordChannel, name string, args DiscordArgs, focused string) *DiscordInteraction {
	return u.command(interactionAutocomplete, c, name, args, focused)
}

func (u *DiscordUser) command(kind int, c *DiscordChannel, name string, args DiscordArgs, focused string) *DiscordInteraction {
	u.dc.mu.Lock()
	defer u.dc.mu.Unlock()
	command := u.dc.findCommand(c.Guild, name)
	if command == nil {
		u.dc.note("%s: no command /%s", c.label(), name)
		return u.nothing(errNoCommand)
	}
	data := obj{"id": command.ID, "name": command.Name, "type": command.Type, "options": command.fill(args, focused)}
	if command.guild != "" {
		data["guild_id"] = command.guild
	}
	return u.interact(kind, c, nil, data)
}

// interact makes an interaction and delivers it.
func (u *DiscordUser) interact(kind int, c *DiscordChannel, m *dcMessage, data obj) *DiscordInteraction {
	dc := u.dc
	i := &DiscordInteraction{
		dc: dc, ID: dc.newID(), Token: interactionToken(), kind: kind, user: dc.users[u.ID], installed: u.installed,
		channel: c, message: m, data: data, created: dc.now(),
	}
	i.timer = time.AfterFunc(dc.opts.AckWindow, func() {
		dc.mu.Lock()
		defer dc.mu.Unlock()
		dc.wake()
	})
	dc.interactions[i.Token], dc.byInteract[i.ID] = i, i
	dc.note("%s: %s interacts: %s", c.label(), i.user.Username, encodeJSON(data))
	i.payload = encodeJSON(i.wire())
	if !dc.endpoint.deliver(dc, i) {
		dc.emitRaw("INTERACTION_CREATE", 0, func(*gwSession) json.RawMessage { return i.payload })
	}
	dc.wake()
	return i
}

// interactionToken is as long as real ones are.
func interactionToken() string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	token := make([]byte, 0, 200)
	for range 200 {
		token = append(token, letters[rand.IntN(len(letters))])
	}
	return string(token)
}

// owners are the installations that brought the interaction: "0" a guild, or
// "0" for its direct messages, "1" a user.
func (i *DiscordInteraction) owners() map[string]string {
	switch {
	case i.installed:
		return map[string]string{"1": i.user.ID}
	case i.channel.Guild == nil:
		return map[string]string{"0": "0"}
	}
	return map[string]string{"0": i.channel.Guild.ID}
}

// wire is Interaction: with member in a guild, with user elsewhere.
func (i *DiscordInteraction) wire() obj {
	c := i.channel
	w := obj{
		"id": i.ID, "application_id": i.dc.opts.ApplicationID, "type": i.kind, "data": i.data, "token": i.Token, "version": 1,
		"channel_id": c.ID, "channel": c.wire(), "locale": "en-US", "entitlements": []obj{}, "attachment_size_limit": 10 << 20,
		"app_permissions": everyonePermissions.wire(), "authorizing_integration_owners": i.owners(), "context": 1,
	}
	if i.message != nil {
		w["message"] = i.message.wire()
	}
	if c.Guild == nil {
		w["user"] = i.user.wire()
		return w
	}
	g := c.Guild
	member := g.members[i.user.ID]
	permissions := g.permissions(member)
	if member == nil {
		member = &dcMember{user: i.user, joined: i.created}
	}
	person := member.wire()
	person["permissions"] = permissions.wire()
	w["member"], w["context"], w["guild_id"], w["guild_locale"] = person, 0, g.ID, "en-US"
	w["guild"] = obj{"id": g.ID, "locale": "en-US", "features": []string{}}
	w["app_permissions"] = g.permissions(g.members[i.dc.me.ID]).wire()
	return w
}

// filled makes the components of a modal submit and takes what it used from
// fields. Labels keep their form, as does the older action row.
func (m *DiscordModal) filled(fields map[string]string) []obj {
	list := []obj{}
	value := func(c *dcComponent) obj {
		text, ok := fields[c.customID()]
		if !ok {
			text = c.Value
		}
		delete(fields, c.customID())
		if c.Type == componentInput {
			return obj{"type": c.Type, "id": c.ID, "custom_id": c.customID(), "value": text}
		}
		return obj{"type": c.Type, "id": c.ID, "custom_id": c.customID(), "values": []string{text}}
	}
	for _, c := range m.components {
		switch {
		case c.Type == componentLabel:
			list = append(list, obj{"type": c.Type, "id": c.ID, "component": value(c.Component)})
		case c.Type == componentRow:
			inner := []obj{}
			for _, child := range c.Components {
				inner = append(inner, value(child))
			}
			list = append(list, obj{"type": c.Type, "id": c.ID, "components": inner})
		default:
			list = append(list, obj{"type": c.Type, "id": c.ID})
		}
	}
	return list
}

func unixStamp(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }
