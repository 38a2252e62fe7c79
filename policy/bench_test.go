package policy

import (
	"context"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"approvalbot/core"
)

// pipeline is the line of 130 bytes that performance is measured with.
const pipeline = `cat /workspace/server/handler.go | grep -n "func (s" | sort -k2 | uniq -c | head -n 20 && git status --short --branch > /dev/null`

func benchmark(b *testing.B, c core.Call) {
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
	benchmark(b, callOf(b, "write", map[string]any{"path": "server/handler.go", "content": "package server\n"}))
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
