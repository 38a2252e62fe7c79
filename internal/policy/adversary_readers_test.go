package policy

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// asksFor checks that none of the lines runs unasked, and that the others do.
func asksFor(t *testing.T, asked, allowed []string) {
	t.Helper()
	e := engine(t, shipped)
	for _, line := range asked {
		j := judge(e, lineCall(t, line))
		assert.NotEqual(t, approval.OutcomeAllow, j.Outcome, "%s: %v", line, j.Assessment.ReasonCodes)
	}
	for _, line := range allowed {
		j := judge(e, lineCall(t, line))
		assert.Equal(t, approval.OutcomeAllow, j.Outcome, "%s: %v", line, j.Assessment.ReasonCodes)
	}
}

// TestAdversary_W18_GlobsBesideVariables: an unquoted glob is as many words as there are
// names, also where a quoted variable stands in the same word. Where files are called
// -delete, or 5, rm and src, these lines delete.
func TestAdversary_W18_GlobsBesideVariables(t *testing.T) {
	t.Parallel()
	asksFor(t, []string{
		`find *"$x" -name y`, `find [!a]*"$x"`, `timeout *"$x" ls`, `timeout 5"$x"* ls`, `nice -n 5"$x"* ls`, `grep src/*"$x" y`, `grep src/"$x"[a-z] y`,
		`git commit -m src/"$x"*`, `git branch *"$x"`, `for f in *; do find "$f$x"; done`,
	}, []string{`ls *"$x"`, `timeout 5 ls *"$x"`, `git commit -m "$x"`, `grep "src/$x" y.go`, `for d in a b; do find "$d" -name y; done`})
}

// TestAdversary_W18_TheNextRoundBeginsElsewhere: a cd in a loop, which goes home without
// a word, says where the commands before it run in the next round.
func TestAdversary_W18_TheNextRoundBeginsElsewhere(t *testing.T) {
	t.Parallel()
	asksFor(t, []string{
		"for n in *; do rm -rf dist; cd; done", "while read -r n; do touch a; cd; done < f", "until make; do cd; done", "for n in $x; do if make; then cd; fi; done",
	}, []string{"for n in *; do (ls; cd); touch a; done", "cd; ls"})
}

// TestAdversary_W18_CopiesOntoTheWorkspace: what is in a directory, hooks and settings
// with it, may not come into the workspace's own.
func TestAdversary_W18_CopiesOntoTheWorkspace(t *testing.T) {
	t.Parallel()
	asksFor(t, []string{"cp -rT src .", "cp -a --no-target-directory src .", "cp -r src/ .", "cp src/ ./ -R", "cp -r src/. ."},
		[]string{"cp -r src/a .", "cp -r src/a ./", "cp -r src/ b", "cp -rT src b", "cp src/a/b.go ."})
}

// TestAdversary_W18_NamesThatBeginWithASecrets: xargs and read take a name for the first
// words or the first line of it.
func TestAdversary_W18_NamesThatBeginWithASecrets(t *testing.T) {
	t.Parallel()
	asksFor(t, []string{`touch "server.key x.go"`, "touch \"config/server.key\nx.go\"", `echo x > "credentials.json x.go"`},
		[]string{`touch "a x.go"`, `touch "src/a b/key x.go"`, "find . -name '*.go' | xargs cat"})
}

// TestAdversary_W18_MoreNamesOfSecrets: a submodule's settings hold a remote's token as
// the repository's own do.
func TestAdversary_W18_MoreNamesOfSecrets(t *testing.T) {
	t.Parallel()
	asksFor(t, []string{"cat .git/modules/x/config", "cat .git/worktrees/x/config.worktree", "cat sub/.GIT/config", "cat .git/modules/*/config", "cat app-firebase-adminsdk-1ab2c.json", "cat .token", "cat wp-config.php"},
		[]string{"cat config", "cat src/config", "cat .git/HEAD", "cat src/adminsdk.go"})
}

// TestAdversary_W18_NamesInPatches: whatever git and patch take for a file's name is one.
func TestAdversary_W18_NamesInPatches(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped)
	for _, patch := range []string{
		"diff --git a/x b/y\nsimilarity index 100%\nrename old x\nrename new .husky/y\n", "--- a/x\n+++ .husky/x foo\n@@ -0,0 +1 @@\n+x\n", "Index: .husky/x foo\n--- a\n+++ a\n",
		"X--- a/.husky/x\n0a1\n> b\n--- x\n+++ x\n", "--- x\n- +++ .husky/x\n@@ -0,0 +1 @@\n+x\n", "*** .husky/x\n--- x.txt\n***************\n*** 1 ****\n! a\n--- 1\n! b\n", "*** .husky/x\tMon Jan 1\n--- x.txt\n***************\n*** 1 ****\n! a\n--- 1\n! b\n",
	} {
		j := judge(e, callOf(t, "apply_patch", map[string]any{"input": patch}))
		require.Equal(t, approval.OutcomeAsk, j.Outcome, patch)
		require.Contains(t, j.Assessment.ReasonCodes, "writes-startup", patch)
	}
	for _, patch := range []string{
		"--- x.c 2024-01-01 10:00:00\n+++ x.c 2024-01-02 10:00:00\n@@ -1 +1 @@\n-a\n+b\n",
		"*** Begin Patch\n*** Update File: a b.md\n@@\n *** Note: well\n-a\n+b\n*** End of File\n*** End Patch",
	} {
		require.Equal(t, approval.OutcomeAllow, judge(e, callOf(t, "apply_patch", map[string]any{"input": patch})).Outcome, patch)
	}
}

// TestAdversary_W18_DirectoriesThatRuntimesReadOtherwise: where a call may stand is open
// where its directory is an address, or has blanks around it.
func TestAdversary_W18_DirectoriesThatRuntimesReadOtherwise(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped)
	for dir, want := range map[string]approval.Outcome{"file:///srv": approval.OutcomeAsk, "file:/srv": approval.OutcomeAsk, " /srv": approval.OutcomeAsk, "/srv\n": approval.OutcomeAsk, "src": approval.OutcomeAllow} {
		for tool, key := range map[string]string{"exec": "workdir", "bash": "cwd"} {
			require.Equal(t, want, judge(e, callOf(t, tool, map[string]any{"command": "touch a", key: dir})).Outcome, dir)
		}
	}
}

// TestAdversary_W15_DataInSearches: who answers a search is sent its words.
func TestAdversary_W15_DataInSearches(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped)
	for _, query := range []string{"what is AKIAIOSFODNN7EXAMPLE", strings.Repeat("aGVsbG8", 20), strings.Repeat("lines of a file ", 30)} {
		require.Equal(t, approval.OutcomeAsk, judge(e, callOf(t, "web_search", map[string]any{"query": query})).Outcome, query)
	}
	require.Equal(t, approval.OutcomeAllow, judge(e, callOf(t, "web_search", map[string]any{"query": "go 1.26 testing/synctest how to wait for goroutines in a bubble"})).Outcome)
}
