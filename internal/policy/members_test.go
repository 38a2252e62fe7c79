package policy

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// TestMembers judges calls by all members of their params: what the common
// runtimes send every day runs, and a member that could name a file, a host, a
// method, a body or code never leaves a call at an automatic allow.
func TestMembers(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped)
	f, err := os.Open("testdata/members.txt")
	require.NoError(t, err)
	defer f.Close()
	want, count := "", map[string]int{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		if line == "# allow" || line == "# ask" {
			want = line[2:]
		}
		if line == "" || line[0] == '#' {
			continue
		}
		tool, params, _ := strings.Cut(line, " ")
		require.True(t, json.Valid([]byte(params)), line)
		j := judge(e, approval.Call{ToolName: tool, Params: json.RawMessage(params), AgentID: "main"})
		assert.Equal(t, want == "allow", j.Outcome == approval.OutcomeAllow, "%s: is %v %v", line, j.Outcome, j.Assessment.ReasonCodes)
		count[want]++
	}
	require.Greater(t, count["allow"], 100)
	require.Greater(t, count["ask"], 250)
}

// TestMembersSay: people are told what is wrong with a member.
func TestMembersSay(t *testing.T) {
	t.Parallel()
	checkTools(t, engine(t), []toolRow{
		{"apply_patch", `{"input":"*** Update File: cron.d/job","workdir":"/etc"}`, "R3 writes-system"}, {"write", `{"path":"x","cwd":"/srv/x"}`, "R3 writes-outside"}, {"write", `{"path":"hooks/x","cwd":".git"}`, "R3 writes-startup"}, {"write", `{"path":"sda","cwd":"/dev"}`, "R4 writes-device"},
		{"apply_patch", `{"patch":"diff --git a/l b/l\nnew file mode 120000\n"}`, "R3 makes-link"}, {"apply_patch", `{"patch":"diff --git a/l b/l\nnew mode 104755\n"}`, "R3 changes-permissions"}, {"apply_patch", `{"patch":"copy from .env\ncopy to x"}`, "R3 reads-secret"},
		{"write", `{"path":"x","postWrite":"make x"}`, "R3 unknown-parameters"}, {"read", `{"path":"config.yaml","cwd":"/etc/approvalbot"}`, "R4 touches-the-desk"}, {"grep", `{"pattern":"foobar","glob":"../etc/approvalbot/c*"}`, "R4 touches-the-desk"},
		{"grep", `{"pattern":"foobar","glob":".e*"}`, "R3 may-read-secret"}, {"fetch", `{"url":"https://x.org","httpMethod":"DELETE"}`, "R3 sends-data"}, {"fetch", `{"url":"https://x.org","payload":"x"}`, "R3 sends-data"}, {"fetch", `{"url":"https://x.org","saveTo":"/root/.ssh/authorized_keys"}`, "R4 saves-download+writes-access"},
		{"fetch", `{"host":"169.254.169.254"}`, "R3 unknown-parameters+metadata-service"}, {"fetch", `{"endpoint":"localhost:8787/v1/approvals"}`, "R4 touches-the-desk"}, {"shell", `{"command":["ls"],"cmd":["rm"]}`, "R3 malformed-call"}, {"spawn_agent", `{"message":"x","command":"rm -rf /"}`, "R4 recursive-delete"},
	})
}

// TestManyMembersEnd: whoever asks writes the members; however many directories
// and globs they name, reading them ends, and does not end at an allow.
func TestManyMembersEnd(t *testing.T) {
	t.Parallel()
	e := engine(t)
	for _, key := range []string{"cwd", "glob", "path", "url", "input"} {
		for _, text := range []string{"x*/", "{a,b}", "http://x ", "diff --git a/x b/y\n", "{"} {
			list := make([]string, 2000)
			for i := range list {
				list[i] = text + string(rune('a'+i%26)) + string(rune('a'+i/26%26))
			}
			for _, tool := range []string{"read", "grep", "read_many_files", "glob", "write", "apply_patch", "web_fetch"} {
				judge(e, callOf(t, tool, map[string]any{key: list}))
				judge(e, callOf(t, tool, map[string]any{key: strings.Repeat(text, 20000)}))
			}
		}
	}
	many := make([]string, 30)
	for i := range many {
		many[i] = "d" + string(rune('a'+i%26))
	}
	require.NotEqual(t, approval.OutcomeAllow, judge(e, callOf(t, "write", map[string]any{"path": "x", "cwd": many})).Outcome)
	require.NotEqual(t, approval.OutcomeAllow, judge(e, callOf(t, "grep", map[string]any{"pattern": "foobar", "glob": strings.Repeat("*a/", 2000) + "*.go", "include": strings.Repeat("*a/", 4000)})).Outcome)
}
