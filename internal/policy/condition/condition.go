// Package condition compiles and evaluates the conditions of rules: CEL expressions over one variable, call.
//
//	call.tool == "exec" && call.hosts.exists(h, h.endsWith(".example.org"))
//
// [Compiler.Compile] checks an expression when a configuration is read: its types, that it gives a bool, and that its
// cost is bounded for the largest call that could come. So a judgement cannot fail on a type or run long. A [Condition]
// says which members of the call it reads, so that the others are not computed. [Condition.Holds] may still fail, as on
// a missing member of params. Then a rule that tightens counts, and one that loosens does not.
package condition

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
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

// Call is a call as conditions see it, as the variable "call".
type Call struct {
	ToolName    string         `cel:"toolName"`    // as sent
	Tool        string         `cel:"tool"`        // folded
	Params      map[string]any `cel:"params"`      // as sent, numbers as doubles
	Command     string         `cel:"command"`     // the shell line; empty for other calls
	Argv        []string       `cel:"argv"`        // the words of a call without a shell
	Programs    []string       `cel:"programs"`    // of every command of a line, also of nested ones
	Paths       []string       `cel:"paths"`       // that the call names, clean, absolute if that is known
	Hosts       []string       `cel:"hosts"`       // that the call names, in lower case
	AgentID     string         `cel:"agentId"`     // empty if it was not given
	SessionKey  string         `cel:"sessionKey"`  // the same
	Class       int64          `cel:"class"`       // 0 to 4: what static rules say
	SideEffects []string       `cel:"sideEffects"` // the same
	Context     Context        `cel:"context"`
}

// Context is what the asker's runtime says about the call.
type Context struct {
	Provider  string `cel:"provider"`
	Model     string `cel:"model"`
	Group     string `cel:"group"`
	Sandboxed bool   `cel:"sandboxed"`
	Subagent  bool   `cel:"subagent"`
}

// Compiler compiles the expressions of rules.
type Compiler struct{ env *cel.Env }

// New makes a compiler of conditions over a Call.
func New() (*Compiler, error) {
	env, err := cel.NewEnv(
		ext.NativeTypes(reflect.TypeFor[Call](), reflect.TypeFor[Context](), types.ParseStructTags(true)),
		cel.Variable("call", cel.ObjectType("condition.Call")),
		cel.ASTValidators(cel.ValidateRegexLiterals()),
	)
	if err != nil {
		return nil, fmt.Errorf("conditions cannot be read: %w", err)
	}
	return &Compiler{env}, nil
}

// Condition is one compiled expression.
type Condition struct {
	program                                 cel.Program
	Params, Paths, Hosts, Programs, Effects bool // what it looks at, and so what Holds must be given
}

// Compile checks an expression: its types, that it gives a bool, and that its
// cost is bounded.
func (c *Compiler) Compile(text string) (*Condition, error) {
	if len(text) > maxCondition {
		return nil, fmt.Errorf("the expression is longer than %d bytes", maxCondition)
	}
	tree, issues := c.env.Compile(text)
	if err := issues.Err(); err != nil {
		first, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "ERROR: <input>:"), "\n")
		return nil, errors.New(strings.ReplaceAll(first, "condition.Call", "call"))
	}
	if t := tree.OutputType(); t != cel.BoolType {
		return nil, fmt.Errorf("the expression gives %v but must give true or "+
			"false; bool(…) converts a value of params", t)
	}
	estimate, err := c.env.EstimateCost(tree, sizes{})
	if err != nil {
		return nil, err
	}
	if estimate.Max > maxStaticCost {
		return nil, errors.New("the expression could take too long; use fewer nested loops")
	}
	p, err := c.env.Program(tree, cel.EvalOptions(cel.OptOptimize), cel.CostLimit(maxCost))
	if err != nil {
		return nil, err
	}
	out := &Condition{program: p}
	out.looksAt(tree.NativeRep())
	return out, nil
}

// looksAt notes which members of the call the expression reads, so that the
// others are not computed.
func (c *Condition) looksAt(tree *celast.AST) {
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
				c.Params = true
			case "paths":
				c.Paths = true
			case "hosts":
				c.Hosts = true
			case "programs":
				c.Programs = true
			case "sideEffects":
				c.Effects = true
			}
		}
	}))
	if calls != selected { // the call as a whole
		c.Params, c.Paths, c.Hosts, c.Programs, c.Effects = true, true, true, true, true
	}
}

// Holds evaluates the condition. An error (a missing member of params, too much
// work) is not an answer; what it means is for the rule to say.
func (c *Condition) Holds(v *Call) (bool, error) {
	out, _, err := c.program.Eval(map[string]any{"call": v})
	if err != nil {
		return false, err
	}
	return out == types.True, nil
}

// sizes tells the cost estimate how large the members of a call can be.
type sizes struct{}

// EstimateCallCost leaves the cost of functions to the library.
func (sizes) EstimateCallCost(string, string, *cost.AstNode, []cost.AstNode) *cost.CallEstimate {
	return nil
}

// lists are the members of a call that hold several texts.
var lists = []string{"argv", "programs", "paths", "hosts"}

// EstimateSize bounds what a caller can send.
func (sizes) EstimateSize(n cost.AstNode) *cost.SizeEstimate {
	most := uint64(4096)
	if p := n.Path(); len(p) > 1 && p[0] == "call" {
		switch {
		case len(p) == 2 && slices.Contains(lists, p[1]):
			most = 1024
		case p[1] == "command":
			most = 128 << 10
		}
	}
	return &cost.SizeEstimate{Max: most}
}
