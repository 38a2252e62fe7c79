package policy

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestZZ(t *testing.T) {
	e := engine(t)
	for _, s := range []string{"(", "{ ", "$(", "`", "if ", "while ", "! ", "time ", "a|", "a&&", "a;", "<<a ", "<<a\n", "${a:-", "$((", "((", "[[ (", "a=(", "f() ", "\"$(", "a <(", "${a[", "((a?", "env ", "sudo ", "sh -c ", "x ", "'a b' ", "*", "{a,", "\\\n", "eval ", "find -exec ", "eval 'a b' ", "frob;", "rm ", "xargs ", "cat * ", "cd a;", "cp a* b;", "\"'a b'\" "} {
		for _, n := range []int{maxLine / len(s), 8 * maxLine / len(s), 700} {
			line := strings.Repeat(s, n)
			c := lineCall(t, line)
			st := time.Now()
			judge(e, c)
			if d := time.Since(st); d > 10*time.Millisecond {
				fmt.Printf("%q x %d: %v\n", s, n, d)
			}
		}
	}
}
