package fakechat

import (
	"encoding/json"
	"slices"
	"unicode/utf8"
)

// Types of components (Discord, "Component Reference").
const (
	componentRow       = 1
	componentButton    = 2
	componentSelect    = 3
	componentInput     = 4
	componentChannels  = 8 // 5 to 8 are the other selects
	componentSection   = 9
	componentText      = 10
	componentThumbnail = 11
	componentGallery   = 12
	componentFile      = 13
	componentSeparator = 14
	componentContainer = 17
	componentLabel     = 18
)

const (
	maxRows       = 5
	maxRowButtons = 5
	maxComponents = 40
	maxTexts      = 4000
	styleLink     = 5
	stylePremium  = 6
)

// dcComponent is a component of any type.
type dcComponent struct {
	Type        int             `json:"type"`
	ID          int             `json:"id,omitempty"`
	CustomID    *string         `json:"custom_id,omitempty"`
	Style       int             `json:"style,omitempty"`
	Label       string          `json:"label,omitempty"`
	Description string          `json:"description,omitempty"`
	Emoji       json.RawMessage `json:"emoji,omitempty"`
	URL         string          `json:"url,omitempty"`
	SKU         string          `json:"sku_id,omitempty"`
	Disabled    bool            `json:"disabled,omitempty"`
	Placeholder string          `json:"placeholder,omitempty"`
	Options     []dcOption      `json:"options,omitempty"`
	MinValues   *int            `json:"min_values,omitempty"`
	MaxValues   *int            `json:"max_values,omitempty"`
	MinLength   *int            `json:"min_length,omitempty"`
	MaxLength   *int            `json:"max_length,omitempty"`
	Required    *bool           `json:"required,omitempty"`
	Value       string          `json:"value,omitempty"`
	Content     string          `json:"content,omitempty"`
	Accent      *int            `json:"accent_color,omitempty"`
	Spoiler     bool            `json:"spoiler,omitempty"`
	Divider     *bool           `json:"divider,omitempty"`
	Spacing     int             `json:"spacing,omitempty"`
	Media       json.RawMessage `json:"media,omitempty"`
	File        json.RawMessage `json:"file,omitempty"`
	Items       json.RawMessage `json:"items,omitempty"`
	Components  []*dcComponent  `json:"components,omitempty"`
	Component   *dcComponent    `json:"component,omitempty"`
	Accessory   *dcComponent    `json:"accessory,omitempty"`
}

// dcOption is a choice of a select.
type dcOption struct {
	Label       string `json:"label"`
	Value       string `json:"value"`
	Description string `json:"description,omitempty"`
	Default     bool   `json:"default,omitempty"`
}

func wireComponents(components []*dcComponent) []*dcComponent {
	return append([]*dcComponent{}, components...)
}

func (c *dcComponent) customID() string {
	if c.CustomID == nil {
		return ""
	}
	return *c.CustomID
}

func (c *dcComponent) button() DiscordButton {
	return DiscordButton{Label: c.Label, CustomID: c.customID(), URL: c.URL, Style: c.Style, Disabled: c.Disabled}
}

// children are the components directly inside.
func (c *dcComponent) children() []*dcComponent {
	list := slices.Clone(c.Components)
	for _, one := range []*dcComponent{c.Component, c.Accessory} {
		if one != nil {
			list = append(list, one)
		}
	}
	return list
}

// walk calls visit for all components, the outer before the inner.
func walk(components []*dcComponent, visit func(*dcComponent)) {
	for _, c := range components {
		visit(c)
		walk(c.children(), visit)
	}
}

// findComponent finds an interactive component by its custom_id.
func findComponent(components []*dcComponent, customID string) *dcComponent {
	var found *dcComponent
	walk(components, func(c *dcComponent) {
		if c.CustomID != nil && *c.CustomID == customID {
			found = c
		}
	})
	return found
}

// componentForm checks the components of one message or modal.
type componentForm struct {
	*form
	v2     bool
	total  int
	texts  int
	custom map[string]bool
	ids    map[int]bool
	lastID int
}

// components checks and numbers the components of a message.
func (f *form) components(components []*dcComponent, v2 bool) {
	c := componentForm{form: f, v2: v2, custom: make(map[string]bool), ids: make(map[int]bool)}
	allowed := []int{componentRow}
	if v2 {
		allowed = []int{
			componentRow, componentSection, componentText, componentGallery,
			componentFile, componentSeparator, componentContainer,
		}
	} else {
		f.count("components", len(components), 0, maxRows)
	}
	c.list("components", components, allowed)
	if c.total > maxComponents {
		f.add("components", "COMPONENT_MAX_TOTAL_COMPONENTS_EXCEEDED", "The total number of components must be %d or fewer.", maxComponents)
	}
	if c.texts > maxTexts {
		f.add("components", "COMPONENT_DISPLAYABLE_TEXT_SIZE_EXCEEDED",
			"The total displayable text size exceeds the maximum size of %d", maxTexts)
	}
	c.number(components)
}

func (f *componentForm) list(path string, components []*dcComponent, allowed []int) {
	for i, c := range components {
		f.one(index(path, i), c, allowed)
	}
}

func (f *componentForm) one(path string, c *dcComponent, allowed []int) {
	switch {
	case c == nil:
		f.add(path, "DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType")
		return
	case !slices.Contains(allowed, c.Type):
		f.add(path+".type", "BASE_TYPE_CHOICES", "Value must be one of %v.", allowed)
		return
	}
	f.total++
	if c.ID != 0 && f.ids[c.ID] {
		f.add(path+".id", "COMPONENT_ID_DUPLICATED", "Component id cannot be duplicated")
	}
	f.ids[c.ID] = true
	switch c.Type {
	case componentRow:
		f.row(path, c)
	case componentButton:
		f.button(path, c)
	case componentSection:
		f.count(path+".components", len(c.Components), 1, 3)
		f.list(path+".components", c.Components, []int{componentText})
		f.one(path+".accessory", c.Accessory, []int{componentButton, componentThumbnail})
	case componentText:
		f.length(path+".content", c.Content, 1, maxTexts)
		f.texts += utf8.RuneCountInString(c.Content)
	case componentContainer:
		f.list(path+".components", c.Components, []int{
			componentRow, componentSection, componentText, componentGallery, componentFile, componentSeparator,
		})
	case componentLabel:
		f.length(path+".label", c.Label, 1, 45)
		f.length(path+".description", c.Description, 0, 100)
		f.one(path+".component", c.Component, []int{componentSelect, componentInput, 5, 6, 7, componentChannels})
	case componentInput:
		f.input(path, c)
	case componentSelect, 5, 6, 7, componentChannels:
		f.menu(path, c)
	}
}

// row holds one to five buttons, or one select.
func (f *componentForm) row(path string, c *dcComponent) {
	f.count(path+".components", len(c.Components), 1, maxRowButtons)
	menu := slices.ContainsFunc(c.Components,
		func(c *dcComponent) bool { return c != nil && c.Type >= componentSelect && c.Type <= componentChannels })
	if menu && len(c.Components) > 1 {
		f.add(path+".components", "COMPONENT_LAYOUT_WIDTH_EXCEEDED", "The specified component exceeds the maximum width")
	}
	f.list(path+".components", c.Components, []int{componentButton, componentSelect, 5, 6, 7, componentChannels})
}

func (f *componentForm) button(path string, c *dcComponent) {
	f.length(path+".label", c.Label, 0, 80)
	switch {
	case c.Style < 1 || c.Style > stylePremium:
		f.add(path+".style", "BASE_TYPE_CHOICES", "Value must be one of (1, 2, 3, 4, 5, 6).")
	case c.Style == stylePremium:
		return
	case c.Style == styleLink:
		f.length(path+".url", c.URL, 1, 512)
		f.link(path+".url", c.URL, "http", "https", "discord")
		if c.CustomID != nil {
			f.add(path, "BUTTON_COMPONENT_CUSTOM_ID_URL_MUTUALLY_EXCLUSIVE", "A custom id and url cannot both be specified")
		}
	default:
		f.customIDs(path, c)
		if c.URL != "" {
			f.add(path, "BUTTON_COMPONENT_CUSTOM_ID_URL_MUTUALLY_EXCLUSIVE", "A custom id and url cannot both be specified")
		}
	}
	if c.Label == "" && c.Emoji == nil {
		f.add(path, "BUTTON_COMPONENT_LABEL_EMOJI_REQUIRED", "A label or emoji is required")
	}
}

func (f *componentForm) menu(path string, c *dcComponent) {
	f.customIDs(path, c)
	f.length(path+".placeholder", c.Placeholder, 0, 150)
	if c.Type != componentSelect {
		return
	}
	f.count(path+".options", len(c.Options), 1, 25)
	for i, o := range c.Options {
		f.length(index(path+".options", i, "label"), o.Label, 1, 100)
		f.length(index(path+".options", i, "value"), o.Value, 1, 100)
		f.length(index(path+".options", i, "description"), o.Description, 0, 100)
	}
}

func (f *componentForm) input(path string, c *dcComponent) {
	f.customIDs(path, c)
	f.length(path+".placeholder", c.Placeholder, 0, 100)
	f.length(path+".value", c.Value, 0, 4000)
	if c.Style != 1 && c.Style != 2 {
		f.add(path+".style", "BASE_TYPE_CHOICES", "Value must be one of (1, 2).")
	}
	if c.MaxLength != nil && (*c.MaxLength < 1 || *c.MaxLength > 4000) {
		f.add(path+".max_length", "NUMBER_TYPE_MAX", "int value should be less than or equal to 4000.")
	}
}

// customIDs are 1 to 100 characters and unique in the message.
func (f *componentForm) customIDs(path string, c *dcComponent) {
	id := c.customID()
	f.length(path+".custom_id", id, 1, 100)
	if id != "" && f.custom[id] {
		f.add(path+".custom_id", "COMPONENT_CUSTOM_ID_DUPLICATED", "Component custom id cannot be duplicated")
	}
	f.custom[id] = true
}

// number gives ids to the components without one.
func (f *componentForm) number(components []*dcComponent) {
	if len(f.errors) > 0 {
		return // some may be missing
	}
	walk(components, func(c *dcComponent) {
		for c.ID == 0 {
			f.lastID++
			if !f.ids[f.lastID] {
				c.ID = f.lastID
			}
		}
	})
}
