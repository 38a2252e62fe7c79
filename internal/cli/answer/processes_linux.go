package answer

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// processes gives the processes of the machine that are seen here; none if they cannot be read. It is whole if each that was
// listed was read before it ended, and their numbers did not start again: they are listed by their numbers, so one that
// begins meanwhile is listed later than the one that began it.
func processes() (out map[int]start, whole bool) {
	out = map[int]start{}
	boot, err := booted()
	if err != nil {
		return out, false // and no client is known
	}
	dir, err := os.Open("/proc")
	if err != nil {
		return out, false
	}
	defer dir.Close()
	first := newest()
	whole = first > 0
	var few [192]byte // some names at a time, for on a busy machine many processes end while all are read
	for {
		n, err := syscall.ReadDirent(int(dir.Fd()), few[:])
		if n <= 0 || err != nil {
			return out, whole && err == nil && newest() >= first
		}
		_, _, names := syscall.ParseDirent(few[:n], -1, nil)
		for _, name := range names {
			pid, err := strconv.Atoi(name)
			if err != nil {
				continue
			}
			s, err := boot.start(pid)
			if whole = whole && !vanished(err); err == nil {
				out[pid] = s
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
