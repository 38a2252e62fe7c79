package main

import (
	"fmt"
	"strings"
)

// The operator's fifty rules, once as the desk reads them and once in Rego, and
// the calls that are measured with them.
//
// The Rego covers the part of the policy that a table can say: the class and the
// side effects of the tools measured, what an unknown tool counts as, the
// thresholds of the example configuration, and the fifty rules, of which the
// first that fits counts. It does not cover shell lines, paths and hosts (so the
// example's own two rules, which are about commands, have no counterpart), hard
// layers, grants, reasons, approvers or what people are offered: there OPA does
// less than the desk. Names are compared for equality, which OPA indexes.

const operatorRules = 50

// kindOf says which of five kinds a rule is of.
func kindOf(i int) (match, says string) {
	switch i % 5 {
	case 0:
		return fmt.Sprintf("tool: jira__call_%d", i), "outcome: ask"
	case 1:
		return fmt.Sprintf("tool: pay_%d", i), "outcome: deny"
	case 2:
		return fmt.Sprintf("agent: agent-%d", i), "outcome: ask"
	case 3:
		return fmt.Sprintf("tool: notes__add_%d", i), "outcome: allow"
	default:
		return fmt.Sprintf("tool: crm__read_%d, agent: main", i), "outcome: allow"
	}
}

func yamlRules() string {
	var b strings.Builder
	for i := range operatorRules {
		match, says := kindOf(i)
		fmt.Fprintf(&b, "      - {name: bench-%d, match: {%s}, %s}\n", i, match, says)
	}
	return b.String()
}

// calls are the requests of one turn: the tools agents use most, calls that the
// desk does not know, and one for each kind of rule.
func calls() []string {
	return []string{
		call("read", `{"path":"/workspace/server/handler.go","limit":200}`),
		call("write", `{"path":"/workspace/server/handler.go","content":"package server\n"}`),
		call("grep", `{"pattern":"func main","path":"/workspace"}`),
		call("web_fetch", `{"url":"https://example.org/docs/index.html"}`),
		call("message", `{"to":"bob","text":"the build is green"}`),
		call("payment", `{"to":"acme","amount":12.5}`),
		call("weather__now", `{"city":"Oslo"}`),
		call("jira__call_20", `{"title":"a title","body":"a body"}`),
		call("pay_31", `{"amount":3}`),
		call("notes__add_43", `{"text":"a note"}`),
		call("crm__read_49", `{"id":17}`),
	}
}

// allowedCalls are those that policy allows at once.
func allowedCalls() []string { return calls()[:4] }

const pipelineCall = `{"toolName":"exec","params":{"command":"cat /workspace/server/handler.go | grep -n \"func (s\" | sort -k2 | uniq -c | head -n 20 && git status --short --branch > /dev/null"},"agentId":"main","sessionKey":"agent:main:1"}`

func call(tool, params string) string {
	return fmt.Sprintf(`{"toolName":%q,"params":%s,"agentId":"main","sessionKey":"agent:main:1"}`, tool, params)
}

const opaPath = "/v1/data/approvals/decision"

// opaCalls are the same calls as OPA takes them.
func opaCalls() (all []string) {
	for _, c := range calls() {
		all = append(all, `{"input":`+c+`}`)
	}
	return all
}

const regoHead = `package approvals

tools := {
	"read": {"riskClass": "R0", "sideEffects": ["filesystem_read"]},
	"write": {"riskClass": "R1", "sideEffects": ["filesystem_write"]},
	"grep": {"riskClass": "R0", "sideEffects": ["filesystem_read"]},
	"web_fetch": {"riskClass": "R2", "sideEffects": ["network_read"]},
	"message": {"riskClass": "R3", "sideEffects": ["message_send"]},
	"payment": {"riskClass": "R4", "sideEffects": ["payment"]},
}

unknown := {"riskClass": "R3", "sideEffects": ["external_write"]}

assessment := object.get(tools, input.toolName, unknown)

asks if assessment.riskClass in {"R3", "R4"}
asks if "external_write" in assessment.sideEffects
asks if "message_send" in assessment.sideEffects

default said := ""
said := rules[min(hits)]

outcome := said if said != ""
else := "ask" if asks
else := "allow"

decision := {"outcome": outcome, "assessment": assessment, "said": said}

`

// rego is the policy for OPA.
func rego() string {
	rules, hits := []string{}, strings.Builder{}
	for i := range operatorRules {
		match, says := kindOf(i)
		rules = append(rules, fmt.Sprintf("%q", strings.TrimPrefix(says, "outcome: ")))
		fmt.Fprintf(&hits, "hits contains %d if {\n", i)
		for cond := range strings.SplitSeq(match, ", ") {
			key, value, _ := strings.Cut(cond, ": ")
			fmt.Fprintf(&hits, "\tinput.%s == %q\n", map[string]string{"tool": "toolName", "agent": "agentId"}[key], value)
		}
		hits.WriteString("}\n")
	}
	return regoHead + "rules := [" + strings.Join(rules, ", ") + "]\n\n" + hits.String()
}
