package policy

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
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
	end := time.Now().Add(time.Duration(secs) * time.Second)
	n, ran, bad := 0, 0, 0
	seen := map[string]bool{}
	for time.Now().Before(end) {
		var b strings.Builder
		k := 2 + rand.IntN(9)
		for i := 0; i < k; i++ {
			b.WriteString(toks[rand.IntN(len(toks))])
			if rand.IntN(3) > 0 {
				b.WriteByte(' ')
			}
		}
		line := b.String()
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
			os.Remove("/tmp/pol/ws/.canary")
			os.WriteFile("/tmp/pol/ws/.canary", nil, 0o666)
			os.Chmod("/tmp/pol/ws/.canary", 0o666)
			ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
			c := exec.CommandContext(ctx, sh[0], append(sh[1:], line)...)
			if !strings.Contains(sh[0], "/") {
				c.Path = "/tmp/pol/bin/" + sh[0]
				c.Err = nil
			}
			c.Dir = "/tmp/pol/ws"
			c.Env = []string{"PATH=/tmp/pol/bin", "CANARY=/tmp/pol/ws/.canary", "HOME=/tmp/pol/ws", "LD_LIBRARY_PATH=" + os.Getenv("LD_LIBRARY_PATH")}
			c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			c.WaitDelay = time.Second
			c.Run()
			cancel()
			if st, err := os.Stat("/tmp/pol/ws/.canary"); err == nil && st.Size() > 0 {
				bad++
				fmt.Printf("BAD %s %q %v\n", sh[0], line, judge(e, lineCall(t, line)).Assessment)
			}
		}
	}
	fmt.Println("lines", n, "allowed and run", ran, "bad", bad)
}
