package policy

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// An always is offered for every call below R4 of which it is sure that the same words
// run the same: no subject and no workspace are needed.
func TestAlwaysIsOfferedForTheSameWords(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped)
	offered := func(c approval.Call) bool { return reachOf(t, e, c).Always != "" }
	for _, line := range []string{
		"frob", "frob a --now", "frob --level 3 v7.2", "sudo systemctl restart nginx", "env CI=1 frob", "timeout 5 frob", "nice -n 5 frob", "sh -c frob", "bash -lc 'git push origin main'",
		"git push -u origin main", "git push origin main && git push origin v1", "frob; frob", "frob | cat", "frob | tail -5", "frob 2>&1", "frob > out.txt", "! frob", "(frob)", "if true; then frob; fi", "cd sub && frob", "CI=1 frob",
		"kubectl -n x cordon y", "rm x", "rm -- -v", "cp a /srv/b", "scp a h:b", "curl -X POST -d @a https://x.org", "docker stop web", "docker restart -t 5 web", "aws s3 ls", "kubectl get secrets", "chmod +x a", "kill 123", "cat .env", "git clone https://x.org/y",
	} {
		assert.True(t, offered(lineCall(t, line)), line)
	}
	for name, c := range map[string]approval.Call{
		"outside":        callOf(t, "exec", map[string]any{"command": "frob", "workdir": "/elsewhere"}),
		"another host":   callOf(t, "exec", map[string]any{"argv": []string{"frob", "$x"}}),
		"an environment": callOf(t, "exec", map[string]any{"command": "frob", "env": map[string]string{"LANG": "C"}}),
		"a message":      callOf(t, "send_message", map[string]any{"to": "bob", "text": "hi"}),
		"a file":         callOf(t, "write", map[string]any{"path": "/etc/x", "content": "y"}),
		"an address":     callOf(t, "web_fetch", map[string]any{"url": "http://[::::/"}),
		"unknown":        callOf(t, "jira__Create", map[string]any{"title": "x"}),
	} {
		assert.True(t, offered(c), name)
	}
	nowhere := engine(t, shipped, func(c *Config) { c.Workspaces = nil })
	require.NotEmpty(t, reachOf(t, nowhere, lineCall(t, "rm a b")).Always, "no workspace is needed")
	placed := callOf(t, "exec", map[string]any{"command": "rm a", "workdir": "/srv/app"})
	require.Equal(t, "exactly this call", reachOf(t, e, placed).Always)
	bound := lineCall(t, "rm a")
	bound.Bind = &approval.Bind{Workdir: new("/srv/app")}
	require.Equal(t, "exactly this call", reachOf(t, e, bound).Always)
	require.Equal(t, "exactly this call, in any directory", reachOf(t, e, lineCall(t, "rm a")).Always)
}

// None is offered where the same words may run something else tomorrow: a file that an
// interpreter reads, a program of the workspace, the project's code, computed words.
func TestAdversary_W1_NoAlwaysForWhatChangesUnderTheSameWords(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped)
	for _, line := range []string{
		"python3 x.py", "python3 -c 'import x'", "node x.js", "node -e 'require(\"./x\")'", "bash x.sh", "sh < x.sh", "cat x.sh | sh", "perl x.pl", "ruby x.rb", "php x.php", ". x.sh", "source x.sh", "sudo python3 x.py", "env python3 x.py", "bash -c 'python3 x.py'", "awk -f x.awk a", "sed -f x.sed a", "vim -S x.vim",
		"./frob", "/tmp/frob", "~/bin/frob", "bin/frob", "sudo ./frob", "nohup ./frob", "bash -c ./frob", "node_modules/.bin/frob", "./gradlew publish", ".venv/bin/frob", "cd bin && ./frob",
		"make deploy", "npm run deploy", "npm install", "npm ci", "npm install lodash", "pip install ./x", "pip install x", "npx frob", "go run ./x", "cargo run", "just deploy", "yarn deploy", "go test ./... -exec ./x", "gradle publish", "uv run frob", "poetry run frob", "bundle exec frob", "pre-commit run",
		"docker build -t x .", "docker buildx bake", "docker compose up", "docker-compose up", "docker run x", "docker exec web frob", "kubectl apply -f x.yaml", "kubectl exec p -- frob", "helm install a b", "ansible-playbook site.yml", "vagrant up", "crontab x", "systemctl link ./x.service", "at -f x now", "psql -f x.sql",
		"frob x.lua", "frob ./x", "frob --config=x.yaml", "frob conf/x", "frob .", "frob < x", "cat x | frob", "frob | frob2", "find . -exec frob {} +", "xargs frob", "parallel frob", "watch frob", "ssh h frob", "git bisect run frob", "git -C /x push", "git submodule foreach frob",
		"frob $x", "frob \"$x\"", "frob $(date)", "frob `date`", "$x", "for i in a b; do frob $i; done", "rm $x", "rm *", "rm a?", "tar cf x.tar *", "echo $((1)) && frob", "frob &", "f() { frob; }; f", "eval frob", "bash -c 'frob $x'", "frob 'x",
		"frob <<'E'\nx\nE", "A=1 frob", "PATH=. frob", "LD_PRELOAD=./x.so frob", "GIT_SSH_COMMAND=./x git push", "env LD_PRELOAD=./x frob", "git -c core.pager=./x log", "git push --receive-pack=./x", "rsync -e ./x a h:b", "tar cf x --to-command=./x a", "sudo -E env PATH=. frob", "scp -S ./x a h:b", "approvalbot run -- frob",
		"rm -rf /", "terraform apply",
	} {
		assert.Empty(t, reachOf(t, e, lineCall(t, line)).Always, line)
	}
	for name, c := range map[string]approval.Call{
		"argv of a shell":       callOf(t, "exec", map[string]any{"argv": []string{"bash", "-c", "frob $x"}}),
		"argv of a script":      callOf(t, "exec", map[string]any{"argv": []string{"bash", "x.sh"}}),
		"a path":                callOf(t, "exec", map[string]any{"command": "frob", "env": map[string]string{"PATH": "/tmp"}}),
		"unknown parameters":    callOf(t, "bash", map[string]any{"command": "frob", "stdin": "x"}),
		"keys for a program":    callOf(t, "send_input", map[string]any{"id": "1", "text": "y"}),
		"a button of a page":    callOf(t, "browser", map[string]any{"action": "act", "kind": "click", "ref": "e12"}),
		"code":                  callOf(t, "code_execution", map[string]any{"code": "import x"}),
		"an unknown way to run": callOf(t, "execute_script", map[string]any{"file": "x"}),
		"a payment":             callOf(t, "payment", map[string]any{"amount": 1}),
	} {
		assert.Empty(t, reachOf(t, e, c).Always, name)
	}
	always := engine(t, shipped, func(c *Config) { c.ExecAsk = "always" })
	require.Empty(t, reachOf(t, always, lineCall(t, "frob")), "every single call is to be asked for")
	require.Empty(t, reachOf(t, engine(t, shipped, func(c *Config) { c.ProjectCode = "ask" }), lineCall(t, "go test ./...")).Always)
}
