package policy

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// TestAdversary_W19_TheShellEmptiesFirst: what a line reads and overwrites is empty before
// it is read, in one command, one pipe or one group.
func TestAdversary_W19_TheShellEmptiesFirst(t *testing.T) {
	t.Parallel()
	asksFor(t, []string{
		"sort f > f", "jq . x > x", "cat a b > a", "sed s/a/b/ f > f", "grep x f | sort > f", "sort < f > f", "cat ./f > f", "cat /workspace/f > f", "cat f > F", "(cat f; echo x) > f",
		"{ echo head; cat f; } > f", "while read -r l; do echo \"$l\"; done < f > f", "cat f | tee f", "sort f | uniq | tee f > /dev/null", "cat f | (grep x; ls > f)", "wc -l f > f", "tar tf x.tar > x.tar", "npx tsc -p tsconfig.json > tsconfig.json",
		"npx prettier src/a.js > src/a.js", "diff a b > a", "git diff f > f", "git show HEAD:f > f", "cd src; cat a > a", "sort app.log > app.log",
	}, []string{
		"cat a > b", "cat f && ls > f", "cat f | grep x && ls > f", "sort f > f.tmp && mv f.tmp f", "cat a | grep x >> a", "cat f | tee g", "sort -u f -o f", "cd src && cat ../a > a", "echo a > a",
		"git diff > diff", "npm test > test", "cat f > /dev/stdout",
	})
}

// TestAdversary_W19_NothingIsPrinted: what surely prints nothing, or errors alone, leaves
// nothing of the file that it goes to.
func TestAdversary_W19_NothingIsPrinted(t *testing.T) {
	t.Parallel()
	asksFor(t, []string{
		"awk 'BEGIN{}' > f", "awk 'BEGIN{}' x > f", "awk '{x=1}' x > f", "git diff --quiet > f", "git diff -s > f", "git add . > f", "git grep -q x > f", "mkdir -p x > f", "touch a > f", "jq empty x > f", "echo -ne '' > f",
		"rg -q x > f", "sed -n s/a/b/ x > f", "sort -c x > f", "cmp -s a b > f", "printf '\\c' > f", "git merge-base --is-ancestor a b > f",
		"ls 2> main.go", "ls src 2> src/main.go", "ls 2> Makefile", "ls 2> src/router.go", "npm test > out.txt 2> package.json", "(ls) 2> login.py",
	}, []string{
		"awk '{print}' a > b", "awk '{a[$1]++} END{for(k in a) print k}' a > b", "awk 'NR==1' a > b", "git diff > x.diff", "sed -n s/a/b/p a > b", "mkdir -v x > made.txt", "mv -v a b > moved.txt", "touch a > /dev/null",
		"ls 2> err.txt", "ls 2> errors", "ls 2> build.log", "ls 2>> notes.md", "ls 2> stderr.json", "go test ./... > out.txt 2> out.err", "ls 2>/dev/null", "make 2>&1 | tee make.txt",
	})
}

// TestAdversary_W19_NobodyTypes: a program that is given nothing to read reads what the
// agent's runtime gives a command, which is nothing.
func TestAdversary_W19_NobodyTypes(t *testing.T) {
	t.Parallel()
	asksFor(t, []string{"cat > main.go", "tee main.go", "sort > x", "sed s/a/b/ > x", "grep foo > x", "ls && cat > x", "find . -name '*.go' -exec tee main.go \\;"},
		[]string{"cat x > y", "ls | tee y", "cat > x.go <<'EOF'\nhello\nEOF", "tr a b < y > x", "while read -r l; do cat > x; done < y", "{ cat a; } | tee x", "wc -l > x", "cat >> x"})
}

// TestAdversary_W19_OneNameForMany: what gets a name takes the place of what had it.
func TestAdversary_W19_OneNameForMany(t *testing.T) {
	t.Parallel()
	asksFor(t, []string{"find . -name '*.go' -exec mv {} main.go \\;", "find . -name '*.go' -exec mv {} docs \\;", "find . -name '*.go' -exec mv {} docs/ \\;", "find . -name '*.go' -exec git mv {} x.go \\;", "for f in a.go b.go; do mv $f main.go; done", "mv a.go x.go; mv b.go x.go"},
		[]string{"find . -maxdepth 1 -name '*.go' -exec mv {} docs/ \\;", "for f in a.go b.go; do mv $f docs; done", "for f in a.go b.go; do mv $f $f.bak; done", "mv a.txt a.tmp && mv b.txt a.txt && mv a.tmp b.txt", "mv a.go b.go docs"})
}

// TestAdversary_W19_EveryLineDeleted: a pattern that any line has deletes all of them.
func TestAdversary_W19_EveryLineDeleted(t *testing.T) {
	t.Parallel()
	asksFor(t, []string{"sed -i '/./d' x", "sed -i '/a*/d' x", "sed -i '1,99999d' x", "sed -i '/[^z]*/d' x", "sed -i 'd;p' x", "sed -i '0,$d' x", "sed -e '/./d' -i x", "sed '/[^a-z]/d' x > f"},
		[]string{"sed -i '/^$/d' x", "sed -i '/^#/d' x", "sed -i '/foo/d' x", "sed -i '1,10d' x", "sed -i -E '/(a|b)/d' x", "sed -i '1!d' x", "sed '/./d' x"})
}

// TestAdversary_W19_ToolsThatEmpty: a tool that writes a file from nothing empties it as
// ": > x" does.
func TestAdversary_W19_ToolsThatEmpty(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped)
	on := func(tool, params string) approval.Outcome {
		var m map[string]any
		require.NoError(t, json.Unmarshal([]byte(params), &m))
		return judge(e, callOf(t, tool, m)).Outcome
	}
	for _, c := range [][2]string{
		{"write", `{"path":"a.go","content":""}`}, {"Write", `{"file_path":"a.go","content":" \n"}`}, {"write", `{"path":"a.go","content":null}`}, {"edit", `{"path":"a.go","content":""}`},
		{"str_replace_based_edit_tool", `{"command":"create","path":"a.go","file_text":""}`}, {"apply_patch", `{"input":"*** Begin Patch\n*** Add File: a.go\n*** End Patch"}`},
		{"apply_patch", `{"input":"*** Begin Patch\n*** Add File: a.go\n+\n*** Update File: b\n@@\n-a\n+b\n*** End Patch"}`},
	} {
		require.Equal(t, approval.OutcomeAsk, on(c[0], c[1]), c)
	}
	for _, c := range [][2]string{
		{"write", `{"path":"a.go","content":"x"}`}, {"write", `{"path":"src/.gitkeep","content":""}`}, {"write", `{"path":"a.go","content":"","append":true}`}, {"edit", `{"path":"a.go","old_string":"a","new_string":""}`},
		{"str_replace_based_edit_tool", `{"command":"insert","path":"a.go","insert_line":1,"insert_text":""}`}, {"apply_patch", `{"input":"*** Begin Patch\n*** Add File: a.go\n+\n+x\n*** End Patch"}`},
	} {
		require.Equal(t, approval.OutcomeAllow, on(c[0], c[1]), c)
	}
}

// TestAdversary_W12_WhatWasStoredIsRun: git puts changes among the files that nobody has
// read, and the same line runs them. Own branches, and what a build makes, are no such thing.
func TestAdversary_W12_WhatWasStoredIsRun(t *testing.T) {
	t.Parallel()
	asksFor(t, []string{"git stash pop && npm test", "git stash apply; make", "git cherry-pick abc && npm test", "git apply x && make"},
		[]string{"git stash && npm test", "git stash && npm test; git stash pop", "git checkout main && npm test", "git merge x && npm test", "tsc && npm test", "npx tsc && npm test", "npm run build && npm test"})
}

// TestAdversary_W14_AllLinesThatGitTracks: a pattern that finds every line, and the whole
// history, show whatever was committed.
func TestAdversary_W14_AllLinesThatGitTracks(t *testing.T) {
	t.Parallel()
	asksFor(t, []string{
		"git grep ''", "git grep -n .", "git grep . src", "git grep -e ''", "git grep -v foo", "git grep -50 foo", "git grep -W foo", "git grep -i apikey", "git log -p", "git log -p HEAD", "git log --patch --all",
	}, []string{
		"git grep -n foo", "git grep -l .", "git grep -c ''", "git grep . main.go", "git grep -n . -- '*.go'", "git grep -nE 'foo|bar' -- src", "git grep -3 foo", "git grep -n foo HEAD~3 -- src/",
		"git log -p -3", "git log -p -n 2", "git log -p main..HEAD", "git log -p -- src", "git log -p -S foo", "git log --oneline", "git log --stat",
	})
}

// TestAdversary_W18_DirectoriesOfSecrets: data in a directory that is called so are secrets;
// its code is not.
func TestAdversary_W18_DirectoriesOfSecrets(t *testing.T) {
	t.Parallel()
	asksFor(t, []string{"cat secrets/x.yaml", "cat config/secrets/prod.json", "cat creds/db.txt", "grep -n foo Secrets/a.yml", "cat credentials/a.ini"},
		[]string{"cat src/secrets/store.go", "cat secrets/README.md", "ls secrets", "go test ./internal/secrets/...", "git log --oneline -- src/credentials/a.ts"})
}

// An editor runs the tasks of a project that it opens, whatever the file is called.
func TestAdversary_W18_ProjectsOfEditors(t *testing.T) {
	t.Parallel()
	asksFor(t, []string{"echo x > a.code-workspace", "echo x > sub/.code-workspace", "touch 'a.CODE-WORKSPACE '", "cp a b.sublime-project", "echo x > .idea/runConfigurations/a.xml", "echo x > .vscode/tasks.json", "echo x > .run/a.xml"},
		[]string{"echo x > a.workspace", "cat a.code-workspace", "echo x > code-workspace"})
}
