//go:build linux

package confine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/workspace"
)

// The profile: what a confined command sees of this machine. All else of it is not there.
var (
	// programs are shown read-only: what belongs to the system and holds nobody's secrets.
	programs = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store"}

	// settings of the machine are shown read-only, by their names: /etc has secrets too.
	settings = lazy.Words(`passwd group hosts host.conf nsswitch.conf protocols services mime.types localtime timezone
		ld.so.cache ld.so.conf ld.so.conf.d ssl/certs ssl/openssl.cnf ca-certificates pki/tls/certs pki/ca-trust alternatives
		os-release debian_version profile bash.bashrc inputrc terminfo fonts`)

	// environment is handed on, and nothing else: a list of what is bad would let the rest through.
	environment = lazy.Words(`PATH LANG LANGUAGE TERM COLORTERM NO_COLOR TZ USER LOGNAME CI PWD
		GOROOT GOPATH GOFLAGS GOTOOLCHAIN CGO_ENABLED JAVA_HOME NVM_DIR PYENV_ROOT VIRTUAL_ENV RUSTUP_HOME CARGO_HOME NODE_ENV`)

	// offline has tool chains say at once that there is no network.
	offline = []string{"GOPROXY=off", "CARGO_NET_OFFLINE=true", "npm_config_fetch_retries=0", "PIP_RETRIES=0"}

	// caches lie in a folder of the workspace's state that confined calls alone ever see.
	caches = []string{".cache", ".npm"}
)

const (
	mostMasked = 400     // each is a mount, and with so many a start takes a second
	mostShown  = 1 << 20 // bytes of a secret that is shown if git tracks it: each is read before a command starts
	mostCopied = 1 << 20 // bytes of a file of settings
	memory     = "1073741824"
)

// toCopy opens a small file that bwrap copies, as that takes less time than a mount; nil if it is none.
func toCopy(name string) *os.File {
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > mostCopied {
		_ = f.Close()
		return nil
	}
	return f
}

// arguments are bwrap's, from the profile and from what was found in the workspaces. It has descriptors of the settings that it
// copies.
func (c Call) arguments(ctx context.Context, homes []string, watches []*Watch, copied map[string]int) ([]string, error) {
	a := []string{
		"--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
		"--proc", "/proc", "--tmpfs", "/proc/1", "--remount-ro", "/proc/1", // its mem and fd would open bwrap itself
		"--remount-ro", "/proc", // autogroup would put pid 1 behind others
		"--dev", "/dev", "--size", memory, "--tmpfs", "/dev/shm", "--remount-ro", "/dev",
		"--size", memory, "--tmpfs", "/tmp", "--dir", "/run", "--dir", "/var",
	}
	for _, file := range []string{"/proc/keys", "/proc/key-users"} { // what the user's keys are called
		if _, err := os.Lstat(file); err == nil {
			a = append(a, "--ro-bind", "/dev/null", file)
		}
	}
	var shown []string
	for _, dir := range programs {
		if target, err := os.Readlink(dir); err == nil {
			a = append(a, "--symlink", target, dir)
		} else if _, err := os.Stat(dir); err == nil {
			a, shown = append(a, "--ro-bind", dir, dir), append(shown, dir)
		}
	}
	for _, name := range settings.List() {
		if fd, is := copied[name]; is {
			a = append(a, "--perms", "0444", "--file", strconv.Itoa(fd), "/etc/"+name)
		} else {
			a = append(a, "--ro-bind-try", "/etc/"+name, "/etc/"+name)
		}
	}
	home := homes[0]
	a = append(a, "--size", memory, "--tmpfs", home)
	own := Watch{dir: filepath.Dir(cacheOf(watches))}
	if _, err := os.Lstat(own.path(unsettled)); err == nil {
		if err := own.discard("home"); err != nil {
			return nil, err
		}
	}
	for _, name := range caches {
		private := own.path("home/" + name)
		err := errors.Join(hidden(own.dir, private), os.Chmod(private, 0700))
		if err != nil { // a call may have closed it
			return nil, err
		}
		a = append(a, "--bind", private, filepath.Join(home, name))
	}
	if err := os.WriteFile(own.path(unsettled), nil, 0600); err != nil {
		return nil, err
	}
	for _, dir := range c.Show {
		a, shown = append(a, "--ro-bind", dir, dir), append(shown, dir)
	}
	// Last, so that by no folder that is shown what was hidden before is seen.
	for _, dir := range shown {
		if workspace.Under(watches[0].dir, dir) {
			a = append(a, "--tmpfs", filepath.Dir(watches[0].dir))
		}
	}
	for _, w := range watches {
		a = append(a, "--bind", w.Root, w.Root)
	}
	for _, w := range watches {
		repos, secrets := w.mounted(), w.unknown(ctx)
		if len(repos)+len(secrets) > mostMasked {
			return nil, fmt.Errorf("workspace %s has %d repositories and %d files that look like secrets, and at "+
				"most %d can be protected from the command; name a smaller workspace",
				w.Root, len(repos), len(secrets), mostMasked)
		}
		for _, rel := range repos { // of the overlay: sockets of the host in it are not reached
			a = append(a, "--ro-bind", filepath.Join(w.Root, rel), filepath.Join(w.Root, rel))
		}
		for _, rel := range secrets {
			a = append(a, "--ro-bind", "/dev/null", filepath.Join(w.Root, rel))
		}
	}
	masked, err := speakers(shown)
	if err != nil {
		return nil, err
	}
	for _, file := range masked {
		a = append(a, "--ro-bind", "/dev/null", file)
	}
	return append(a, "--chdir", c.Dir, "--remount-ro", "/"), nil
}

// unsettled is there from before a call begins until it is known that it read no secret. What is in its private caches is not
// used before that, as it could tell the next call.
const unsettled = "unsettled"

// cacheOf is the folder of the caches of calls in exactly these workspaces: what one left there, another would run.
func cacheOf(watches []*Watch) string {
	if len(watches) == 1 {
		return filepath.Join(watches[0].dir, "home")
	}
	var roots []string
	for _, w := range watches {
		roots = append(roots, w.Root)
	}
	slices.Sort(roots)
	return filepath.Join(stateOf(filepath.Dir(watches[0].dir), strings.Join(roots, "\x00")), "home")
}

// mounted are git's own directories without those that lie in others.
func (w *Watch) mounted() (out []string) {
	for _, rel := range sorted(w.guard.repos) {
		if !slices.ContainsFunc(out, func(dir string) bool { return strings.HasPrefix(rel, dir+"/") }) {
			out = append(out, rel)
		}
	}
	return out
}

// unknown are the secrets of the workspace without those whose exact content its repository tracks under that name. Anywhere
// else among its objects a content may be that an agent guessed.
func (w *Watch) unknown(ctx context.Context) []string {
	sums := map[string]string{}
	for _, rel := range w.Secrets {
		if w.looks.content(rel) != nil {
			continue
		}
		if sum := blob(int(w.root.Fd()), rel, mostShown); sum != "" {
			sums[rel] = sum
		}
	}
	if len(sums) == 0 || !w.before.Repos[".git"] {
		return w.Secrets
	}
	known, _ := w.tracked(ctx, filepath.Join(w.Root, ".git/index"), sorted(sums)) // without an answer all are hidden
	w.Secrets = slices.DeleteFunc(w.Secrets, func(rel string) bool {
		shown := sums[rel] != "" && sums[rel] == known[rel]
		if shown {
			w.looks.shows(rel)
		}
		return shown
	})
	return w.Secrets
}

// speakers are the sockets of the host's processes in folders that are shown, also by way of links.
func speakers(shown []string) (out []string, err error) {
	table, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(table)) {
		at := strings.IndexByte(line, '/')
		if at < 0 {
			continue
		}
		file := strings.TrimSuffix(line[at:], "\n")
		file, _, _ = trail(file)
		for _, dir := range shown {
			if _, err := os.Lstat(file); err == nil && workspace.Under(file, dir) && !slices.Contains(out, file) {
				out = append(out, file)
			}
		}
	}
	return out, nil
}

// environ is what the command is started with, and bwrap too, whose own could be read in /proc.
func (c Call) environ(home string) (env []string) {
	for _, pair := range c.Env {
		name, _, _ := strings.Cut(pair, "=")
		if environment.Has(name) || strings.HasPrefix(name, "LC_") {
			env = append(env, pair)
		}
	}
	git := identity(home)
	env = append(env, "HOME="+home, "TMPDIR=/tmp", "PYTHONPYCACHEPREFIX="+filepath.Join(home, ".cache/pycache"),
		"GIT_OPTIONAL_LOCKS=0", fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(git)))
	env = append(env, offline...)
	for i, pair := range git {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, pair[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, pair[1]))
	}
	return env
}

// identity is the name and address that git signs commits with, out of the user's settings.
func identity(home string) (out [][2]string) {
	text, _ := os.ReadFile(filepath.Join(home, ".gitconfig"))
	section := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		key, value, _ := strings.Cut(line, "=")
		key = strings.ToLower(strings.TrimSpace(key))
		switch {
		case strings.HasPrefix(line, "["):
			section = strings.ToLower(line)
		case section == "[user]" && (key == "name" || key == "email"):
			out = append(out, [2]string{"user." + key, strings.Trim(strings.TrimSpace(value), `"`)})
		}
	}
	return out
}
