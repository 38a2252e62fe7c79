//go:build linux

package confine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// overlayer is the name by which this program starts itself to mount the overlays.
const overlayer = "approvalbot-overlayer"

// firstOverlay is the first descriptor of the overlays: of each the workspace and the folder of the call.
const firstOverlay = 8

// overlaid is a command that bwrap starts with overlays mounted on workspaces, in namespaces of their own. The overlays
// write as the user does who looks past closed modes of his own files, as the overlay's own checks ask the command's.
func overlaid(bwrap string, watches []*Watch, files []*os.File, arguments []string) *exec.Cmd {
	args := []string{overlayer, strconv.Itoa(len(watches))}
	for len(files) < firstOverlay-3 {
		files = append(files, nil)
	}
	for _, w := range watches {
		args, files = append(args, w.Root, w.path("call")), append(files, w.root, w.call)
	}
	uid, gid := os.Geteuid(), os.Getegid()
	return &exec.Cmd{Path: "/proc/self/exe", Args: append(append(args, bwrap), arguments...), ExtraFiles: files, Dir: "/",
		SysProcAttr: &syscall.SysProcAttr{
			Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID, // all of it dies with bwrap
			UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}},
			AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_DAC_OVERRIDE, unix.CAP_DAC_READ_SEARCH, unix.CAP_FOWNER, unix.CAP_FSETID},
			Pdeathsig:   unix.SIGKILL,
		}}
}

// Overlaying reports that a program was started by [Run] to mount overlays: its main calls [Overlay] before all else.
func Overlaying(args []string) bool { return len(args) > 3 && args[0] == overlayer }

// Overlay mounts the overlays and becomes bwrap. It gives the exit status when it cannot.
func Overlay(args []string) int {
	if err := overlay(args); err != nil {
		fmt.Fprintln(os.Stderr, "approvalbot: "+err.Error())
	}
	return NotConfined
}

func overlay(args []string) error {
	count, err := strconv.Atoi(args[1])
	if err != nil || count < 1 || len(args) < 2*count+3 || os.Geteuid() == 0 {
		return errors.New("only approvalbot confine starts the overlayer")
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("this machine does not let approvalbot make mounts of its own (%w)", err)
	}
	for i := range count {
		root := args[2+2*i]
		fds, err := reopened(firstOverlay+2*i, args[2+2*i:4+2*i])
		if err != nil {
			return err
		}
		// The overlay lies on the workspace, which is seen by no other path then.
		at := func(n int) string { return fmt.Sprintf("/proc/self/fd/%d", fds[n]) }
		options := fmt.Sprintf("lowerdir=%s,upperdir=%s/upper,workdir=%s/work,userxattr", at(0), at(1), at(1))
		if err := unix.Mount("overlay", at(0), "overlay", unix.MS_NODEV|unix.MS_NOSUID, options); err != nil {
			return fmt.Errorf("no overlay can be mounted on %s (%w): the folder has other mounts in it, or its "+
				"file system or that of the state cannot have overlays; approvalbot doctor says more", root, err)
		}
		var fs unix.Statfs_t
		if err := unix.Statfs(root, &fs); err != nil || fs.Type != unix.OVERLAYFS_SUPER_MAGIC {
			return fmt.Errorf("%s was moved while the call began", root)
		}
		if err := errors.Join(unix.Close(fds[0]), unix.Close(fds[1])); err != nil {
			return err
		}
	}
	// bwrap looks for the first process that it starts by its number in this namespace.
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NODEV|unix.MS_NOSUID|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("this machine does not let approvalbot show a call its own processes (%w); some containers forbid it", err)
	}
	// bwrap refuses capabilities. The signal that ends it with its parent is of this thread.
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return err
	}
	limits()
	words := args[2+2*count:]
	return fmt.Errorf("start %s: %w", words[0], unix.Exec(words[0], words, os.Environ()))
}

// reopened opens two folders in this mount namespace, which are the ones that were given by descriptors of the one outside,
// and closes those.
func reopened(first int, names []string) (fds [2]int, err error) {
	for i, name := range names {
		var outside, inside unix.Stat_t
		if fds[i], err = unix.Open(name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0); err != nil {
			return fds, fmt.Errorf("open %s: %w", name, err)
		}
		if err := errors.Join(unix.Fstat(first+i, &outside), unix.Fstat(fds[i], &inside), unix.Close(first+i)); err != nil {
			return fds, err
		}
		if outside.Dev != inside.Dev || outside.Ino != inside.Ino {
			return fds, fmt.Errorf("%s was moved while the call began", name)
		}
	}
	return fds, nil
}
