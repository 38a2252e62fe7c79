// Command testsum runs go test with its arguments, and lists at the end what was not
// tested:
//
//	go run ./internal/testsum -race ./a/... -- ./b/...
//
// Each -- ends the arguments of one run and begins those of the next. It prints go test's usual
// lines. All runs are made, and its exit status is that of the first one that failed.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

func main() {
	skipped, status := map[string]int{}, 0
	for _, args := range runs(os.Args[1:]) {
		if code := test(args, skipped); status == 0 {
			status = code
		}
	}
	end(skipped, os.Stdout)
	if status != 0 {
		fmt.Println("FAIL")
	}
	os.Exit(status)
}

// runs splits arguments at each --.
func runs(args []string) (all [][]string) {
	for {
		at := slices.Index(args, "--")
		if at < 0 {
			return append(all, args)
		}
		all, args = append(all, args[:at]), args[at+1:]
	}
}

// test runs go test, counts why tests were skipped, and gives the exit status.
func test(args []string, skipped map[string]int) int {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "testsum:", err)
		return 1
	}
	err = sum(events, os.Stdout, skipped)
	if ended := cmd.Wait(); ended != nil {
		err = ended
	}
	var exited *exec.ExitError
	switch {
	case errors.As(err, &exited) && exited.ExitCode() > 0:
		return exited.ExitCode()
	case err != nil:
		fmt.Fprintln(os.Stderr, "testsum:", err)
		return 1
	}
	return 0
}

// event is one line of go test -json (go doc test2json).
type event struct{ Action, Package, Test, Output string }

var (
	progress = regexp.MustCompile(`^=== (RUN|PAUSE|CONT|NAME) `)
	reason   = regexp.MustCompile(`^\s+\S+\.go:\d+: (.*)`)
)

// sum writes what go test prints without -v, and counts why tests were skipped.
func sum(events io.Reader, out io.Writer, skipped map[string]int) error {
	said := map[string]map[string][]string{} // by package and test, what is not printed yet
	astray := map[string][]string{}          // by package, errors of tests that passed: go test mixes up those that run at once
	for in := json.NewDecoder(events); ; {
		var e event
		if err := in.Decode(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		of := said[e.Package]
		if of == nil {
			of = map[string][]string{}
			said[e.Package] = of
		}
		switch {
		case e.Action == "build-output", e.Action == "output" && e.Test == "" && e.Output != "PASS\n":
			fmt.Fprint(out, e.Output)
		case e.Action == "output" && e.Test != "" && !progress.MatchString(e.Output):
			of[e.Test] = append(of[e.Test], e.Output)
		case e.Action == "fail" && e.Test == "": // those that a panic cut short have no end of their own
			for _, test := range slices.Sorted(maps.Keys(of)) {
				fmt.Fprint(out, strings.Join(of[test], ""))
			}
			fmt.Fprint(out, strings.Join(astray[e.Package], ""))
			delete(said, e.Package)
		case e.Action == "fail":
			fmt.Fprint(out, strings.Join(of[e.Test], ""))
			delete(of, e.Test)
		case e.Action == "skip" && e.Test != "":
			for _, line := range of[e.Test] {
				if m := reason.FindStringSubmatch(line); m != nil {
					skipped[m[1]]++
				}
			}
			delete(of, e.Test)
		case e.Action == "pass":
			if text := strings.Join(of[e.Test], ""); strings.Contains(text, "\tError") {
				astray[e.Package] = append(astray[e.Package], text)
			}
			delete(of, e.Test)
		}
	}
	return nil
}

// end writes why tests were skipped.
func end(skipped map[string]int, out io.Writer) {
	if len(skipped) > 0 {
		fmt.Fprintln(out, "\nNot tested on this machine:")
	}
	for _, why := range slices.Sorted(maps.Keys(skipped)) {
		fmt.Fprintf(out, "  %s (tests: %d)\n", why, skipped[why])
	}
}
