package policy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// TestAdversary_T32_LinesAroundAFind: every file with variables has some that are called the same, and what is around
// them is a secret.
func TestAdversary_T32_LinesAroundAFind(t *testing.T) {
	t.Parallel()
	asksFor(t, []string{
		"grep -rn -C 9 NODE_ENV .", "grep -rn -C 3 development .", "grep -rn -C 3 5432 .", "grep -rni -A 2 log_level .", "grep -rn -A 10 PORT .", "rg -uuu -C5 NODE_ENV", "rg --hidden -A 3 PORT", "grep -rn -A 1 DEBUG .", "grep -rni -A3 port .", "grep -rn -A3 port . -i", "grep -rn -C 4 localhost .",
		"grep -rn -A 4 -B 4 localhost .", "rg --no-ignore --context=9 handler", "grep -rn -C 500 handler .", "grep -rn -A 6 'NODE_ENV=d' .", "grep -rn -A 3 'NODE.ENV' .", "grep -rhn 'DATAB.SE_U' .", "rg -uuu 'STR.PE_SECR.T'", "git grep -C 9 NODE_ENV", "git grep -A 9 PORT",
	}, []string{
		"grep -rn -C 3 handler .", "grep -rn -A 5 'func New' .", "grep -rn NODE_ENV .", "rg -C 10 newHandler", "grep -n -A 12 CACHES config/settings.py", "grep -rn -A 9 PORT --include='*.go' .", "rg --hidden -A 3 newHandler",
	})
	checkTools(t, engine(t, shipped), []toolRow{
		{"Grep", `{"pattern":"NODE_ENV","-C":10,"output_mode":"content"}`, "R3 may-read-secret"}, {"Grep", `{"pattern":"PORT","-A":2,"output_mode":"content"}`, "R3 may-read-secret"},
		{"Grep", `{"pattern":"localhost","-C":4,"output_mode":"content"}`, "R3 may-read-secret"}, {"Grep", `{"pattern":"port","-i":true,"-A":2,"output_mode":"content"}`, "R3 may-read-secret"},
		{"Grep", `{"pattern":"newHandler","-C":3,"output_mode":"content"}`, "R0"}, {"Grep", `{"pattern":"NODE_ENV","-C":9,"output_mode":"content","type":"go"}`, "R0"}, {"Grep", `{"pattern":"NODE_ENV","output_mode":"content"}`, "R0"},
	})
}

// TestAdversary_T32_TypesOfRipgrep: a type of ripgrep that policy does not know is any file.
func TestAdversary_T32_TypesOfRipgrep(t *testing.T) {
	t.Parallel()
	asksFor(t, []string{
		"cat $(rg --files -t all)", "rg --files -t all --hidden --no-ignore | xargs cat", "rg -l handler -t all | xargs cat", `rg --files -t all | while read f; do cat "$f"; done`, "rg --files -ttf | xargs cat",
	}, []string{"cat $(rg --files -t go)", "rg -l handler -t py | xargs cat", "rg --files -t all"})
}

// TestAdversary_T32_GuessesOfASecret: a search that only tells whether it finds something tells one letter after another.
func TestAdversary_T32_GuessesOfASecret(t *testing.T) {
	t.Parallel()
	asksFor(t, []string{
		`grep -rlE "SESSION_SECRET.h" .`, "grep -rlE 'SECRET_KEY.?a' .", "grep -rl 'sk_live_a' .", `for c in a b c; do grep -rlE "SESSION_SECRET=$c" . && echo $c; done`, "grep -rcE 'SECRET_KEY=[a-m]' .", `for c in a b; do grep -rq "SECRET_KEY=h$c" . && echo $c; done`, "git grep -lE 'SECRET_KEY=[a-m]'", "git grep -c 'PASSWORD=a'", "rg -uuu -c 'SECRET_KEY=[a-h]'", "rg -l 'api_key: s'",
		"grep -rl '^DB_PIN=4' .", "grep -rlE '^DB_PIN=4' . --include=.env", "grep -rc 'SIGNING=hu' .", "grep -ril 'db_pin=4' .", "grep -rl '^pin=4' .", `for p in 0 1 2; do grep -rl "^DB_PIN=47$p" . && echo $p; done`,
	}, []string{"grep -rl 'DEBUG=True' src", "grep -rn 'DEBUG=True' .", "grep -rl 'class=\"btn' .", "grep -rL 'foo=bar' .", "grep -rl DB_PIN= .", "rg -l 'DEBUG=True'", "grep -rl SECRET_KEY .", "rg -l api_key", `for f in a b; do grep -rq "$f" src || echo $f; done`, "grep -rl sk_live_ .", "git grep -l .", "grep -rc 'port: 8' ."})
}

// TestAdversary_T32_NamesOfVariables: a pattern is tried on the names of variables that hold secrets.
func TestAdversary_T32_NamesOfVariables(t *testing.T) {
	t.Parallel()
	asksFor(t, []string{
		"grep -rhn 'DATAB[A]SE' .", "grep -rhnE '(STR)IPE' .", `grep -rhn '\(STR\)IPE' .`, "grep -rhn 'SESSI.N_S' .", "grep -rhn 'OPEN.I' .", "grep -rhn 'WS_SEC' .", "grep -rhn 'sk.live' .", "grep -rhn '_live' .", "grep -rn ':5432' .", "grep -rn mongodb.net .", "grep -rn hooks.slack.com .",
		"grep -rni stripe .", "grep -rn openai . -i", "git grep -i sendgrid", "rg --hidden -i twilio",
	}, []string{"grep -rn stripe src/*.go", "grep -rn 'handler.*Error' .", "grep -rni handler .", "grep -rn MAX_SIZE .", "grep -rn 'URLPattern' ."})
}

// TestAdversary_T32_FoldersThatAreCompared: diff shows the files of two folders, those at their top also without -r.
func TestAdversary_T32_FoldersThatAreCompared(t *testing.T) {
	t.Parallel()
	asksFor(t, []string{"diff packages/a packages/b", "diff . backup", "colordiff -u a b", "diff site-1.0 site-1.1", "diff conf.d conf.d.old"},
		[]string{"diff a.go b.go", "diff -q packages/a packages/b", "diff <(sort a.txt) <(sort b.txt)", "diff Makefile Makefile.old", "diff a.go b", "diff - a.go"})
}

// TestAdversary_T32_ManyFilesAreEmptied: sed leaves as little of many files as rm does.
func TestAdversary_T32_ManyFilesAreEmptied(t *testing.T) {
	t.Parallel()
	asksFor(t, []string{
		"sed -i -n '/zzz/p' src/*.go", "sed -i '1,999d' src/*.go", "sed -i 's/.*//' src/*.go", "sed -i '/zzz/!d' src/*.go", "sed -i '1q' src/*.go", "sed -i 's/[^q]//g' src/*.go", "sed -i '2,$d' a.go b.go",
		"sed -i '/package/,$d' src/*.go", "sed -i '1,/zzzz/d' src/*.go", "sed -i '1,50d;51,99d' src/*.go", "sed -i '/[a-z]/d;/[^a-z]/d' src/*.go", `sed -i 's/.\{1,\}//' src/*.go`, "sed -i 's/[[:print:]]//g' src/*.go", `sed -i 's/\w//g' src/*.go`, "sed -i '/e/d' src/*.go", "sed -i 's/[a-z]/x/g' src/*.go",
		"sed -i -z '/package/d' src/*.go", "sed -i '/Copyright/,$d' src/*.go", "sed -i '/Copyright/,/zzzz/d' src/*.go", "sed -i '/License/,+9999d' src/*.go", "sed -i '/^package main/,$s/.*//' src/*.go", "sed -i '/^package main/q' src/*.go", "sed -i '/if err/,+9d' src/*.go", `sed -i '/^\t/d' src/*.go`, "sed -i '/^    /d' src/*.py",
		"sed -i 's/[A-Z]//Ig' src/*.go", "sed -i '/\\`/d' src/*.go", `sed -i '/\d097\{0\}/d' src/*.go`, "mkdir x.o; mv src x.o/src; find . -name '*.o' -exec rm -rf {} +", "mv src/a.go src/a.log; : > src/a.log",
		`find packages -name index.ts -exec mv {} all/ \;`, "for d in a b c; do mv $d/index.ts x/; done", "mv a/index.ts x/; mv b/index.ts x/",
		"mv src src.o", "mv src/a.go src/a.o && rm -f src/a.o", "git mv src/a.go a.o", "mv README.md x.pyc", `for f in packages/*/index.ts; do mv "$f" all/; done`,
		"sed -i 's/^.*$/x/' src/*.go", "sed -ni p a.go b.go", `for f in src/*.go; do sed -i '1q' "$f"; done`, `for f in src/*.go; do mv "$f" all.go; done`,
	}, []string{
		"sed -i '/debug/d' src/*.go", "sed -i 's/foo/bar/g' src/*.go", "sed -i '1d' a.go b.go", "sed -i '3,9d' a.go b.go", "sed -i '1,999d' a.go", "sed -i 's/.*/\\/\\/ &/' a.go b.go", "sed -i '1i // x' src/*.go", "sed -n '1,999p' src/*.go",
		"sed -i '/TODO/,+2d' src/*.go", "sed -i 's/foo/bar/Ig' src/*.go", "find . -name '*.o' -exec rm -f {} +", "find . -name '*.o' -type f -exec rm -rf {} +", `find . -name '*.go' -exec mv -n {} flat/ \;`, "mv a.go b.go old/",
		"sed -i 's/ *$//' src/*.go", "sed -i '$d' src/*.go", `for f in src/*.go; do mv "$f" old/; done`, "mv a.o b.o", "mv src lib",
		`sed -i 's/\r$//' src/*.go`, "sed -i 's/^/  /' a.go b.go", "sed -i 's/v1/v2/g' a.md b.md", "sed -i 's/foo(/bar(/g' a.go b.go", `sed -i 's/\(x\)/[\1]/' a.go b.go`, "sed -i 's#a/b#c/d#g' a.go b.go", "sed -i '1,10d' a.go b.go", "sed -i '/^$/d' a.go b.go", `sed -i 's/"old"/"new"/' src/*.ts`, "sed -i '$a x' a.go b.go",
	})
}

// TestAdversary_T32_RarerNames: of agents' texts, of secrets, and of options.
func TestAdversary_T32_RarerNames(t *testing.T) {
	t.Parallel()
	asksFor(t, []string{
		"echo x > .agent/rules/x.md", "echo x > .agent/workflows/x.md", "echo x > .zencoder/rules/x.md", "echo x > .ruler/skills/x.mdc", "echo x > a/.pi/prompts/x", "echo x > .pi/SYSTEM.md", "echo x > CODEBUDDY.md", "echo x > .anything/agents/a/x.md", "echo x > firebender.json",
		"cat android/key.properties", "cat rclone.conf", "cat .vscode/sftp.json", "cat .sentryclirc", "cat mnemonic.txt", "cat /etc/cloudflared/x.json", "cat rootkey.csv",
		"lychee x.md", "shellcheck -xa x.sh", "git rebase --onto main~5 main feature", "git rebase --onto HEAD~5 HEAD", "git rebase main feature", "git rebase --onto main HEAD",
	}, []string{
		"echo x > docs/rules/x.md", "echo x > .storybook/agents/x.md", "echo x > rules/x.md", "echo x > .astro/prompts/x.md", "cat build.properties", "cat app.conf", "lychee --offline x.md", "shellcheck -x x.sh", "git rebase main",
	})
}

// TestAdversary_T32_FilesBehindOptions: values of options that name a file which is written or shown, and programs that
// change every file that has a word of a list.
func TestAdversary_T32_FilesBehindOptions(t *testing.T) {
	t.Parallel()
	asksFor(t, []string{
		"pylint -f text:CLAUDE.md --msg-template=x src/a.py", "pylint --output-format=colorized,json:.npmrc a.py", "mocha -R xunit --reporter-option output=CLAUDE.md", "mocha -O output=.npmrc", "npm test -- --reporter json --reporter-options output=.claude/settings.json", "npm test -- --reporter-option output=CLAUDE.md", "golangci-lint run --out-format json:.envrc",
		"codespell -w -D d.txt -H .", "codespell -w AGENTS.md", "typos -w --hidden .", "typos -w AGENTS.md", "semgrep scan -c ./rule.yml --autofix .", "asciidoctor -a stylesheet=.env -o - README.adoc", "terraform plan -var-file=.env", "git rev-parse HEAD:.env",
		"prettier --check --parser babel '**/*'", "eslint --ext .env,.yml -f json .", "markdownlint --dot '**/*'", "flake8 --filename=.env --show-source .", "flake8 --filename='*' .", "black --diff --include '.env' .", "phpcs --report=code --extensions=yml,env .",
		"babel --include-dotfiles -x .env .", "codespell -D d.txt -C 99 .", "cspell --show-context --dot .", `jest --config '{"coverageDirectory":".claude"}' t`, "ruff check --config \"cache-dir = '.git'\" .", "yamllint -d '{extends: \"config.txt\"}' .", "semgrep scan -l generic -e '$X' --metrics=off .",
	}, []string{
		"prettier --check .", "eslint --ext .js,.tsx src", "flake8 --filename='*.py' src", "black --check src", "phpcs --extensions=php src", "semgrep scan -l go -e 'x == x' --metrics=off .",
		"pylint -f json src/a.py", "pylint --output-format=colorized src", "golangci-lint run --out-format colored-line-number", "mocha -R spec", "codespell .", "typos .", "semgrep scan -c p/golang --metrics=off .", "asciidoctor -a toc -a icons=font -o out.html README.adoc",
		"git rev-parse HEAD", "git rev-parse --short HEAD", "git rev-parse HEAD:src/main.go", "git rev-parse --abbrev-ref HEAD",
	})
}

// TestAdversary_T32_CopiesOfSecrets: editors and tools give copies names of their own.
func TestAdversary_T32_CopiesOfSecrets(t *testing.T) {
	t.Parallel()
	asksFor(t, []string{
		"cat secrets/prod.json~", "cat secrets/.prod.json.swp", "cat passwords.txt~", "cat terraform.tfstate.1700000000.backup", "cat .wp-config.php.swp", "cat '#.env#'", "cat .secrets.yml.swp", "cat db-password.txt.orig",
		"cat '.#.env'", "cat prod.key-20260131", "cat k.pem.~2~", "cat k.pem_old", "cat .server.key.un~", "cat server.key.rej", "cat server.key.dpkg-old", "cat server.pem.gz", "cat prod.pem.bak.gz", "cat .server.pem.kate-swp", "cat prod.pem_backup2", "cat prod.pem.2026-01-31",
	}, []string{"cat src/main.go~", "cat README.md.bak", "cat .env.sample", "cat .env.dist", "cat .env.example", "cat data.csv.gz", "cat '#main.go#'", "cat CHANGELOG-20260131", "cat secrets/app.go~"})
}

// TestAdversary_T32_NamesByGlobsAndPrefixes: a name that others obey is written by a glob, by find, and by a program that completes it.
func TestAdversary_T32_NamesByGlobsAndPrefixes(t *testing.T) {
	t.Parallel()
	asksFor(t, []string{
		"sed -i '1i x' C*.md", "sed -i '1i x' src/*.instructions.md", "sed -i '1i x' docs/*LAUDE.md", "sed -i '1i x' src/?laude.md", `for f in A*.md; do sed -i '1i x' "$f"; done`, "mv docs/*.md .", "mv docs/AGENT?.md .", "cp docs/AGENT?.md x.md .", "mv A*.md old/", "sed -i '1i x' site*.py",
		`find docs -name '*.md' -exec cp {} . \;`, "split -a 1 -l 1 x.txt AGENTS.m", "split -a 1 -l 1 x.txt gradle", "split -a 1 -l 1 x.txt approvalbot.client.yam", "echo x > githooks/pre-commit", "cp x tools/hooks/post-checkout",
		"echo x > .helix/languages.toml", "git log -U3", "git log --binary", "git log -p -- .", "git log -p -- ./", "gh api repos/o/r/contents/%2eenv",
		`gh api graphql -f query='query{repository(owner:"o",name:"r"){object(expression:"HEAD:.env"){... on Blob{text}}}}'`, "gh api repos/o/r/secret-scanning/alerts", "rg -C 10 NODE_ENV",
	}, []string{"sed -i s/a/b/ docs/*.md", "mv docs/*.md old/", "split -l 100 x.txt part_", "split -b 10m data.csv data.csv.", "rg -C 10 handler", "git log --stat", "git log --cc -3", "git log -p -- src",
		"gh api graphql -f query='query{viewer{login}}'"})
	e := engine(t, shipped)
	require.NotEqual(t, approval.R0, judge(e, lineCall(t, `find docs -name '*.txt' -exec cp {} . \;`)).Assessment.RiskClass, "it writes, so it may not run beside a confined command")
}

// TestAdversary_T32_FoldersByGlobs: a folder of secrets loses its name by a glob, and .gitignore by a link.
func TestAdversary_T32_FoldersByGlobs(t *testing.T) {
	t.Parallel()
	asksFor(t, []string{"mv deploy/*/ w", "mv -- deploy/*/ y", "mv deploy/*/sub y", "mv deploy/*/prod.json y", "ln -s .gitignore gi", "ln .gitignore gj", "ln -s ../.git/info/exclude x"},
		[]string{"mv src/*.go lib/", "mv docs/*.md old", "mv a.go b.go"})
}

// TestAdversary_T32_InTheFolderOfEach: find runs the command behind -execdir in a folder that may be .git or one of secrets.
func TestAdversary_T32_InTheFolderOfEach(t *testing.T) {
	t.Parallel()
	asksFor(t, []string{
		`find . -name hooks -execdir cp ../evil.sh hooks/pre-commit ";"`, `find . -name prod.json -execdir cat prod.json ";"`, `find .. -name config -execdir cat config ";"`, `find . -type d -execdir cp main.go w.yml ";"`,
		`find ../other -name o.go -execdir sed -i s/o/CHANGED/ {} ";"`, `find .. -name x -execdir git status ";"`, `find . -name x -execdir touch y ";"`, `find . -name x -okdir cp y {} ";"`, `find . -name x -execdir sort -osettings.json {} ";"`,
		"git -C a/l/../.. reset -q HEAD~1", `find . -name x -execdir sh -c 'cat prod.json' ";"`, `find . -name x -execdir go test ";"`,
	}, []string{`find . -name '*.go' -execdir wc -l {} +`, `find . -name '*.pyc' -execdir rm -f {} ';'`, `find . -name '*.go' -execdir head {} ";"`, `find . -name '*.go' -exec wc -l {} +`})
}

// TestAdversary_T32_FilesOfAnyKind: a tool that is told to take other files than those of its language shows lines of them.
func TestAdversary_T32_FilesOfAnyKind(t *testing.T) {
	t.Parallel()
	asksFor(t, []string{
		"eslint '**/*' --no-ignore -f json", "stylelint '**/*'", "mocha --extension yml --recursive config", "mocha '**/*'", "prove -r --ext env .", "prove --ext .env .", "rspec -P .env", "rspec -P '**/*.yml'", "busted --pattern=env .",
		"detekt --create-baseline --baseline CLAUDE.md", "detekt -b AGENTS.md", "stylua --check -g '*' .", "packer validate -var-file=.env .", "pandoc -M csl=.env --citeproc x.md", "pandoc -M bibliography=.env x.md", "pandoc --metadata=Bibliography:.env x.md",
		"ast-grep run -p '{$$$}' -l json .", "ast-grep run -p '$A=$B' -l bash --no-ignore hidden .", "npm test -- --trace CLAUDE.md", "npm run lint -- --format text:CLAUDE.md", "gh api repos/o/r/contents/.env",
		"gh api 'repos/o/r/contents/certs/server.pem?ref=main'",
	}, []string{
		"eslint 'src/**/*.ts'", "eslint src", "prettier --check '**/*'", "mocha --extension ts,tsx 'test/**/*.js'", "prove -r t", "prove --ext .t t", "rspec -P '**/*_spec.rb'", "busted -p _spec spec", "detekt --baseline config/detekt/baseline.xml",
		"stylua --check -g '**/*.lua' .", "packer validate -var-file=dev.pkrvars.hcl .", "pandoc -M title=Notes x.md", "ast-grep run -p 'console.log($A)' -l ts .", "npm test -- --format progress", "gh api repos/o/r/contents/README.md",
	})
}

// TestAdversary_T32_AnotherMethod: many servers take a GET for another method if a header or the address says so.
func TestAdversary_T32_AnotherMethod(t *testing.T) {
	t.Parallel()
	asksFor(t, []string{
		"curl -H 'X-HTTP-Method-Override: DELETE' https://api.example.com/x/1", "curl -H 'x-http-method: PUT' https://api.example.com/x/1", "curl 'https://api.example.com/x/1?_method=DELETE'", "wget -qO- 'https://api.example.com/x?a=1&_method=DELETE'",
	}, []string{"curl -H 'Accept: text/plain' https://api.example.com/x/1", "curl 'https://api.example.com/x?method=get'"})
}

// TestAdversary_T32_WhatGitLeavesOut: a pattern that leaves files out reads none, and narrows nothing either.
func TestAdversary_T32_WhatGitLeavesOut(t *testing.T) {
	t.Parallel()
	asksFor(t, []string{"git log -p -- ':!src'", "git diff -- ':!.env' .env", "git diff -- ':!x' ':(icase).ENV'", "git clean -en -f", "git clean -e n -f", "git clean -n -i", "git clean -f", "git clean -fd src"},
		[]string{"git diff main...HEAD -- . ':!.env'", "git diff HEAD -- ':^*.pem'", "git diff -- ':(exclude)secrets'", "git clean -n", "git clean -ndx", "git clean --dry-run -d src"})
}

// TestAdversary_T32_AllOfTheHistory: words that narrow git log -p to nothing, or to where a secret was.
func TestAdversary_T32_AllOfTheHistory(t *testing.T) {
	t.Parallel()
	asksFor(t, []string{
		"git log -p -S AWS_SECRET", "git log -p -Gpassword", "git log -G token -p -i", "git diff 4b825dc642cb6eb9a060e54bf8d69288fbee4904 HEAD", "git log -p -n 99999", "git log -p -99999", "git log -p --max-count=5000", "git log -p --author=.", "git log -p --grep '.*'", "git log -p -S =", "git diff 4B825DC642CB6EB9A060E54BF8D69288FBEE4904 HEAD",
		"git log -p --author=alice", "git log -p --author=@", "git log -p --since=1", "git log -p --after=2000", "git log -p --before=now", "git log -p HEAD", "git reflog -p", "git log -p -1 -n 9999", "git log -p =", "git log -p --author ..", "git log -p --decorate-refs README", "git log -p --until README", "git log -p --exclude README --all", "git log -p -- src .", "git log -p README .", "git log -p a.go -- .", "git log -p --since=yesterday --since=1970-01-01",
		"git log -p -S import --pickaxe-all", "git log -p --all abc1234..HEAD", "git log -p =..", "git log -p ''",
		"git rev-list --all | xargs git show", "git show $(git rev-list --all)", `for c in $(git rev-list --all); do git show "$c"; done`,
	}, []string{"git log -p --since='2 weeks ago'", "git log -p --since=yesterday", "git log -p src/a.go", "git log -p -- src", "git rev-list --all | xargs git show --stat", "git show HEAD", "git show --stat $(git rev-list --all)",
		"git log -p -S newHandler", "git log -p -n 20", "git log -p -5", "git log --author=.", "git log --author=alice", "git log -S token --oneline", "git log -p main..HEAD"})
}

// Docker and Kubernetes take files without an ending from a folder of secrets.
func TestAdversary_T32_FilesOfASecretsFolder(t *testing.T) {
	t.Parallel()
	asksFor(t, []string{"cat secrets/postgres", "cat secrets/prod.hcl", "cat secrets/otp.png", "cat app/secrets/db", "cat secrets/test/stripe", "cat src/deploy/secrets/stripe", "cat secrets.bak/stripe", "cat .creds/stripe", "cat x.pkcs8", "cat bot.token", "cat .dev.vars.production", "cat playwright/storageState.json", "cat smb.cred", "cat .openai", "cat serviceAccountKey.json", "cat secrets/db_root.bak", "cat secrets/prod.enc", "cat deploy/creds/x.bin", "head -c9 .hg/hgrc", "cat sub/.hg/hgrc", "cat x.pkcs12", "echo x > secrets/db"},
		[]string{"ls secrets", "ls internal/secrets/vault", "cat src/token.go", "cat .dev.vars.example", "cat src/private.go", "go test ./internal/secrets/vault ./secrets/...", "cat secrets/README", "cat secrets/.gitkeep", "cat secrets/db.env.example", "cat deploy/secrets/x.yaml.j2", "cat src/secrets/x.go", "cat hgrc"})
}

// TestAdversary_T32_GuessesLetterByLetter: all files of the workspace are searched for few words by one line, and for no part of an alphabet.
func TestAdversary_T32_GuessesLetterByLetter(t *testing.T) {
	t.Parallel()
	asksFor(t, []string{
		`for a in a b; do grep -rqE "^[A-Z]{5}=$a" . && echo $a; done`, "grep -rlE '^[A-Z]{5}=[q-z]' .", "grep -rL q7 .", "grep -rc -e . -e 'TOKEN=q' .", "grep -rlFf list .", "rg --hidden -l q7", "grep -rl 'D=h' apps", "grep -rl '^h' config", "rg -l '^h'", "git grep -l '^h'", `while read a; do grep -rl -e "q7Z$a" packages; done < list`,
		`while read a; do grep -rl "q7Z$a" .; done < list`, "grep -rlE 'q7Z(a|b|c|d|e)' /workspace", "for a in a b c d e f g h i j k l m n o p q; do grep -rn q7Zp$a .; done",
		"grep -rn -e aab -e aac -e aad -e aae -e aaf .", "grep -rn aab .; grep -rn aac .; grep -rn aad .; grep -rn aae .; grep -rn aaf .",
	}, []string{
		"grep -rl MAR .", "grep -rnE 'foo|bar|bazzz|TODO' .", "for s in FooService BarService Bazzz; do grep -rn $s . | wc -l; done", "grep -rc TODO .", "grep -rlE '[a-zA-Z0-9_]+Handler' .", "grep -rc '' .",
		`while read a; do grep -rl "q7Z$a" src; done < list`, "grep -rlE 'q7[a-c]' --include='*.go' .", "grep -rqE 'x[0-3]' src", "git grep -l .", "git grep -l newHandler", "rg -c TODO", "rg -l id", "rg -l '[ \\t]+$'", "rg -l '[^\\x00-\\x7F]'", "rg -l 'v[0-9.]+'", "rg -n foo -g BUILD", "grep -rl '\\[package\\]' .", "grep -rc TODO packages", "rg -l 'fn .*main'",
	})
	checkTools(t, engine(t, shipped), []toolRow{
		{"Grep", `{"pattern":"=[a-m]","output_mode":"files_with_matches"}`, "R3 may-read-secret"}, {"Grep", `{"pattern":"=[abcdefgh]","output_mode":"count"}`, "R3 may-read-secret"},
		{"Grep", `{"pattern":"=[a-z0-9]+","output_mode":"files_with_matches"}`, "R0"}, {"Grep", `{"pattern":"=[a-m]","output_mode":"files_with_matches","type":"go"}`, "R0"},
	})
}

// TestAdversary_T32_WordsBesideSecrets: a word that is not about secrets is in each line of some files with secrets.
func TestAdversary_T32_WordsBesideSecrets(t *testing.T) {
	t.Parallel()
	asksFor(t, []string{
		"grep -rn export .", "grep -rn machine .", "grep -rn -A3 machine .", "grep -rni MACHINE .", "grep -rn com .", "grep -rn SALT .", "grep -rn MII .", "rg -uuu export", "rg --hidden production", "grep -rn 'url = ' .", "grep -rn extraheader .", "grep -rn github .", "grep -rn _authToken .", "grep -rn -B6 -- '-----END' .", "grep -rn QyNTUx .", "grep -rlE 'smtp://[a-m]' .",
		"find . -type f | xargs grep -n export", "git ls-files -o | xargs grep -n export", "grep -n export **/*", "cd src && grep -rn export ..", "grep -rn url .git", "git log -p -S export", `find . -type f | while read -r f; do grep -n export "$f"; done`,
	}, []string{
		"grep -rn export src", "grep -rn value .", "grep -rn index .", "grep -rn docker .", "grep -rn registry.npmjs.org .", "grep -rn RSA .", "grep -rn 'export const' .", "rg export", "grep -rn github.com/foo/bar .", "grep -rn export --include='*.ts' .", "find . -name '*.ts' | xargs grep -n export", "grep -rl export .", "grep -rc export .",
	})
	checkTools(t, engine(t, shipped), []toolRow{
		{"Grep", `{"pattern":"export","output_mode":"content"}`, "R3 may-read-secret"}, {"Grep", `{"pattern":"machine","output_mode":"content","path":"."}`, "R3 may-read-secret"}, {"grep_search", `{"query":"url = "}`, "R3 may-read-secret"},
		{"Grep", `{"pattern":"export","output_mode":"content","path":"src"}`, "R0"}, {"Grep", `{"pattern":"export","output_mode":"content","glob":"*.ts"}`, "R0"}, {"Grep", `{"pattern":"export","output_mode":"files_with_matches"}`, "R0"},
		{"Grep", `{"pattern":"export const","output_mode":"content"}`, "R0"},
	})
}

// TestAdversary_T32_EnvironmentsOfAProject: the settings of a virtual environment say from where all its programs take their code.
func TestAdversary_T32_EnvironmentsOfAProject(t *testing.T) {
	t.Parallel()
	asksFor(t, []string{
		"echo 'home = evil/bin' > .venv/pyvenv.cfg", "sed -i s/a/b/ tools/py/pyvenv.cfg", "echo x > env/bin/python", "echo x > .tox/py311/bin/x", "cp x .venv-3.11/bin/x", "echo x > .venv/Scripts/x", "echo x > vendor/bundle/ruby/3.2.0/bin/x",
		"echo x > .pixi/envs/default/bin/x", "mv evil env", "echo x > tools/python311._pth", "echo x > .venv/pip.conf", "echo x > .venv-dev/bin/pytest", "echo x > venv_linux/bin/python", "echo x > .tox/py/Scripts/python", "cp x .pixi/envs/default/lib/python3.11/os.py", "echo x > env/conda-meta/state", "echo x > _opam/.opam-switch/environment", "echo x > .miserc.toml",
	}, []string{"cat .venv/pyvenv.cfg", "python3 -m venv .venv", "echo x > src/env/x.py", "echo x > bin/x", "echo x > environment/bin/x", "echo x > src/env/scripts/deploy.sh", "echo x > venv-tools/scripts/x.py", "echo x > app/scripts/x"})
}

// TestAdversary_T32_WritesToTheTerminal: what is written there is not what the runtime shows, and may set the clipboard.
func TestAdversary_T32_WritesToTheTerminal(t *testing.T) {
	t.Parallel()
	asksFor(t, []string{`printf '\033]52;c;eA==' > /dev/tty`, "echo x | tee /dev/tty", "cp x /dev/tty", "echo x > /dev/fd/0"}, []string{"stty size < /dev/tty", "read x < /dev/tty", "echo x > /dev/stderr"})
}

// TestAdversary_T32_NothingRunsInTheCachesOfConfinedCalls: what such a call left there is not judged, and version managers obey it.
func TestAdversary_T32_NothingRunsInTheCachesOfConfinedCalls(t *testing.T) {
	t.Parallel()
	asksFor(t, []string{"cd ~/.local/state/approvalbot/confine/1c9ab0f8c275f2a6/home/.cache/x && node --version", "(cd ~/.local/state/approvalbot/confine/x; node -v)", "cd && cd .local/state/approvalbot/confine/x && npm -v",
		"echo x > .java-version", "echo 20 > .nvmrc", "echo x > lefthook-local.toml", "echo x > .prototools"},
		[]string{"cd /workspace/approvalbot && ls", "cd internal/confine && ls", "cat .nvmrc", "cd src && node --version"})
}

// TestAdversary_T32_AWorkspaceBelowAFolderOfCode: which folders are code is said by their names in the workspace, and not by those above it.
func TestAdversary_T32_AWorkspaceBelowAFolderOfCode(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped, func(c *Config) { c.Workspaces = map[string][]string{"main": {"/home/u/src/app"}} })
	for line, asks := range map[string]bool{
		"grep -rn export /home/u/src/app": true, "grep -rl '^h' /home/u/src/app/config": true, "cd config && grep -rl '^h' .": true, "grep -rl '^h' src/../config": true,
		"grep -rl '^h' /home/u/src/app/src": false, "cd src && grep -rl '^h' .": false, "cd src && grep -rl '^h'": false, "grep -rn export src": false,
	} {
		c := lineCall(t, line)
		c.AgentID, c.Bind = "main", &approval.Bind{Workdir: new("/home/u/src/app")}
		require.Equal(t, asks, judge(e, c).Outcome == approval.OutcomeAsk, line)
	}
}
