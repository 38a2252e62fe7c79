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
	MaxHeadline = 220 // of the line that represents a call in lists
	MaxNotice   = 100 // the part that a phone's notification shows
	MaxSummary  = 500
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
		out = append(out, Fact{Name: f.Name, Value: f.Value, parts: f.Leaves})
	}
	if len(out) == 0 {
		out = append(out, Fact{Name: "params", Value: "none"})
	}
	return append(out, boundFacts(call.Bind)...), nil
}

// Holds reports whether people see the text, escaped as [display.EscapeText] does, in one of the values.
func Holds(facts []Fact, text string) bool {
	return slices.ContainsFunc(facts, func(f Fact) bool {
		return slices.ContainsFunc(f.leaves(), func(l display.Leaf) bool { return strings.Contains(l.Text, text) })
	})
}

// What a call is bound to, as its facts name it.
const (
	boundDir  = "bound to directory"
	boundHost = "bound to host"
)

// boundFacts gives what a call is bound to: the directory and host it runs in are part of what runs.
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
	out := []Fact{{Name: "command", Value: e.Block(), parts: func() []display.Leaf { return []display.Leaf{{Text: e.Text()}} }}}
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

// inWords is a call as a card words it: what it does in half a sentence, its place, and
// all that these two do not show in full.
type inWords struct {
	does  Words
	place Words
	about []Block // what the call is about
	left  int     // bytes of changes that may still be compared word by word
	rest  []Fact
}

// blocks are all of the call that the words do not say.
func (c *inWords) blocks() []Block { return append(c.about, Blocks(c.rest)...) }

// form puts the call into words. payload is all of it, or empty if it is not known.
func form(a approval.Approval, payload []Fact) inWords {
	tool := theirs(Clipped(display.Safe(a.ToolName), maxField))
	if a.Hidden() {
		return inWords{does: Words{{Text: "to run "}, tool,
			{Text: ", contents not shown here: deny here, or decide in the terminal"}}}
	}
	c := inWords{rest: bySalience(a.ToolName, payload), left: maxAllWords}
	c.takePlace(a.ToolName)
	form := a.Form
	if a.ToolName == "exec" {
		form = approval.FormCommand
	}
	if len(answers(a, payload)) > 0 {
		c.block("", "question")
		c.does = own("a question: tap an answer, or reply yes: YOUR ANSWER")
		return c
	}
	say, known := forms()[form]
	if !known {
		c.does = append(own("to use "), toolWords(a.ToolName)...)
		if whole := display.Safe(a.ToolName); !fits(whole, maxField) && strings.HasSuffix(c.does.String(), "…") {
			c.rest = slices.Insert(c.rest, 0, Fact{Name: "Tool", Value: whole, Own: true}) // two names may differ at their ends alone
		}
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
			c.block("sh", "command", "cmd", "script", "commandline", "code")
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
			c.block("", "text", "message", "body", "content", "msg")
			return does
		},
		approval.FormPayment: (*inWords).pay,
		approval.FormFetch:   (*inWords).fetch,
		approval.FormDatabase: func(c *inWords, _ string) Words {
			c.block("sql", "query", "sql", "statement")
			return own("to run on a database")
		},
		approval.FormPlan: func(c *inWords, _ string) Words {
			if !c.block("markdown", "plan", "summary") {
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

// maxPath is how long a path may be to be said within a line. On a card a longer one than maxOnLine loses its middle.
const maxPath = 1000

// named is a line about one parameter, which it shows in full if it fits.
func (c *inWords) named(verb, otherwise string, names []string) Words {
	if x, ok := c.within(maxPath, names...); ok {
		return Words{{Text: verb}, theirs(x)}
	}
	return own(verb + otherwise)
}

func (c *inWords) write(string) Words {
	place := c.named("", "a file", pathNames)
	lang := ""
	if last := place[len(place)-1]; last.Theirs {
		lang = langOfPath(last.Text)
	}
	if c.edit(lang) {
		return append(own("to change "), place...)
	}
	size := ""
	if c.block(lang, "content", "contents", "text", "filetext", "newcontent", "newsource") {
		size = linesText(c.about[0])
	}
	return append(append(own("to write "), place...), own(size)...)
}

// The members in which editors name the text that goes and the one that comes.
var (
	oldNames = []string{"oldstring", "oldtext", "oldstr", "searchtext", "search"}
	newNames = []string{"newstring", "newtext", "newstr", "replacetext", "replace"}
)

// edit takes out an old text with the new one, or a list of such pairs, and makes a difference of each.
func (c *inWords) edit(lang string) bool {
	old, isOld := c.find(oldNames...)
	fresh, isNew := c.find(newNames...)
	again := func(f Fact) bool { return slices.Contains(append(oldNames, newNames...), foldName(f.Name)) }
	if isOld && isNew && c.rest[old].single() && c.rest[fresh].single() && count(c.rest, again) == 2 {
		c.differ(lang, c.rest[old].leaves()[0], c.rest[fresh].leaves()[0])
		c.drop(max(old, fresh))
		c.drop(min(old, fresh))
		return true
	}
	i, ok := c.find("edits")
	if !ok {
		return false
	}
	edits := c.rest[i]
	pairs, others := pairsOf(edits.leaves())
	if len(pairs) == 0 {
		return false
	}
	for _, p := range pairs {
		c.differ(lang, *p.old, *p.fresh)
	}
	c.drop(i)
	if len(others) > 0 {
		c.rest = append(c.rest, Fact{Name: edits.Name, parts: func() []display.Leaf { return others }})
	}
	return true
}

func (c *inWords) differ(lang string, old, fresh display.Leaf) {
	b := Block{Kind: Diff, Lang: lang, Lines: difference(old, fresh, &c.left), param: changeName}
	if n := len(c.about); n > 0 {
		b.Name = fmt.Sprintf("%s %d", changeName, n+1)
	}
	c.about = append(c.about, b)
}

// pair is an old text and the new one.
type pair struct{ old, fresh *display.Leaf }

// pairsOf reads the items of a list as such pairs; others are the leaves outside of them. It gives nil if an item is
// not a pair, or has two values for one side: only the tool knows which of them counts.
func pairsOf(leaves []display.Leaf) (pairs []pair, others []display.Leaf) {
	byItem := map[string]int{}
	for _, l := range leaves {
		if len(l.Path) == 0 {
			return nil, nil
		}
		i, known := byItem[l.Path[0]]
		if !known {
			i = len(pairs)
			byItem[l.Path[0]], pairs = i, append(pairs, pair{})
		}
		name := ""
		if len(l.Path) == 2 {
			name = foldName(l.Path[1])
		}
		switch {
		case slices.Contains(oldNames, name) && pairs[i].old == nil:
			pairs[i].old = &l
		case slices.Contains(newNames, name) && pairs[i].fresh == nil:
			pairs[i].fresh = &l
		case slices.Contains(oldNames, name), slices.Contains(newNames, name):
			return nil, nil
		default:
			others = append(others, l)
		}
	}
	if slices.ContainsFunc(pairs, func(p pair) bool { return p.old == nil || p.fresh == nil }) {
		return nil, nil
	}
	return pairs, others
}

func count[T any](list []T, match func(T) bool) (n int) {
	for _, x := range list {
		if match(x) {
			n++
		}
	}
	return n
}

// linesText says how many lines a text has.
func linesText(b Block) string {
	n := 0
	for _, l := range b.Lines {
		n = max(n, l.No)
	}
	if n == 1 {
		return " (1 line)"
	}
	return fmt.Sprintf(" (%d lines)", n)
}

func (c *inWords) patch(string) Words {
	i, ok := c.find("input", "patch", "patchtext", "patchcontent", "diff", "unifieddiff", "text", "content")
	if !ok || !c.rest[i].single() {
		return own("to apply a patch")
	}
	text := c.rest[i].text()
	b := Block{Kind: Diff, Lines: patchLines(text), param: c.rest[i].Name}
	c.drop(i)
	c.about = append(c.about, b)
	names := patchNames(text)
	switch len(names) {
	case 0:
		return own("to apply a patch")
	case 1:
		c.about[0].Lang = langOfPath(names[0])
		return Words{{Text: "to change "}, theirs(names[0])}
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
	names := []string{"amount", "total", "sum", "price"}
	if i, ok := c.find(names...); !ok || !isMoney(c.rest[i].text()) {
		return own(verb + "somebody") // any other text could be read as the desk's sentence
	}
	amount, _ := c.short(names...)
	does := Words{{Text: verb}, {Text: amount, Theirs: true, Large: true}}
	if i, ok := c.find("currency"); ok && isCurrency(c.rest[i].text()) {
		currency, _ := c.short("currency")
		does = append(does, Word{Text: " "}, Word{Text: currency, Theirs: true, Large: true})
	}
	if to, ok := c.short("to", "recipient", "payee", "beneficiary", "merchant", "account", "iban"); ok {
		does = append(does, Word{Text: " to "}, theirs(to))
	}
	return does
}

func (c *inWords) fetch(string) Words {
	verb := "to fetch"
	if i, ok := c.find("method"); ok && !strings.EqualFold(c.rest[i].text(), "get") {
		verb = "to call"
	}
	if c.block("", "url", "uri", "urls") {
		return own(verb)
	}
	if c.block("", "query", "q", "searchterm") {
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
func (c *inWords) short(names ...string) (string, bool) { return c.within(maxField, names...) }

// within takes out a parameter that reads well within a line and has at most so many characters.
func (c *inWords) within(n int, names ...string) (string, bool) {
	i, ok := c.find(names...)
	if !ok {
		return "", false
	}
	value, ok := c.rest[i].plain(" + ")
	if !ok || !fits(value, n) {
		return "", false
	}
	c.drop(i)
	return value, true
}

// block makes the parameter that the call is about a block without its name, in that language.
func (c *inWords) block(lang string, names ...string) bool {
	i, ok := c.find(names...)
	if !ok {
		return false
	}
	text, ok := c.rest[i].plain("")
	if !ok { // a list is no text of several lines
		text, ok = c.rest[i].plain("\n" + display.Bullet)
		text = display.Bullet + text
	}
	b := codeOf(c.rest[i].Name, lang, text)
	if !ok || len(b.Lines) == 0 { // an empty text is better seen beside its name
		return false
	}
	c.drop(i)
	c.about = append(c.about, b)
	return true
}

// takePlace makes a line of the place that the call runs in, as far as the desk knows it.
// For tools other than exec this is what the call is bound to: only the tool knows what its
// parameters mean.
func (c *inWords) takePlace(tool string) {
	take := func(word string, match func(Fact) bool) {
		if len(c.place) > 0 {
			word = " " + word
		}
		for said := ""; ; {
			i := slices.IndexFunc(c.rest, match)
			if i < 0 || !fits(c.rest[i].text(), maxPath) || said != "" && c.rest[i].text() != said {
				return
			}
			if said == "" {
				said = c.rest[i].text()
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

// Headline is the call on one line, from what is kept of every call.
func Headline(a approval.Approval) string {
	return Clipped(toolHead(a.ToolName)+Summary(a), MaxHeadline)
}

// Summary is what is kept of every call, on one line as people read it: with a sign for each line feed.
func Summary(a approval.Approval) string { return lineSigns.Replace(a.Summary) }

var lineSigns = strings.NewReplacer(`\u{A}`, " ⏎ ", `\u{9}`, " ")

// toolWords names a tool as people do: of a server's, as runtimes write it (mcp__github__create_issue), the name there and
// the server's, if it can be read one way only.
func toolWords(tool string) Words {
	if rest, ok := strings.CutPrefix(tool, "mcp__"); ok {
		server, name, _ := strings.Cut(rest, "__")
		plain := func(s string) bool { return s != "" && strings.Trim(s, "_") == s && fits(s, maxPlace) }
		if plain(server) && plain(name) && !strings.Contains(name, "__") {
			return Words{theirs(name), {Text: " at "}, theirs(server)}
		}
	}
	return Words{theirs(Clipped(display.Safe(tool), maxField))}
}

// toolPrefix names the tool if the parameters do not tell which it is.
func toolPrefix(tool string) string {
	if tool == "exec" {
		return ""
	}
	return Clipped(display.Escape(tool), maxPlace) + " · "
}

// toolHead is that in people's words.
func toolHead(tool string) string {
	if tool == "exec" {
		return ""
	}
	return Clipped(toolWords(tool).String(), maxPlace) + " · "
}

// About describes a call on one line of at most n characters, without the tool's
// name. What it does comes first, then its place, within what a phone's
// notification shows; then all the rest.
func About(tool string, payload []Fact, b *approval.Bind, n int) string {
	// Every call has a first one: an exec its command, any other call a parameter or "params: none".
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

// places names the place that a call runs in, as [inWords.takePlace] does: "in /srv/app", "on prod-1".
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

// salientNames are the parameters that tell most, in this order: the object or the person
// that the call affects, then the means.
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

// OneLine writes the whole call on one line, for API answers.
func OneLine(tool string, payload []Fact) string {
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
