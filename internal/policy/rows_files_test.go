package policy

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// twins are harmless lines about files and text, each with dangerous ones that look like
// it. Lines of one twin are parted by " ~ ".
var twins = []struct{ harmless, dangerous string }{
	// build output is deleted, and nothing else
	{"rm -rf dist", "rm -rf dist src ~ rm -rf dist/../src ~ rm -rf dist ../x ~ rm -rf ~/dist ~ rm -rf /dist ~ cd /tmp && rm -rf dist ~ sudo rm -rf dist"},
	{"rm -rf node_modules/.cache coverage/ .next", "rm -rf .git/dist ~ rm -rf dist/.git ~ rm -rf dist/.env ~ rm -rf build/secrets.json ~ rm -rf .next *"},
	{"rm -r target/debug/incremental", "rm -r targets ~ rm -rf src/target ~ rm -rf internal/build"},
	{"rm -f *.o", "rm -f * ~ rm -f *.go ~ rm -f *.* ~ rm -rf .o ~ rm -rf */build"},
	{"rm -rf packages/*/dist", "rm -rf packages/* ~ rm -rf packages/*/src ~ rm -rf dist/.e*"},
	{"find . -name '*.pyc' -delete", "find . -delete -name '*.pyc' ~ find . -name '*.pyc' -o -delete ~ find . ! -name '*.pyc' -delete ~ find / -name '*.pyc' -delete ~ find -L . -name '*.o' -delete"},
	{"find . -type d -name __pycache__ -exec rm -rf {} +", "find . -type d -exec rm -rf {} + ~ find . -name build -exec rm -rf {} + ~ find . -name __pycache__ -exec rm -rf {} src + ~ find .. -name __pycache__ -exec rm -rf {} +"},
	{"for d in dist build; do rm -rf \"$d\"; done", "for d in dist src; do rm -rf \"$d\"; done ~ for d in dist; do d=src; rm -rf \"$d\"; done ~ for d in dist; do rm -rf \"${d%dist}src\"; done"},
	// names out of loops and lists
	{"for f in internal/*/*.go; do wc -l \"$f\"; done", "for f in *; do cat \"$f\"; done ~ for f in .env x; do cat \"$f\"; done ~ for f in internal/*.go; do rm \"$f\"; done"},
	{"for f in src/*.go; do gofmt -l \"$f\"; done", "for f in *.go; do sort \"$f\"; done ~ for f in src/*.sh; do bash \"$f\"; done ~ for f in src/*.go; do cat $f.env; done"},
	{"for p in api web; do jq -r .version packages/$p/package.json; done", "for p in .e; do cat ${p}nv; done ~ for p in api; do read p; cat $p; done ~ for p in a b; do cat \"${p:-.env}$q\"; done"},
	{"wc -l $(git ls-files '*.rs')", "cat $(git ls-files) ~ sort $(git ls-files '*.rs') ~ cat $(git ls-files ../'*.rs') ~ cat $(git ls-files ':!x') ~ cat $(git log --name-only) ~ cat $(git ls-files '*.rs'; echo .env)"},
	{"for f in $(git diff --name-only HEAD~3); do wc -l \"$f\"; done", "for f in $(git diff --name-only HEAD~3); do cat \"$f\"; done ~ for f in $(git diff --stat); do cat \"$f\"; done ~ for f in $(cat names); do cat \"$f\"; done"},
	{"git ls-files '*.md' | while read -r f; do head -3 \"$f\"; done", "git ls-files | while read -r f; do head -3 \"$f\"; done ~ git ls-files '*.md' | while read -r f; do rm \"$f\"; done ~ cat x | while read -r f; do head \"$f\"; done"},
	{"git diff --name-only main | grep '\\.py$' | xargs -r ruff check", "git diff --name-only main | xargs sed -i s/a/b/ ~ git diff --name-only main | sed s/py/env/ | xargs cat ~ git diff | xargs ruff check"},
	{"find . -name '*.go' | sort | head -n 5 | xargs wc -l", "find . -name '*.env' | xargs cat ~ find . -name '*.go' | sort names | xargs cat ~ find . -name '*.go' | head 5 | xargs cat ~ find . -name '*.go'; git log | xargs cat"},
	{"find . -name '*.go' | xargs gofmt -l", "find . -name '*.go' | xargs sed -i s/a/b/ ~ find . -name '*.go' | xargs rm"},
	{"fd -e go -x wc -l {}", "fd -e go -x rm {} ~ fd -e env -x cat {} ~ fd -e go -x sh -c 'cat {}' ~ fd -x cat"},
	{"find src -name '*.ts' -exec sed -i 's/a/b/' {} +", "find . -name '*.sh' -exec sed -i 's/a/b/' {} + ~ find src -name '*.ts' -exec sed -i 's/a/b/e' {} + ~ find src -name '*.sh' -exec bash {} +"},
	{"grep -rl moment src | xargs grep -c 'moment('", "grep -rl moment src | xargs cat ~ grep -rl '' . | xargs cat"},
	{"rg -n 'unwrap\\(\\)' crates/ -g '!**/tests/**'", "rg -n 'x*' -g '!x' ~ rg -n '(unwrap)?' -g '!x' ~ rg --pre x unwrap"},
	{"for s in api web; do (cd $s && npm test); done", "for s in api web; do cd $s && npm test; done ~ for s in api ..; do (cd $s && npm test); done ~ for s in api; do (cd /opt/$s && npm test); done"},
	{"for f in $(ls src/*.go); do wc -l $f; done", "for f in $(ls); do cat $f; done ~ for f in $(ls src/*); do cat $f; done ~ for f in $(ls -a src/*.go .env); do cat $f; done"},
	{"git grep -l foo_bar | xargs grep -n foo_bar", "git grep foo_bar | xargs cat ~ git grep -l foo_bar | xargs sed -i s/a/b/"},
	{"find . -name '*.md' | while read f; do wc -l \"$f\"; done", "find . | while read f; do cat \"$f\"; done ~ find . -name '*.md' | while read f x; do rm \"$f\"; done"},
	{"awk '{ if ($3 > 5 && $2 < 3) print $1 }' a.txt", "awk '{ if (x) print $1 > \"y\" }' a ~ awk '{ print ($1) > $2 }' a ~ awk '{ (getline x < f) }' a"},
	{"awk 'NR==1 || /node|python/' a.txt", "awk '{ print 4 / 2 | cmd / 1 }' a ~ awk '/a/ | getline' a ~ awk '/a|b/ { print | \"sh\" }' a"},
	{"for x in a b; do sh -c \"cat $x.go\"; done", "for x in /a; do sh -c 'cat .e${x}nv'; done ~ for x in /a; do find . -name x -exec sh -c 'cat .e${x}nv' ';'; done"},
	{"cd web && rm -rf build", "cd src && rm -rf build"},
	{"find src -name '*.go' | grep foo | xargs cat", "find src -name '*.go' | grep -refoo | xargs cat ~ find src -name '*.go' | grep -f.env | xargs cat"},
	{"rg -l foo_bar -g '*.go' | xargs cat", "rg -l foo_bar -g '*.go' --json | xargs cat"},
	{"mv src/*.go lib/", "mv *.go /tmp ~ mv src/* lib/ ~ mv .github/*.yml x/ ~ mv src/*.go .git/"},
	{"rg --hidden -n foo_bar -g '!.git'", "rg --hidden . ~ rg -uu token ~ rg --hidden --pre sh foo_bar"},
	// programs beyond coreutils
	{"for f in k8s/*.yaml; do yq .kind \"$f\"; done", "for f in k8s/*.yaml; do yq . \"$f\"; done ~ yq -i .a=1 .github/workflows/x.yaml ~ yq 'load(\"x\")' a.yaml ~ yq eval 'strenv(X)' a.yaml ~ yq -s .a x.yaml ~ yq .env"},
	{"jq --arg a b '.x[$a]' f.json", "jq --arg a b env f.json ~ jq --arg a b . .env ~ jq --slurpfile a .env . ~ jq -f p f.json"},
	{"bash -n scripts/x.sh", "bash scripts/x.sh ~ bash -n x -c ls; bash x ~ fish -n x"},
	{"openssl x509 -in cert.pem -noout -dates", "openssl x509 -in cert.pem -text ~ openssl x509 -noout -in a -out b ~ openssl rsa -in key.pem -noout ~ openssl x509 -noout -engine ./x.so ~ openssl dgst -sign k x"},
	{"gzip -dc a.log.gz | head", "gzip a.log ~ gunzip a.gz ~ zcat .env ~ gzip -d a.gz"},
	{"diff -rq a b", "diff -r a b ~ diff -ur a b ~ diff -rq a /etc ~ diff -N a b"},
	{"less -N README.md", "less '+!x' README.md ~ less -o x README.md ~ less .env ~ less -k x README.md"},
	{"bat -n src/a.go", "bat --pager x src/a.go ~ bat .env"},
	{"readelf -d build/x.so", "nm --plugin x.so a ~ objdump -S .env ~ ldd build/x"},
	{"javap -cp build com.acme.X", "javap -J-agentpath:x X ~ java -cp build X"},
	{"jar tf a.jar", "jar xf a.jar ~ jar cf a.jar . ~ jar uf a.jar x"},
	{"eza -la --git src", "eza --frob"},
	{"xxd -l 64 x.bin | head", "xxd a b ~ xxd -r x y"},
	{"tree -L 2 -I node_modules", "tree -o x ~ tree -Po a b"},
	{"strings -n 8 a.bin", "strings @x ~ strings *"},
	{"cat src/a.go > src/b.go", "cat /dev/null > src/a.go ~ cp /dev/null src/a.go"},
	{"touch src/a.pyc", "touch .venv/lib/python3.12/site-packages/x.pth ~ touch src/sitecustomize.py"},
}

func TestTwins(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped, func(c *Config) { c.ExecSecurity = "full" })
	for _, x := range twins {
		if j := judge(e, lineCall(t, x.harmless)); j.Outcome != approval.OutcomeAllow || j.Assessment.RiskClass > approval.R2 {
			t.Errorf("%-60s is %v %v", x.harmless, j.Assessment.RiskClass, j.Assessment.ReasonCodes)
		}
		for line := range strings.SplitSeq(x.dangerous, " ~ ") {
			if a := judge(e, lineCall(t, line)).Assessment; a.RiskClass < approval.R3 {
				t.Errorf("%-60s is %v %v", line, a.RiskClass, a.ReasonCodes)
			}
		}
	}
}

// Spelling changes neither class nor codes.
func TestOneCommandInSeveralSpellings(t *testing.T) {
	t.Parallel()
	e := engine(t)
	for _, list := range [][]string{
		{"rm -rf dist", "rm -r -f dist", "rm -fr dist", "rm --recursive --force dist", "rm dist -rf", "rm -rf -- dist"},
		{"xxd -l 64 x", "xxd -l64 x", "xxd -a -l 64 x"},
		{"tree -L 2 src", "tree -aL 2 src", "tree src -L 2"},
		{"strings -n 8 a", "strings -n8 a", "strings --bytes=8 a", "strings --bytes 8 a", "strings -8 a"},
		{"gzip -dc a.gz", "gzip -d -c a.gz", "gzip -cd a.gz", "gzip --decompress --stdout a.gz", "gzip a.gz -dc"},
		{"diff -rq a b", "diff -r -q a b", "diff -q -r a b", "diff --brief --recursive a b", "diff a b -qr"},
		{"diff -r a b", "diff --recursive a b", "diff a b -r"},
		{"timeout -k 5 10 ls", "timeout -k5 10 ls", "timeout --kill-after=5 10 ls", "timeout --kill-after 5 10 ls"},
		{"nice -n 5 ls", "nice -n5 ls", "nice --adjustment=5 ls", "nice -5 ls"},
		{"openssl x509 -noout -in a.crt", "openssl x509 -in a.crt -noout", "openssl x509 --in a.crt --noout"},
		{"mkdir -p -m 755 x", "mkdir -pm 755 x", "mkdir -pm755 x", "mkdir --parents --mode=755 x", "mkdir x -p --mode 755"},
	} {
		want := judge(e, lineCall(t, list[0])).Assessment
		for _, line := range list[1:] {
			if got := judge(e, lineCall(t, line)).Assessment; got.RiskClass != want.RiskClass || strings.Join(got.ReasonCodes, " ") != strings.Join(want.ReasonCodes, " ") {
				t.Errorf("%s is %v %v, %s is %v %v", line, got.RiskClass, got.ReasonCodes, list[0], want.RiskClass, want.ReasonCodes)
			}
		}
	}
}

// A folder that gets another name takes what is in it along: if a file of a usual name in it may then be one about which
// a file tool asks, or no longer one that it asks before reading, the move asks.
func TestARenameOfAFolderIsOneOfItsFiles(t *testing.T) {
	t.Parallel()
	asksFor(t, []string{
		"mv y .zencoder", "mv -T y .zencoder", "mv -t .zencoder y/settings.d", "cp -r y .zencoder", "cp -rT y .zencoder", "cp -a y/. .zencoder/", "cp -a --no-target-directory y .zencoder",
		"ln -s y .zencoder", "ln -sfn .zencoder y", "git mv y .zencoder", "cd sub && mv y .zencoder", "mv y sub/.zencoder", "mv .zencoder q", "git mv .zencoder q", "mv .zencoder .gitignore",
		"mv g gradle", "cp -r g gradle", "mv w gradle/wrapper", "cp -r d/. gradle/", "ln -s g gradle", "git mv g gradle", "ln -s gradle gr",
		"mv v vendor", "cp -r v vendor", "ln -s d vendor", "mv b vendor/bin", "cp -r b .venv", "mv m node_modules", "mv 'm'* node_modules", "mv d/* vendor",
		"mv ab approvalbot", "cp -r ab approvalbot-hook", "git mv ab approvalbot", "ln -s approvalbot ab", "mv approvalbot ab",
		"mv n secrets", "mv secrets n", "cp -r secrets n", "ln -s secrets n", "git mv secrets n", "mv d/n secrets/n", "mv secrets/n d/n", "cp -r x/creds y", "mv secrets/*.com q/", "mv secr*/n q", "mv s* q",
		// Files whose names are not known.
		`find y -name tsc -exec cp {} node_modules/.bin/ \;`, `find y -name settings.json -exec cp {} .zencoder/ \;`, "cp y/*.js node_modules/.bin/", "cp src/*.jar gradle/wrapper/",
		`for f in y/*.js; do cp "$f" .zencoder/; done`, "cp y/*.yaml approvalbot/", `find sub -name gradlew -exec cp {} . \;`, "cp */gradlew .",
		// Names that are not written.
		"cp --parents bin/tsc vendor", "cp --parents claude/settings.json etc", "go build -o node_modules/.bin/ ./cmd/tsc",
		// Where a link leads.
		"ln -s bin vendor/q", "ln -s wrapper gradle/w", "ln -s claude etc/c", "ln -s client.yaml approvalbot/x", "ln -s x.json secrets/y",
		// What no question was asked about outside.
		"echo x > /tmp/gradle/wrapper/gradle-wrapper.properties", "echo x > /tmp/q/gradlew", "echo x > /tmp/q/a.pth",
		// Folders of secrets behind signs.
		"cat s*/db.yaml", "cat secret?/x.json", "cat */client.yaml", "cat gcl*/x.txt", "cp s*/db.yaml q",
		"mv src/*/x.ts", "cp src/*.ts", "cp $f",
	}, []string{
		"mv a b", "mv a/b c", "cp -r a b", "mv src/a.go src/b.go", "mv lib vendors", "cp -r docs docs2", "ln -s a b", "git mv a b", "git mv a.go b/", "mv dist .next", "cp -r dist .cache",
		"mv .zencoder-old .zencoder", "mv .eslintrc.js .eslintrc.cjs", "mv node_modules node_modules.bak", "mv .venv venv", "cp -r .venv venv2", "cp x node_modules/foo/index.js", "mv gitignore .gitignore",
		"cp .eslintrc.json a/", "mv .prettierrc .prettierrc.json", "cp -r vendor/lib lib", "mv a/*.go b/", "cp -R assets dist/assets", "mv build/app bin/app", "mv dockerignore .dockerignore",
		"git mv internal/credentials/store.go internal/auth/store.go", "git mv internal/auth/store.go internal/credentials/store.go", "mv docs/secrets/overview.md docs/vault/overview.md",
		"mv .next .next.bak", "cp -r dist .tmp", "mv old .backup", "git mv ci .ci", "cp -r ./.next/standalone .amplify-hosting/compute/default", "cat src/**/*.go", "cat s*/main.go",
		"cat packages/*/package.json", "cp dist/*.js public/", "cp src/*.css dist/", "go build -o bin/ ./cmd/x", "cp a b/", "mv src/*.ts lib/",
	})
}

// The desk's own files are where its operator put them: they are not overwritten with a folder.
func TestACopyOfAFolderOntoTheDesks(t *testing.T) {
	t.Parallel()
	e := engine(t, func(c *Config) {
		shipped(c)
		c.Protected.Files = []string{"/workspace/desk/cfg.yaml"}
	})
	for _, line := range []string{"cp -r y/. desk/", "cp -rT y desk", "cp -r y/desk .", `find y -name cfg.yaml -exec cp {} desk/ \;`, "mv y desk", "ln -sfn y desk", "cp y/* desk", "cp -r z/y/. ."} {
		require.Contains(t, judge(e, lineCall(t, line)).Assessment.ReasonCodes, "touches-the-desk", line)
	}
}
