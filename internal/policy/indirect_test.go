package policy

import "testing"

// xargs takes quotes and backslashes out of names.
func TestQuotesInNamesMislead(t *testing.T) {
	t.Parallel()
	e := engine(t)
	checkLines(t, e, lines("R3 misleading-name", `mkdir -p "a ''/root/.s''sh"`, `touch "''/root/.s''sh/id x.go"`, `touch 'a \/etc.go'`, `touch "a ''/etc/x.go"`, `touch "a '-f.e''nv' x.go"`, `echo x > "''x.go"`, `cp x.go 'a"b.go'`, `mv x.go 'a\b.go'`))
	checkLines(t, e, lines("R3 may-read-secret", `find "''" -name '*.go' | xargs cat`, `find "a ''/etc" -name 'x.go' | xargs cat`, `find 'a\b' -name '*.go' -exec cat {} +`))
	checkLines(t, e, lines("R1 workspace-write", "touch 'a b.go'", "mkdir -p 'my dir/x'"))
	checkLines(t, e, lines("R0", "find src 'my dir' -name '*.go' | wc -l", "find . -name '*.go' | xargs cat", `find "it's" -name x`))
}

// What a compiler and a report take in is said by files that the line only names.
func TestFilesThatNameFilesAsk(t *testing.T) {
	t.Parallel()
	e := engine(t)
	checkLines(t, e, lines("R3 may-read-secret", "git remote -v", "git remote get-url origin", "gcc -E x.c", "clang -E x.c", "gcc -E x.c -o y", "gcc -c x.s && strings x.o", "gcc -c x.S", "cc x.sx", "go tool cover -html=c.out -o x.html", "go tool cover -html c.out"))
	checkLines(t, e, lines("R3 unknown-option", "gcc a.c e.ld", "gcc a.c script", "gcc a.c x.def"))
	checkLines(t, e, lines("R1 runs-project-code", "gcc -c x.c", "gcc -Wall -O2 -o prog main.c util.c -lm", "g++ -std=c++17 a.cc b.o -o a", "cc -S x.c", "gcc src/*.c", "gcc a.c lib/libx.a"))
	checkLines(t, e, lines("R1 local-build", "go tool cover -func=cover.out"))
}

// Programs look for the files of a language or a time zone below a path that its
// name is part of.
func TestNamesOfLanguagesAreNoPaths(t *testing.T) {
	t.Parallel()
	e := engine(t)
	checkLines(t, e, lines("R3 sets-environment", "LANGUAGE=../../../workspace/l ls nosuch", "LC_ALL=/tmp/evil ls", "TZ=/tmp/x date", "TZ=:/tmp/x date", "env LANGUAGE=../x ls", "export LANG=/x; ls", "LANG=../x; ls", "x=../l; LANGUAGE=$x ls", "for LANG in ../x; do ls; done", "TERM=a/../../x ls", "LANG=en; LANG+=/../x; ls", "env LANG=~/x ls"))
	checkTools(t, e, []toolRow{{"exec", `{"command":"ls","env":{"LANGUAGE":"../x"}}`, "R3 sets-environment"}, {"exec", `{"command":"ls","env":{"TZ":"Europe/Berlin"}}`, "R0"}})
	checkLines(t, e, lines("R0", "LC_ALL=C.UTF-8 ls", "TZ=America/Argentina/Buenos_Aires date", "TZ=UTC+3 date", "TERM=xterm-256color ls"))
	checkLines(t, e, lines("R0", "RUST_LOG=a=debug,b::c=info ls", `NODE_ENV="$x" ls`))
}

func TestSettingsThatHoldSecretsAsk(t *testing.T) {
	t.Parallel()
	e := engine(t)
	checkLines(t, e, lines("R3", "git config --get sendemail.smtppass", "git config --get http.https://github.com/.extraheader", "git config --global --get github.token", "git config --get credential.helper", "cat .git/config", "cat /workspace/.git/config", "grep url .git/config", "cat sub/.git/config"))
	checkLines(t, e, lines("R0", "git config --get user.email", "git config --get core.hooksPath", "git config --get branch.main.remote", "git config --get init.defaultBranch", "ls .git/config", "cat .github/config", "cat git/config"))
	checkLines(t, e, lines("R3 reads-secret", "cat terraform.tfstate.backup", "cat prod.tfvars.json", "cat kubeconfig.yaml", "cat .dev.vars", "cat /etc/gshadow-", "cat /etc/passwd-", "cat AuthKey_X.p8", "cat .vault_pass", "cat service-account-prod.json", "cat /etc/ssh/ssh_host_ed25519_key", "cat /var/backups/shadow.bak"))
}

// tar fetches host:file, and curl reads file:x.
func TestNamesThatAreAddressesAsk(t *testing.T) {
	t.Parallel()
	e := engine(t)
	checkLines(t, e, lines("R3 dynamic-argument", `y=ost:x; tar tf "h$y"`, `tar tf "$x"`, "tar tf *.tgz"))
	checkLines(t, e, lines("R3", "for x in host:x; do tar tf $x; done", "curl file:/root/.ssh/id", "curl file:/etc/hosts", "curl FILE:/root/.ssh/x", "curl -s file:x"))
	checkLines(t, e, lines("R0", "tar tf x.tgz", "tar tzf dist/*.tgz", `tar tf "dist/$x"`))
}
