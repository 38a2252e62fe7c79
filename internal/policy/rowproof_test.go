//go:build linux

package policy

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/program"
)

// TestRowsDoWhatTheySay runs every row of the table of which the program is here, with
// each of its options by itself, without network, and compares all files before and
// after: what is R0 changes nothing at all, what is R1 nothing outside the workspace.
func TestRowsDoWhatTheySay(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("not tested: rows are not run in short mode")
	}
	probe := exec.Command("true")
	if probe.SysProcAttr = confined(); probe.Run() != nil {
		t.Skip("not tested, needs namespaces: that rows do what they say, without a network")
	}
	batches := map[string][]sample{} // by program and class
	programs, missing := map[string]bool{}, 0
	e := engine(t, func(c *Config) { c.ExecSecurity, c.Workspaces = "full", map[string][]string{"main": {"/work"}} })
	for _, args := range program.Samples() {
		here, known := programs[args[0]]
		if !known { // looked for once: a program has up to thousands of rows
			_, err := exec.LookPath(args[0])
			if here = err == nil; !here {
				missing++
			}
			programs[args[0]] = here
		}
		if !here {
			continue
		}
		found := judge(e, callOf(t, "exec", map[string]any{"argv": args, "workdir": "/work"})).Assessment
		class := found.RiskClass
		if class <= approval.R1 && !slices.Contains(neverRun, args[0]) && !slices.ContainsFunc(found.ReasonCodes, ofTheProject) {
			batch := fmt.Sprint(args[0], class)
			batches[batch] = append(batches[batch], sample{args, class})
		}
	}
	var ran atomic.Int64
	t.Cleanup(func() {
		t.Logf("%d commands of the table run, %d of its programs are not installed", ran.Load(), missing)
		require.Greater(t, ran.Load(), int64(200))
	})
	// Most of the time goes by in programs that wait for what they do not get: several places at once.
	names := slices.Sorted(maps.Keys(batches))
	for place := range places {
		t.Run(fmt.Sprint(place), func(t *testing.T) {
			t.Parallel()
			top := t.TempDir()
			for dir := top; dir != "/" && dir != os.TempDir(); dir = filepath.Dir(dir) {
				require.NoError(t, os.Chmod(dir, 0o755))
			}
			canary, work := filepath.Join(top, "outside"), filepath.Join(top, "work")
			lay(t, canary, work)
			before := digests(t, top)
			for i := place; i < len(names); i += places {
				batch := some(batches[names[i]])
				ran.Add(int64(len(batch)))
				run(t, work, canary, batch)
				files := changed(before, digests(t, top))
				for _, file := range files {
					requireMay(t, batch, file, canary, work)
				}
				if len(files) > 0 {
					require.NoError(t, os.RemoveAll(work))
					lay(t, canary, work)
					before = digests(t, top)
				}
			}
		})
	}
}

// places is how many workspaces TestRowsDoWhatTheySay runs programs in at the same time.
const places = 6

// requireMay requires that commands of one program and class may have changed a file.
func requireMay(t *testing.T, batch []sample, file, canary, work string) {
	t.Helper()
	switch {
	case batch[0].args[0] == "go" && strings.HasPrefix(file, canary): // its counters and its cache
	case batch[0].args[0] == "rpm" && strings.HasPrefix(file, canary+"/.rpmdb"): // an empty database of its own, if the machine has none
	default:
		inside := strings.HasPrefix(file, work+"/")
		require.True(t, inside && batch[0].class == approval.R1, "one of %v is %v and has changed %s", batch, batch[0].class, file)
	}
}

// perProgram is how many commands of a program are run of each class; of more, others
// are chosen each time.
const perProgram = 40

func some(all []sample) (list []sample) {
	if len(all) <= perProgram {
		return all
	}
	for _, i := range rand.Perm(len(all))[:perProgram] {
		list = append(list, all[i])
	}
	return list
}

type sample struct {
	args  []string
	class approval.RiskClass
}

// run runs commands one after the other. Whether one of them likes its words is not the
// question.
func run(t *testing.T, work, home string, batch []sample) {
	t.Helper()
	var script strings.Builder
	for _, s := range batch {
		script.WriteString("timeout -k 1 2")
		for _, w := range s.args {
			script.WriteString(" " + quote(w))
		}
		script.WriteString(" </dev/null >/dev/null 2>&1\n")
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script.String())
	cmd.Dir, cmd.Env = work, []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + home, "LANG=C.UTF-8"}
	cmd.SysProcAttr = confined()
	_ = cmd.Run()
}

// confined gives a process no network, an end to all that it starts when it ends, and, where the test is root, no privileges.
func confined() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true, Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWPID}
	if uid := os.Getuid(); uid == 0 {
		attr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	} else {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
	}
	return attr
}

// nobody is the user as whom a row is run.
const nobody = 65534

// ofTheProject reports what is not the program's own doing: it runs the project's code,
// and keeps what it has built in the user's cache.
func ofTheProject(code string) bool { return code == "runs-project-code" || code == "local-build" }

// neverRun are programs that tell nothing of themselves in a test: they wait, or speak
// to the terminal or the machine's services; npm logs in the home what it was asked, and
// apt and pip take long.
var neverRun = []string{"sleep", "tty", "jobs", "wait", "sync", "npm", "apt", "apt-get", "apt-cache", "pip", "pip3",
	"bq", "gcloud", "gsutil", "pipx", // note in the home directory what they were asked
	"terraform", // notes there when it looked for updates, whatever it is told, also --help
}

// lay makes the workspace, a git repository with some files, and a home outside it.
func lay(t *testing.T, canary, work string) {
	t.Helper()
	files := map[string]string{
		canary + "/keep.txt": "outside\n", work + "/in.txt": "b\na\n", work + "/other.txt": "c\n", work + "/dir/x.go": "package x\n",
		work + "/data.json": "{\"a\": 1}\n", work + "/Makefile": "test:\n\ttrue\n",
	}
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o777))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o666))
	}
	defer func() {
		for _, dir := range []string{canary, work} {
			require.NoError(t, filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
				if err == nil && os.Getuid() == 0 {
					err = os.Chown(name, nobody, nobody) // it may do there whatever it can
				}
				return err
			}))
		}
	}()
	if out, err := exec.Command("git", "-C", work, "-c", "user.name=a", "-c", "user.email=a@b", "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("git init: %s", out)
	}
	for _, args := range [][]string{{"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first"}} {
		out, err := exec.Command("git", append([]string{"-C", work}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
}

// digests gives every file below a directory with its kind, mode and contents. The
// index of git counts by what is in it: reading commands refresh the times in it.
func digests(t *testing.T, top string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		sum := ""
		if info.Mode().IsRegular() && filepath.Base(name) != "index" {
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			sum = fmt.Sprintf("%x", sha256.Sum256(text))
		}
		all[name] = fmt.Sprint(info.Mode(), sum)
		return nil
	})
	require.NoError(t, err)
	return all
}

func changed(before, after map[string]string) (names []string) {
	for name, sum := range after {
		if before[name] != sum {
			names = append(names, name)
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
