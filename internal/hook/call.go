package hook

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"approvalbot/api"
	"approvalbot/internal/lazy"
)

// MaxBody is how many bytes of a body are read: as many as a desk takes of a call.
const MaxBody = 1 << 20

// Call is one tool call as a runtime describes it.
type Call struct {
	Tool    string          // as the runtime calls it
	Params  json.RawMessage // a JSON object: the parameters that would run, without descriptions
	Session string          // empty if the body does not name it
	Workdir string          // likewise
	Here    bool            // the call runs in the directory that its hook was started in, which the body does not name
	ID      string          // likewise, of the call
	Prompt  string          // likewise, of the user's words that led to the call

	Justification string // the agent's own words about the call
	Model         string
	Subagent      bool     // the agent was started by another one
	From          api.From // which agent that is, and its place, as far as known: claims
	Typed         bool     // the command may get a terminal, into which things are typed that no hook sees

	Untracked *api.Untracked // files with secrets that the command could take into a repository; nil without a command
	Programs  []string       // programs of the command that PATH finds in the project, by their names
	MustAsk   bool           // a person is asked, as that is not known

	Unheard string // the runtime's title, if it hands its model no notes; empty if it does

	outcome *api.ResultRequest // of an event that comes after it; nil if the body does not say how it ended

	// Confiner is approvalbot's own program and words before its verb confine, by which the call can run confined; empty
	// if it cannot.
	Confiner []string
	// Allowed is where the hook has noted that the call may run now, for the command that does.
	Allowed string
	// Instead is the input with which an allow runs the call as it is; nil: its own.
	Instead jsontext.Value

	replaceable bool // a deny may replace its commands, see clineDeny
}

// Echo is the input that an allow must hand back, or Claude Code drops the allow: that of the
// tool with which its model gets a plan approved. It is nil for all other calls.
func (c Call) Echo() jsontext.Value {
	if c.Tool != "ExitPlanMode" {
		return nil
	}
	return jsontext.Value(c.Params)
}

var ownID = lazy.Pattern(`^[A-Za-z0-9._:-]{1,128}$`)

// RequestID is the call's id as an approval may have it; empty if it has none that
// fits.
func (c Call) RequestID() string {
	if c.ID == "" || ownID.MatchString(c.ID) && strings.Trim(c.ID, ".") != "" {
		return c.ID
	}
	sum := sha256.Sum256([]byte(c.ID))
	return "call-" + hex.EncodeToString(sum[:16])
}

// dialogID is the id of the approval for a runtime's own dialog about the call, which has
// no id of the call: equal calls that follow from one prompt share one. It is empty if
// the body does not tell enough.
func (c Call) dialogID() string {
	if c.Session == "" || c.Prompt == "" {
		return ""
	}
	sum := sha256.New()
	for _, part := range []string{c.Session, c.Prompt, c.Tool, string(c.Params)} {
		fmt.Fprintf(sum, "%d:%s", len(part), part)
	}
	return "dialog-" + hex.EncodeToString(sum.Sum(nil)[:16])
}

// Request is what the desk is asked.
func (c Call) Request() api.CreateRequest {
	req := api.CreateRequest{
		ID: cmp.Or(c.RequestID(), c.dialogID()), ToolName: c.Tool, Params: c.Params, SessionKey: c.Session,
		Justification: c.Justification, MustAsk: c.MustAsk,
	}
	if c.Workdir != "" {
		req.Bind = &api.Bind{Workdir: &c.Workdir}
	}
	from := claimedFrom(c.From)
	if c.Model != "" || c.Subagent || c.Typed || c.Unheard != "" || from != nil {
		req.Context = &api.Context{Model: c.Model, Subagent: c.Subagent, Unheard: c.Unheard, From: from}
	}
	if c.Typed {
		req.Context.Terminal = "possible"
	}
	if c.Untracked != nil || c.Programs != nil {
		req.Context = cmp.Or(req.Context, &api.Context{})
		req.Context.Untracked, req.Context.Programs = c.Untracked, c.Programs
	}
	if how := c.confine(); how != nil {
		req.Context = cmp.Or(req.Context, &api.Context{})
		req.Context.Confine = how
	}
	return req
}

// How runtimes call the member of a call's parameters that is a command, or its words, and that in which it runs.
var (
	commandMembers = lazy.Words("command cmd commands args argv script cmdline commandline command_line")
	folderMembers  = lazy.Words("workdir cwd dirpath dir_path directory workingdirectory working_directory")
)

// Commands are the texts of the folder in which a call's commands run, if its parameters name one, and then of these, word by word.
func (c Call) Commands() []string {
	var members map[string]jsontext.Value
	if jsonv2.Unmarshal(c.Params, &members) != nil {
		return nil
	}
	var folders, commands []string
	for name, value := range members {
		texts := &commands
		if folderMembers.Has(strings.ToLower(name)) {
			texts = &folders
		} else if !commandMembers.Has(strings.ToLower(name)) {
			continue
		}
		d := jsontext.NewDecoder(bytes.NewReader(value))
		for t, err := d.ReadToken(); err == nil; t, err = d.ReadToken() {
			if t.Kind() == '"' {
				*texts = append(*texts, t.String())
			}
		}
	}
	return append(folders, commands...)
}

// SkillArguments is the text that Claude Code's tool Skill hands to a page; empty if the call is of another tool.
func (c Call) SkillArguments() string {
	var in struct {
		Args string `json:"args"`
	}
	if c.Tool != "Skill" || jsonv2.Unmarshal(c.Params, &in) != nil {
		return ""
	}
	return in.Args
}

// claimedFrom gives the claims about the asker in the form that a desk accepts: they must never keep a call from
// being asked for. It is nil if there are no claims.
func claimedFrom(f api.From) *api.From {
	for _, s := range []*string{&f.Runtime, &f.SubagentType, &f.SubagentID, &f.Branch, &f.Worktree} {
		*s = cut(strings.ToValidUTF8(strings.ReplaceAll(*s, "\x00", ""), "?"), maxFrom)
	}
	if f == (api.From{}) {
		return nil
	}
	return &f
}

// maxFrom is how many bytes of each of those words a desk takes.
const maxFrom = 256

// body is a hook's JSON object while a decoder reads it. The first mistake is kept.
// Members that no decoder reads are ignored: runtimes add some with every version.
type body struct {
	members map[string]jsontext.Value
	err     error
}

// errBody begins every complaint about a body.
var errBody = errors.New("the hook's body")

func readBody(raw []byte) *body {
	b := &body{}
	if len(raw) > MaxBody {
		b.fail("is larger than %d bytes", MaxBody)
		return b
	}
	err := jsonv2.Unmarshal(raw, &b.members)
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		b.fail("names a member twice")
	case err != nil || b.members == nil:
		b.fail("is not a JSON object in UTF-8")
	}
	return b
}

func (b *body) fail(format string, args ...any) {
	if b.err == nil {
		b.err = fmt.Errorf("%w %s", errBody, fmt.Sprintf(format, args...))
	}
}

// text gives a member's text; empty if it is missing.
func (b *body) text(name string) string {
	v, ok := b.members[name]
	if !ok || v.Kind() == 'n' {
		return ""
	}
	var s string
	if v.Kind() != '"' || jsonv2.Unmarshal(v, &s) != nil {
		b.fail("has a member %s that is not text", name)
	}
	return s
}

// named gives the text of a member that must be there.
func (b *body) named(name string) string {
	s := b.text(name)
	if s == "" {
		b.fail("has no %s; is the hook configured for another runtime or event?", name)
	}
	return s
}

// is demands the text of a member: a body of another event is not for this answer.
func (b *body) is(name, want string) {
	if got := b.named(name); got != want {
		b.fail("is not that of %s; is the hook configured for another runtime or event?", want)
	}
}

// not refuses a body with a member that only other runtimes send.
func (b *body) not(members ...string) {
	for _, m := range members {
		if _, has := b.members[m]; has {
			b.fail("is another runtime's: it has a member %s; name the runtime in the hook's URL or command", m)
		}
	}
}

// object gives a member that must be an object, as it was sent.
func (b *body) object(name string) json.RawMessage {
	v := b.members[name]
	if v.Kind() != '{' {
		b.fail("has no object %s; is the hook configured for another runtime or event?", name)
		return nil
	}
	return json.RawMessage(v)
}

// objectOrText is object for what some versions send as the text of an object.
func (b *body) objectOrText(name string) json.RawMessage {
	v := b.members[name]
	var s string
	if v.Kind() != '"' || jsonv2.Unmarshal(v, &s) != nil {
		return b.object(name)
	}
	inner := jsontext.Value(s)
	if !inner.IsValid() || inner.Kind() != '{' {
		b.fail("has a member %s that is not an object", name)
		return nil
	}
	return json.RawMessage(inner)
}

// within reads an object that is the value of a member.
func (b *body) within(name string) *body {
	in := &body{err: b.err}
	if raw := b.object(name); raw != nil {
		in = readBody(raw)
	}
	if b.err == nil {
		b.err = in.err
	}
	return in
}

// first gives the first text of a list; empty if there is no text.
func (b *body) first(name string) string {
	var list []string
	if v, ok := b.members[name]; ok && v.Kind() == '[' && jsonv2.Unmarshal(v, &list) == nil && len(list) > 0 {
		return list[0]
	}
	return ""
}

// maxWords is how many bytes of a justification a desk takes.
const maxWords = 2000

// proseTools run a command, and their member description is the model's own words
// about it. Elsewhere such a member is part of what is done: of an issue, say.
var proseTools = lazy.Words("Bash bash run_shell_command")

// prose takes the model's words about a command out of the call: they are shown as a
// claim, and do not make another call of it.
func (c Call) prose() (Call, error) {
	if !proseTools.Has(c.Tool) {
		return c, nil
	}
	var members map[string]jsontext.Value
	if err := jsonv2.Unmarshal(c.Params, &members); err != nil {
		return c, fmt.Errorf("%w has the same member twice in its input", errBody)
	}
	var words string
	v, has := members["description"]
	if !has || v.Kind() != '"' || jsonv2.Unmarshal(v, &words) != nil {
		return c, nil
	}
	delete(members, "description")
	params, err := jsonv2.Marshal(members, jsonv2.Deterministic(true), jsontext.PreserveRawStrings(true))
	if err != nil {
		return c, fmt.Errorf("%w has an input that cannot be read", errBody)
	}
	c.Params, c.Justification = params, cut(strings.ReplaceAll(words, "\x00", ""), maxWords)
	return c, nil
}

// cut shortens a text to so many bytes.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// decoded ends a decoder.
func (b *body) decoded(c Call) (Call, error) {
	if b.err != nil {
		return Call{}, b.err
	}
	return c.prose()
}

// and takes over the mistake of a body within.
func (b *body) and(in *body) *body {
	if b.err == nil {
		b.err = in.err
	}
	return b
}

// object makes an object with one text in it.
func object(name, text string) json.RawMessage {
	raw, _ := jsonv2.Marshal(map[string]string{name: text}) // text of JSON is UTF-8
	return raw
}

// mcpTool is the name of a server's tool if a runtime names server and tool apart. It
// never equals the name of one of the runtime's own tools, since a server's tool may
// do anything.
func mcpTool(server, tool string) string {
	return "mcp__" + cmp.Or(server, "unnamed") + "__" + tool
}
