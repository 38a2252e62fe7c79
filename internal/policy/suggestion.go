package policy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/tool"
)

var _ core.Suggester = (*Engine)(nil)

// neverSuggested are the findings of which no rule is suggested, although an operator may write one.
var neverSuggested = finding.Of(finding.ReadsSecret, finding.MayReadSecret, finding.ReadsEnvironment,
	finding.MetadataService, finding.PrivateAddress, finding.OddAddress, finding.SendsData, finding.SavesDownload,
	finding.WritesSecret, finding.PathClimbs, finding.MakesLink, finding.MisleadingName, finding.RunsAsRoot).
	Or(finding.Unsure).Or(shifting).Or(eachAsks)

// suggested are the commands above R2 of which a rule is suggested: what they print is no secret, and
// what they do is in their words. Codes alone cannot tell: "vault read" and "gh pr merge" have the same.
var suggested = [...]string{"git push", "gh pr merge", "gh pr comment", "gh pr close", "gh pr reopen",
	"gh issue comment", "gh issue close", "gh issue reopen", "glab mr merge", "kubectl scale",
	"kubectl rollout restart", "kubectl cordon", "kubectl uncordon"}

// Suggest implements core.Suggester. A rule that it gives names exactly the words of one command,
// since what else a pattern fits was never read. A line that some shells read otherwise is given in
// the form that all read alike. The engine judges the call again with each, and gives only what
// lets it run unasked.
func (e *Engine) Suggest(ctx context.Context, call approval.Call) approval.Suggestion {
	if tool.Named(call.ToolName).Kind != tool.Exec {
		return approval.Suggestion{None: "a rule for a tool is the operator's to write, since it is for other parameters too"}
	}
	call.Explain = false
	if s := e.rewritten(ctx, call); s.Value != "" {
		return s
	}
	rule, s := e.ruleFor(ctx, call)
	if s.None == "" && e.trying(rule).Judge(ctx, call).Outcome != approval.OutcomeAllow {
		return approval.Suggestion{None: "it would still ask, because of a key of the policy, another rule, or the way or place in which it runs"}
	}
	return s
}

// trying is the engine with one more rule, behind all others; without it if it cannot be read.
func (e *Engine) trying(r Rule) *Engine {
	cfg := e.cfg
	cfg.Rules = []Rule{r}
	more, bad := compileRules(&cfg)
	if len(bad) > 0 {
		return e
	}
	tried := *e
	tried.rules = append(e.rules[:len(e.rules):len(e.rules)], more...)
	tried.index.others = append(e.index.others[:len(e.index.others):len(e.index.others)], len(e.rules))
	return &tried
}

// ruleFor is the rule that permits the call and no other, and how an operator writes it.
func (e *Engine) ruleFor(ctx context.Context, call approval.Call) (Rule, approval.Suggestion) {
	defer e.turned(e.turn(ctx))
	j := e.read(ctx, call)
	defer e.spent(j)
	none := func(why string) (Rule, approval.Suggestion) { return Rule{}, approval.Suggestion{None: why} }
	switch {
	case j.static == approval.R4:
		return none("no rule lets calls of risk R4 run")
	case j.Found.Any(neverSuggested), j.always(e) == "":
		return none("it reaches secrets, it cannot be read whole, or the same words may do something else another time")
	}
	r := Rule{Outcome: "allow"}
	var ok bool
	if r.Match.Command, ok = j.asking(); !ok {
		return none("the desk cannot promise that a rule for it shows no secret and runs no other program; " +
			"an operator who can writes one")
	}
	names := make([]string, len(r.Match.Command))
	for i, words := range r.Match.Command {
		names[i], _, _ = strings.Cut(words, " ")
	}
	s := approval.Suggestion{Key: "approvals.tools.rules", Brief: "exactly these words of " + strings.Join(names, ", ")}
	by := "any agent"
	if j.Call.AgentID != "" {
		r.Match.Agent, by = []string{j.Call.AgentID}, "this agent"
	}
	sum := sha256.Sum256([]byte(strings.Join(append(r.Match.Command, j.Call.AgentID), "\x00")))
	r.Name = "allow-" + hex.EncodeToString(sum[:4])
	s.Value = r.flow()
	s.Also = "the same words again, by " + by + " in any session, also in lines with commands that run unasked " +
		"by themselves"
	return r, s
}

// asking gives the words of each command of a line that does not run by itself under exec.strict, as
// a rule names them. ok is false if a rule cannot name one of them, or if no rule is suggested for
// it.
func (j *judging) asking() (all []string, ok bool) {
	v := &j.seen
	for i := 0; i < len(v.Commands); i++ {
		c := v.Commands[i]
		if c.Class <= approval.R1 {
			i += c.Inner
			continue
		}
		list, written := texts(v.Args(c))
		text := strings.Join(list, " ")
		plain := written && len(strings.Fields(text)) == len(list) && !strings.ContainsAny(text, "*?[]{}~")
		if !plain || c.Class > approval.R2 && !promised(text) {
			return nil, false
		}
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all, len(all) > 0
}

// promised reports a command of which a rule is suggested.
func promised(words string) bool {
	return slices.ContainsFunc(suggested[:], func(begin string) bool { return strings.HasPrefix(words+" ", begin+" ") })
}

// flow is the rule as an entry of the configuration file, on one line.
func (r *Rule) flow() string {
	agent := ""
	if len(r.Match.Agent) > 0 {
		agent = ", agent: [" + quoted(r.Match.Agent[0]) + "]"
	}
	commands := make([]string, len(r.Match.Command))
	for i, words := range r.Match.Command {
		commands[i] = quoted(words)
	}
	return fmt.Sprintf("{name: %s, match: {command: [%s]%s}, outcome: allow}", r.Name, strings.Join(commands, ", "), agent)
}

// quoted is a text in double quotes: JSON's are YAML's.
func quoted(text string) string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil { // a string always marshals
		panic(err)
	}
	return strings.TrimSpace(out.String())
}

// rewrites are forms of the shell that only some read alike, and what says the same.
var rewrites = []struct {
	odd   *lazy.Regexp
	plain string
	not   string // no such character may be in the line: then it may say something else
	say   string
}{
	{lazy.Pattern("`([^`]*)`"), "$$($1)", `'\#`, "$(…) for the backticks"},
	{lazy.Pattern(`\[\[ (-[a-z] [\w./-]+) \]\]`), "[ $1 ]", "$`'\\\"", "[ … ] for [[ … ]]"},
	{lazy.Pattern(`&>\s*([\w./-]+)`), ">$1 2>&1", `'"\`, "> file 2>&1 for &> file"},
}

// rewritten gives the call's line in the form that all shells read alike, if so it runs unasked.
func (e *Engine) rewritten(ctx context.Context, call approval.Call) approval.Suggestion {
	var params map[string]any
	if json.Unmarshal(call.Params, &params) != nil {
		return approval.Suggestion{}
	}
	text, is := params["command"].(string)
	for _, w := range rewrites {
		if !is || !w.odd.MatchString(text) || strings.ContainsAny(text, w.not) {
			continue
		}
		params["command"] = w.odd.ReplaceAllString(text, w.plain)
		raw, err := json.Marshal(params)
		if err == nil && e.Judge(ctx, call.WithParams(raw)).Outcome == approval.OutcomeAllow {
			return approval.Suggestion{Value: params["command"].(string), Brief: w.say, Also: "no other call: no key changes"}
		}
	}
	return approval.Suggestion{}
}
