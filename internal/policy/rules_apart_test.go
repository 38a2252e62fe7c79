package policy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// TestAPathThatLoosensSpellsWhatIsApart: a rule that allows files below a directory allows no hooks,
// settings or secrets below it, unless its path names them.
func TestAPathThatLoosensSpellsWhatIsApart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path, tool, file string
		allowed          bool
	}{
		{"notes/**", "Write", "notes/a.txt", true}, {"notes/**", "Write", "notes/.git/hooks/x", false}, {"notes/**", "Write", "notes/.env", false}, {"notes/**", "Write", "notes/sub/.npmrc", false},
		{"notes/**", "Write", "notes/AGENTS.md", false}, {"notes/**", "Write", "notes/.claude/settings.json", false}, {"notes/*", "Write", "notes/.envrc", false}, {"**", "Write", ".git/config", false}, {"**/*.txt", "Write", ".git/x.txt", false},
		{".github/workflows/**", "Write", ".github/workflows/ci.yml", true}, {".github/**", "Write", ".github/.git/hooks/x", false}, {"**/.env", "Write", "a/b/.env", true}, {"config/.env*", "Write", "config/.env.test", true}, {"**/.env", "Write", "a/.git/.env", false},
		{"AGENTS.md", "Write", "AGENTS.md", true}, {"/etc/**", "Write", "/etc/passwd", false}, {"/srv/**", "Write", "/srv/a", true}, {"/srv/**", "Write", "/srv/.ssh/config", false}, {"/workspace/notes/**", "Write", "/workspace/notes/.husky/x", false},
		{"notes/**", "Read", "notes/.env", false}, {"config/*.yaml", "Read", "internal/config/secrets.yaml", false}, {"internal/config/secrets.yaml", "Read", "internal/config/secrets.yaml", true},
	} {
		e := engine(t, shipped, func(cfg *Config) {
			cfg.Rules = []Rule{{Name: "r", Match: Match{Tool: []string{"write", "read"}, Path: []string{c.path}}, Outcome: "allow"}, {Name: "else", Match: Match{Tool: []string{"write", "read"}}, Outcome: "ask"}}
		})
		j := judge(e, callOf(t, c.tool, map[string]any{"file_path": c.file, "content": "x"}))
		if c.tool == "Read" {
			j = judge(e, callOf(t, c.tool, map[string]any{"file_path": c.file}))
		}
		require.Equal(t, c.allowed, j.Outcome == approval.OutcomeAllow, "%s %s: %v", c.path, c.file, j.Outcome)
	}
	e := engine(t, func(cfg *Config) {
		cfg.Rules = []Rule{{Name: "r", Match: Match{Tool: []string{"exec"}, Command: []string{"rm *"}, Path: []string{"notes/**"}}, Outcome: "allow"}}
	})
	require.Equal(t, approval.OutcomeAllow, judge(e, lineCall(t, "rm notes/a")).Outcome)
	require.Equal(t, approval.OutcomeAsk, judge(e, lineCall(t, "rm notes/.git/x")).Outcome)
}
