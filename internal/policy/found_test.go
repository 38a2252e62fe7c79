package policy

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"approvalbot/internal/approval"
)

func TestWhatFindFoundIsReadLikeItsNames(t *testing.T) {
	t.Parallel()
	e := engine(t)
	checkLines(t, e, lines("R0",
		"grep -rn foobar . --include=*.go", "grep -rn foobar --include=*_test.go src", `find . -type f -name "*.py" | xargs grep -l foo`, "find . -name '*.go' -print0 | xargs -0 grep -n foobar", "find . -name '*.go' -exec grep -l foo {} +", "find . -name '*.go' -exec cat {} \\;", "find src web -iname '*.ts' -not -path '*/node_modules/*' | xargs cat",
		"find . \\( -name '*.ts' -o -name '*.tsx' \\) -exec grep -n foobar {} +", "find . -name node_modules -prune -o -name '*.js' -print | xargs cat", "find . -path ./vendor -prune -o -name '*.go' -print | xargs head -3", "find . -name Makefile | xargs cat", "find . -type f | xargs grep foobar", "find . -name '*.go' | xargs -I{} head -1 {}",
		"find . -maxdepth 2 -name '*.md' 2>/dev/null | xargs cat", "find /workspace/src -name '*.go' | xargs wc -l", "find . -type f -exec grep -l foobar {} \\;",
		"ls | find . -name '*.go' | xargs cat", "fd foo", "fd -e go", "fd -t f foo src", "fdfind -H config", "fd --extension=go foo"))
	checkLines(t, e, lines("R3",
		"find . -type f | xargs cat", "find . -type f -exec cat {} +", "find . -name '*' | xargs cat", "find . -name '*.env' | xargs cat", "find . -name '.e*' -exec cat {} \\;", "find . -name '.env' | xargs grep foobar", "find . -name '*.local' -exec cat {} +", "find . -name '*rc' | xargs cat", "find . -name '*.npmrc' | xargs cat", "find . -name id_rsa | xargs cat", "find . -name '*.json' -exec cat {} +",
		"find . -name '*.go' -o -type f | xargs cat", "find . -not -name '*.go' | xargs cat", "find . ! \\( -name '*.go' \\) -exec cat {} +", "find . -name '*.go' , -type f -exec cat {} +", "find . -print -name '*.go' | xargs cat", "find . -exec cat {} + -name '*.go'", "find . -path ./.env -prune -o -name '*.go' | xargs cat", "find . \\( -path ./.env -prune -o -name '*.go' \\) -exec cat {} +", "find . \\( -path ./.env -prune -o -name '*.go' \\) -print | xargs cat",
		"find / -name '*.go' -exec cat {} \\;", "find .. -name '*.go' | xargs cat", "find ~ -name '*.go' | xargs cat", "cd $X; find . -name '*.go' | xargs cat", "find $X -name '*.go' | xargs cat", "find . -name $X | xargs cat", "find . -name '*.go' -printf '%f\\n' | xargs cat", "find -L . -name '*.go' | xargs cat",
		"find . -type f | xargs grep key", "find . -type f | xargs grep -v foobar", "find . -type f | xargs grep", "find . -type f -exec grep {} +", "find . -type f | xargs grep -e", "find . -name '*.go' | xargs cat < list", "find . -name '*.go' | xargs -a list cat", "find . -name '*.go' | xargs -d x cat", "cat list | xargs cat", "{ find . -name '*.go'; cat list; } | xargs cat", "bash -c 'find . -name x.go; cat list' | xargs cat",
		"find . -name '*.go' | xargs cat $(xargs cat)", "find . -name '*.go'; cat list | xargs cat", "find . -name '*.go' | cat list | xargs cat", "find . -name '*.go' | xargs python3", "find . -name '*.go' | xargs sed -i s/a/b/", "find . -name '*.go' | xargs sort", "find . -name '*.go' -exec cp {} /srv \\;", "find . -name '*.go' | xargs -I{} cat {}.bak", "find . -name '*.go' | xargs xargs cat",
		"fd foo -x cat", "fd foo -X cat", "fd foo --exec cat", "fd foo --exec-batch=cat", "fd -l", "fd foo -xcat", "fd -Hx cat", "fd foo | xargs cat",
		"grep -rv foobar . --include=*.local", "grep -r '' --include='*.npmrc' .", "grep -rn foobar . --inc*=x", "grep foobar -*", "grep -rn '' . --include=*",
		"tar xzf x.tgz", "tar czf x.tgz src", "unzip x.zip", "zip -r x.zip src"))
	checkLines(t, e, lines("R4", "find . -name '*.go' | xargs rm -rf", "find . -exec rm -rf {} +", "find /etc -type f | xargs cat", "find /etc/approvalbot -name '*.yaml' -exec grep -l foobar {} +", "find / -name '*.yaml' -exec frob {} +", "fd . /srv -x rm -rf", "fd foo -X rm -rf", "fd foo -x sudo rm -rf /srv"))
	checkLines(t, engine(t, deskIn("/workspace/sub/desk")), []row{
		{"find . -name '*.go' | xargs cat", "R0"}, {"find . -name '*.yaml' | xargs cat", "R4 touches-the-desk"}, {"find sub -type f -exec frob {} +", "R4 touches-the-desk"}, {"find . -name 'config.*' -delete", "R4 touches-the-desk"}, {"find . -type f | xargs grep foobar", "R4 touches-the-desk"},
	})
}

func TestNamesThatTurnIntoSomethingElse(t *testing.T) {
	t.Parallel()
	e := engine(t)
	checkLines(t, e, lines("R3 misleading-name", "touch ./-rve.go", "mkdir -p 'x /etc'", "echo x > 'a /etc/passwd.go'", "cp a.go 'b -rv.go'", "touch 'a .env'", "mkdir src/-x", "tee 'a ../x'", "touch ' -x'", "touch 'a ~/x'", "touch 'a id_rsa'", "touch -- -x"))
	checkLines(t, e, lines("R1", "touch 'My Notes - draft.md'", "mkdir 'a b'", "touch a-b", "echo x > 'release notes.txt'"))
}

// TestNoGlobHidesTheDesk: a glob that a shell expands to one of the desk's own
// files is R4, and what find finds of them never runs unasked.
func TestNoGlobHidesTheDesk(t *testing.T) {
	t.Parallel()
	engines := map[string]*Engine{}
	for _, dir := range []string{"/etc/approvalbot", "/tmp/a/b/c", "/workspace/sub/desk", "/workspace"} {
		engines[dir] = engine(t, deskIn(dir))
	}
	rapid.Check(t, func(rt *rapid.T) {
		dir := rapid.SampledFrom(slices.Sorted(maps.Keys(engines))).Draw(rt, "dir")
		e := engines[dir]
		file := dir + rapid.SampledFrom([]string{"/config.yaml", "/approvalbot.key", "/approvalbot.db"}).Draw(rt, "file")
		parts := strings.Split(file[1:], "/")
		var glob []string
		wild := false
		for i, p := range parts {
			at := rapid.IntRange(0, len(p)-1).Draw(rt, "at")
			how := rapid.IntRange(0, 6).Draw(rt, "how")
			if i+1 == len(parts) && (!wild && how == 0 || how == 5) {
				how = 1
			}
			wild = wild || how > 0
			switch how {
			case 0:
				glob = append(glob, p)
			case 1:
				glob = append(glob, p[:at]+"*")
			case 2:
				glob = append(glob, p[:at]+"?"+p[at+1:])
			case 3:
				glob = append(glob, p[:at]+"["+p[at:at+1]+"x]"+p[at+1:])
			case 4:
				glob = append(glob, "*"+p[at:])
			case 5:
				glob = append(glob, p, "**")
			case 6: // stands for this and what comes before the next
				if i+1 < len(parts) {
					glob = append(glob, "**")
				} else {
					glob = append(glob, p[:at]+"*"+p[at:])
				}
			}
		}
		path := "/" + strings.Join(glob, "/")
		if rest, ok := strings.CutPrefix(path, "/workspace/"); ok && rapid.Bool().Draw(rt, "relative") {
			path = rapid.SampledFrom([]string{"", "./", "sub/../", "x/../"}).Draw(rt, "by") + rest
		}
		for _, line := range []string{"cat " + path, "ls " + path, "wc -l " + path, "cp " + path + " x", "head -1 a.go " + path, "grep foobar " + path} {
			if got := judge(e, lineCall(t, line)).Assessment; got.RiskClass != approval.R4 {
				rt.Fatalf("%q is %v %v, and may be %s", line, got.RiskClass, got.ReasonCodes, file)
			}
		}
		up := "/" + strings.Join(parts[:rapid.IntRange(0, len(parts)-1).Draw(rt, "up")], "/")
		name := glob[len(glob)-1]
		if name == "**" {
			name = "*"
		}
		for _, line := range []string{"find " + up + " -name '" + name + "' | xargs cat", "find " + up + " -type f -exec grep -n foobar {} +", "find " + up + " -name '*.go' -o -name '" + name + "' | xargs head"} {
			if got := judge(e, lineCall(t, line)).Assessment; got.RiskClass < approval.R3 {
				rt.Fatalf("%q is %v %v, and may be %s", line, got.RiskClass, got.ReasonCodes, file)
			}
		}
	})
}
