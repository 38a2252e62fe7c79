package policy

import (
	_ "embed"
	"encoding/json"
	"strings"

	"approvalbot/internal/approval"
)

//go:embed testdata/corpus.tsv
var corpusText string

// Examples are calls that agents make, harmless and dangerous ones, of no agent and in no directory: what a
// change of the policy is tried on beside the calls that a desk was asked for. A desk needs them rarely, so they are
// not kept.
func Examples() (calls []approval.Call) {
	for line := range strings.Lines(corpusText) {
		cols := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 5)
		if len(cols) != 5 || strings.HasPrefix(line, "#") {
			continue
		}
		tool, params := cols[3], json.RawMessage(cols[4])
		if tool == "$" {
			said, err := json.Marshal(map[string]string{"command": strings.ReplaceAll(cols[4], "␤", "\n")})
			if err != nil { // a text always marshals
				panic(err)
			}
			tool, params = "exec", said
		}
		calls = append(calls, approval.Call{ToolName: tool, Params: params})
	}
	return calls
}
