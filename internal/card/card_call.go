package card

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"approvalbot/internal/approval"
	"approvalbot/internal/display"
)

// Limits of a call on one line, in characters.
const (
	MaxHeadline = 220 // of what stands for a call in lists
	MaxNotice   = 100 // what of it a phone's notification shows
	maxPlace    = 40  // of that, for each place that the call is bound to
	maxField    = 60  // of that, for each parameter
	MaxSummary  = 500
	maxWhere    = 100 // of a place on a card
)

// PayloadFacts gives the whole call as people see it: redacted and escaped.
func PayloadFacts(call approval.Call) ([]Fact, error) {
	if call.ToolName == "exec" {
		if e, bad := call.ParseExec(); len(bad) == 0 {
			return append(execFacts(e), boundFacts(call.Bind)...), nil
		}
	}
	if facts := questionFacts(call); facts != nil {
		return append(facts, boundFacts(call.Bind)...), nil
	}
	fields, err := display.Params(call.Params)
	if err != nil {
		return nil, err
	}
	out := make([]Fact, 0, len(fields)+1)
	for _, f := range fields {
		out = append(out, Fact{Name: f.Name, Value: f.Value})
	}
	if len(out) == 0 {
		out = append(out, Fact{Name: "params", Value: "none"})
	}
	return append(out, boundFacts(call.Bind)...), nil
}

// What a call is bound to, as its facts name it.
const (
	boundDir  = "bound to directory"
	boundHost = "bound to host"
)

// facts are the bounds of a call: where it runs is part of what runs.
func boundFacts(b *approval.Bind) []Fact {
	var out []Fact
	add := func(name, value string) {
		if value != "" {
			out = append(out, Fact{Name: name, Value: display.Safe(value), Own: true})
		}
	}
	workdir, host, envHash := b.Fields()
	add(boundDir, workdir)
	add(boundHost, host)
	add("bound to environment", envHash)
	return out
}

func execFacts(e approval.Exec) []Fact {
	out := []Fact{{Name: "command", Value: e.Block()}}
	add := func(name, value string) {
		if value != "" {
			out = append(out, Fact{Name: name, Value: display.Safe(value)})
		}
	}
	add("workdir", e.Workdir)
	for _, k := range sortedKeys(e.Env) {
		out = append(out, Fact{Name: "env", Value: display.Safe(k + "=" + e.Env[k])})
	}
	add("host", e.Host)
	if e.TimeoutMs > 0 {
		add("timeout", fmt.Sprint(e.TimeoutMs))
	}
	add("security", e.Security)
	add("ask", e.Ask)
	return out
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// inWords is a call as a card says it: what it does in half a sentence, where, and all of
// it that those two do not say whole.
type inWords struct {
	does  Words
	place Words
	rest  []Fact
}

// form puts the call into words. payload is all of it, or empty where it is not known.
func form(a approval.Approval, payload []Fact) inWords {
	tool := theirs(Clipped(display.Safe(a.ToolName), maxField))
	if a.Hidden() {
		return inWords{does: Words{{Text: "to run "}, tool,
			{Text: ", contents not shown here: deny here, or decide in the terminal"}}}
	}
	c := inWords{rest: bySalience(a.ToolName, payload)}
	c.takePlace(a.ToolName)
	form := a.Form
	if a.ToolName == "exec" {
		form = approval.FormCommand
	}
	if len(answers(a, payload)) > 0 {
		c.does = own("a question: tap an answer, or reply yes: WORDS")
		return c
	}
	say, known := forms()[form]
	if !known {
		c.does = Words{{Text: "to use "}, tool}
		return c
	}
	c.does = say(&c, a.ToolName)
	return c
}

// forms are the sentences of the tools that policy knows. Each takes out of the rest what
// the sentence says whole, and marks what the call is about as the block.
var forms = sync.OnceValue(func() map[approval.Form]func(c *inWords, tool string) Words {
	return map[approval.Form]func(c *inWords, tool string) Words{
		approval.FormCommand: func(c *inWords, _ string) Words {
			c.block("command", "cmd", "script", "commandline", "code")
			return own("to run")
		},
		approval.FormWrite: (*inWords).write,
		approval.FormPatch: (*inWords).patch,
		approval.FormRead: func(c *inWords, _ string) Words {
			return c.named("to read ", "a file", pathNames)
		},
		approval.FormDelete: func(c *inWords, _ string) Words {
			return c.named("to delete ", "files", pathNames)
		},
		approval.FormMessage: func(c *inWords, _ string) Words {
			does := c.named("to send a message to ", "somebody", recipientNames)
			c.block("text", "message", "body", "content", "msg")
			return does
		},
		approval.FormPayment: (*inWords).pay,
		approval.FormFetch:   (*inWords).fetch,
		approval.FormDatabase: func(c *inWords, _ string) Words {
			c.block("query", "sql", "statement")
			return own("to run on a database")
		},
		approval.FormPlan: func(c *inWords, _ string) Words {
			if !c.block("plan", "summary") {
				return own("to go by a plan that the call does not have")
			}
			return own("to go by its plan")
		},
	}
})

var (
	pathNames      = []string{"path", "filepath", "file", "filename", "absolutepath", "targetfile", "targetpath", "notebookpath"}
	recipientNames = []string{"to", "recipient", "recipients", "channel", "chat", "target", "chatid", "channelid"}
)

// named is a line about one parameter, which it says whole where it can.
func (c *inWords) named(verb, otherwise string, names []string) Words {
	if x, ok := c.short(names...); ok {
		return Words{{Text: verb}, theirs(x)}
	}
	return own(verb + otherwise)
}

func (c *inWords) write(string) Words {
	place := c.named("", "a file", pathNames)
	old, isOld := c.find("oldstring", "oldtext", "oldstr")
	fresh, isNew := c.find("newstring", "newtext", "newstr")
	if isOld && isNew {
		change := Fact{Name: changeName, Value: changes(c.rest[old].Value, c.rest[fresh].Value), Block: true}
		c.drop(max(old, fresh))
		c.drop(min(old, fresh))
		c.rest = append([]Fact{change}, c.rest...)
		return append(own("to change "), place...)
	}
	size := ""
	if c.block("content", "contents", "text", "filetext", "newcontent") {
		size = linesText(c.rest[0].Value)
	}
	return append(append(own("to write "), place...), own(size)...)
}

// changeName names the block that shows an old text and the new one.
const changeName = "change"

// changes shows an old text and the new one line by line: what goes, what comes, and what
// stays around them.
func changes(old, fresh string) string {
	was, is := strings.Split(unquoted(old), "\n"), strings.Split(unquoted(fresh), "\n")
	same := 0
	for same < min(len(was), len(is)) && was[same] == is[same] {
		same++
	}
	tail := 0
	for tail < min(len(was), len(is))-same && was[len(was)-1-tail] == is[len(is)-1-tail] {
		tail++
	}
	var out []string
	add := func(sign string, lines []string) {
		for _, line := range lines {
			out = append(out, sign+line)
		}
	}
	add("  ", was[:same])
	add("- ", was[same:len(was)-tail])
	add("+ ", is[same:len(is)-tail])
	add("  ", was[len(was)-tail:])
	return strings.Join(out, "\n")
}

// unquoted is a text that is shown in quotes for the blanks at its ends, as lines. Nothing that was
// escaped is brought back but line feeds and the tabs that a line begins with.
func unquoted(s string) string {
	inner, begins := strings.CutPrefix(s, `"`)
	inner, ends := strings.CutSuffix(inner, `"`)
	if !begins || !ends {
		return s
	}
	lines := strings.Split(strings.TrimSuffix(quotedText.Replace(inner), "\n"), "\n")
	for i, line := range lines {
		lines[i] = display.EscapeLine(line)
	}
	return strings.Join(lines, "\n")
}

var quotedText = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n", `\t`, "\t")

// linesText says how many lines a text has, where they are shown as lines.
func linesText(s string) string {
	n := strings.Count(s, "\n") + 1
	switch {
	case strings.HasPrefix(s, `"`):
		return ""
	case n == 1:
		return " (1 line)"
	}
	return fmt.Sprintf(" (%d lines)", n)
}

func (c *inWords) patch(string) Words {
	if !c.block("input", "patch", "patchtext", "patchcontent", "diff", "unifieddiff", "text", "content") {
		return own("to apply a patch")
	}
	names := patchNames(c.rest[0].Value)
	switch len(names) {
	case 0:
		return own("to apply a patch")
	case 1:
		return Words{{Text: "to change "}, theirs(Clipped(names[0], maxField))}
	}
	return own(fmt.Sprintf("to change %d files", len(names)))
}

// patchNames are the names in the lines of a patch that look like headers: too many
// rather than too few.
func patchNames(patch string) (names []string) {
	for line := range strings.SplitSeq(patch, "\n") {
		line = strings.TrimLeft(line, " ")
		for _, head := range []string{"*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:", "--- ", "+++ "} {
			name, ok := strings.CutPrefix(line, head)
			if !ok {
				continue
			}
			name = strings.TrimSpace(name)
			for _, side := range []string{"a/", "b/"} {
				name = strings.TrimPrefix(name, side)
			}
			if name != "" && name != "/dev/null" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

func (c *inWords) pay(tool string) Words {
	verb := "to pay "
	switch name := foldName(tool); {
	case strings.Contains(name, "refund"):
		verb = "to refund "
	case strings.Contains(name, "charge"), strings.Contains(name, "checkout"):
		verb = "to charge "
	}
	amount, ok := c.short("amount", "total", "sum", "price")
	if !ok {
		return own(verb + "somebody")
	}
	does := Words{{Text: verb}, theirs(strings.Trim(amount, `"`))} // a number may be sent as a text
	if currency, ok := c.short("currency"); ok {
		does = append(does, Word{Text: " "}, theirs(currency))
	}
	if to, ok := c.short("to", "recipient", "payee", "beneficiary", "merchant", "account", "iban"); ok {
		does = append(does, Word{Text: " to "}, theirs(to))
	}
	return does
}

func (c *inWords) fetch(string) Words {
	verb := "to fetch"
	if i, ok := c.find("method"); ok && !strings.EqualFold(c.rest[i].Value, "get") {
		verb = "to call"
	}
	if c.block("url", "uri", "urls") {
		return own(verb)
	}
	if c.block("query", "q", "searchterm") {
		return own("to search the web for")
	}
	return own(verb + " something from the web")
}

// find gives the asker's parameter of the first of those names that there is.
func (c *inWords) find(names ...string) (int, bool) {
	for _, name := range names {
		i := slices.IndexFunc(c.rest, func(f Fact) bool { return !f.Own && foldName(f.Name) == name })
		if i >= 0 {
			return i, true
		}
	}
	return -1, false
}

func (c *inWords) drop(i int) { c.rest = slices.Delete(slices.Clone(c.rest), i, i+1) }

// short takes out a parameter that fits a line of the desk's words whole.
func (c *inWords) short(names ...string) (string, bool) {
	i, ok := c.find(names...)
	if !ok || !fits(c.rest[i].Value, maxField) {
		return "", false
	}
	value := c.rest[i].Value
	c.drop(i)
	return value, true
}

// fits reports whether a value reads well within a line: it is short, and all of it is seen.
func fits(s string, n int) bool {
	odd := strings.Contains(s, "\n") || strings.Contains(s, `\u{`) || strings.Contains(s, "  ")
	return s != "" && !odd && CharCount(s) <= n
}

// block puts the parameter that the call is about first, to be shown without its name.
func (c *inWords) block(names ...string) bool {
	i, ok := c.find(names...)
	if !ok {
		return false
	}
	f := c.rest[i]
	f.Block = true
	c.drop(i)
	c.rest = append([]Fact{f}, c.rest...)
	return true
}

// takePlace makes a line of where the call runs, as far as the desk knows. For any other
// tool than exec that is what it is bound to: what its parameters mean, only the tool knows.
func (c *inWords) takePlace(tool string) {
	take := func(word string, match func(Fact) bool) {
		if len(c.place) > 0 {
			word = " " + word
		}
		for said := ""; ; {
			i := slices.IndexFunc(c.rest, match)
			if i < 0 || !fits(c.rest[i].Value, maxWhere) || said != "" && c.rest[i].Value != said {
				return
			}
			if said == "" {
				said = c.rest[i].Value
				c.place = append(c.place, Word{Text: word}, theirs(said))
			}
			c.drop(i)
		}
	}
	of := func(param, bound string) func(Fact) bool {
		return func(f Fact) bool {
			return f.Own && f.Name == bound || tool == "exec" && !f.Own && f.Name == param
		}
	}
	take("in ", of("workdir", boundDir))
	take("on ", of("host", boundHost))
}

func foldName(s string) string { return joiners.Replace(strings.ToLower(s)) }

var joiners = strings.NewReplacer("_", "", "-", "")

// Headline is the call on one line, from what is kept of every call.
func Headline(a approval.Approval) string {
	return Clipped(toolPrefix(a.ToolName)+a.Summary, MaxHeadline)
}

// toolPrefix names the tool where what it is called with does not tell.
func toolPrefix(tool string) string {
	if tool == "exec" {
		return ""
	}
	return Clipped(display.Escape(tool), maxPlace) + " · "
}

// About says a call on one line of at most n characters, without the tool's name.
// What it does comes first, then where, within what a phone's notification shows;
// then all the rest.
func About(tool string, payload []Fact, b *approval.Bind, n int) string {
	// Every call has a first one: exec its command, others a parameter or "params: none".
	rest := slices.DeleteFunc(bySalience(tool, payload), func(f Fact) bool { return f.Own })
	what := fieldText(rest[0])
	if tool == "exec" {
		what = rest[0].Line()
	}
	where := strings.Join(places(tool, payload, b), " ")
	if where != "" {
		room := MaxNotice - CharCount(toolPrefix(tool)) - CharCount(where) - len(" · ")
		what = Clipped(what, max(room, maxField/2))
	}
	parts := []string{what, where}
	for _, f := range rest[1:] {
		if tool != "exec" || f.Name != "workdir" && f.Name != "host" {
			parts = append(parts, fieldText(f))
		}
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return Clipped(strings.Join(parts, " · "), n)
}

// places says where a call runs, as [inWords.takePlace] does: "in /srv/app", "on prod-1".
func places(tool string, payload []Fact, b *approval.Bind) []string {
	var out []string
	add := func(word, place string) {
		if s := word + " " + Clipped(display.OneLine(place), maxPlace); place != "" && !slices.Contains(out, s) {
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
	if i := slices.Index(salientNames, foldName(f.Name)); i >= 0 && !f.Own {
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
		if CharCount(f.Value) > maxField {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(out, func(a, b Fact) int {
		return cmp.Or(cmp.Compare(salience(a), salience(b)), cmp.Compare(long(a), long(b)))
	})
	return out
}

// fieldText is a parameter in a summary.
func fieldText(f Fact) string {
	value := f.Line()
	if salience(f) < len(salientNames) {
		value = Clipped(value, maxField)
	}
	return Clipped(f.Name, maxPlace) + ": " + value
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
