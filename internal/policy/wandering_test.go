package policy

import "testing"

// Two directories are compared file by file, wherever they are.
func TestComparingDirectoriesAsks(t *testing.T) {
	t.Parallel()
	e := engine(t)
	checkLines(t, e, lines("R3 may-read-secret", "diff a b", "diff src lib", "diff e ~", "diff e /root", "diff /root src", "git diff /tmp/e /root", "git diff src /root", "git diff ~ src", "git diff --stat /tmp/e /root", "git diff -- src /root", "git diff e /root/x.txt", "git diff e /root/*"))
	checkLines(t, e, lines("R3 unknown-option", "diff -N src .", "diff -Nu e .", "diff --new-file e config"))
	checkLines(t, e, lines("R4 touches-the-desk", "diff src ..", "git diff src ..", "cd sub && git diff ../..", "git diff /etc src", "git diff . /etc/approvalbot", "git diff /tmp/e /etc/approvalbot", "diff e /etc/approvalbot"))
	checkLines(t, e, lines("R0", "diff -q src lib", "diff -u a.go b.go", "diff /tmp/a.txt b.txt", "git diff", "git diff .", "git diff main src", "git diff HEAD~1 -- src/main.go", "git diff main...HEAD", "git diff /workspace/src"))
	checkLines(t, e, lines("R1 runs-project-code", "cd sub && git diff -- ../x.go"))
}

// Where ps cannot read an option, "e" shows what the processes have in their
// environment.
func TestEnvironmentOfProcessesAsks(t *testing.T) {
	t.Parallel()
	e := engine(t)
	checkLines(t, e, lines("R3 reads-environment", "ps -axe", "ps -xe", "ps -uxe", "ps -auxwwe", "ps -jaxe", "ps -alxe", "ps -e -x", "ps -ax -e", "ps -eg", "ps -eu x", "ps -eC x", "ps -o environ", "ps -eo pid,environ", "ps --format=pid,ENVIRON", "ps aux -e"))
	checkLines(t, e, lines("R0", "ps", "ps aux", "ps -ef", "ps -efww", "ps -eo pid,args", "ps -eo pid,ppid,cmd --sort=-pid", "ps -aux", "ps -p 1 -o args", "ps -eLf", "ps -ejH", "ps -A", "ps auxww", "ps -axo pid,comm"))
}

// What a file is, is open where a line went to a directory that cannot be read.
func TestReadingWhereALineWentAsks(t *testing.T) {
	t.Parallel()
	e := engine(t)
	checkLines(t, e, lines("R3 reads-secret", "cd ~/.kube && cat config", "cd ~/.docker && cat config.json", "cd ~/.ssh && cat work_key", "cd ~/.aws; cat config", "cd && cd .kube && cat config", "cd ~ && cat .kube/config"))
	checkLines(t, e, lines("R3 may-read-secret", `cd "$HOME/.kube" && cat config`, "cd ~/../../proc/self && cat environ", "cd $HOME/../proc/self && cat environ", "cd ~; cd ../../proc/self; cat environ", "cd $(echo /root/.kube) && cat config", "cd - && cat x", "cd ~/.x && cat y", "cd && cat config.yaml",
		"cd ~ && cat ../../proc/self/environ", "cd ~ && cat *.yaml", "cd ~/x/.. && cat y", "for i in 1; do cd ~/.x; done; cat y"))
	checkLines(t, e, lines("R3 no-workspace", "cd ~ && touch x", "cd ~/src && mkdir y"))
	checkLines(t, e, lines("R0", "cd ~ && ls", "cd ~/src && ls -la", "cd src && cat config", "cd src && cat package.json", "cd $(git rev-parse --show-toplevel) && cat main.go", "cd - && ls", "cd src; cat Makefile", "cd ~/src && cat main.go", "cd ~ && cat x", "cd ~ && cat /workspace/go.mod"))
}
