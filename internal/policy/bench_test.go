package policy

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"approvalbot/internal/approval"
)

// pipeline is the line of 130 bytes that performance is measured with.
const pipeline = `cat /workspace/server/handler.go | grep -n "func (s" | sort -k2 | uniq -c | head -n 20 && git status --short --branch > /dev/null`

func benchmark(b *testing.B, c approval.Call) {
	e := engine(b)
	b.ReportAllocs()
	for b.Loop() {
		e.Judge(context.Background(), c)
	}
}

func BenchmarkJudgeRead(b *testing.B) {
	benchmark(b, callOf(b, "read", map[string]any{"path": "/workspace/server/handler.go"}))
}

func BenchmarkJudgeWrite(b *testing.B) {
	benchmark(b, callOf(b, "write", map[string]any{"path": "internal/server/handler.go", "content": "package server\n"}))
}

func BenchmarkJudgeUnknown(b *testing.B) {
	benchmark(b, callOf(b, "jira__create_issue", map[string]any{"title": "x", "body": "y"}))
}

func BenchmarkJudgePipeline(b *testing.B) { benchmark(b, lineCall(b, pipeline)) }

func BenchmarkJudgeArgv(b *testing.B) {
	benchmark(b, callOf(b, "exec", map[string]any{"argv": []string{"git", "status", "--short"}}))
}

// BenchmarkParseOnly is the reference for BenchmarkJudgePipeline: the parser
// alone, on the same line.
func BenchmarkParseOnly(b *testing.B) {
	p := syntax.NewParser()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Parse(strings.NewReader(pipeline), ""); err != nil {
			b.Fatal(err)
		}
	}
}

// ruled is an engine with n of the operator's rules of every kind, none of which
// is about the calls that are measured.
func ruled(b *testing.B, n int, when func(int) string) *Engine {
	return engine(b, func(c *Config) {
		c.Roles = []string{"ops"}
		for i := range n {
			r := Rule{Name: fmt.Sprintf("rule-%d", i), Outcome: "ask"}
			switch i % 5 {
			case 0:
				r.Match.Tool = []string{fmt.Sprintf("jira__call_%d", i)}
			case 1:
				r.Match.Command = []string{fmt.Sprintf("tool%d deploy *", i)}
				r.Outcome, r.Risk = "", new(approval.R1)
			case 2:
				r.Match.Command = []string{fmt.Sprintf("tool%d", i)}
			case 3:
				r.Match.Agent, r.Role = []string{fmt.Sprintf("agent-%d", i)}, "ops"
			case 4:
				r.Match.Tool = []string{fmt.Sprintf("pay_%d", i)}
			}
			if when != nil {
				r.When = when(i)
			}
			c.Rules = append(c.Rules, r)
		}
	})
}

func BenchmarkRules(b *testing.B) { benchmarkRules(b, nil) }

func benchmarkRules(b *testing.B, when func(int) string) {
	for _, n := range []int{0, 50, 1000} {
		e := ruled(b, n, when)
		for name, c := range map[string]approval.Call{"read": callOf(b, "read", map[string]any{"path": "/workspace/server/handler.go"}), "pipeline": lineCall(b, pipeline)} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					e.Judge(context.Background(), c)
				}
			})
		}
	}
}

// BenchmarkJudgePoints is a call that a person is asked about, with what its reasons come from.
func BenchmarkJudgePoints(b *testing.B) {
	c := lineCall(b, "cd /workspace && kubectl delete namespace staging --context prod")
	c.Points = true
	benchmark(b, c)
}

// BenchmarkJudgeAsked is the same call without that.
func BenchmarkJudgeAsked(b *testing.B) {
	benchmark(b, lineCall(b, "cd /workspace && kubectl delete namespace staging --context prod"))
}
