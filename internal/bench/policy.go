package main

import (
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
)

// figure is a line of Go's benchmarks: name without the number of processors,
// nanoseconds each, and allocations.
var figure = regexp.MustCompile(`(?m)^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+([\d.]+) ns/op.*?(\d+) allocs/op`)

// inbox is a line of the benchmark of the desk's pages.
var inbox = regexp.MustCompile(`(?m)^BenchmarkInbox\S*\s.*?([\d.]+) leave-ms\s+([\d.]+) paint-ms`)

// pages measures in Chromium what people wait for with 1,000 requests before them, by the
// benchmark beside the pages.
func pages(b bench) error {
	out, err := exec.Command("go", "test", "./internal/web", "-run", "^$", "-bench", "^BenchmarkInbox$", "-benchtime", "9x",
		"-count", strconv.Itoa(b.rounds)).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %.2000s", err, out)
	}
	s, paint, leave := series{}, "inbox with 1,000 pending: first paint", "decided elsewhere: until its row has left"
	for _, m := range inbox.FindAllStringSubmatch(string(out), -1) {
		for i, name := range []string{leave, paint} {
			ms, err := strconv.ParseFloat(m[i+1], 64)
			if err != nil {
				return err
			}
			s.add(name, ms)
		}
	}
	if len(s[paint]) == 0 {
		return fmt.Errorf("the pages were not measured: %.2000s", out)
	}
	s.atMost(paint, "ms", 300)
	s.atMost(leave, "ms", 200)
	return nil
}

// policyAlone measures the policy in process, by the benchmarks beside it.
func policyAlone(b bench) error {
	out, err := exec.Command("go", "test", "./internal/policy", "-run", "^$", "-bench",
		"^Benchmark(JudgeRead|JudgeWrite|JudgePipeline|ParseOnly|Rules)$",
		"-benchtime", "200ms", "-count", strconv.Itoa(b.rounds)).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %.2000s", err, out)
	}
	s := series{}
	for _, m := range figure.FindAllStringSubmatch(string(out), -1) {
		ns, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return err
		}
		s.add(m[1], ns/1000)
		allocs, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			return err
		}
		s.add(m[1]+", allocations", allocs)
	}
	s.atMost("JudgeRead", "µs", 2)
	s.row("JudgeRead, allocations", "")
	s.atMost("JudgeWrite", "µs", 2.5)
	s.row("JudgeWrite, allocations", "")
	s.row("ParseOnly", "µs") // the shell parser alone, on the same line
	s.atMost("JudgePipeline", "µs", 20)
	s.row("JudgePipeline, allocations", "")
	for _, kind := range []string{"read", "pipeline"} {
		few, many := "Rules/"+kind+"/50", "Rules/"+kind+"/1000"
		s.row(few, "µs")
		s.row(many, "µs")
		if len(s[few]) == 0 || len(s[many]) == 0 {
			return fmt.Errorf("go test ./internal/policy has no benchmark %s", few)
		}
		s.add(kind+": 1,000 rules against 50", s.median(many)/s.median(few))
		s.atMost(kind+": 1,000 rules against 50", "×", 2)
	}
	return nil
}
