package discord

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/bwmarrin/discordgo"

	"approvalbot/internal/approval"
)

// Kinds of interactions and of application commands (Interactions, Receiving and
// Responding).
const (
	pingInteraction    = 1
	commandInteraction = 2
	tapInteraction     = 3
	typingInteraction  = 4 // autocomplete
	formInteraction    = 5 // modal submit
	botDM              = 1 // interaction context: the direct messages with the bot
)

// Kinds of messages that a person writes (Resources, Message, Message Types).
const (
	kindDefault = 0
	kindReply   = 19
	isForward   = 1 // message reference type
)

// The parts of Discord's objects that the desk reads. They are its own, since discordgo
// gives up at a component that it does not know: no new or changed field elsewhere may
// keep a tap from being read.
type (
	interaction struct {
		ID      string   `json:"id"`
		App     string   `json:"application_id"`
		Type    int      `json:"type"`
		Token   string   `json:"token"`
		Guild   string   `json:"guild_id"`
		At      string   `json:"channel_id"`
		Channel *channel `json:"channel"`
		Context *int     `json:"context"`
		Member  *member  `json:"member"`
		User    *user    `json:"user"`
		Message *message `json:"message"` // with a tap, and with a form that a tap opened
		Data    data     `json:"data"`
	}
	data struct {
		Name       string          `json:"name"`
		Type       int             `json:"type"`
		CustomID   string          `json:"custom_id"`
		Options    []option        `json:"options"`
		Components json.RawMessage `json:"components"`
	}
	option struct {
		Name    string `json:"name"`
		Value   any    `json:"value"`
		Focused bool   `json:"focused"`
	}
	message struct {
		ID        string                 `json:"id"`
		At        string                 `json:"channel_id"`
		Guild     string                 `json:"guild_id"`
		Type      int                    `json:"type"`
		Author    *user                  `json:"author"`
		Member    *member                `json:"member"`
		Webhook   string                 `json:"webhook_id"`
		App       string                 `json:"application_id"`
		Flags     discordgo.MessageFlags `json:"flags"`
		Content   string                 `json:"content"`
		Mentions  []user                 `json:"mentions"`
		Reference *messageReference      `json:"message_reference"`
		Answered  *message               `json:"referenced_message"`
	}
	messageReference struct {
		Type      int    `json:"type"`
		MessageID string `json:"message_id"`
	}
	member struct {
		User  *user    `json:"user"`
		Roles []string `json:"roles"`
	}
	user struct {
		ID     string `json:"id"`
		Bot    bool   `json:"bot"`
		System bool   `json:"system"`
		Shown  string `json:"global_name"`
		Name   string `json:"username"`
	}
)

// update is one stored action of a person: an interaction, or a message.
type update struct {
	Interaction *interaction `json:"interaction,omitempty"`
	Message     *message     `json:"message,omitempty"`
	broken      error        // why the stored form cannot be read
}

// stored is how an update lies in the inbox: as it came, below its kind.
type stored struct {
	Interaction json.RawMessage `json:"interaction,omitempty"`
	Message     json.RawMessage `json:"message,omitempty"`
}

// readUpdate reads a stored update and says whose it is.
func readUpdate(in approval.Inbound) (u update, person string) {
	if err := json.Unmarshal(in.Body, &u); err != nil || u.Interaction == nil && u.Message == nil {
		return update{broken: fmt.Errorf("the update has an unknown form: %v", err)}, ""
	}
	if u.Interaction != nil {
		return u, u.Interaction.voter().UserID
	}
	return u, u.Message.voter().UserID
}

// option gives a command's option as text.
func (d data) option(name string) string {
	for _, o := range d.Options {
		if o.Name == name {
			s, _ := o.Value.(string)
			return s
		}
	}
	return ""
}

// focused gives the option that is being typed.
func (d data) focused() option {
	for _, o := range d.Options {
		if o.Focused {
			return o
		}
	}
	return option{}
}

// field gives what was written into a form's field. Discord has moved fields
// before (into rows, into labels), so it is looked for at every level.
func (d data) field(customID string) string {
	var tree any
	if json.Unmarshal(d.Components, &tree) != nil {
		return ""
	}
	return findField(tree, customID)
}

func findField(tree any, customID string) string {
	switch node := tree.(type) {
	case []any:
		for _, n := range node {
			if s := findField(n, customID); s != "" {
				return s
			}
		}
	case map[string]any:
		if node["custom_id"] == customID {
			s, _ := node["value"].(string)
			return s
		}
		if s := findField(node["components"], customID); s != "" {
			return s
		}
		return findField(node["component"], customID)
	}
	return ""
}

// forMe reports whether a message is for the bot: in its direct messages, or
// with a mention of it. A forwarded text is another person's word, and messages
// about joins and pins are Discord's own.
func (m *message) forMe(me string) bool {
	switch {
	case m.Author == nil, m.Author.ID == me, m.Type != kindDefault && m.Type != kindReply:
		return false
	case m.Reference != nil && m.Reference.Type == isForward, strings.TrimSpace(m.Content) == "":
		return false
	}
	return m.Guild == "" || slices.ContainsFunc(m.Mentions, func(u user) bool { return u.ID == me })
}

// withoutMention takes a mention of the bot off the beginning or the end of what
// was typed.
func withoutMention(s, me string) (rest string, found bool) {
	s = strings.TrimSpace(s)
	for _, mention := range []string{"<@" + me + ">", "<@!" + me + ">"} {
		if rest, ok := strings.CutPrefix(s, mention); ok {
			return strings.TrimSpace(strings.TrimLeft(rest, " ,:")), true
		}
		if rest, ok := strings.CutSuffix(s, mention); ok {
			return strings.TrimSpace(rest), true
		}
	}
	return s, false
}
