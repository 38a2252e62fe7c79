package policy

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"approvalbot/core"
)

var toks = func() (list []string) {
	b, _ := os.ReadFile("/tmp/pol/toks.txt")
	for l := range strings.Lines(string(b)) {
		l = strings.TrimSuffix(l, "\n")
		l = strings.ReplaceAll(strings.ReplaceAll(l, `\n`, "\n"), `\t`, "\t")
		list = append(list, l)
	}
	return list
}()

func TestZZShells(t *testing.T) {
	e := engine(t, func(c *Config) { c.Workspaces = map[string]string{"main": "/tmp/pol/ws"} })
	secs := 60
	if s := os.Getenv("SECS"); s != "" {
		fmt.Sscan(s, &secs)
	}
	shells := [][]string{{"bash", "-c"}, {"dash", "-c"}, {"zsh", "-fc"}, {"mksh", "-c"}, {"/tmp/pol/sh/root/usr/bin/fish", "--no-config", "-c"}}
	var seeds []string
	src, _ := os.ReadFile("shell_test.go")
	for _, m := range regexp.MustCompile(`"((?:[^"\\\\]|\\\\.)*)"`).FindAllString(string(src), -1) {
		q, err := strconv.Unquote(m)
		if err == nil && !strings.Contains(q, "sleep") && !strings.Contains(q, "while true") && !strings.Contains(q, "tail -f") && !strings.HasPrefix(q, "R") && judge(e, lineCall(t, q)).Outcome == core.OutcomeAllow {
			seeds = append(seeds, q, q+" ; ls", "ls "+q)
		}
	}
	fmt.Println("seeds", len(seeds))
	end := time.Now().Add(time.Duration(secs) * time.Second)
	n, ran, bad := 0, 0, 0
	seen := map[string]bool{}
	for time.Now().Before(end) {
		line := seeds[rand.IntN(len(seeds))]
		for range 1 + rand.IntN(4) {
			at := rand.IntN(len(line) + 1)
			tok := toks[rand.IntN(len(toks))]
			sp := []string{"", " "}
			line = line[:at] + sp[rand.IntN(2)] + tok + sp[rand.IntN(2)] + line[at:]
		}
		if !strings.Contains(line, "canary") && !strings.Contains(line, "x63") || seen[line] {
			continue
		}
		n++
		if judge(e, lineCall(t, line)).Outcome != core.OutcomeAllow {
			continue
		}
		seen[line] = true
		ran++
		for _, sh := range shells {
			cf := fmt.Sprintf("/tmp/pol/can/%d", time.Now().UnixNano())
			os.WriteFile(cf, nil, 0o666)
			os.Chmod(cf, 0o666)
			ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
			c := exec.CommandContext(ctx, sh[0], append(sh[1:], line)...)
			if !strings.Contains(sh[0], "/") {
				c.Path = "/tmp/pol/bin/" + sh[0]
				c.Err = nil
			}
			c.Dir = "/tmp/pol/ws"
			c.Env = []string{"PATH=/tmp/pol/bin", "CANARY="+cf, "HOME=/tmp/pol/ws", "LD_LIBRARY_PATH=" + os.Getenv("LD_LIBRARY_PATH")}
			c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			c.WaitDelay = time.Second
			c.Run()
			cancel()
			if strings.Contains(line, "&") || strings.Contains(line, "(") {
				time.Sleep(15 * time.Millisecond)
			}
			if st, err := os.Stat(cf); err == nil && st.Size() > 0 {
				bad++
				os.Remove(cf)
				fmt.Printf("BAD %s %q %v\n", sh[0], line, judge(e, lineCall(t, line)).Assessment)
			}
			os.Remove(cf)
		}
	}
	fmt.Println("lines", n, "allowed and run", ran, "bad", bad)
}
