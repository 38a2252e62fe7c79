package policy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// W5: patterns are exact, anchored and case-sensitive; * stays within a name, and
// a path is cleaned before it is compared. Where a link points is not seen here:
// what the tool is given is what is compared.
func TestAdversary_W5_PatternsReachNoFurther(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped, func(c *Config) {
		c.RequireApprovalAtOrAbove = new(approval.R1)
		c.Rules = []Rule{
			{Name: "notes", Match: Match{Tool: []string{"write"}, Path: []string{"notes/*"}}, Outcome: "allow"},
			{Name: "tree", Match: Match{Tool: []string{"write"}, Path: []string{"docs/**"}}, Outcome: "allow"},
			{Name: "push", Match: Match{Tool: []string{"exec"}, Command: []string{"git push * main"}}, Outcome: "allow"},
			{Name: "host", Match: Match{Tool: []string{"webfetch"}, Host: []string{"*.example.org"}}, Outcome: "allow"},
		}
	})
	write := func(path string) approval.Outcome {
		return judge(e, callOf(t, "write", map[string]any{"path": path, "content": "x"})).Outcome
	}
	for _, path := range []string{"notes/a.md", "./notes/a.md", "notes/./a.md", "docs/a.md", "docs/deep/er/a.md"} {
		require.Equal(t, approval.OutcomeAllow, write(path), path)
	}
	for _, path := range []string{"notes/sub/a.md", "Notes/a.md", "NOTES/a.md", "xnotes/a.md", "notes", "notes/../secret.md", "notes/../../etc/passwd",
		"notes/x/../a.md", "/notes/a.md", "other/notes/a.md", "docs/../secret.md", "docs/../../etc/x", "~/notes/a.md", "notes/$X", "notes\u202e/a.md"} {
		require.NotEqual(t, approval.OutcomeAllow, write(path), path)
	}
	line := func(s string) approval.Outcome { return judge(e, lineCall(t, s)).Outcome }
	require.Equal(t, approval.OutcomeAllow, line("git push origin main"))
	for _, s := range []string{"git push origin", "git push origin main next", "GIT push origin main", "git push origin main; rm x",
		"git push origin main && git push upstream next", "git push origin main\ngit push upstream x", "xgit push origin main", "git push upstream origin main", "git push main",
		"git push origin $(cat x)", "git push origin *", "git push origin main > x", "git push origin Main"} {
		require.NotEqual(t, approval.OutcomeAllow, line(s), s)
	}
	fetch := func(url string) approval.Outcome {
		return judge(e, callOf(t, "web_fetch", map[string]any{"url": url})).Outcome
	}
	require.Equal(t, approval.OutcomeAllow, fetch("https://www.example.org/x"))
	for _, url := range []string{"https://www.example.org.evil.net/", "https://example.org.evil.net/", "https://evil.net/www.example.org", "https://www.example.org@evil.net/",
		"https://evilexample.org/", "https://evil.net#.example.org", "https://evil.net?x=www.example.org"} {
		require.NotEqual(t, approval.OutcomeAllow, fetch(url), url)
	}
}
