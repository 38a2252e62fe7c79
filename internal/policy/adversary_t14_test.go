package policy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// TestAdversary_T14_AHintDoesNotLowerWhatANameSays: a tool that hands out secrets, or stops or takes
// away something by its name, asks whatever its server declares, and one that only looks does not.
func TestAdversary_T14_AHintDoesNotLowerWhatANameSays(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped, func(c *Config) { c.TrustToolHints = []string{"bridge"} })
	outcome := func(name string) approval.Outcome {
		c := callOf(t, name, map[string]any{"name": "a"})
		c.Owner, c.Context.Tool = "bridge", approval.ToolFacts{Server: "vault", Hints: approval.Hints{ReadOnly: approval.HintYes}}
		return judge(e, c).Outcome
	}
	for _, name := range []string{
		"get_secret", "getSecretValue", "list_secrets", "get_token", "mcp__vault__read_credentials", "get_password", "get_api_key", "list_private_keys", "getKubeconfig", "export_keystore", "dump_cookies",
		"shutdown", "mcp__vault__revoke", "drain_node", "kill_session", "eval", "reboot_host", "decrypt", "disable_user", "rotate", "unlock_account", "cordon", "exec_query", "flush_cache", "cancel_order", "reset",
	} {
		require.Equal(t, approval.OutcomeAsk, outcome(name), name)
	}
	for _, name := range []string{"get_weather", "list_issues", "search_docs", "read_page", "get_key_points", "find_user"} {
		require.Equal(t, approval.OutcomeAllow, outcome(name), name)
	}
}

// TestAdversary_T14_MetadataAndControlPlanes: what hands out a machine's credentials, or controls it
// or a cluster, asks by every name, also on this machine.
func TestAdversary_T14_MetadataAndControlPlanes(t *testing.T) {
	t.Parallel()
	e := engine(t)
	ask := func(want string, urls ...string) {
		for _, u := range urls {
			checkLines(t, e, lines(want, "curl -s '"+u+"'"))
			checkTools(t, e, []toolRow{{"web_fetch", string(params(t, map[string]any{"url": u})), want}})
		}
	}
	ask("R3 metadata-service", "http://168.63.129.16:32526/vmSettings", "http://metadata.tencentyun.com/latest/meta-data/cam/security-credentials/x", "https://metadata.platformequinix.com/metadata", "https://metadata.packet.net/userdata",
		"http://[fd00:ec2::23]/v1/credentials", "http://[fd20:ce::254]/computeMetadata/v1/", "http://localhost:1338/latest/meta-data/iam/security-credentials/", "http://proxy.example.com/computeMetadata/v1/instance/service-accounts/default/token")
	ask("R3 control-plane", "http://localhost:8001/api/v1/secrets", "http://127.0.0.1:8001/api", "http://localhost:9999/api/v1/namespaces/default/secrets", "http://localhost:8080/apis/apps/v1/deployments", "http://localhost:2375/containers/json", "http://[::1]:2375/v1.43/info",
		"http://0.0.0.0:2375/info", "http://docker.localhost:2375/info", "http://localhost:4243/containers/x/export", "http://localhost:8500/v1/kv/?recurse", "http://127.0.0.1:2379/v2/keys", "http://localhost:10255/pods", "http://localhost:9222/json", "http://localhost:9229/json/list",
		"http://localhost:2019/config/", "http://localhost:9901/config_dump", "http://localhost:8080/actuator/env", "http://localhost:8080/actuator/heapdump", "http://localhost:8200/v1/sys/mounts", "http://localhost:4646/v1/jobs")
	for _, u := range []string{"http://localhost:3000/", "http://localhost:8001/", "http://localhost:8080/api/v1/users", "http://127.0.0.1:5173/src/main.ts", "http://localhost:8080/actuator/health", "http://localhost:3000/containers"} {
		checkLines(t, e, lines("R1 loopback-read", "curl -s "+u))
		checkTools(t, e, []toolRow{{"web_fetch", string(params(t, map[string]any{"url": u})), "R2 loopback-read"}})
	}
	checkTools(t, e, []toolRow{{"browser", `{"action":"open","url":"http://localhost:8001/api/v1/secrets"}`, "R3 control-plane"}, {"web_search", `{"query":"http://metadata.tencentyun.com/x"}`, "R3 metadata-service"}})
}

// TestAdversary_T14_GrepReadsSecretsAsRgDoes: the tool that searches, and the program, agree.
func TestAdversary_T14_GrepReadsSecretsAsRgDoes(t *testing.T) {
	t.Parallel()
	e := engine(t)
	for _, p := range []string{"ghp_", "sk-ant-", "xoxb-", "_authToken", "aws_secret_access_key", "password:", "AIza", "glpat-", "sk_live_", "postgres://", "BEGIN RSA", "eyJhbGci", "auth"} {
		checkLines(t, e, lines("R3 may-read-secret", "rg '"+p+"'", "grep -rn '"+p+"' ."))
		checkTools(t, e, []toolRow{{"Grep", string(params(t, map[string]any{"pattern": p, "output_mode": "content"})), "R3 may-read-secret"}})
		checkTools(t, e, []toolRow{{"Grep", string(params(t, map[string]any{"pattern": p, "output_mode": "content", "glob": "*.go"})), "R0"}})
		checkTools(t, e, []toolRow{{"Grep", string(params(t, map[string]any{"pattern": p, "output_mode": "files_with_matches"})), "R0"}})
	}
	checkTools(t, e, []toolRow{{"grep", `{"pattern":"ghp_"}`, "R3 may-read-secret"}, {"grep", `{"pattern":"_authToken","path":"."}`, "R3 may-read-secret"}, {"Grep", `{"pattern":"handler","output_mode":"content"}`, "R0"}, {"Grep", `{"pattern":"token","path":"/workspace/src"}`, "R0"}})
}

// TestAdversary_T14_NamesOfSecrets: more names that files with secrets have.
func TestAdversary_T14_NamesOfSecrets(t *testing.T) {
	t.Parallel()
	e := engine(t)
	for _, name := range []string{"prod.kubeconfig", "deploy_rsa", "ci_ed25519", "deploy-rsa", ".apikey", ".api_key", ".pg_service.conf", "pg_service.conf", "private.asc", "secret-key.asc", "/etc/gitlab-runner/config.toml", "/etc/apt/auth.conf",
		"/etc/apt/auth.conf.d/x.conf", "/tmp/krb5cc_1000", "krb5cc_0", ".passwd-s3fs", ".smbcredentials", "prod.kubeconfig.bak", "github.pat", "/etc/docker/key.json", "/etc/ceph/ceph.client.admin.keyring", "stripe.apikey"} {
		checkLines(t, e, lines("R3 reads-secret", "cat "+name))
		checkTools(t, e, []toolRow{{"Read", string(params(t, map[string]any{"file_path": name})), "R3 reads-secret"}})
	}
	checkLines(t, e, lines("R0", "cat deploy_rsa.pub", "cat public.asc", "cat rsa.go", "cat src/kubeconfig.go", "cat docs/apikey.md", "cat pkg.asc", "cat a.rsa.ts"))
}
