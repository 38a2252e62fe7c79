package program

import (
	"path"
	"slices"
	"strings"
	"sync"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// WrapperNames are programs that run other programs, or their input, or code from their
// words or from a file. It is never known what they would be trusted with, so they are
// never trusted.
var WrapperNames = lazy.Words(`sh bash dash zsh ksh ash mksh rbash fish csh tcsh pwsh powershell cmd nu xonsh elvish
	nohup setsid builtin command unbuffer chronic busybox toybox nice ionice chrt time timeout gtimeout stdbuf
	taskset numactl caffeinate exec
	sudo doas su runuser chroot nsenter unshare pkexec setpriv capsh systemd-run gosu su-exec runas env xargs flock
	find fd fdfind eval source . trap
	ssh rsh mosh sshpass autossh script scriptreplay watch parallel strace ltrace gdb lldb valgrind perf entr at
	batch firejail proot bwrap fakeroot
	tmux screen dtach expect dotenv direnv doppler op aws-vault envchain chamber npx pnpx bunx uvx pipx tsx ts-node
	rlwrap torsocks proxychains
	python python2 python3 pypy pypy3 ipython node nodejs deno bun perl perl5 ruby irb php lua luajit tclsh wish
	osascript Rscript R julia groovy scala
	erl elixir iex ghci runghc guile sbcl swift awk gawk mawk nawk sed ex vim vi nvim emacs ed nano less more man m4 bc gnuplot octave
	sqlite3 duckdb psql mysql mongo mongosh redis-cli ansible wscript cscript mshta rundll32 start forfiles
	prlimit setarch linux32 linux64 runcon sg newgrp schroot systemd-nspawn systemd-inhibit machinectl
	start-stop-daemon daemonize dumb-init tini catchsegv
	ssh-agent dbus-launch dbus-run-session xvfb-run xterm faketime eatmydata cpulimit trickle tsocks torify
	proxychains4 chpst envdir setuidgid softlimit
	run-parts hyperfine heaptrack rr socat ncat cross-env cross-env-shell dotenv-cli concurrently npm-run-all run-s
	run-p start-server-and-test dockerize
	nodemon watchexec reflex onchange ts-node-dev tsc-watch babel-node vite-node zx foreman honcho overmind`)

// versioned are interpreters that often carry a version in their name.
var versioned = [...]string{"python", "perl", "ruby", "php", "lua", "pypy", "tclsh", "node"}

// RunnerVerbs are subcommands that run the program or code that follows them.
var RunnerVerbs = lazy.Words(`go/run go/generate go/tool cargo/run deno/run npm/exec npm/x pnpm/exec pnpm/dlx
	yarn/dlx yarn/exec yarn/node docker/exec docker/run docker/compose
	podman/exec podman/run kubectl/exec kubectl/run kubectl/debug oc/exec oc/rsh uv/run poetry/run pipenv/run
	pdm/run rye/run hatch/run bundle/exec nix/run nix/shell
	nix/develop conda/run mise/exec mise/x asdf/exec dotnet/run dotnet/script flatpak/run git/bisect git/submodule
	git/filter-branch git/rebase heroku/run fly/ssh
	gh/alias gh/extension brew/sh rustup/run snap/run lxc/exec multipass/exec vagrant/ssh npm/explore ip/netns ip/vrf`)

// RunsOthers reports a command that runs other commands or code of its own.
func RunsOthers(args []workspace.Word) bool {
	base := ProgramOf(args[0])
	if IsWrapper(base) || slices.ContainsFunc(args[1:], func(w workspace.Word) bool { return NamesProgram(base, w.Text) }) {
		return true
	}
	for i, w := range args[1:] {
		switch {
		case !strings.HasPrefix(w.Text, "-"):
			return RunnerVerbs.Has(base+"/"+w.Text) || base == "git" && slices.ContainsFunc(args[i+2:],
				func(o workspace.Word) bool { return gitSets(w.Text, o.Text) })
		case base == "git" && words.Begins(w.Text, "-c", "--config-env", "--exec-path"):
			return true // a setting can be a command
		}
	}
	return false
}

// gitSets reports an option of git's subcommand with which a new repository gets
// settings or hooks, or its data from a program.
func gitSets(verb, text string) bool {
	switch {
	case !words.Any(verb, "clone", "init") || len(text) < 2 || text[0] != '-':
		return false
	case text[1] == '-':
		return strings.HasPrefix(text, "--te") || strings.HasPrefix(text, "--conf")
	}
	return verb == "clone" && strings.ContainsAny(text, "cu")
}

// programOptions are the long options with which many programs are told another
// one to run, or code.
var programOptions = []string{"eval", "exec", "receive-pack", "upload-pack", "to-command", "checkpoint-action",
	"use-compress-program", "compress-program", "rsh", "rsh-command", "rsync-path", "use-askpass",
	"unzip-command", "init-script", "toolexec", "vettool", "extcmd", "post-renderer", "kubeconfig",
	"script-shell", "node-options", "pre", "open-files-in-pager", "info-script", "new-volume-script",
	"rmt-command", "lua"}

// shortestCut is how many letters of such an option tell which one it is; each of them is
// at least so long.
const shortestCut = 3

// programLetters are such options of one letter.
var programLetters = sync.OnceValue(func() map[string]string {
	return map[string]string{"tar": "IF", "bsdtar": "I", "rsync": "e", "zip": "T", "wget": "e",
		"git": "Ox", "rpm": "E", "scp": "oSFD", "sftp": "oSFD", "tcpdump": "z", "make": "E", "gmake": "E"}
})

// NamesProgram reports an option, also one that is cut short, or for make an
// assignment, that names a program to run.
func NamesProgram(base, text string) bool {
	if base == "make" || base == "gmake" {
		if name, _, assigns := strings.Cut(text, "="); assigns && !makeVariables.Has(name) {
			return true
		}
	}
	if len(text) < 2 || text[0] != '-' {
		return false
	}
	name, _, _ := strings.Cut(strings.TrimLeft(text, "-"), "=")
	if len(name) >= shortestCut && slices.ContainsFunc(programOptions, func(o string) bool { return strings.HasPrefix(o, name) }) {
		return true
	}
	if base == "split" && text[1] == '-' && strings.HasPrefix(name, "fi") { // --filter
		return true
	}
	return text[1] != '-' && programLetters()[base] != "" && strings.ContainsAny(name, programLetters()[base])
}

// IsWrapper reports a program that is never what is trusted.
func IsWrapper(base string) bool {
	if WrapperNames.Has(base) {
		return true
	}
	for _, v := range versioned {
		if rest, ok := strings.CutPrefix(base, v); ok && strings.Trim(rest, "0123456789.-") == "" {
			return true
		}
	}
	return false
}

// ProgramOf gives the name of a program as it is compared if a rule tightens: without
// directory, letter case and ending.
func ProgramOf(w workspace.Word) string {
	base := strings.ToLower(w.Text[strings.LastIndexByte(w.Text, '/')+1:])
	return strings.TrimSuffix(base, ".exe")
}

// depths says of how many words a subcommand consists, for the programs that
// have subcommands. What a program without them does is in its options.
var depths = sync.OnceValue(func() map[string]int {
	m := map[string]int{}
	for n, names := range [...]string{1: `git go npm pnpm yarn cargo docker podman nerdctl kubectl oc helm terraform tofu terragrunt pulumi apt apt-get brew pip pip3 dnf yum zypper snap
		flatpak systemctl service launchctl rails rake mix dotnet gradle gradlew mvn flutter dart poetry uv pdm hatch conda mamba vault consul nomad fly flyctl heroku vercel
		netlify wrangler supabase firebase stripe pass ip nix hg svn jj rustup gem composer bundle ng nx turbo lerna ufw nmcli lxc multipass minikube kind k3d argocd flux
		istioctl eksctl skaffold packer vagrant virsh mise asdf direnv make just task`,
		2: "aws gh glab doctl gsutil bq hcloud linode-cli", 3: "gcloud az"} {
		for w := range strings.FieldsSeq(names) {
			m[w] = n
		}
	}
	return m
})

// scriptVerbs are subcommands whose next word says what runs.
var scriptVerbs = lazy.Words("npm/run npm/run-script pnpm/run yarn/run composer/run composer/run-script deno/task mise/run hatch/run")

// ProgramIn gives the command's program, with the subcommand if the program has
// subcommands, as operators' patterns are found by it. ok is false for a command that no
// grant covers.
func ProgramIn(args []workspace.Word) (name, program string, ok bool) {
	for _, w := range args {
		if !w.Exact() {
			return "", "", false
		}
	}
	name = path.Base(args[0].Text)
	if !ByName(args[0]) || RunsOthers(args) || !SimpleName(name) {
		return "", "", false
	}
	depth := depths()[name]
	if len(args) > 1 && scriptVerbs.Has(name+"/"+args[1].Text) {
		depth = 2
	}
	program = "exec " + name
	for i := 1; i <= depth && i < len(args); i++ {
		w := args[i].Text
		if w == "" || w[0] == '-' || !SimpleName(w) { // an option first: which word is the subcommand is open
			return "", "", false
		}
		program += " " + w
	}
	return name, program, true
}

// ByName reports a program that is named as the system finds it: by its name alone, or by
// its path in one of the system's directories.
func ByName(w workspace.Word) bool {
	dir, name := path.Split(w.Text)
	return w.Exact() && name == ProgramOf(w) && (dir == "" || ProgramDirs.Has(strings.TrimSuffix(dir, "/")))
}

// SimpleName reports a word that reads the same in every position.
func SimpleName(s string) bool {
	for i := range len(s) {
		if c := s[i]; !words.WordByte(c) && strings.IndexByte("-.+:@/", c) < 0 {
			return false
		}
	}
	return s != ""
}

var ProgramDirs = lazy.Words("/bin /usr/bin /usr/local/bin /sbin /usr/sbin /usr/local/sbin /opt/homebrew/bin")
