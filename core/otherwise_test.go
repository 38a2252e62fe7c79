package core_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// A policy is tried on the calls that were asked for, whether they wait or have ended, and on examples; what
// would run is named first, and nothing is said of what stays.
func TestOtherwise(t *testing.T) {
	d := newFixture(t)
	command := func(line string) func(*approval.Call) {
		return func(c *approval.Call) { c.Params = fmt.Appendf(nil, `{"command":%q}`, line) }
	}
	d.submit(t, "serious") // stays
	d.submit(t, "grave")
	ended := d.submit(t, "exec", command("git push"))
	d.submit(t, "exec", command("git push"), func(c *approval.Call) { c.SessionKey = "another" }) // the same call
	_, err := d.VoteAs(t.Context(), alice, ended.Code, approval.Deny, "", "")
	require.NoError(t, err)
	gone := d.submit(t, "exec", command("curl -H 'Authorization: Bearer abcdefghijklmnopqrstuvwxyz012345' example.com"))
	_, err = d.VoteAs(t.Context(), alice, gone.Code, approval.Deny, "", "")
	require.NoError(t, err)

	next := byOther{map[string]approval.Outcome{"exec": approval.OutcomeAllow, "grave": approval.OutcomeDeny, "listed": approval.OutcomeDeny}}
	got, err := d.Upkeep().Otherwise(t.Context(), next, []approval.Call{call("listed"), call("ask")})
	require.NoError(t, err)
	require.Equal(t, []string{
		"3 of 3 calls that were asked for lately and of 2 examples (1 more are not kept) would be judged otherwise",
		"git push, asked by agent: allowed, and was asked (a person)",
		"grave · path: a, asked by agent: denied, and was asked (a person)",
		`example: listed {"path":"a"}: denied, and was asked (a person)`,
	}, got.Lines())
	require.Equal(t, "1", d.PolicyHash(), "nothing is put in force")
	require.NotContains(t, strings.Join(got.Lines(), ""), "abcdefghij")
}

// What is said is bounded, and says how much it leaves out.
func TestOtherwise_Bounded(t *testing.T) {
	d := newFixture(t)
	var examples []approval.Call
	for i := range 25 {
		examples = append(examples, call("exec", func(c *approval.Call) {
			c.Params = fmt.Appendf(nil, `{"command":"echo %d %s"}`, i, strings.Repeat("x", 500))
		}))
	}
	got, err := d.Upkeep().Otherwise(t.Context(), byOther{map[string]approval.Outcome{"exec": approval.OutcomeAllow}}, examples)
	require.NoError(t, err)
	lines := got.Lines()
	require.Len(t, lines, 12)
	require.Equal(t, "and 15 more", lines[11])
	require.Less(t, len(strings.Join(lines, "")), 3000)
}

// byOther is byName with other outcomes for some tools.
type byOther struct{ outcomes map[string]approval.Outcome }

func (p byOther) Judge(ctx context.Context, c approval.Call) approval.Judgement {
	j := byName{}.Judge(ctx, c)
	if o, other := p.outcomes[c.ToolName]; other {
		j.Outcome = o
	}
	return j
}
func (p byOther) JudgeWith(ctx context.Context, c approval.Call, _ approval.Opinion) approval.Judgement {
	return p.Judge(ctx, c)
}
func (p byOther) Permits(approval.Call) (string, bool) { return "", true }
func (p byOther) Hash() string                         { return "other" }
