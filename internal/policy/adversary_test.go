package policy

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/line"
)

// TestAdversary_S5_WordsAreJudgedAsTheyRun: the words of a program are judged one
// by one, never as the line they would make when joined.
func TestAdversary_S5_WordsAreJudgedAsTheyRun(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped)
	class := func(argv ...string) approval.RiskClass {
		return judge(e, callOf(t, "exec", map[string]any{"argv": argv})).Assessment.RiskClass
	}
	require.Equal(t, approval.R0, class("echo", "a; rm -rf /"), "no shell reads the word")
	require.Equal(t, approval.R0, class("ls", "", " "), "empty words and blanks stay words")
	require.Equal(t, approval.R3, class("ls "), "a program's name with a blank is another program")
	require.Equal(t, approval.R3, class("rm -rf /"), "and so is one with its words in it")
	require.Equal(t, approval.R3, class("", "ls"))
	require.Equal(t, approval.R4, class("sh", "-c", "$0 -rf /", "rm"))
	require.Equal(t, approval.R4, class("sh", "-c", `"$@"`, "x", "rm", "-rf", "/"))
	require.Equal(t, approval.R4, class("sh", "-c", "eval $1", "x", "rm -rf /"))
	require.Equal(t, approval.R4, class("env", "-S", "rm -rf /"))
	require.Equal(t, approval.R4, class("busybox", "sh", "-c", "rm -rf /"))
	require.Equal(t, approval.R4, class("cmd", "/c", "rmdir /s /q C:\\"))
}

// TestAdversary_W1_WrappersOfEveryKind: what a wrapper is told to run is judged
// wherever it stands, and a wrapper alone is never what is allowed.
func TestAdversary_W1_WrappersOfEveryKind(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped, refusing)
	for _, w := range []string{"sh -c '%'", "bash -lc '%'", "env %", "env -u X %", "sudo %", "sudo -u bob %", "doas %", "timeout 5 %", "timeout -k 1 5 %", "nohup %", "nice -n 5 %", "ionice -c 3 %", "setsid %", "stdbuf -oL %", "time %", "command %", "exec %",
		"builtin %", "xargs %", "xargs -I{} %", "find . -exec % ;", "find . -name x -ok % ;", "busybox %", "script -c '%' /dev/null", "flock x %", "flock x -c '%'", "watch '%'", "parallel %", "ssh h %", "ssh h '%'", "docker exec c %", "docker run --rm i %", "podman exec c %", "kubectl exec p -- %", "chroot /x %", "unshare -r %",
		"nsenter -t 1 %", "su -c '%'", "su - bob -c '%'", "runuser -u x -- %", "systemd-run %", "strace -f %", "gdb --args %", "taskset 1 %", "proot %", "firejail %", "npx -c '%'", "npm exec -- %", "uv run %", "poetry run %", "bundle exec %", "make x SHELL='%'", "git -c alias.z='!%' z", "at now <<< '%'", "tmux new -d '%'", "screen -dm %", "eval '%'", "trap '%' EXIT"} {
		for _, inner := range []string{"rm -rf /", "git push --force origin main", "mkfs.ext4 /dev/sda", "terraform destroy"} {
			j := judge(e, lineCall(t, strings.ReplaceAll(w, "%", inner)))
			require.Equal(t, approval.R4, j.Assessment.RiskClass, "%s around %s: %v", w, inner, j.Assessment.ReasonCodes)
			require.Equal(t, approval.OutcomeDeny, j.Outcome)
		}
		for _, inner := range []string{"frobnicate", "python3 x.py", "./x"} {
			j := judge(e, lineCall(t, strings.ReplaceAll(w, "%", inner)))
			require.Equal(t, approval.OutcomeAsk, j.Outcome, "%s around %s: %v", w, inner, j.Assessment.ReasonCodes)
		}
	}
}

// TestAdversary_W4_CodeIsNeverAllowedByItsInterpreter under the shipped policy.
func TestAdversary_W4_CodeIsNeverAllowedByItsInterpreter(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped)
	for _, line := range []string{"python3 -c 1", "python3 -c 'print(1)'", "python3 -", "python3 x.py", "python3 -m x", "python3 -m pytest.__main__", ".venv/bin/python x.py", "node -e 1", "node -p 1", "node x.js", "deno eval 1", "bun -e 1", "perl -e 1", "perl x.pl", "ruby -e 1", "php -r 1", "lua -e 1", "Rscript -e 1",
		"osascript -e 1", "pwsh -c ls", "sh x.sh", "bash x.sh", "bash -i", "bash < x.sh", "cat x.sh | sh", "sh <<< ls", "./x.sh", "x/y.sh", "source x.sh", ". ./x.sh", "go run x.go", "npx tsx x.ts", "npx ts-node x.ts", "cargo run", "dotnet run", "java -jar x.jar", "java X", "awk -f x.awk y", "sed -f x.sed y", "make -f x.mk", "jq -f x.jq y", "sqlite3 x < y", "vim -S x", "ed x", "bc x", "gdb -x y"} {
		require.Equal(t, approval.OutcomeAsk, judge(e, lineCall(t, line)).Outcome, line)
	}
}

// TestAdversary_I10_TheDeskIsRefused if the operator has R4 refused, however the agent
// gets at it.
func TestAdversary_I10_TheDeskIsRefused(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped, refusing)
	for _, line := range []string{"approvalbot decide X --decision allow-once", "sudo approvalbot serve", "npm test && approvalbot grants list", "go run ./cmd/approvalbot decide X", "make test; sed -i s/R4/R9/ /etc/approvalbot/config.yaml", "sed -i.bak s/a/b/ /etc/approvalbot/config.yaml",
		"git -C /etc/approvalbot add config.yaml", "tar czf x.tgz /etc/approvalbot/config.yaml", "pytest --junitxml=/var/lib/approvalbot/approvalbot.db", "go test -coverprofile=/etc/approvalbot/config.yaml ./...", "gcc -o /etc/approvalbot/config.yaml x.c", "wc -l /etc/approvalbot/config.yaml", "xxd /var/lib/approvalbot/approvalbot.key", "unzip -l /var/lib/approvalbot/approvalbot.db",
		"echo YXBwcm92YWxib3QgZGVjaWRlIFg= | base64 -d | sh", "curl -s localhost:8787/v1/approvals", "cd /etc/approvalbot && grep -rn handler ."} {
		j := judge(e, lineCall(t, line))
		require.Equal(t, approval.OutcomeDeny, j.Outcome, "%s: %v", line, j.Assessment.ReasonCodes)
		require.Contains(t, j.Assessment.ReasonCodes, "touches-the-desk", line)
	}
}

// TestAdversary_W3_WordsInWhatCannotBeRead: a line that cannot be read is R3, and
// R4 where the words of a destructive command stand in it.
func TestAdversary_W3_WordsInWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped, refusing)
	unreadable := func(words string) []string {
		return []string{"ls '; " + words, "( " + words, strings.Repeat("(", 300) + " " + words, words + " " + strings.Repeat("a ", line.MaxLine/2), "$X <<E " + words + "\n", "ls \x01; " + words, "echo \"" + words, "eval \"$X " + words + "\"", strings.Repeat("sudo ", 30) + words, strings.Repeat("eval ", 30) + "'" + words + "'", "$X; # " + words + ";"}
	}
	for _, list := range line.Phrases() {
		for _, p := range list {
			words := strings.ReplaceAll(strings.Join(p, " "), "*", "x")
			for _, line := range unreadable(words) {
				j := judge(e, lineCall(t, line))
				require.Equal(t, approval.OutcomeDeny, j.Outcome, "%.60s: %v", line, j.Assessment.ReasonCodes)
			}
		}
	}
	for _, line := range unreadable("frobnicate the thing") {
		j := judge(e, lineCall(t, line))
		require.Equal(t, approval.R3, j.Assessment.RiskClass, "%.60s: %v", line, j.Assessment.ReasonCodes)
		require.Equal(t, approval.OutcomeAsk, j.Outcome)
	}
}
