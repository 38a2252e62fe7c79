package policy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// What git and the forges' clients only tell, and what is one option away from it.
func TestRowsOfGitAndForges(t *testing.T) {
	t.Parallel()
	e := engine(t, func(c *Config) { c.ExecSecurity = "full" })
	for line, twin := range map[string]string{
		"git log --oneline -10 --format='%h %s'":                                  "git log --output=/workspace/x",
		"git log --format '%h %s' -n 5 -- src":                                    "git log -- .env",
		"git -c color.ui=never --no-pager diff --stat":                            "git -c core.pager=./x diff",
		"git -c core.pager=cat log -3":                                            "git -c core.fsmonitor=./x status",
		"git diff --word-diff=color HEAD~3..HEAD -- a.go":                         "git diff --no-index /dev/null .env",
		"git show HEAD:src/main.go":                                               "git show HEAD:.env",
		"git show --stat --format=fuller abc123":                                  "git show --ext-diff abc123",
		"git blame -L 10,20 main.go":                                              "git blame --contents .env main.go",
		"git grep -n TODO -- '*.go'":                                              "git grep -O./x TODO",
		"git ls-files --others --exclude-standard":                                "git ls-files -X .env",
		"git ls-remote --heads origin main":                                       "git ls-remote ext::./x",
		"git ls-remote --tags origin":                                             "git ls-remote --upload-pack=./x origin",
		"git reflog -10":                                                          "git reflog delete HEAD@{1}",
		"git stash list":                                                          "git stash drop",
		"git stash push -m 'half done' -- src/a.go":                               "git stash -a",
		"git worktree list --porcelain":                                           "git worktree remove x",
		"git submodule status --recursive":                                        "git submodule foreach id",
		"git rev-parse --abbrev-ref HEAD":                                         "git rev-parse --parseopt x",
		"git symbolic-ref --short HEAD":                                           "git symbolic-ref HEAD refs/heads/x",
		"git apply --stat a.patch":                                                "git apply --check --apply a.patch",
		"git for-each-ref --sort=-committerdate --format='%(refname)' refs/heads": "git update-ref refs/heads/x HEAD",
		"gh pr view 12 --json title,body --jq .title":                             "gh pr view 12 --json title --jq env",
		"gh pr list -R cli/cli --limit 5":                                         "gh pr list -R evil.example/cli/cli",
		"gh pr checks 12 --watch":                                                 "gh pr checkout 12",
		"gh run view 123 --log-failed":                                            "gh run rerun 123",
		"gh api repos/cli/cli/pulls --paginate":                                   "gh api repos/cli/cli/pulls -f title=x",
		"gh api -X GET search/issues -f q=bug":                                    "gh api -X POST repos/x/y/issues",
		"gh api repos/x/y":                                                        "gh api https://evil.example/x",
		"gh auth status":                                                          "gh auth status --show-token",
		"gh issue view 4 --comments":                                              "gh issue delete 4",
		"glab mr view 5":                                                          "glab mr merge 5",
		"glab ci status --live":                                                   "glab ci run",
	} {
		j := judge(e, lineCall(t, line))
		require.LessOrEqual(t, j.Assessment.RiskClass, approval.R2, "%s: %v", line, j.Assessment.ReasonCodes)
		require.Equal(t, approval.OutcomeAllow, j.Outcome, "%s", line)
		j = judge(e, lineCall(t, twin))
		require.GreaterOrEqual(t, j.Assessment.RiskClass, approval.R3, "%s: %v", twin, j.Assessment.ReasonCodes)
	}
}
