package core_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// pointing is the policy of these tests, which says of each call what its reasons come from if that is wanted.
type pointing struct{ byName }

func (p pointing) Judge(ctx context.Context, c approval.Call) approval.Judgement {
	j := p.byName.Judge(ctx, c)
	if c.Points {
		j.Points = []approval.Point{
			{Code: "because", Line: 2, Text: "frob --token ghp_abcdefghijklmnopqrstuvwxyz0123456789 \u202e" + strings.Repeat("é", 300),
				Does: "frobs %s", Of: []string{"a\u200bb"}},
			{Code: "because", Param: "password", Text: "hunter2"},
			{Code: "because", Param: "auth", Text: "hunter2", Does: "reads %s", Of: []string{"hunter2"}},
			{Code: "because", Param: "path", Text: "/a", Does: "reads %s", Of: []string{"/a"}},
			{Code: "secret", Param: "path", Text: "/a", Does: "reads %s", Of: []string{"/a"}},
			{Code: "secret", Param: "path", Text: "/a", Does: "reads %s", Of: []string{"hunter2"}},
			{Code: "because", Param: "path", Text: "/a", Does: "has the parameter %s", Of: []string{"path"}},
			{Code: "because", Text: "frob --option", Does: "frobs %s", Of: []string{"--option"}},
			{Code: "secret", Text: "frob --password hunter2", Does: "frobs %s", Of: []string{"hunter2"}},
		}
	}
	return j
}

// What a call's reasons come from is kept as people may see it, and only of a call that a person is asked about.
func TestPointsAreKeptAsPeopleMaySeeThem(t *testing.T) {
	d := newFixture(t)
	d.use(func(r *core.Rules) { r.Policy = pointing{byName{hash: "1"}} })
	a, err := d.Get(t.Context(), alice, d.submit(t, "two", func(c *approval.Call) {
		c.Params = []byte(`{"path":"/a","what":"a\u200bb","auth":{"password":"hunter2"}}`)
	}).Code)
	require.NoError(t, err)
	require.Equal(t, []approval.Point{
		{Code: "because", Param: "path", Text: "/a", Does: "reads %s", Of: []string{"/a"}},
		{Code: "secret", Param: "path", Text: "/a"},
		{Code: "secret", Param: "path", Text: "/a"},
		{Code: "because", Param: "path", Text: "/a", Does: "has the parameter %s", Of: []string{"path"}},
		{Code: "because", Text: "frob --option", Does: "frobs %s", Of: []string{"--option"}},
		{Code: "secret", Text: "frob --password [REDACTED]"},
	}, a.Points[1:], "no sentence names a secret, nor takes the place of what is said of one, and the value of a member "+
		"that is secret by its name is in none")
	p := a.Points[0]
	require.True(t, strings.HasPrefix(p.Text, `frob --token [REDACTED] \u{202E}é`), p.Text)
	require.Len(t, []rune(p.Text), 200)
	require.Equal(t, []string{`a\u{200B}b`}, p.Of)
	require.Equal(t, 2, p.Line)

	require.Empty(t, d.submit(t, "allow").Points, "it was settled at once")
	require.Empty(t, d.submit(t, "deny").Points)
	require.Empty(t, d.submit(t, "hidden", func(c *approval.Call) { c.Dialect = approval.DialectAgentShield }).Points,
		"of such a call people see no more than the fingerprint")
	for _, who := range []core.Caller{alice, bob} {
		_, err := d.VoteAs(t.Context(), who, a.Code, approval.AllowSession, "", "")
		require.NoError(t, err)
	}
	passed := d.submit(t, "two", func(c *approval.Call) { c.Params = []byte(`{"path":"b"}`) })
	require.Equal(t, approval.Approved, passed.Status)
	require.Empty(t, passed.Points, "a grant settled it")
}
