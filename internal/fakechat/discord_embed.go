package fakechat

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of messages (Discord, "Message": create message, embed limits).
const (
	maxContent   = 2000
	maxEmbeds    = 10
	maxEmbedText = 6000
	maxNonce     = 25
)

// dcEmbed is an embed on the wire.
type dcEmbed struct {
	Type        string          `json:"type"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	URL         string          `json:"url,omitempty"`
	Color       *int            `json:"color,omitempty"`
	Timestamp   string          `json:"timestamp,omitempty"`
	Footer      *dcEmbedFooter  `json:"footer,omitempty"`
	Author      *dcEmbedAuthor  `json:"author,omitempty"`
	Fields      []DiscordField  `json:"fields,omitempty"`
	Image       json.RawMessage `json:"image,omitempty"`
	Thumbnail   json.RawMessage `json:"thumbnail,omitempty"`
}

type dcEmbedFooter struct {
	Text string `json:"text"`
	Icon string `json:"icon_url,omitempty"`
}

type dcEmbedAuthor struct {
	Name string `json:"name"`
	URL  string `json:"url,omitempty"`
	Icon string `json:"icon_url,omitempty"`
}

// DiscordField is a field of an embed.
type DiscordField struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Inline bool   `json:"inline"`
}

// DiscordEmbed is an embed as people see it.
type DiscordEmbed struct {
	Title, Description, URL, Footer, Author string
	Color                                   int
	Fields                                  []DiscordField
}

func (e *dcEmbed) public() DiscordEmbed {
	p := DiscordEmbed{Title: e.Title, Description: e.Description, URL: e.URL, Fields: slices.Clone(e.Fields)}
	if e.Color != nil {
		p.Color = *e.Color
	}
	if e.Footer != nil {
		p.Footer = e.Footer.Text
	}
	if e.Author != nil {
		p.Author = e.Author.Name
	}
	return p
}

func (e DiscordEmbed) lines() []string {
	lines := []string{e.Author, e.Title, e.Description}
	for _, f := range e.Fields {
		lines = append(lines, f.Name, f.Value)
	}
	return append(lines, e.Footer)
}

// embeds checks all embeds of a message; together they have at most 6000
// characters.
func (f *form) embeds(path string, embeds []*dcEmbed) {
	f.count(path, len(embeds), 0, maxEmbeds)
	total := 0
	for i, e := range embeds {
		if e == nil {
			f.add(index(path, i), "DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType")
			continue
		}
		f.embed(index(path, i), e)
		total += utf8.RuneCountInString(strings.Join(e.public().lines(), ""))
	}
	if total > maxEmbedText {
		f.add(path, "MAX_EMBED_SIZE_EXCEEDED", "Embed size exceeds maximum size of %d", maxEmbedText)
	}
}

func (f *form) embed(path string, e *dcEmbed) {
	e.Type, e.Title, e.Description = "rich", strings.TrimSpace(e.Title), strings.TrimSpace(e.Description)
	f.length(path+".title", e.Title, 0, 256)
	f.length(path+".description", e.Description, 0, 4096)
	f.count(path+".fields", len(e.Fields), 0, 25)
	for i := range e.Fields {
		field := &e.Fields[i]
		field.Name, field.Value = strings.TrimSpace(field.Name), strings.TrimSpace(field.Value)
		f.length(index(path+".fields", i, "name"), field.Name, 1, 256)
		f.length(index(path+".fields", i, "value"), field.Value, 1, 1024)
	}
	if e.Footer != nil {
		f.length(path+".footer.text", e.Footer.Text, 0, 2048)
	}
	if e.Author != nil {
		f.length(path+".author.name", e.Author.Name, 0, 256)
	}
	if e.URL != "" {
		f.link(path+".url", e.URL, "http", "https")
	}
	if e.Color != nil && (*e.Color < 0 || *e.Color > 0xffffff) {
		f.add(path+".color", "NUMBER_TYPE_MAX", "int value should be less than or equal to 16777215.")
	}
}

// dcMentions is allowed_mentions.
type dcMentions struct {
	Parse       []string `json:"parse"`
	Users       []string `json:"users"`
	Roles       []string `json:"roles"`
	RepliedUser bool     `json:"replied_user"`
	everyone    bool
}

// allMentions are the defaults of ordinary messages, userMentions those of
// interactions and webhooks (Discord, "Message": allowed mentions).
func allMentions() dcMentions  { return dcMentions{Parse: []string{"users", "roles"}, everyone: true} }
func userMentions() dcMentions { return dcMentions{Parse: []string{"users"}} }

func (a dcMentions) allows(kind string) func(id string) bool {
	list := a.Users
	if kind == "roles" {
		list = a.Roles
	}
	return func(id string) bool { return slices.Contains(a.Parse, kind) || slices.Contains(list, id) }
}

// mentions reads allowed_mentions. A kind in parse excludes the list of it.
func (f *form) mentions(fallback dcMentions) dcMentions {
	var allowed dcMentions
	if raw, ok := f.fields["allowed_mentions"]; !ok || string(raw) == "null" {
		return fallback
	}
	f.read("allowed_mentions", &allowed)
	for i, kind := range allowed.Parse {
		if !slices.Contains([]string{"users", "roles", "everyone"}, kind) {
			f.add(index("allowed_mentions.parse", i), "BASE_TYPE_CHOICES", "Value must be one of ('users', 'roles', 'everyone').")
		}
	}
	for kind, list := range map[string][]string{"users": allowed.Users, "roles": allowed.Roles} {
		f.count("allowed_mentions."+kind, len(list), 0, 100)
		if len(list) > 0 && slices.Contains(allowed.Parse, kind) {
			f.add("allowed_mentions", "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE", "parse:[%q] and %s: [ids...] are mutually exclusive.", kind, kind)
		}
	}
	allowed.everyone = slices.Contains(allowed.Parse, "everyone")
	return allowed
}
