package policy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// A program that the asker's PATH finds in the project runs the project's code, though the table knows its name as harmless. That only
// makes the answer stricter.
func TestProgramsOfTheProject(t *testing.T) {
	t.Parallel()
	asks := engine(t, shipped, func(c *Config) { c.ProjectCode = "ask" })
	confines := engine(t, shipped, unsure, func(c *Config) { c.ProjectCode = "confined" })
	e := engine(t, shipped)
	own := func(c approval.Call, names ...string) approval.Call {
		c.Context.Programs = names
		return c
	}
	for _, line := range []string{
		"which x", "which --help", "env which x", "xargs which", "nice which x", "bash -c 'which x'", "timeout 5 which x", "ls | xargs -n1 which", "find . -exec which {} ;",
		"cd src && which x", "ls; which x | head", "time which x", "if true; then which x; fi",
	} {
		require.Equal(t, approval.OutcomeAllow, judge(asks, lineCall(t, line)).Outcome, line)
		j := judge(asks, own(lineCall(t, line), "npm", "which"))
		require.Equal(t, approval.OutcomeAsk, j.Outcome, line)
		require.Contains(t, j.Assessment.ReasonCodes, "runs-project-code", line)
		require.Equal(t, approval.OutcomeAllow, judge(e, own(lineCall(t, line), "which")).Outcome, "%s: as npm test is allowed", line)
		require.NotNil(t, judge(confines, own(confinable(t, line), "which")).Confined, line)
		require.Equal(t, approval.OutcomeAllow, judge(asks, own(lineCall(t, line), "head2")).Outcome, line)
	}
	require.Contains(t, judge(e, own(lineCall(t, "cp a b && which x"), "which")).Assessment.ReasonCodes, "writes-and-runs")
	require.Equal(t, approval.OutcomeAllow, judge(asks, own(lineCall(t, "/usr/bin/which x"), "which")).Outcome, "the system's own, by its path")
	require.Equal(t, approval.OutcomeAsk, judge(e, own(lineCall(t, "cd /srv && which x"), "which")).Outcome)
	for _, line := range []string{"rm -rf /", "curl -d @x example.org", "frobnicate", "npm publish", "git push --force"} {
		plain, named := judge(e, lineCall(t, line)), judge(e, own(lineCall(t, line), "rm", "curl", "frobnicate", "npm", "git"))
		require.Subset(t, named.Assessment.ReasonCodes, plain.Assessment.ReasonCodes, line)
		require.GreaterOrEqual(t, named.Assessment.RiskClass, plain.Assessment.RiskClass, line)
		require.GreaterOrEqual(t, named.Outcome, plain.Outcome, line)
	}
}

// What writes a program that policy knows into a folder of the project which is in PATH asks: by its name it would run unasked,
// also before it in the line, or by another call. git may bring one.
func TestProgramsThatALineMakes(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped)
	of := func(line string) approval.Call {
		c := lineCall(t, line)
		c.Context.Programs = []string{"/workspace/bin", "/workspace/later/bin"}
		return c
	}
	for _, line := range []string{
		"cp scripts/count bin/tokei && tokei", "mv scripts/count bin/uname; uname -a", "cp scripts/uname bin/ && uname", "cp scripts/uname bin && uname", "cd bin && cp ../scripts/count scc; scc",
		"cat x > bin/which; timeout 5 which y", "mkdir -p later/bin && cp scripts/count later/bin/scc && scc", "cp scripts/* bin/ && uname", "tee bin/which < x; which y", "sed -n p x > bin/wc && cat a | wc -l",
		"cp /workspace/scripts/count /workspace/bin/scc; scc", "for d in bin; do cp a $d/scc; done; scc", "cp scripts/count bin/echo; cat a.txt | xargs", "cp scripts/count bin/gzip; zcat a.gz", "cp x bin/ls",
		"until tokei; do cp scripts/tokei bin; done", "{ sleep 1; which x; } | cp scripts/which bin", "ln scripts/count bin/scc && scc", "git mv a bin/uname", "cp -r scripts/. bin", "cp -rT scripts bin", "cp -a scripts/ bin/", "mv scripts/* bin", "until tokei; do cp scripts/* bin; done",
	} {
		j := judge(e, of(line))
		require.Equal(t, approval.OutcomeAsk, j.Outcome, line)
		require.Contains(t, j.Assessment.ReasonCodes, "writes-startup", line)
	}
	asks := engine(t, shipped, func(c *Config) { c.ProjectCode = "ask" })
	for _, line := range []string{"git switch -q b && tokei", "git merge -q b; ls", "git stash pop && scc", "git -C . pull && wc a", "git cherry-pick b && tokei", "git revert HEAD && tokei", "git rebase b && tokei", "git checkout b && tokei"} {
		require.Equal(t, approval.OutcomeAsk, judge(asks, of(line)).Outcome, line)
		require.Contains(t, judge(asks, of(line)).Assessment.ReasonCodes, "runs-project-code", line)
	}
	for _, line := range []string{"for p in whi; do timeout 5 ${p}ch x; done", "for p in whi; do find . -maxdepth 0 -exec ${p}ch {} +; done", "for p in su; do bash -c \"timeout 5 ${p}m x\"; done"} {
		require.Equal(t, approval.OutcomeAsk, judge(asks, of(line)).Outcome, "%s: its asker does not find that name", line)
	}
	for _, line := range []string{"git status && ls", "git commit -m x && ls", "git log | head"} {
		require.Equal(t, approval.OutcomeAllow, judge(asks, of(line)).Outcome, line)
	}
	for _, line := range []string{"cat x > src/which; which y", "mkdir -p bin && ls", "touch bin && ls", "chmod 755 bin && ls -l", "mkdir bin lib; git status", "mkdir -p bin dist && cp a.txt dist && ls dist", "cp scripts/deploy.sh bin/deploy.sh && ls", "sed -i s/a/b/ src/*.js && ls", "touch bin/README", "ls bin", "cat bin/x", "cp bin/x scripts/y && ls", "echo x > a.txt && uname -a", "which x > out.txt"} {
		require.Equal(t, approval.OutcomeAllow, judge(e, of(line)).Outcome, line)
		require.Equal(t, judge(e, lineCall(t, line)).Assessment.ReasonCodes, judge(e, of(line)).Assessment.ReasonCodes, line)
	}
}
