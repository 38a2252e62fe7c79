package fakechat

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of commands (Discord, "Application Commands").
const (
	maxCommands       = 100
	maxCommandText    = 8000
	maxCommandOptions = 25
)

var commandName = regexp.MustCompile(`^[-_'\p{L}\p{N}\p{Devanagari}\p{Thai}]{1,32}$`)

// dcCommand is a registered command.
type dcCommand struct {
	ID          string            `json:"id"`
	Type        int               `json:"type"`
	Name        string            `json:"name"`
	Description string            `json:"description"`
	Options     []dcCommandOption `json:"options,omitempty"`
	Permissions *string           `json:"default_member_permissions"`
	Contexts    json.RawMessage   `json:"contexts,omitempty"`
	Installs    json.RawMessage   `json:"integration_types,omitempty"`
	Application string            `json:"application_id"`
	Version     string            `json:"version"`
	GuildID     string            `json:"guild_id,omitempty"`
	guild       string
}

type dcCommandOption struct {
	Type         int               `json:"type"`
	Name         string            `json:"name"`
	Description  string            `json:"description"`
	Required     bool              `json:"required,omitempty"`
	Choices      json.RawMessage   `json:"choices,omitempty"`
	Options      []dcCommandOption `json:"options,omitempty"`
	MinLength    *int              `json:"min_length,omitempty"`
	MaxLength    *int              `json:"max_length,omitempty"`
	MinValue     json.RawMessage   `json:"min_value,omitempty"`
	MaxValue     json.RawMessage   `json:"max_value,omitempty"`
	Autocomplete bool              `json:"autocomplete,omitempty"`
}

// Commands are the names of the commands of a guild, or with nil of the global
// ones.
func (dc *Discord) Commands(g *DiscordGuild) []string {
	dc.mu.Lock()
	defer dc.mu.Unlock()
	id := ""
	if g != nil {
		id = g.ID
	}
	var names []string
	for _, c := range dc.commandsOf(id) {
		names = append(names, c.Name)
	}
	return names
}

func (dc *Discord) commandsOf(guild string) []*dcCommand {
	list := []*dcCommand{}
	for _, c := range dc.commands {
		if c.guild == guild {
			list = append(list, c)
		}
	}
	return list
}

// findCommand prefers the command of the guild to the global one.
func (dc *Discord) findCommand(g *DiscordGuild, name string) *dcCommand {
	var found *dcCommand
	for _, c := range dc.commands {
		if c.Name == name && (c.guild == "" && found == nil || g != nil && c.guild == g.ID) {
			found = c
		}
	}
	return found
}

func (dc *Discord) commandScope(q *dcQuery) (string, *dcError) {
	guild := q.path("guild")
	switch {
	case q.path("application") != dc.opts.ApplicationID:
		return "", failure(http.StatusForbidden, 20012, "You are not authorized to perform this action on this application")
	case guild == "":
		return "", nil
	}
	_, err := dc.guild(q)
	return guild, err
}

func (dc *Discord) getCommands(q *dcQuery) (any, *dcError) {
	guild, err := dc.commandScope(q)
	if err != nil {
		return nil, err
	}
	return dc.commandsOf(guild), nil
}

// putCommands replaces all commands of the scope; those that keep their name
// keep their id and do not count as created.
func (dc *Discord) putCommands(q *dcQuery) (any, *dcError) {
	guild, err := dc.commandScope(q)
	if err != nil {
		return nil, err
	}
	f := &form{}
	var list []*dcCommand
	if json.Unmarshal(q.raw, &list) != nil || slices.Contains(list, nil) {
		return nil, invalidForm("", "LIST_TYPE_CONVERT", "Only iterables may be used in a ListType")
	}
	seen := make(map[string]bool)
	for i, c := range list {
		f.command(fmt.Sprint(i), c)
		if key := fmt.Sprint(c.Type, " ", c.Name); seen[key] {
			f.add(fmt.Sprint(i), "APPLICATION_COMMANDS_DUPLICATE_NAME", "Application command names must be unique")
		} else {
			seen[key] = true
		}
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	if err := dc.register(guild, list); err != nil {
		return nil, err
	}
	dc.commands = slices.DeleteFunc(dc.commands, func(c *dcCommand) bool { return c.guild == guild })
	dc.commands = append(dc.commands, list...)
	return dc.commandsOf(guild), nil
}

// register gives ids and counts what is new.
func (dc *Discord) register(guild string, list []*dcCommand) *dcError {
	old := dc.commandsOf(guild)
	if len(list) > maxCommands {
		return failure(http.StatusBadRequest, 30032, "Maximum number of application commands reached (100)")
	}
	created := 0
	for _, c := range list {
		same := slices.IndexFunc(old, func(o *dcCommand) bool { return o.Name == c.Name && o.Type == c.Type })
		c.ID = ""
		if same >= 0 {
			c.ID = old[same].ID
		} else {
			created++
		}
	}
	if err := dc.limits.takeCommands(dc.now(), guild, created); err != nil {
		return err
	}
	for _, c := range list {
		if c.ID == "" {
			c.ID = dc.newID()
		}
		c.Version, c.Application, c.GuildID, c.guild = dc.newID(), dc.opts.ApplicationID, guild, guild
	}
	return nil
}

// postCommand creates a command, or overwrites that of the same name.
func (dc *Discord) postCommand(q *dcQuery) (any, *dcError) {
	guild, err := dc.commandScope(q)
	if err != nil {
		return nil, err
	}
	f, c := &form{}, &dcCommand{}
	if json.Unmarshal(q.raw, c) != nil {
		return nil, invalidForm("", "DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType")
	}
	f.command("", c)
	if err := f.err(); err != nil {
		return nil, err
	}
	rest := slices.DeleteFunc(dc.commandsOf(guild), func(o *dcCommand) bool { return o.Name == c.Name && o.Type == c.Type })
	if len(rest) >= maxCommands {
		return nil, failure(http.StatusBadRequest, 30032, "Maximum number of application commands reached (100)")
	}
	if err := dc.register(guild, []*dcCommand{c}); err != nil {
		return nil, err
	}
	status := http.StatusCreated
	dc.commands = slices.DeleteFunc(dc.commands, func(o *dcCommand) bool {
		if o.ID == c.ID {
			status = http.StatusOK
		}
		return o.ID == c.ID
	})
	dc.commands = append(dc.commands, c)
	return dcResult{status, c}, nil
}

func (dc *Discord) deleteCommand(q *dcQuery) (any, *dcError) {
	guild, err := dc.commandScope(q)
	if err != nil {
		return nil, err
	}
	n := len(dc.commands)
	dc.commands = slices.DeleteFunc(dc.commands, func(c *dcCommand) bool { return c.guild == guild && c.ID == q.path("command") })
	if len(dc.commands) == n {
		return nil, failure(http.StatusNotFound, 10063, "Unknown application command")
	}
	return nil, nil
}

// command checks a command; only those of type CHAT_INPUT have the rules of
// names and a description.
func (f *form) command(path string, c *dcCommand) {
	if c.Type == 0 {
		c.Type = 1
	}
	if c.Type != 1 {
		f.length(below(path, "name"), c.Name, 1, 32)
		return
	}
	f.commandName(below(path, "name"), c.Name)
	f.length(below(path, "description"), c.Description, 1, 100)
	if total := f.commandOptions(below(path, "options"), c.Options) + utf8.RuneCountInString(c.Name+c.Description); total > maxCommandText {
		f.add(path, "APPLICATION_COMMAND_TOO_LARGE", "Command exceeds maximum size (%d)", maxCommandText)
	}
}

func below(path, name string) string { return strings.TrimPrefix(path+"."+name, ".") }

func (f *form) commandName(path, name string) {
	if !commandName.MatchString(name) || strings.ToLower(name) != name {
		f.add(path, "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid")
	}
}

// commandOptions returns the number of characters; required options come first.
func (f *form) commandOptions(path string, options []dcCommandOption) (total int) {
	f.count(path, len(options), 0, maxCommandOptions)
	optional := false
	seen := make(map[string]bool)
	for i, o := range options {
		at := index(path, i)
		f.commandName(at+".name", o.Name)
		f.length(at+".description", o.Description, 1, 100)
		switch {
		case seen[o.Name]:
			f.add(at, "APPLICATION_COMMAND_OPTIONS_NAME_INVALID", "Option name already exists")
		case o.Type < 1 || o.Type > 11:
			f.add(at+".type", "BASE_TYPE_CHOICES", "Value must be one of (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11).")
		case o.Required && optional:
			f.add(at, "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID", "Required options must be placed before non-required options")
		}
		seen[o.Name] = true
		optional = optional || !o.Required
		total += utf8.RuneCountInString(o.Name+o.Description) + f.commandOptions(at+".options", o.Options)
	}
	return total
}

// fill makes the options of an interaction from what a person typed, in the
// order of the command; options it does not have are dropped.
func (c *dcCommand) fill(args DiscordArgs, focused string) []obj {
	return fillOptions(c.Options, args, focused)
}

func fillOptions(options []dcCommandOption, args map[string]any, focused string) []obj {
	list := []obj{}
	for _, o := range options {
		value, ok := args[o.Name]
		if !ok {
			continue
		}
		wire := obj{"name": o.Name, "type": o.Type}
		if sub, ok := value.(DiscordSub); ok {
			wire["options"] = fillOptions(o.Options, sub, focused)
		} else {
			wire["value"] = value
		}
		if o.Name == focused {
			wire["focused"] = true
		}
		list = append(list, wire)
	}
	return list
}
