package core

import (
	"cmp"
	"slices"
	"strings"

	"approvalbot/display"
)

// headline is the card's first line: what the call does, and where. It is the same
// while the call is known and after it is gone.
func headline(a Approval, payload []Fact) string {
	what := a.Summary
	if len(payload) > 0 {
		what = about(a.ToolName, payload, a.Bind, maxSummary)
	}
	return clipped(toolPrefix(a.ToolName)+what, maxHeadline)
}

// Headline is a card's first line, from what is kept of every call.
func (a Approval) Headline() string { return headline(a, nil) }

// toolPrefix names the tool where what it is called with does not tell.
func toolPrefix(tool string) string {
	if tool == "exec" {
		return ""
	}
	return clipped(display.Escape(tool), maxPlace) + " · "
}

// about says a call on one line of at most n characters, without the tool's name.
// What it does comes first, then where, within what a phone's notification shows;
// then all the rest.
func about(tool string, payload []Fact, b *Bind, n int) string {
	// Every call has a first one: exec its command, others a parameter or "params: none".
	rest := slices.DeleteFunc(bySalience(tool, payload), func(f Fact) bool { return f.Own })
	what := fieldText(rest[0])
	if tool == "exec" {
		what = rest[0].Line()
	}
	where := strings.Join(places(tool, payload, b), " ")
	if where != "" {
		room := maxNotice - charCount(toolPrefix(tool)) - charCount(where) - len(" · ")
		what = clipped(what, max(room, maxField/2))
	}
	parts := []string{what, where}
	for _, f := range rest[1:] {
		if tool != "exec" || f.Name != "workdir" && f.Name != "host" {
			parts = append(parts, fieldText(f))
		}
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return clipped(strings.Join(parts, " · "), n)
}

// places says where a call runs, as far as the desk knows: "in /srv/app on prod-1".
// For any other tool than exec that is what it is bound to: what its parameters mean,
// only the tool knows.
func places(tool string, payload []Fact, b *Bind) []string {
	var out []string
	add := func(word, place string) {
		if s := word + " " + clipped(display.OneLine(place), maxPlace); place != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	workdir, host, _ := b.Fields()
	of := func(name string) string {
		i := slices.IndexFunc(payload, func(f Fact) bool { return tool == "exec" && !f.Own && f.Name == name })
		if i < 0 {
			return ""
		}
		return payload[i].Value
	}
	add("in", of("workdir"))
	add("in", display.Safe(workdir))
	add("on", of("host"))
	add("on", display.Safe(host))
	return out
}

// salientNames are the parameters that say most, the most telling first: what is touched or
// who is reached, then by what.
var salientNames = []string{
	"to", "recipient", "recipients", "target", "channel", "chat",
	"path", "file", "filepath", "filename", "directory", "dir", "cwd", "workdir",
	"url", "uri", "endpoint", "host", "hostname", "server", "address",
	"repo", "repository", "remote", "branch", "database", "table", "bucket",
	"command", "cmd", "action", "method", "amount", "currency", "subject", "title", "query", "sql", "name", "id",
}

func salience(f Fact) int {
	name := strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(f.Name))
	if i := slices.Index(salientNames, name); i >= 0 && !f.Own {
		return i
	}
	return len(salientNames)
}

// bySalience puts the facts of a call in the order in which they say most: the telling
// parameters, then the short ones before the long. Those of exec are in order.
func bySalience(tool string, payload []Fact) []Fact {
	out := slices.Clone(payload)
	if tool == "exec" {
		return out
	}
	long := func(f Fact) int {
		if charCount(f.Value) > maxField {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(out, func(a, b Fact) int {
		return cmp.Or(cmp.Compare(salience(a), salience(b)), cmp.Compare(long(a), long(b)))
	})
	return out
}

// fieldText is a parameter in a headline.
func fieldText(f Fact) string {
	value := f.Line()
	if salience(f) < len(salientNames) {
		value = clipped(value, maxField)
	}
	return clipped(f.Name, maxPlace) + ": " + value
}

// Line writes the whole call on one line, for API answers.
func Line(tool string, payload []Fact) string {
	parts := make([]string, 0, len(payload))
	for _, f := range bySalience(tool, payload) {
		if tool == "exec" && f.Name == "command" {
			parts = append(parts, f.Line())
			continue
		}
		parts = append(parts, f.Name+": "+f.Line())
	}
	return strings.Join(parts, " · ")
}
