package install

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// put writes a target's part into a file's text.
func (o Options) put(text string, t target) (string, error) {
	part := o.fill(t)
	switch t.form {
	case wholeFile:
		return part, nil
	case tomlBlock:
		return putBlock(text, part)
	}
	after, err := appendItem(text, t.list, part)
	if err != nil {
		return "", err
	}
	return after, checkAppended(text, after, t.list, part)
}

// take takes a target's part out of a file's text.
func (o Options) take(text string, t target) (string, bool, error) {
	switch t.form {
	case onlyCopy:
		return text, false, nil
	case wholeFile:
		return "", ours(text, o.Runtime.Name), nil
	case tomlBlock:
		return takeBlock(text)
	}
	return removeItems(text, t.list, func(item string) bool { return ours(item, o.Runtime.Name) })
}

// The lines around a block.
const (
	blockBegin = "# approvalbot: begin (approvalbot uninstall takes it away)\n"
	blockEnd   = "# approvalbot: end\n"
)

// putBlock puts tables at the end of a TOML text, after the tables that are there.
func putBlock(text, tables string) (string, error) {
	var was, added, is map[string]any
	if err := toml.Unmarshal([]byte(text), &was); err != nil {
		return "", tomlError(err)
	}
	gap := ""
	if text != "" {
		gap = "\n"
		if !strings.HasSuffix(text, "\n") {
			gap = "\n\n"
		}
	}
	after := text + gap + blockBegin + tables + blockEnd
	if err := toml.Unmarshal([]byte(after), &is); err != nil {
		return "", fmt.Errorf("its hooks are written so that no table can be added to them (hooks = { … }): "+
			"write them as [[hooks.…]], or add the lines by hand (--print shows them): %w", tomlError(err))
	}
	if err := toml.Unmarshal([]byte(tables), &added); err != nil {
		return "", err
	}
	if !reflect.DeepEqual(is, merged(was, added)) {
		return "", errUnsure
	}
	return after, nil
}

// merged is a document and the tables that were added to it: lists are longer, tables
// have more members.
func merged(was, added map[string]any) map[string]any {
	out := map[string]any{}
	for name, v := range was {
		out[name] = v
	}
	for name, v := range added {
		table, isTable := v.(map[string]any)
		list, isList := v.([]any)
		switch before := out[name].(type) {
		case map[string]any:
			if isTable {
				v = merged(before, table)
			}
		case []any:
			if isList {
				v = append(append([]any{}, before...), list...)
			}
		}
		out[name] = v
	}
	return out
}

// tomlError names the wrong line of a file, and not its content.
func tomlError(err error) error {
	if at, ok := err.(*toml.DecodeError); ok { //nolint:errorlint // the library returns it bare
		row, _ := at.Position()
		return fmt.Errorf("line %d: %s", row, strings.TrimPrefix(at.Error(), "toml: "))
	}
	return err
}

// takeBlock takes the block out of a TOML text, and reports whether there was one.
func takeBlock(text string) (string, bool, error) {
	from := strings.Index(text, blockBegin)
	if from < 0 {
		return text, false, nil
	}
	length := strings.Index(text[from:], blockEnd)
	if length < 0 {
		const gone = "the line %q is gone; take away by hand what approvalbot wrote above it"
		return text, false, fmt.Errorf(gone, strings.TrimSpace(blockEnd))
	}
	before := strings.TrimSuffix(text[:from], "\n")
	if before != "" && !strings.HasSuffix(before, "\n") {
		before += "\n"
	}
	return before + text[from+length+len(blockEnd):], true, nil
}
