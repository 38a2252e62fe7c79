package config

import (
	"reflect"
	"time"

	"go.yaml.in/yaml/v3"

	"approvalbot/internal/approval"
	"approvalbot/internal/platform"
)

// Place is a chat to write to: {channel, to, threadId, timezone}, or channel:to:thread as
// text. It is in normal form.
type Place struct {
	approval.Target
	Timezone string // of its people, as the IANA database names it; empty means UTC
}

func (p *Place) decodeNode(d *decoder, n *yaml.Node, at spot) {
	if n.Kind == yaml.ScalarNode {
		text, tag, ok := d.scalar(n, at)
		if !ok {
			return
		}
		t, err := approval.ParseTarget(text)
		if err != nil || tag != "!!str" && tag != anyTag {
			d.mistake(at.path, "must be a chat with numeric ids, such as %s", examples())
			return
		}
		p.Target = t.Normal()
		return
	}
	var parts struct {
		Channel  string `yaml:"channel" oneof:"platform"`
		To       number `yaml:"to"`
		ThreadID number `yaml:"threadId"`
		Timezone string `yaml:"timezone"`
	}
	before := len(d.mistakes)
	d.decodeStruct(n, reflect.ValueOf(&parts).Elem(), at)
	t := approval.Target{Channel: parts.Channel, To: string(parts.To), ThreadID: string(parts.ThreadID)}
	switch {
	case len(d.mistakes) > before:
	case t.Channel == "":
		d.mistake(at.path, "needs a channel: %s", platform.List("or"))
	case t.ThreadID != "" && !DecimalID.MatchString(t.ThreadID):
		d.mistake(Join(at.path, "threadId"), "must be a thread's numeric id")
	case t.Validate() != nil:
		d.mistake(Join(at.path, "to"), "must be a chat's numeric id (a @name can change hands)%s", dmHint(t.Channel))
	case !knownZone(parts.Timezone):
		d.mistake(Join(at.path, "timezone"), "must be a timezone of the IANA database, such as Europe/Berlin")
	default:
		p.Target, p.Timezone = t.Normal(), parts.Timezone
	}
}

// knownZone reports whether a zone of that name is known, on every machine the same.
func knownZone(name string) bool {
	_, err := time.LoadLocation(name)
	return err == nil && name != "Local"
}

func dmHint(channel string) string {
	if on := platform.ByName(channel); on != nil && on.DM {
		return ", or dm: and a user's id"
	}
	return ""
}

// examples are targets, one of each platform.
func examples() string {
	var out []string
	for _, r := range platform.Rows {
		out = append(out, r.Example)
	}
	return platform.Join(out, "or")
}

// number is the text of an id, which the file may hold without quotes.
type number string

func (x *number) decodeNode(d *decoder, n *yaml.Node, at spot) {
	text, tag, ok := d.scalar(n, at)
	switch {
	case !ok:
	case tag == "!!float":
		d.mistake(at.path, "lost digits because it is a number; write all digits of the id, in quotes")
	case tag != "!!int" && tag != "!!str" && tag != anyTag:
		d.mistake(at.path, "must be a numeric id")
	default:
		*x = number(text)
	}
}

// Updates is the way in which a platform's updates arrive: the word for those that the bot
// fetches, or a block with the one key that the platform has for those that it sends. Both
// are in the platform's row.
type Updates struct {
	Mode      string // the word, or the key: polling, webhook, gateway or interactions
	Webhook   Webhook
	PublicKey string // of interactions
}

// Webhook is the address to which a platform posts its updates.
type Webhook struct {
	URL        string `yaml:"url"`
	Secret     Secret `yaml:"secret"`
	SecretFile string `yaml:"secretFile"`
}

func (u *Updates) decodeNode(d *decoder, n *yaml.Node, at spot) {
	if n.Kind == yaml.ScalarNode || at.on.Pushed == "" {
		at.words = at.on.Pulled
		d.decodeScalar(n, reflect.ValueOf(&u.Mode).Elem(), at)
		return
	}
	var block struct {
		Webhook      Webhook `yaml:"webhook" only:"some"`
		Interactions struct {
			PublicKey string `yaml:"publicKey"`
		} `yaml:"interactions" only:"some"`
	}
	d.decodeStruct(n, reflect.ValueOf(&block).Elem(), at)
	u.Mode, u.Webhook, u.PublicKey = at.on.Pushed, block.Webhook, block.Interactions.PublicKey
}

// Targets are the chats of a list.
func Targets(places []Place) []approval.Target {
	out := make([]approval.Target, len(places))
	for i, p := range places {
		out[i] = p.Target
	}
	return out
}

// Texts gives words, ids or patterns as plain text.
func Texts[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, x := range list {
		out[i] = string(x)
	}
	return out
}
