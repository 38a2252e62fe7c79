package program

import (
	"maps"
	"slices"
)

// Samples gives commands made from the table, for proving it: each row with each of its
// options by itself, and files of names that say what they are ("in.txt" is read,
// "out.txt" written).
func Samples() ([][]string, error) {
	t, err := table()
	if err != nil {
		return nil, err
	}
	var list [][]string
	for _, name := range slices.Sorted(maps.Keys(t.entries)) {
		t.entries[name].samples([]string{name}, &list)
	}
	return list, nil
}

func (e *entry) samples(path []string, list *[][]string) {
	for _, verb := range slices.Sorted(maps.Keys(e.verbs)) {
		e.verbs[verb].samples(append(slices.Clone(path), verb), list)
	}
	if e.verbs != nil || e.globs != nil || e.rule != nil {
		*list = append(*list, path)
		return
	}
	operands := sampleOperands[e.operands]
	*list = append(*list, append(slices.Clone(path), operands...))
	add := func(words ...string) { *list = append(*list, slices.Concat(path, words, operands)) }
	for _, o := range e.spec.Flags {
		add("-" + string(o))
	}
	for _, o := range e.spec.Values {
		add("-"+string(o), sampleValues[e.roles[string(o)]])
	}
	dashes := "--"
	for _, o := range slices.Sorted(maps.Keys(e.spec.Long)) {
		switch {
		case e.spec.Long[o]:
			add(dashes+o, sampleValues[e.roles[o]])
		case e.spec.Optional[o]:
			add(dashes+o+"=1", dashes+o)
		default:
			add(dashes + o)
		}
	}
}

var sampleValues = map[role]string{
	textRole: "1", tellsRole: "in.txt", readsRole: "in.txt", treeRole: "in.txt", repositoryRole: "in.txt",
	makesRole: "new.txt", writesRole: "out.txt",
	projectRole: "in.txt", addressRole: "http://127.0.0.1:1/", insideRole: "dir", buildsRole: "out.txt",
	emptiesRole: "dist", historyRole: "in.txt", changesRole: "in.txt", jqRole: ".", slugRole: "a/b",
}

var sampleOperands = map[role][]string{
	textRole: {"1"}, tellsRole: {"in.txt"}, readsRole: {"in.txt"}, treeRole: {"in.txt", "other.txt"},
	repositoryRole: {"in.txt"}, makesRole: {"new.txt"},
	writesRole: {"out.txt"}, projectRole: {"in.txt"}, addressRole: {"http://127.0.0.1:1/"},
	historyRole: {"--", "in.txt"}, changesRole: {"--", "in.txt"},
}
