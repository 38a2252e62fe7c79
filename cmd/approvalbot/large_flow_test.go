package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
)

// A file that is larger than a body of the API is asked for with the file attached, and is written as it
// was allowed.
func TestHookFlow_T30_ALargeWrite(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	text := "begins\n" + strings.Repeat("0123456789abcde\n", 300<<10/16) + "ends here\n"
	body := fmt.Sprintf(`{"session_id":"s1","cwd":"/srv","hook_event_name":"PreToolUse","tool_name":"Write",`+
		`"tool_input":{"file_path":"/opt/x","content":%q},"tool_use_id":"toolu_1"}`, text)
	yes := r.hook(body, "claude-code", "PreToolUse", "--limit", "1h")
	a := r.askedAs("toolu_1")
	card := r.card(a)
	r.tap(r.alice, r.group, card.ID, "Allow once")
	code, out := yes.output(t)
	require.Zero(t, code)
	require.Contains(t, out, `"permissionDecision":"allow"`)
	require.NotZero(t, r.get(a).ClaimedAtMs)
	require.Contains(t, tgChat{r, r.group}.fromBot()[0].file, "ends here", "the whole file comes first")

	no := r.hook(strings.NewReplacer("toolu_1", "toolu_2", "begins", strings.Repeat("x", 1<<20)).Replace(body), "claude-code", "PreToolUse")
	_, out = no.output(t)
	require.Contains(t, out, `"permissionDecision":"deny"`)
	require.Contains(t, out, "larger than 1048576 bytes")
	_, err := r.agent().Get(r.ctx(), "toolu_2", 0)
	require.ErrorAs(t, err, new(*api.Problem))
}
