package policy

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/workspace"
)

// deskIn puts the desk's own files into a directory.
func deskIn(dir string) func(*Config) {
	return func(c *Config) {
		c.Protected.Files = []string{dir + "/config.yaml", dir + "/approvalbot.key", dir + "/approvalbot.db"}
	}
}

func TestReadingByGlobIsReadingByName(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"/tmp/at45/d1", "/etc/approvalbot", "/workspace/.desk"} {
		e := engine(t, deskIn(dir))
		checkLines(t, e, lines("R0", "cat src/*/*.go", "cat */*.go", "head -5 src/*/*.go docs/*.md",
			"sed -n 1,5p src/*/*.go", "cat s[r]c/*/*.go", "grep -c foobar src/*",
			"ls **/*.go", "cat **/*.md", "rg foobar src/**", "git diff src/**/*.go", "for f in src/**/*.go; do wc -l \"$f\"; done"))
		checkLines(t, e, lines("R3 unusual-shell", "ls src/***/*.go", "ls src/**/**/*.go", "ls src/x**/*.go", "ls src/**x/*.go", "ls src/**$x", "ls src/**(.)", "ls src/**/*(e:ls:)", "ls src/'.'**/x", "echo x > src/**/x"))
		checkLines(t, e, lines("R1", "cp src/*/*.go out/"))
		checkLines(t, e, lines("R3 may-read-secret", "cat src/*", "cat src/*.json", "cat src/**", "cat src/**/*", "cat src/**/id_*", "cat src/**/.e*", "cat src/*/.env", "cat .s*/x.go", "cat src/.*/x.go", "cat */secrets.*", "cat */*.pem",
			"cat /home/*/x.go", "cat /proc/*/environ", "grep -n foobar src/.e*", "grep -n foobar src/*/.env", "grep '' src/*", "grep -n key src/*", "grep -v foobar src/*", "rg foobar ../x/*", "cat src/../../*/x.go"))
		checkLines(t, e, lines("R3 reads-secret", "cat .git/**/config", "for f in .git/**/config; do cat \"$f\"; done"))
		checkLines(t, e, lines("R3 dynamic-argument", "sort */names.txt", "grep foobar *.go", "git add *.go", "ls; cp src/*/x.ts",
			"sort **/names.txt", "sort **/-o", "grep foobar **/*.go", "git add **/*.go"))
		checkLines(t, e, lines("R4 touches-the-desk", "ls /**", "cat "+dir+"/**", "cat "+dir+"/*", "ls "+dir+"/**/*.yaml", "ls "+dir[:5]+"*/**/config.yaml", "cat **/../../*.go", "cat src/**/../../../*/c*", "cat /**/config.yaml", "cat /**/C*.YAML",
			"ls "+dir+"/***/*.key", "ls "+dir+"/a**", "ls "+dir+"/**.key", "cat "+dir+"/*.db-w*"))
	}
	inside := engine(t, deskIn("/workspace/sub/desk"))
	checkLines(t, inside, lines("R4 touches-the-desk", "cat **", "cat **/*", "ls **/*.yaml", "cat sub/**/*.key", "ls */desk/*", "cat sub/*/approvalbot.d?", "rm -f **/*.db", "cd sub && ls **/*.db", "grep foobar **", "rg foobar sub/**"))
	checkLines(t, inside, lines("R0", "ls sub/**/*.go", "cat **/*.go", "ls desk/**"))
	checkLines(t, engine(t, func(c *Config) { c.Protected.Files = []string{"/srv/d/desk.lock"} }), lines("R3 may-read-secret", "cd $X; cat *.lock", "cd $X; cat a/*.l?ck"))
}

// "**/" is any number of directories to zsh and one to the others: it is judged as
// the worst of them.
func TestTreesAreJudgedAsAllThatTheyStandFor(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped, deskIn("/workspace/sub/desk"))
	class := func(line string) approval.RiskClass { return judge(e, lineCall(t, line)).Assessment.RiskClass }
	one := regexp.MustCompile(`(^|[ /])\*/`)
	var tried, allowed int
	try := func(line string) {
		deep := one.ReplaceAllString(line, "$1**/")
		if deep == line {
			return
		}
		tried++
		got := class(deep)
		if got < approval.R3 {
			allowed++
		}
		for _, depth := range []string{"$1", "$1*/", "$1*/*/", "${1}a/b/"} {
			if as := one.ReplaceAllString(line, depth); class(as) > got {
				t.Errorf("%q is %s, and %q is %s", deep, got, as, class(as))
			}
		}
	}
	stored, err := os.ReadFile(judgements)
	require.NoError(t, err)
	for x := range strings.Lines(string(stored)) {
		if cols := strings.SplitN(strings.TrimSuffix(x, "\n"), "\t", 5); len(cols) == 5 && cols[3] == "$" && strings.Contains(cols[4], "*") {
			try(strings.ReplaceAll(strings.ReplaceAll(cols[4], "**/", "*/"), "␤", "\n"))
		}
	}
	for _, command := range []string{"cat", "ls", "wc -l", "sort", "sort -o", "sed -i s/a/b/", "sed -n 1p", "grep x", "rm -f", "rm -rf", "cp", "git add", "git diff", "git checkout --", "head -5", "find", "gofmt -l", "prettier --check", "eslint", "chmod +x", "touch", "mkdir -p", "node", "bash", "diff a", "tar cf x.tar", "go test", "python3 -m pytest", "cd", "rm -rf dist/", "echo"} {
		for _, before := range []string{"", "src/", "./", "../", "/", "~/", "/etc/", "sub/", ".git/", "$x/", "/proc/"} {
			for _, behind := range []string{"", "*", "*.go", "*.json", "*.key", ".e*", "-o", "-*", "..", "../*", "x.ts", "config", "desk/*", "environ", "Makefile", ".git/*", "hooks/*", "[a-z]*", "credentials", "?"} {
				try(command + " " + before + "*/" + behind)
			}
		}
	}
	require.Greater(t, tried, 5000)
	require.Greater(t, allowed, 500)
}

// A brace list is several words to some shells and one to others: it is judged as
// the worse of both.
func TestBraceListsAreJudgedAsBothReadings(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped, deskIn("/workspace/sub/desk"))
	class := func(line string) approval.RiskClass { return judge(e, lineCall(t, line)).Assessment.RiskClass }
	allowed := 0
	for _, command := range []string{"cat", "ls", "wc -l", "sort", "sort -o", "sed -i s/a/b/", "sed -n 1p", "grep x", "grep -e", "rm -f", "cp", "mv", "git add", "git diff", "git log --format=%s", "head -5", "find", "gofmt -l", "touch", "mkdir -p", "node", "bash", "diff a", "tar cf x.tar", "go test", "xargs", "nice -n", "env", "kubectl get", "echo", "git", "docker", "ln -s", "tee", "cd", "ls | xargs cat"} {
		for _, list := range [][]string{{"", "a", "b", ""}, {"src/", "a", "b", ".go"}, {"", "a", ".env", ""}, {"", "src/a.go", "sub/desk/config.yaml", ""}, {"Makefile", "", ".bak", ""}, {"", "/etc/passwd", "a", ""}, {"", "/tmp/x", "/etc/cron.d", "/y"}, {"--output=", "a", "/etc/x", ""}, {"-", "n", "delete", ""}, {"", "5", "rm", ""}, {"", "5", "-rf", ""}, {"", "status", "push", ""}, {"", "pods", "secrets", ""}, {"./", "x", "..", "/y"}, {".", "git", "x", "/config"}, {"*.", "go", "key", ""}, {"", "src", "lib", "/*.go"}, {"src/**/*.", "ts", "tsx", ""}, {"a", "", "", ""}, {"~/", ".ssh", "x", "/y"}, {"", "a", "hooks", ""}} {
			line := command + " " + list[0] + "{" + list[1] + "," + list[2] + "}" + list[3]
			got := class(line)
			if got < approval.R3 {
				allowed++
			}
			for _, as := range []string{command + " " + list[0] + list[1] + list[3] + " " + list[0] + list[2] + list[3], command + " " + list[0] + `\{` + list[1] + "," + list[2] + `\}` + list[3]} {
				if class(as) > got {
					t.Errorf("%q is %s, and %q is %s", line, got, as, class(as))
				}
			}
		}
	}
	require.Greater(t, allowed, 100)
}

func TestToolsThatReadWholeDirectoriesOfTheDesk(t *testing.T) {
	t.Parallel()
	e := engine(t)
	for _, p := range []row{
		{"grep", "/etc/approvalbot"}, {"Grep", "/etc"}, {"grep", "/"}, {"grep_search", "/var/lib/approvalbot/"}, {"read_many_files", "/etc/approvalbot"}, {"read_many_files", "/etc/approvalbot/**"}, {"read_many_files", "/etc/**/*.yaml"},
		{"read_many_files", "/etc/approvalbot/{config,x}.yaml"}, {"delete_file", "/etc/approvalbot"},
	} {
		require.Contains(t, judge(e, callOf(t, p.input, map[string]any{"pattern": "x", "path": p.want})).Assessment.ReasonCodes, "touches-the-desk", "%s %s", p.input, p.want)
	}
	require.Contains(t, judge(e, callOf(t, "read_many_files", map[string]any{"include": []string{"src/*.go", "/etc/approvalbot/*"}})).Assessment.ReasonCodes, "touches-the-desk")

	inside := engine(t, deskIn("/workspace/sub/desk"))
	for path, class := range map[string]string{".": "R0", "/workspace": "R0", "src": "R0", "sub": "R4", "/workspace/sub/desk": "R4", "..": "R4"} {
		require.Equal(t, class, judge(inside, callOf(t, "grep", map[string]any{"pattern": "foobar", "path": path})).Assessment.RiskClass.String(), path)
	}
}

func TestGlobsMatchPathsComponentByComponent(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		glob, file string
		want       bool
	}{
		{"/a/*", "/a/b", true}, {"/a/*", "/a/b/c", false}, {"/a/**", "/a/b/c", true}, {"/a/**/c", "/a/c", true}, {"/a/**/c", "/a/.b/b/c", true}, {"/a/**/b", "/a/b/c", false}, {"**/c", "/a/c", true}, {"/**", "/a", true},
		{"/a/**/b/**/c", "/a/x/b/y/c", true}, {"/a/**/b/**/c", "/a/x/y/c", false}, {"/x/**", "/a/b", false}, {"/a/x**", "/a/b/c", true}, {"/x/a**", "/a/b/c", false}, {"/a/*", "/a/.b", false}, {"/a/.*", "/a/.b", true}, {"/a/[b]/c", "/a/b/c", true}, {"/a/?", "/a/b", true},
	} {
		require.Equal(t, x.want, workspace.MatchesPath(x.glob, x.file), "%s %s", x.glob, x.file)
	}
}

// Whoever asks writes the glob: however many "**" are in it, reading it ends.
func TestGlobsOfManyTreesEnd(t *testing.T) {
	t.Parallel()
	e := engine(t)
	for _, line := range []string{
		"ls /" + strings.Repeat("**/", 300) + "zz", "ls /" + strings.Repeat("**/*/", 300) + "zz", "ls /**/*" + strings.Repeat("a*", 2000) + "b",
		"cat " + strings.Repeat("/**/*/**/*.zz ", 300), "cat /" + strings.Repeat("**/a*/", 1000) + "zz", "ls " + strings.Repeat("*?[a-z]", 2000),
	} {
		j := judge(e, lineCall(t, line))
		require.NotEmpty(t, j.Assessment.ReasonCodes)
	}
}

// The quick way gives what trying everything gives.
func TestGlobsAsIfAllWasTried(t *testing.T) {
	t.Parallel()
	var all func(glob, file []string) bool
	all = func(glob, file []string) bool {
		switch {
		case len(glob) == 0 || len(file) == 0: // what ends in a slash has an empty component there
			return len(glob) == len(file)
		case strings.Contains(glob[0], "**"):
			if strings.Trim(glob[0], "*") != "" || len(glob) == 1 {
				return true
			}
			for i := range file {
				if all(glob[1:], file[i:]) {
					return true
				}
			}
			return false
		}
		return workspace.Matches(glob[0], file[0]) && all(glob[1:], file[1:])
	}
	matched := 0
	rapid.Check(t, func(t *rapid.T) {
		glob := rapid.SliceOfN(rapid.SampledFrom([]string{"**", "**", "*", "a", "b", "a*", "?", "", "x**"}), 1, 7).Draw(t, "glob")
		file := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab", ""}), 1, 6).Draw(t, "file")
		want := all(glob, file)
		if want {
			matched++
		}
		require.Equal(t, want, workspace.MatchesPath(strings.Join(glob, "/"), strings.Join(file, "/")))
	})
	require.Positive(t, matched)
}
