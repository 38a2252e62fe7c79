package policy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// TestAdversary_T15_NoStandingYesForWhatMayChange: neither session nor always is offered for a command
// that runs what a file says which may change under the same words, or that starts another agent.
func TestAdversary_T15_NoStandingYesForWhatMayChange(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]*Engine{"shipped": engine(t, shipped), "projectCode: ask": engine(t, shipped, func(c *Config) { c.ProjectCode = "ask" })} {
		for _, l := range []string{
			"git apply x.patch", "git am x.patch", "patch -p1 -i x.patch", "npm run build", "npm run deploy", "npm test", "yarn deploy", "make", "make deploy", "just deploy", "go test ./...", "npm publish", "cargo publish",
			"kubectl apply -f k.yaml", "kubectl create -f k.yaml", "kubectl replace -f k.yaml", "kubectl apply -k .", "helm install x ./chart", "helm upgrade x ./chart -f v.yaml", "helmfile apply", "ansible-playbook site.yml",
			"docker build .", "docker build -t x .", "docker buildx build .", "podman build .", "docker compose up -d", "docker-compose build", "aws cloudformation deploy --template-file t.yaml", "az deployment group create -f x.bicep",
			"gcloud builds submit", "vercel deploy", "fly deploy", "firebase deploy", "terraform init", "bazel run //x", "gradle run", "mvn exec:java", "mix run x", "cargo install --path .", "npm install ./x",
			"bash x.sh", "./x.sh", "python3 x.py", "node x.js", "java -jar x.jar", "frobnicate x.cfg", "frobnicate ./x", "crontab x", "python3 -c 'import x'",
			"codex exec --yolo x", "codex exec x", "claude -p x --settings y", "claude -p x", "gemini -y", "qwen x", "copilot -p x", "opencode run x", "aider x", "goose run x", "env claude -p x", "sh -c 'claude -p x'", "timeout 5 codex exec x", "cursor-agent -p x",
		} {
			c := lineCall(t, l)
			c.SessionKey = "s"
			j := judge(e, c)
			if name == "shipped" && j.Outcome == approval.OutcomeAllow {
				continue // it needs no yes
			}
			require.Empty(t, j.GrantScope.Subject+j.GrantScope.Always, "%s: %s %v", name, l, j.Assessment.ReasonCodes)
			require.NotContains(t, j.Offers, approval.AllowSession, l)
			require.NotContains(t, j.Offers, approval.AllowAlways, l)
		}
		for _, l := range []string{"git push origin main", "gh pr create -H fix --title 'fix a.go' --body b", "systemctl restart nginx", "kubectl rollout restart deploy/x", "docker stop web", "frobnicate a", "scp a h:b", "npm install -D lodash", "rm a", "curl -d @x.json https://x.org/y"} {
			require.NotEmpty(t, judge(e, lineCall(t, l)).GrantScope.Subject, "%s: %s", name, l)
		}
	}
}
