package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"cel.dev/cel-go/cel"
	celast "cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/ext"
)

// Limits of conditions, in the cost units of CEL.
const (
	maxStaticCost = 50_000_000 // of the worst call that could come
	maxCost       = 100_000    // of one evaluation
	maxCondition  = 4096       // bytes of an expression
)

// celCall is a call as conditions see it, as the variable "call".
type celCall struct {
	ToolName    string         `cel:"toolName"`    // as sent
	Tool        string         `cel:"tool"`        // folded
	Params      map[string]any `cel:"params"`      // as sent, numbers as doubles
	Command     string         `cel:"command"`     // the shell line; empty for other calls
	Argv        []string       `cel:"argv"`        // the words of a call without a shell
	Programs    []string       `cel:"programs"`    // of every command of a line, wherever it stands
	Paths       []string       `cel:"paths"`       // that the call names, clean, absolute where that is known
	Hosts       []string       `cel:"hosts"`       // that the call names, in lower case
	AgentID     string         `cel:"agentId"`     // empty where none was given
	SessionKey  string         `cel:"sessionKey"`  // the same
	Class       int64          `cel:"class"`       // 0 to 4: what static rules say
	SideEffects []string       `cel:"sideEffects"` // the same
	Context     celContext     `cel:"context"`
}

// celContext is what the asker's runtime says about the call.
type celContext struct {
	Provider  string `cel:"provider"`
	Model     string `cel:"model"`
	Group     string `cel:"group"`
	Sandboxed bool   `cel:"sandboxed"`
	Subagent  bool   `cel:"subagent"`
}

// conditions compiles the expressions of rules.
type conditions struct{ env *cel.Env }

func newConditions() (*conditions, error) {
	env, err := cel.NewEnv(
		ext.NativeTypes(reflect.TypeFor[celCall](), reflect.TypeFor[celContext](), types.ParseStructTags(true)),
		cel.Variable("call", cel.ObjectType("policy.celCall")),
		cel.ASTValidators(cel.ValidateRegexLiterals()),
	)
	if err != nil {
		return nil, fmt.Errorf("conditions cannot be read: %w", err)
	}
	return &conditions{env}, nil
}

// condition is one compiled expression.
type condition struct {
	program                                cel.Program
	params, paths, hosts, programs, effect bool // what it looks at
}

// compile checks an expression: its types, that it gives a bool, and that its
// cost is bounded.
func (c *conditions) compile(text string) (*condition, error) {
	if len(text) > maxCondition {
		return nil, fmt.Errorf("the expression is longer than %d bytes", maxCondition)
	}
	tree, issues := c.env.Compile(text)
	if err := issues.Err(); err != nil {
		first, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "ERROR: <input>:"), "\n")
		return nil, errors.New(strings.ReplaceAll(first, "policy.celCall", "call"))
	}
	if t := tree.OutputType(); t != cel.BoolType {
		return nil, fmt.Errorf("the expression gives %v and must give true or false; bool(…) makes one of a value of params", t)
	}
	estimate, err := c.env.EstimateCost(tree, sizes{})
	if err != nil {
		return nil, err
	}
	if estimate.Max > maxStaticCost {
		return nil, errors.New("the expression could take too long; use fewer loops inside each other")
	}
	p, err := c.env.Program(tree, cel.EvalOptions(cel.OptOptimize), cel.CostLimit(maxCost))
	if err != nil {
		return nil, err
	}
	out := &condition{program: p}
	out.looksAt(tree.NativeRep())
	return out, nil
}

// looksAt notes which members of the call the expression reads, so that the
// others are not computed.
func (c *condition) looksAt(tree *celast.AST) {
	calls, selected := 0, 0
	celast.PostOrderVisit(tree.Expr(), celast.NewExprVisitor(func(e celast.Expr) {
		switch e.Kind() {
		case celast.IdentKind:
			if e.AsIdent() == "call" {
				calls++
			}
		case celast.SelectKind:
			s := e.AsSelect()
			if o := s.Operand(); o.Kind() != celast.IdentKind || o.AsIdent() != "call" {
				return
			}
			selected++
			switch s.FieldName() {
			case "params":
				c.params = true
			case "paths":
				c.paths = true
			case "hosts":
				c.hosts = true
			case "programs":
				c.programs = true
			case "sideEffects":
				c.effect = true
			}
		}
	}))
	if calls != selected { // the call as a whole
		c.params, c.paths, c.hosts, c.programs, c.effect = true, true, true, true, true
	}
}

// holds evaluates the condition. An error (a missing member of params, too much
// work) is not an answer; what it means is for the rule to say.
func (c *condition) holds(e *Engine, j *judging) (bool, error) {
	v := celCall{
		ToolName: j.call.ToolName, Tool: j.tool.name, Argv: j.argv, AgentID: j.call.AgentID, SessionKey: j.call.SessionKey, Class: int64(j.static),
		Context: celContext{j.call.Context.Provider, j.call.Context.Model, j.call.Context.Group, j.call.Context.Sandboxed, j.call.Context.Subagent},
	}
	if j.line != nil {
		v.Command = *j.line
	}
	if c.params {
		if j.facts.params == nil {
			if err := json.Unmarshal(j.call.Params, &j.facts.params); err != nil {
				return false, errors.New("the params cannot be read")
			}
		}
		v.Params = j.facts.params
	}
	if c.paths {
		v.Paths = e.pathNames(j)
	}
	if c.hosts {
		v.Hosts = e.hosts(j)
	}
	if c.programs {
		v.Programs = j.programs()
	}
	if c.effect {
		for _, name := range j.sideEffects().Names(nil) {
			v.SideEffects = append(v.SideEffects, string(name))
		}
	}
	out, _, err := c.program.Eval(map[string]any{"call": &v})
	if err != nil {
		return false, err
	}
	return out == types.True, nil
}

// pathNames gives the paths of a call as conditions see them.
func (e *Engine) pathNames(j *judging) []string {
	if j.facts.paths == nil {
		for _, f := range e.files(j) {
			j.facts.paths = append(j.facts.paths, f.Path)
		}
	}
	return j.facts.paths
}

// programs gives the program of every command, as written.
func (j *judging) programs() []string {
	f := &j.facts
	if f.programs == nil {
		for _, c := range j.seen.Commands {
			f.programs = append(f.programs, j.seen.Args(c)[0].Text)
		}
	}
	return f.programs
}

// sizes tells the cost estimate how large the members of a call can be.
type sizes struct{}

// EstimateCallCost leaves the cost of functions to the library.
func (sizes) EstimateCallCost(string, string, *cost.AstNode, []cost.AstNode) *cost.CallEstimate {
	return nil
}

// EstimateSize bounds what a caller can send.
func (sizes) EstimateSize(n cost.AstNode) *cost.SizeEstimate {
	most := uint64(4096)
	if p := n.Path(); len(p) > 1 && p[0] == "call" {
		switch {
		case len(p) == 2 && (p[1] == "argv" || p[1] == "programs" || p[1] == "paths" || p[1] == "hosts"):
			most = 1024
		case p[1] == "command":
			most = 128 << 10
		}
	}
	return &cost.SizeEstimate{Max: most}
}
