package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What failed is printed, what passed is not, and what was skipped stands at the end
// with its reason.
func TestSum(t *testing.T) {
	var out strings.Builder
	skipped := map[string]int{}
	require.NoError(t, sum(strings.NewReader(`
{"Action":"build-output","ImportPath":"p/c","Output":"c.go:1: undefined: x\n"}
{"Action":"run","Package":"p/a","Test":"TestGood"}
{"Action":"output","Package":"p/a","Test":"TestGood","Output":"=== RUN   TestGood\n"}
{"Action":"output","Package":"p/a","Test":"TestGood","Output":"    a_test.go:1: quiet\n"}
{"Action":"pass","Package":"p/a","Test":"TestGood"}
{"Action":"output","Package":"p/a","Test":"TestSkipped","Output":"    a_test.go:2: jq: not tested, install jq\n"}
{"Action":"output","Package":"p/a","Test":"TestSkipped","Output":"--- SKIP: TestSkipped (0.00s)\n"}
{"Action":"skip","Package":"p/a","Test":"TestSkipped"}
{"Action":"output","Package":"p/a","Output":"PASS\n"}
{"Action":"output","Package":"p/a","Output":"ok  \tp/a\t0.1s\n"}
{"Action":"pass","Package":"p/a"}
{"Action":"output","Package":"p/b","Test":"TestBad","Output":"    b_test.go:3: wrong\n"}
{"Action":"output","Package":"p/b","Test":"TestOther","Output":"        \tError:      \tof TestBad\n"}
{"Action":"pass","Package":"p/b","Test":"TestOther"}
{"Action":"output","Package":"p/b","Test":"TestBad","Output":"--- FAIL: TestBad (0.00s)\n"}
{"Action":"fail","Package":"p/b","Test":"TestBad"}
{"Action":"output","Package":"p/b","Test":"TestCut","Output":"panic: boom\n"}
{"Action":"output","Package":"p/b","Output":"FAIL\tp/b\t0.1s\n"}
{"Action":"fail","Package":"p/b"}
{"Action":"skip","Package":"p/d"}
`), &out, skipped))
	end(skipped, &out)
	require.Equal(t, `c.go:1: undefined: x
ok  	p/a	0.1s
    b_test.go:3: wrong
--- FAIL: TestBad (0.00s)
FAIL	p/b	0.1s
panic: boom
        	Error:      	of TestBad

Not tested on this machine:
  jq: not tested, install jq (tests: 1)
`, out.String())
	require.Error(t, sum(strings.NewReader("no JSON"), &out, skipped))
}

// Arguments of several runs are told apart by --.
func TestRuns(t *testing.T) {
	require.Equal(t, [][]string{{"-race", "./a/..."}, {"./b"}}, runs([]string{"-race", "./a/...", "--", "./b"}))
	require.Equal(t, [][]string{{"./a"}}, runs([]string{"./a"}))
}
