package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"approvalbot/internal/display"
)

// output is the flag -o: the form in which a verb prints its answer for programs.
type output struct{ app *App }

// The forms of -o.
const (
	asJSON = "json"
	asYAML = "yaml"
	asName = "name"
)

// Formats is the flag -o of an App.
func (a *App) Formats() *output { return &output{a} }

// String implements pflag.Value.
func (o *output) String() string { return "" }

// Type implements pflag.Value.
func (o *output) Type() string { return "FORM" }

// Set implements pflag.Value.
func (o *output) Set(form string) error {
	if form != asJSON && form != asYAML && form != asName {
		return errors.New("it must be json, yaml or name")
	}
	o.app.JSON, o.app.form = true, form
	return nil
}

// PrintJSON writes v as the API writes it, indented, or in the form that -o names.
func (a *App) PrintJSON(v any) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	var err error
	switch a.form {
	case asYAML:
		err = toYAML(&text)
	case asName:
		err = toNames(&text)
	}
	if err != nil {
		return err
	}
	_, err = a.Stdout.Write(text.Bytes())
	return err
}

// toYAML makes YAML of JSON, with its members in their order.
func toYAML(text *bytes.Buffer) error {
	var doc yaml.Node
	if err := yaml.Unmarshal(text.Bytes(), &doc); err != nil {
		return err
	}
	unstyle(&doc)
	text.Reset()
	enc := yaml.NewEncoder(text)
	enc.SetIndent(2)
	return errors.Join(enc.Encode(&doc), enc.Close())
}

// unstyle takes the braces and quotes of JSON away if YAML does not need them.
func unstyle(n *yaml.Node) {
	n.Style = 0
	for _, c := range n.Content {
		unstyle(c)
	}
}

// nameMembers are by which a thing is called, the first that it has: a person types that.
var nameMembers = []string{"code", "name", "id", "sessionKey", "person", "seq", "kid", "riskClass"}

// toNames makes of JSON the names of what it lists, or of what it is, one a line.
func toNames(text *bytes.Buffer) error {
	dec := json.NewDecoder(text)
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return err
	}
	names, ok := namesOf(v)
	if !ok {
		return errors.New("the output of this command has no names; use -o json or -o yaml")
	}
	text.Reset()
	for _, n := range names {
		fmt.Fprintln(text, n)
	}
	return nil
}

func namesOf(v any) (names []string, ok bool) {
	switch v := v.(type) {
	case nil: // an empty list
		return nil, true
	case []any:
		for _, item := range v {
			more, named := namesOf(item)
			if !named {
				return nil, false
			}
			names = append(names, more...)
		}
		return names, true
	case string:
		return []string{display.Escape(v)}, true
	case map[string]any:
		for _, member := range nameMembers {
			if name := strings.TrimSpace(fmt.Sprint(v[member])); v[member] != nil && name != "" {
				return []string{display.Escape(name)}, true
			}
		}
		for _, list := range []string{"items", "rosters", "classes", "results", "keys"} {
			if of, has := v[list]; has {
				return namesOf(of)
			}
		}
	}
	return nil, false
}
