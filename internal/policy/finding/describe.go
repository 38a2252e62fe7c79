package finding

import (
	"fmt"
	"strings"

	"approvalbot/internal/approval"
)

const (
	describeHead = `# Reason codes

Why the desk judges a call as it does. A call's class is the highest of all that was found in it. ` + "`rule:NAME`" + ` is one of the
operator's rules.

| code | class | means |
|---|---|---|
`
	describeRest = `
These say why the desk asks or refuses, and add no risk:

| code | means |
|---|---|
`
)

// Describe is a page of Markdown with every code, its class and its sentence, the lowest class first.
func Describe() string {
	found, rest := make([]string, approval.R4+1), describeRest
	for c := range CodeCount {
		r := Reasons[c]
		if c >= ApprovalsDisabled {
			rest += fmt.Sprintf("| `%s` | %s |\n", r.Name, r.Text)
			continue
		}
		found[r.Class] += fmt.Sprintf("| `%s` | %s | %s |\n", r.Name, r.Class, r.Text)
	}
	return describeHead + strings.Join(found, "") + rest
}
