package answer

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// processes gives the processes of the machine that are seen here; none if they cannot be read. It is whole if each that was
// listed was read before it ended, and their numbers did not start again meanwhile. They are listed by their numbers, so
// one that begins meanwhile is listed later than the one that began it, but for what one from before the numbers last
// started again begins: that is listed the second time.
func processes() (out map[int]start, whole bool) {
	out = map[int]start{}
	boot, err := booted()
	if err != nil {
		return out, false // and no client is known
	}
	first := newest()
	whole = first > 0
	for range 2 {
		err := each(func(pid int) {
			if _, seen := out[pid]; seen {
				return
			}
			s, err := boot.start(pid)
			if err == nil {
				out[pid] = s
			}
			whole = whole && (err == nil || err == errZombie || errors.Is(err, os.ErrPermission)) // another user's (hidepid)
		})
		whole = whole && err == nil
	}
	return out, whole && newest() >= first
}

// each lists the processes' numbers in their order, some at a time: on a busy machine many end while all are read.
func each(do func(pid int)) error {
	dir, err := os.Open("/proc")
	if err != nil {
		return err
	}
	defer dir.Close()
	var few [192]byte
	for {
		n, err := syscall.ReadDirent(int(dir.Fd()), few[:])
		if n <= 0 || err != nil {
			return err
		}
		_, _, names := syscall.ParseDirent(few[:n], -1, nil)
		for _, name := range names {
			if pid, err := strconv.Atoi(name); err == nil {
				do(pid)
			}
		}
	}
}

// newest is the number of the process that was begun last; 0 if that is not known.
func newest() int {
	text, _ := os.ReadFile("/proc/loadavg")
	words := strings.Fields(string(text))
	if len(words) < 5 {
		return 0
	}
	pid, _ := strconv.Atoi(words[4])
	return pid
}
