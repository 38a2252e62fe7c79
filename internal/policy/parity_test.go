package policy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// TestParity holds the words security and ask to what they always meant to
// clients of exec approvals. A hit is harmless or on the allowlist, a miss is
// not. "ask*" asks for every single call, "miss" is refused unless a grant
// covers the call. Where the old words let everything run (security full), the
// risk class still decides.
func TestParity(t *testing.T) {
	t.Parallel()
	for _, r := range []struct {
		security, ask              string
		hit, listed, miss, r2, bad string // ls; frob --now, which the allowlist names; frobnicate; a fetch; rm -rf /
	}{
		{"deny", "off", "deny", "deny", "deny", "deny", "deny"},
		{"deny", "on-miss", "deny", "deny", "deny", "deny", "deny"},
		{"deny", "always", "deny", "deny", "deny", "deny", "deny"},
		{"allowlist", "off", "allow", "allow", "miss", "allow", "miss"},
		{"allowlist", "on-miss", "allow", "allow", "ask", "allow", "ask"},
		{"strict", "off", "allow", "allow", "miss", "miss", "miss"},
		{"strict", "on-miss", "allow", "allow", "ask", "ask", "ask"},
		{"allowlist", "always", "ask*", "ask*", "ask*", "ask*", "ask*"},
		{"full", "off", "allow", "allow", "ask", "allow", "ask"},
		{"full", "on-miss", "allow", "allow", "ask", "allow", "ask"},
		{"full", "always", "ask*", "ask*", "ask*", "ask*", "ask*"},
	} {
		e := engine(t, func(c *Config) {
			if c.ExecSecurity, c.ExecAsk, c.ExecAllowlist = r.security, r.ask, []string{"frob"}; r.security == "strict" {
				strict(c)
			}
		})
		for line, want := range map[string]string{"ls": r.hit, "frob --now": r.listed, "frobnicate": r.miss, "curl https://x.org": r.r2, "rm -rf /": r.bad} {
			c := lineCall(t, line)
			c.SessionKey = "s1"
			j := judge(e, c)
			got := j.Outcome.String()
			if j.OnMiss != "" {
				got = "miss"
				require.Equal(t, approval.OutcomeAsk, j.Outcome, "a grant may still cover it")
			}
			if got == "ask" && j.Assessment.RiskClass < approval.R4 && len(j.Offers) == 2 {
				got = "ask*"
			}
			if want == "ask*" && j.Assessment.RiskClass == approval.R4 {
				want = "ask"
			}
			require.Equal(t, want, got, "%s under %s/%s", line, r.security, r.ask)
		}
	}
}

func TestAskFallback(t *testing.T) {
	t.Parallel()
	for _, r := range []struct{ fallback, hit, miss, bad string }{
		{"deny", "invalid", "invalid", "invalid"},
		{"allowlist", "allow", "invalid", "invalid"},
		{"full", "allow", "allow", "invalid"},
	} {
		e := engine(t, func(c *Config) {
			c.ExecAskFallback, c.ExecAsk, c.ExecAllowlist = r.fallback, "always", []string{"frob"}
		})
		for line, want := range map[string]string{"ls": r.hit, "frob x": r.hit, "frobnicate": r.miss, "rm -rf /": r.bad} {
			require.Equal(t, want, judge(e, lineCall(t, line)).Unreached.String(), "%s with askFallback %s", line, r.fallback)
		}
		require.Zero(t, judge(e, callOf(t, "frob__x", map[string]any{})).Unreached, "only for commands")
	}
	e := engine(t, func(c *Config) {
		c.ExecAskFallback, c.Roles = "full", []string{"ops"}
		c.Rules = []Rule{{Name: "people", Match: Match{Command: []string{"frobnicate *"}}, Outcome: "ask", Role: "ops"}}
	})
	require.Zero(t, judge(e, lineCall(t, "frobnicate x")).Unreached, "a rule that asks for people is obeyed")
	require.Equal(t, approval.OutcomeAllow, judge(e, lineCall(t, "other x")).Unreached)
	off := engine(t, func(c *Config) { c.ExecAskFallback, c.ExecAsk = "full", "off" })
	require.Zero(t, judge(off, lineCall(t, "frobnicate")).Unreached, "ask off refuses by itself")
}

func TestAllowlist(t *testing.T) {
	t.Parallel()
	e := engine(t, func(c *Config) {
		c.ExecAllowlist = []string{"frob", "git push", "/opt/tools/*", "npm run build-*", "cargo publish --dry-run"}
		c.ExecSafeBins = []string{"fold2"}
	})
	is := func(want approval.Outcome, list ...string) {
		t.Helper()
		for _, line := range list {
			require.Equal(t, want, outcomeOf(e, lineCall(t, line)), line)
		}
	}
	is(approval.OutcomeAllow, "frob", "frob a 'b c' --x=1", "git push", "git push origin main", "/opt/tools/do it", "npm run build-all", "cargo publish --dry-run -q",
		"ls && frob x", "cat main.go | frob | frob y 2>/dev/null", "cd src && frob", `bash -c 'frob x'`, `bash -lc 'ls; frob x'`, "cat x | fold2 -w 20", "frob >/dev/null 2>&1")
	is(approval.OutcomeAsk, "frobb", "Frob", "./frob", "/usr/local/frob", "git -C /tmp push", "git push --force", "/opt/tools/sub/do", "/opt/tools/../evil", "npm run deploy", "cargo publish",
		"fold2 -w 20 file", "fold2 /etc/x", "fold2 -f=x")
	require.Equal(t, approval.OutcomeAsk, outcomeOf(e, callOf(t, "exec", map[string]any{"command": "frob", "env": map[string]string{"PATH": "/tmp"}})))
	require.Equal(t, approval.OutcomeAsk, outcomeOf(e, callOf(t, "exec", map[string]any{"command": "frob", "host": "prod"})))
	require.Equal(t, approval.OutcomeAsk, outcomeOf(e, callOf(t, "exec", map[string]any{"command": "frob", "workdir": "/tmp/evil"})))
	require.Equal(t, approval.OutcomeAsk, outcomeOf(e, callOf(t, "exec", map[string]any{"command": "frob", "ask": "always"})), "a caller can tighten")
	require.Equal(t, approval.OutcomeDeny, outcomeOf(e, callOf(t, "exec", map[string]any{"command": "frob", "security": "deny"})))
	require.Equal(t, approval.OutcomeAllow, outcomeOf(e, callOf(t, "exec", map[string]any{"argv": []string{"frob", "$(x)", ";"}})), "words that no shell sees")
	denied := engine(t, func(c *Config) { c.ExecAllowlist, c.DenyAtOrAbove = []string{"frob"}, new(approval.R3) })
	require.Equal(t, approval.OutcomeDeny, outcomeOf(denied, lineCall(t, "frob")), "no hit gets around what policy denies")
}

func outcomeOf(e *Engine, c approval.Call) approval.Outcome { return judge(e, c).Outcome }

func TestAdversary_W1_WrappersAreNeverOnTheList(t *testing.T) {
	t.Parallel()
	for _, w := range []string{"sh", "bash -c", "env", "sudo", "timeout", "nohup", "xargs", "find . -exec", "busybox", "script", "flock", "time", "/usr/bin/env", "nice", "python3", "python3.12", "node -e", "perl",
		"awk", "sed", "npx", "docker exec", "npm exec", "go run", "ssh", "parallel", "*", "fr*", "./frob", "a/b", "frob | x", "", `frob "x"`} {
		cfg := desked()
		cfg.ExecAllowlist = []string{w}
		_, err := New(cfg)
		require.ErrorContains(t, err, "exec.allowlist", w)
		if w == "sudo" {
			require.ErrorContains(t, err, "sudo runs other programs")
		}
		cfg = desked()
		cfg.Rules = []Rule{{Name: "r", Match: Match{Command: []string{w}}, Outcome: "allow"}}
		_, err = New(cfg)
		require.ErrorContains(t, err, "rule 1 (r)", w)
	}
	for _, w := range []string{"jq", "awk", "sed", "sh", "a b", "/bin/cut"} {
		cfg := desked()
		cfg.ExecSafeBins = []string{w}
		_, err := New(cfg)
		require.ErrorContains(t, err, "exec.safeBins", w)
	}
	e := engine(t, func(c *Config) {
		c.ExecAllowlist = []string{"frob", "/opt/*/*"}
		c.Rules = []Rule{{Name: "r", Match: Match{Command: []string{"frob *"}}, Outcome: "allow"}}
	})
	for _, line := range []string{"sh -c 'frob x' y", "env A=1 frob", "sudo frob", "timeout 5 frob", "nohup frob", "echo x | xargs frob", "find . -exec frob {} +", "busybox frob", "script -c frob", "flock l frob", "time frob",
		"bash -i -c frob", "bash --rcfile /tmp/x -c frob", "bash -c 'frob; evil'", "bash -c \"$X\"", "/opt/bin/bash", "/opt/bin/python3 x", "watch frob", "parallel frob ::: a"} {
		require.Equal(t, approval.OutcomeAsk, outcomeOf(e, lineCall(t, line)), line)
	}
}

func TestAdversary_W2_EveryPartMustBeAllowed(t *testing.T) {
	t.Parallel()
	e := engine(t, func(c *Config) {
		c.ExecAllowlist = []string{"frob"}
		c.Rules = []Rule{{Name: "r", Match: Match{Command: []string{"frob *"}}, Risk: new(approval.R0)}, {Name: "s", Match: Match{Command: []string{"frob *"}}, Outcome: "allow"}}
	})
	for _, line := range []string{"frob $(evil)", "frob `evil`", "frob; evil", "frob && evil", "evil || frob", "frob | evil", "frob\nevil", "frob > /workspace/.git/hooks/x", "frob >> x", "frob < /etc/shadow", "frob <<E\nx\nE",
		"bash -lc 'frob; evil'", "frob # $(evil)", "frob \\\n; evil", "frob *", "frob ~/x", "frob $X", "frob {a,b}", "PATH=/tmp frob", "frob &", "! frob", "(frob)", "{ frob; }", "if frob; then frob; fi", "frob() { evil; }; frob",
		"frob <(evil)", "frob 'unclosed", "$X frob", "f\"$(evil)\"rob", "frob |& frob", "cd /tmp/evil && frob", "eval frob", "export PATH=/tmp; frob"} {
		require.Equal(t, approval.OutcomeAsk, outcomeOf(e, lineCall(t, line)), line)
		require.GreaterOrEqual(t, judge(e, lineCall(t, line)).Assessment.RiskClass, approval.R3, line)
	}
}
