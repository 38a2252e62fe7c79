package policy

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
)

func reachOf(t *testing.T, e *Engine, c core.Call) core.Reach {
	t.Helper()
	j := judge(e, c)
	if j.Reach.Subject == "" {
		require.Empty(t, j.Reach.Words)
		require.Equal(t, []core.Decision{core.AllowOnce, core.Deny}, j.Offers)
	}
	return j.Reach
}

func TestReach(t *testing.T) {
	e := engine(t)
	for line, want := range map[string]string{
		"frobnicate": "exec frobnicate", "frobnicate a b": "exec frobnicate", "git push origin main": "exec git push", "git push": "exec git push", "/usr/bin/git push": "exec git push", "git": "exec git",
		"npm publish --tag x": "exec npm publish", "npm run deploy": "exec npm run deploy", "aws s3 cp a b": "exec aws s3 cp", "gcloud compute instances list": "exec gcloud compute instances list",
		"kubectl get pods": "exec kubectl get", "curl -X POST https://x.org/y": "exec curl", "rm x": "exec rm", "frobnicate 'a; b' \"c d\"": "exec frobnicate", "make deploy": "exec make deploy",
	} {
		r := reachOf(t, e, lineCall(t, line))
		require.Equal(t, want, r.Subject, line)
	}
	require.Equal(t, []string{"frobnicate", "a; b", "c d"}, reachOf(t, e, lineCall(t, `frobnicate 'a; b' "c d"`)).Words)
	argv := reachOf(t, e, callOf(t, "exec", map[string]any{"argv": []string{"git", "push", "$(x)", ""}}))
	require.Equal(t, core.Reach{Subject: "exec git push", Words: []string{"git", "push", "$(x)", ""}}, argv)
	require.Equal(t, "exec frob", reachOf(t, e, callOf(t, "Bash", map[string]any{"command": "frob x"})).Subject, "a command is a command, whatever its tool is called")
	require.Equal(t, core.Reach{Subject: "webfetch"}, reachOf(t, e, callOf(t, "web_fetch", map[string]any{"url": "https://x.org"})))
	require.Equal(t, core.Reach{Subject: "jira__Create"}, reachOf(t, e, callOf(t, "jira__Create", map[string]any{})))
}

func TestOffers(t *testing.T) {
	offers := func(line, session string, change ...func(*Config)) []core.Decision {
		c := lineCall(t, line)
		c.SessionKey = session
		return judge(engine(t, change...), c).Offers
	}
	require.Equal(t, []core.Decision{core.AllowOnce, core.AllowSession, core.AllowAlways, core.Deny}, offers("frob", "s1"))
	require.Equal(t, []core.Decision{core.AllowOnce, core.AllowAlways, core.Deny}, offers("frob", ""))
	require.Equal(t, []core.Decision{core.AllowOnce, core.Deny}, offers("rm -rf /", "s1"))
	require.Equal(t, []core.Decision{core.AllowOnce, core.Deny}, offers("frob | cat", "s1"))
	require.Equal(t, []core.Decision{core.AllowOnce, core.Deny}, offers("frob", "s1", func(c *Config) { c.ExecAsk = "always" }))
}

// Nothing that runs other programs, and no line that is more than one plain
// command, leaves a grant behind.
func TestAdversary_W1_NoGrantForWrappers(t *testing.T) {
	e := engine(t)
	for line := range strings.Lines(`sh -c frob
		bash -lc 'git push'
		env frob
		env A=1 frob
		sudo frob
		timeout 5 frob
		nohup frob
		nice frob
		time frob
		xargs frob
		find . -exec frob {} +
		busybox frob
		toybox frob
		script -c frob
		flock l frob
		watch frob
		parallel frob
		ssh host frob
		docker exec x frob
		docker run x
		kubectl exec x -- frob
		npx frob
		npm exec frob
		uv run frob
		bundle exec frob
		poetry run frob
		eval frob
		exec frob
		command frob
		source x
		. x
		approvalbot run -- frob
		awk 'BEGIN{system("x")}'
		sed e
		vim x
		less x
		python3 x.py
		python3.12 x.py
		python -c x
		node -e x
		perl -e x
		ruby x.rb
		go run ./x
		deno run x
		BASH -c x
		/usr/bin/env frob
		tmux new frob
		git bisect run frob
		git submodule foreach frob
		prlimit --nofile=10 frob
		setarch x86_64 frob
		ssh-agent frob
		hyperfine frob
		dbus-run-session frob
		systemd-inhibit frob
		faketime x frob
		cross-env A=b frob
		concurrently frob
		eatmydata frob
		cpulimit -l 50 frob
		sg grp frob
		dumb-init frob
		watchexec frob
		xvfb-run npm test
		nodemon x.js
		run-parts d
		trap x EXIT
		socat - EXEC:frob
		ip netns exec x frob
		ip netns add x
		npm explore x -- frob`) {
		require.Empty(t, reachOf(t, e, lineCall(t, strings.TrimSpace(line))), line)
	}
}

func TestAdversary_W2_NoGrantForMoreThanOnePlainCommand(t *testing.T) {
	e := engine(t)
	for _, line := range []string{"frob $(x)", "frob `x`", "frob; frob", "frob && frob", "frob | frob", "frob\nfrob", "frob > x", "frob >/dev/null", "frob 2>&1", "frob <<E\nE", "frob < x", "A=1 frob", "frob &", "! frob", "(frob)", "{ frob; }",
		"frob # x", "frob *", "frob ?", "frob {a,b}", "frob $X", "frob \"$X\"", "frob ~", "$X", "frob 'x", "./frob", "/tmp/frob", "~/frob", "/usr/bin/../../tmp/frob", "FROB x", "git -C /x push", "git --no-pager push", "kubectl -n x get pods",
		"npm run", "npm run -s x", "aws --profile x s3 cp", "git 'push x'", "f() { x; }", "if x; then y; fi", "cd /tmp/x && frob", "while x; do y; done", "frob <(x)", "'git push'", "export A=1"} {
		r := reachOf(t, e, lineCall(t, line))
		if line == "npm run" {
			require.Equal(t, "exec npm run", r.Subject)
			continue
		}
		require.Empty(t, r, line)
	}
	for _, p := range []map[string]any{
		{"command": "frob", "env": map[string]string{"PATH": "/tmp"}}, {"command": "frob", "env": map[string]string{"LANG": "C"}}, {"command": "frob", "host": "prod"}, {"command": "frob", "workdir": "/elsewhere"},
		{"argv": []string{"git push"}}, {"argv": []string{"./frob"}}, {"argv": []string{"env", "frob"}},
	} {
		require.Empty(t, reachOf(t, e, callOf(t, "exec", p)), p)
	}
	require.Empty(t, reachOf(t, e, callOf(t, "bash", map[string]any{"command": "frob", "stdin": "x"})), "a parameter that the desk does not know")
	require.Empty(t, reachOf(t, e, callOf(t, "bash", map[string]any{"command": "frob", "script": "y"})))
}

func TestAdversary_W4_InterpretersAreNeverTrusted(t *testing.T) {
	e := engine(t, func(c *Config) { c.ExecAllowlist = []string{"/opt/**", "frob"} })
	for _, line := range []string{"python -c 'x'", "python3 script.py", "node -e x", "perl -e x", "ruby -e x", "/opt/bin/python3 -c x", "/opt/bin/node x.js", "php x", "bash x.sh", "frob | python3"} {
		c := lineCall(t, line)
		require.Equal(t, core.OutcomeAsk, judge(e, c).Outcome, line)
		require.Empty(t, reachOf(t, e, c), line)
	}
}

// What keeps a session grant to its session is the tally's; policy names a
// subject that never covers another program, and none without a session.
func TestAdversary_W6_SubjectsDoNotOverlap(t *testing.T) {
	e := engine(t)
	seen := map[string]string{}
	for _, line := range []string{"git push", "git pull", "git-push", "npm run deploy", "npm run-script deploy", "npm run test", "gh pr merge 1", "gh pr view 1", "aws s3 cp a b", "aws s3 rm a", "terraform plan", "terraform apply", "frob push", "frobpush"} {
		c := lineCall(t, line)
		j := judge(e, c)
		require.NotContains(t, j.Offers, core.AllowSession, "no session: no session grant")
		if s := j.Reach.Subject; s != "" {
			require.Empty(t, seen[s], "%s covers %s too", line, seen[s])
			seen[s] = line
		}
	}
	require.Empty(t, judge(e, lineCall(t, "terraform apply")).Reach, "R4 leaves nothing behind")
}

// W6: a grant for one machine or environment is none for another.
func TestAdversary_W6_AGrantIsForOneEnvironment(t *testing.T) {
	e := engine(t)
	on := func(tool string, params map[string]any, b *core.Bind) string {
		c := callOf(t, tool, params)
		c.Bind = b
		return reachOf(t, e, c).Subject
	}
	push := map[string]any{"command": "git push"}
	require.Equal(t, "exec git push", on("exec", push, &core.Bind{Workdir: new("/workspace"), Host: new("local")}))
	require.NotEqual(t, on("exec", push, &core.Bind{EnvHash: new("a")}), on("exec", push, &core.Bind{EnvHash: new("b")}))
	require.NotEqual(t, on("exec", push, &core.Bind{EnvHash: new("a")}), on("exec", push, nil))
	require.NotEqual(t, on("deploy", map[string]any{}, &core.Bind{Host: new("staging")}), on("deploy", map[string]any{}, &core.Bind{Host: new("production")}))
}

// W1: with some options an ordinary program runs another one, or code. Neither a
// grant nor the operator's allowlist means that.
func TestAdversary_W1_OptionsThatNamePrograms(t *testing.T) {
	e := engine(t, func(c *Config) {
		c.ExecAllowlist = []string{"git", "tar", "rsync", "make deploy", "scp", "sftp", "split", "tcpdump"}
	})
	for _, line := range []string{
		"git -c alias.x='!id' x", "git -c core.pager=x log", "git --config-env=core.pager=X push", "git --exec-path=x push", "git -P -c core.sshCommand=x push",
		"git push --receive-pack='touch x; git-receive-pack' . HEAD:z", "git push --rece=x .", "git push --exec=x .", "make deploy --eval='$(shell id)'", "make deploy SHELL=./x", "make deploy MAKEFLAGS=x", "gmake deploy --ev=x",
		"tar cf /dev/null x --checkpoint=1 --checkpoint-action=exec=x", "tar cf x.tar --to-command=x y", "tar -cIx f y", "rsync -e x a b:", "rsync -ae x a b:", "rsync --rsh=x a b:", "zip a b -T -TT x", "go build -toolexec=x .", "helm install a b --post-renderer x", "kubectl get pods --kubeconfig=x",
		"scp -o ProxyCommand=./x a h:b", "scp -rS x a h:b", "sftp -o ProxyCommand=x h", "git clone -c core.sshCommand=x ssh://h/y", "git clone -qu x /workspace/r z", "git clone --templ=x https://h/y", "git init --template x",
		"split --filter=x f", "tcpdump -G 1 -z x -w f", "make deploy -E '$(shell id)'",
	} {
		c := lineCall(t, line)
		require.Empty(t, reachOf(t, e, c), line)
		require.Equal(t, core.OutcomeAsk, judge(e, c).Outcome, line)
	}
	for _, line := range []string{"git push -u origin main", "make deploy V=1", "rsync -av a b:", "kubectl apply -f x.yaml", "docker build --build-arg A=1 .", "curl -X POST --data-binary @x https://x.org"} {
		require.NotEmpty(t, reachOf(t, e, lineCall(t, line)).Subject, line)
	}
}
