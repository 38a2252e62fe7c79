package effective

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// A yes that must be signed needs a page on which a browser keeps passkeys.
func TestStepUp_NeedsASite(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"": "", "http://desk.example.org": "must begin with https",
		"https://192.0.2.1": "must have a DNS name", "https://desk.example.org": "", "http://localhost:8787": "",
	} {
		for key, where := range map[string]string{
			"approvals.tools.policy.stepUpAtOrAbove": "policy: {stepUpAtOrAbove: R4}",
			"approvals.tools.rules[0].stepUp":        "rules: [{name: a, match: {tool: deploy}, outcome: ask, stepUp: true}]",
		} {
			c, _, err := Parse("f.yaml", fmt.Appendf(nil, `
server: {publicUrl: %q}
channels: {telegram: {botToken: "1:a", allowedUserIds: [111]}}
approvals: {tools: {%s}}
`, url, where), nil, nil)
			if want == "" {
				require.NoError(t, err, url)
				rules, err := Rules(c, Table(c))
				require.NoError(t, err)
				require.NotEmpty(t, rules.Site.ID)
				continue
			}
			require.ErrorContains(t, err, key+": needs passkeys, and for passkeys server.publicUrl "+want, url)
		}
	}
	c, _, err := Parse("f.yaml", []byte("approvals: {tools: {policy: {stepUpAtOrAbove: \"\"}}}"), nil, nil)
	require.NoError(t, err)
	require.Empty(t, StepUp(c))
}

// Taking a signature away is looser than before; asking for one is not.
func TestLooser_StepUp(t *testing.T) {
	t.Parallel()
	with := func(tools string) func() []string {
		old, _, err := Parse("f.yaml", fmt.Appendf(nil, `
server: {publicUrl: "https://desk.example.org"}
channels: {telegram: {botToken: "1:a", allowedUserIds: [111]}}
agents: {list: [{id: main, approvals: {policy: {stepUpAtOrAbove: R3}}}]}
approvals: {tools: {policy: {stepUpAtOrAbove: R3}, rules: [{name: a, match: {tool: deploy}, outcome: ask, stepUp: true}]}}
`), nil, nil)
		require.NoError(t, err)
		now, _, err := Parse("f.yaml", fmt.Appendf(nil, `
server: {publicUrl: "https://desk.example.org"}
channels: {telegram: {botToken: "1:a", allowedUserIds: [111]}}
%s`, tools), nil, nil)
		require.NoError(t, err)
		require.Empty(t, Looser(old, old))
		return func() []string { return Looser(old, now) }
	}
	const agent = "agents: {list: [{id: main, approvals: {policy: {stepUpAtOrAbove: R3}}}]}\n"
	const rule = "rules: [{name: a, match: {tool: deploy}, outcome: ask, stepUp: true}]"
	require.Equal(t, []string{"R3 needs no signature of a passkey"},
		with(agent+"approvals: {tools: {policy: {stepUpAtOrAbove: R4}, "+rule+"}}")())
	require.Empty(t, with(agent+"approvals: {tools: {policy: {stepUpAtOrAbove: R2}, "+rule+"}}")())
	require.Equal(t, []string{"the operator's rules allow more"},
		with(agent+"approvals: {tools: {policy: {stepUpAtOrAbove: R3}, rules: [{name: a, match: {tool: deploy}, outcome: ask}]}}")())
	require.Equal(t, []string{"the hard tool layers changed"},
		with("agents: {list: [{id: main}]}\napprovals: {tools: {policy: {stepUpAtOrAbove: R3}, "+rule+"}}")())
}
