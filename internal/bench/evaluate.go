package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const connections = 64

// contender is one server of a comparison and what it is asked.
type contender struct {
	name string
	addr string
	pid  int
	reqs [][]byte
}

// turns loads the contenders in turn, round by round, and adds their figures.
func (b bench) turns(s series, all []contender) error {
	for _, c := range all { // connections, caches and heaps as they are later
		if _, err := load(c.addr, c.reqs, connections, b.span/2); err != nil {
			return err
		}
	}
	for range b.rounds {
		for _, c := range all {
			used := processorTime(c.pid)
			got, err := load(c.addr, c.reqs, connections, b.span)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			s.add(c.name, got.perSecond)
			s.add(c.name+": p99", ms(got.p99))
			s.add(c.name+": CPU of the server", us(processorTime(c.pid)-used)/float64(got.count))
		}
	}
	return nil
}

// show prints what turns added for a contender.
func (s series) show(c contender) {
	s.row(c.name, "/s")
	s.row(c.name+": p99", "ms")
	s.row(c.name+": CPU of the server", "µs")
}

// against adds and prints how a contender compares with a reference, round by
// round.
func (s series) against(name, ours, ref string, target float64) {
	for i := range s[ours] {
		s.add(name, s[ours][i]/s[ref][i])
	}
	if target > 0 {
		s.atLeast(name, "×", target)
	} else {
		s.row(name, "×")
	}
}

// exampleDesk is a desk on the shipped example configuration with the rules of
// rules.go besides.
func exampleDesk(b bench) (*desk, error) {
	text, err := os.ReadFile("config.example.yaml")
	if err != nil {
		return nil, fmt.Errorf("%w; run this in the project's directory", err)
	}
	before, after, ok := strings.Cut(string(text), "    routing:\n")
	if !ok {
		return nil, errors.New("config.example.yaml has no routing in approvals.tools, before which rules can be put")
	}
	return start(b.bin, options{example: before + yamlRules() + "    routing:\n" + after})
}

// grantedDesk is such a desk with standing grants, which do not cover the calls that are
// measured.
func grantedDesk(b bench) (*desk, error) {
	d, err := exampleDesk(b)
	if err != nil {
		return nil, err
	}
	c, err := dial(d.addr, 4096)
	if err != nil {
		d.stop()
		return nil, err
	}
	defer c.net.Close()
	for i := range 500 {
		body := fmt.Sprintf(`{"owner":"main-agent","toolName":"exec","pattern":["tool%d","deploy","**"],"maxRiskClass":"R3"}`, i)
		if _, err := c.do(request("POST", "/v1/grants", operatorToken, body)); err != nil {
			d.stop()
			return nil, err
		}
	}
	return d, nil
}

func (d *desk) contender(name, path string, bodies []string) contender {
	c := contender{name: name, addr: d.addr, pid: d.cmd.Process.Pid}
	for _, body := range bodies {
		c.reqs = append(c.reqs, request("POST", path, agentToken, body))
	}
	return c
}

func (p *process) contender(name, path string, bodies []string) contender {
	c := contender{name: name, addr: p.addr, pid: p.cmd.Process.Pid}
	for _, body := range bodies {
		c.reqs = append(c.reqs, request("POST", path, "", body))
	}
	return c
}

// evaluate measures POST /v1/evaluate against an echo of the same requests and
// against Open Policy Agent on the same rules: its own server, and its library
// behind net/http. OPA is asked without a token and logs no decisions.
func evaluate(b bench) error {
	d, err := exampleDesk(b)
	if err != nil {
		return err
	}
	defer d.stop()
	echo, err := self("-serve", "echo")
	if err != nil {
		return err
	}
	defer echo.stop()
	all := []contender{
		echo.contender("net/http JSON echo (reference), 64 connections", "/", calls()),
		d.contender("POST /v1/evaluate, shipped rules and 50 more", "/v1/evaluate", calls()),
		d.contender("POST /v1/evaluate, a pipeline of 130 bytes", "/v1/evaluate", []string{pipelineCall}),
	}
	granted, err := grantedDesk(b)
	if err != nil {
		return err
	}
	defer granted.stop()
	all = append(all, granted.contender("POST /v1/evaluate with 500 standing grants", "/v1/evaluate", calls()))
	opa, err := startOPA(b, d.dir)
	if err != nil {
		fmt.Printf("  OPA: not built (%v)\n", err)
	} else {
		for _, p := range opa {
			defer p.stop()
			if err := agree(d, p); err != nil {
				return err
			}
		}
		all = append(all, opa[0].contender("OPA server on the same rules (reference)", opaPath, opaCalls()),
			opa[1].contender("OPA as a library behind net/http (reference)", opaPath, opaCalls()))
	}
	many := d.contender("POST /v1/evaluate with 1,000 calls each", "/v1/evaluate", []string{manyCalls()})
	s := series{}
	if err := b.turns(s, append(all, many)); err != nil {
		return err
	}
	for _, c := range append(all, many) {
		s.show(c)
	}
	const each = "calls judged a thousand at once"
	for _, n := range s[many.name] {
		s.add(each, 1000*n)
	}
	s.row(each, "/s")
	s.against("a thousand at once against one by one", each, all[1].name, 5)
	s.against("evaluate against echo", all[1].name, all[0].name, 0.7)
	for i := range s[all[1].name] {
		s.add("evaluate: p99 against echo's", s[all[1].name+": p99"][i]/s[all[0].name+": p99"][i])
	}
	s.atMost("evaluate: p99 against echo's", "×", 2)
	if opa != nil {
		s.against("evaluate against OPA's server", all[1].name, all[4].name, 3)
		s.against("evaluate against OPA's library", all[1].name, all[5].name, 0)
		s.against("a thousand at once against OPA's server", each, all[4].name, 10)
	}
	s.against("evaluate of the pipeline against echo", all[2].name, all[0].name, 0)
	s.against("evaluate with 500 grants against none", all[3].name, all[1].name, 0.9)
	return nil
}

// manyCalls is a body with a thousand of the calls that are measured one by one.
func manyCalls() string {
	var all []string
	for len(all) < 1000 {
		all = append(all, calls()...)
	}
	return `{"calls":[` + strings.Join(all[:1000], ",") + `]}`
}

// settled measures calls that policy allows: judged, on record and durable
// before the answer.
func settled(b bench) error {
	d, err := exampleDesk(b)
	if err != nil {
		return err
	}
	defer d.stop()
	echo, err := self("-serve", "echo")
	if err != nil {
		return err
	}
	defer echo.stop()
	all := []contender{
		echo.contender("net/http JSON echo (reference), 64 connections", "/", allowedCalls()),
		d.contender("POST /v1/approvals allowed by policy, on record", "/v1/approvals", allowedCalls()),
	}
	s := series{}
	if err := b.turns(s, all); err != nil {
		return err
	}
	for _, c := range all {
		s.show(c)
	}
	s.against("settled by policy against echo", all[1].name, all[0].name, 0.2)
	return nil
}

// startOPA builds the nested module and starts OPA's server and its library.
func startOPA(b bench, dir string) ([]*process, error) {
	bin, err := filepath.Abs(filepath.Join(filepath.Dir(b.bin), "bench-opa"))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	build := exec.CommandContext(ctx, "go", "build", "-o", bin, ".")
	build.Dir = "internal/bench/opa"
	if out, err := build.CombinedOutput(); err != nil {
		first, _, _ := bytes.Cut(bytes.TrimSpace(out), []byte("\n"))
		return nil, fmt.Errorf("%w: %s", err, first)
	}
	file := filepath.Join(dir, "policy.rego")
	if err := os.WriteFile(file, []byte(rego()), 0o600); err != nil {
		return nil, err
	}
	server, err := child(bin, "server", file)
	if err != nil {
		return nil, err
	}
	library, err := child(bin, "library", file)
	if err != nil {
		server.stop()
		return nil, err
	}
	return []*process{server, library}, nil
}

// agree fails if the desk and OPA disagree about a call that is measured, because their
// speeds cannot be compared then.
func agree(d *desk, opa *process) error {
	ours, theirs := d.contender("", "/v1/evaluate", calls()), opa.contender("", opaPath, opaCalls())
	for i, body := range calls() {
		a, err := outcome(ours, i)
		if err != nil {
			return err
		}
		b, err := outcome(theirs, i)
		if err != nil {
			return err
		}
		if a == "" || a != b {
			return fmt.Errorf("the desk says %q and OPA says %q of %s", a, b, body)
		}
	}
	return nil
}

func outcome(c contender, i int) (string, error) {
	k, err := dial(c.addr, 4096)
	if err != nil {
		return "", err
	}
	defer k.net.Close()
	body, err := k.do(c.reqs[i])
	if err != nil {
		return "", err
	}
	var got struct {
		Outcome string
		Result  struct{ Outcome string }
	}
	err = json.Unmarshal(body, &got)
	return got.Outcome + got.Result.Outcome, err
}
