package config

import (
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// OverridePrefix starts the names of environment variables that override keys:
// APPROVALBOT_CFG__SERVER__LISTEN is server.listen.
const OverridePrefix = "APPROVALBOT_CFG__"

// KeyOverride is the value of an environment variable or a flag that replaces a
// key's.
type KeyOverride struct {
	Key  string // dotted path; letter case does not count
	Text string // lists and blocks as YAML; ${NAME} in it is not replaced
	Name string // of the variable or flag
}

// Overrides are put over the document one after the other: a block comes before the keys in it.
type Overrides struct {
	Keys     []KeyOverride
	Mistakes Mistakes // in the way in which they are given
}

func (d *decoder) mergeOverrides(root *yaml.Node, over Overrides) {
	d.mistakes = append(d.mistakes, over.Mistakes...)
	for _, o := range over.Keys {
		d.set(root, strings.ToLower(o.Key), o.Text, o.Name)
	}
}

// set puts the text of one override into the document.
func (d *decoder) set(root *yaml.Node, key, text, name string) {
	path, t, ok := findKey(reflect.TypeFor[Config](), strings.Split(key, "."))
	if !ok {
		d.mistakes = append(d.mistakes, Mistake{Key: key, Text: "unknown key", Where: Position{Source: name}})
		return
	}
	value, err := overrideNode(t, text)
	if err != nil {
		d.mistakes = append(d.mistakes, Mistake{Key: strings.Join(path, "."), Text: "must be given as YAML", Where: Position{Source: name}})
		return
	}
	d.override[value] = name
	n := root
	for i, k := range path {
		if n.Kind == yaml.AliasNode {
			n = n.Alias
		}
		if n.Kind != yaml.MappingNode { // a mistake of the document, reported there
			return
		}
		if i == len(path)-1 {
			setKey(n, k, value)
			return
		}
		n = blockAt(n, k)
	}
}

// overrideNode makes the node for an override's text: literal if the type is
// text, else read as YAML.
func overrideNode(t reflect.Type, text string) (*yaml.Node, error) {
	if t.Kind() == reflect.String {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}, nil
	}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) == 0 {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str"}, nil
	}
	return doc.Content[0], nil
}

// setKey sets the value of a key, at its place in the mapping. Overrides do not
// know the case of keys that are not ours, such as HTTP headers.
func setKey(n *yaml.Node, key string, value *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if strings.EqualFold(n.Content[i].Value, key) {
			n.Content[i+1] = value
			return
		}
	}
	n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, value)
}

// blockAt gives the block under a key, and creates it if it is missing.
func blockAt(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key && n.Content[i+1].ShortTag() != "!!null" {
			return n.Content[i+1]
		}
	}
	block := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	setKey(n, key, block)
	return block
}
