// Command testsum runs go test with its arguments and ends with what was not tested:
//
//	go run ./internal/testsum -race ./...
//
// It prints go test's usual lines, and its exit status is go test's.
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
	cmd := exec.Command("go", append([]string{"test", "-json"}, os.Args[1:]...)...)
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "testsum:", err)
		os.Exit(1)
	}
	err = sum(events, os.Stdout)
	if ended := cmd.Wait(); ended != nil {
		err = ended
	}
	var exited *exec.ExitError
	switch {
	case errors.As(err, &exited) && exited.ExitCode() > 0:
		fmt.Println("FAIL")
		os.Exit(exited.ExitCode())
	case err != nil:
		fmt.Fprintln(os.Stderr, "testsum:", err)
		os.Exit(1)
	}
}

// event is one line of go test -json (go doc test2json).
type event struct{ Action, Package, Test, Output string }

var (
	progress = regexp.MustCompile(`^=== (RUN|PAUSE|CONT|NAME) `)
	reason   = regexp.MustCompile(`^\s+\S+\.go:\d+: (.*)`)
)

// sum writes what go test prints without -v, then why tests were skipped.
func sum(events io.Reader, out io.Writer) error {
	said := map[string]map[string][]string{} // by package and test, what is not printed yet
	skipped := map[string]int{}
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
			delete(of, e.Test)
		}
	}
	if len(skipped) > 0 {
		fmt.Fprintln(out, "\nNot tested on this machine:")
	}
	for _, why := range slices.Sorted(maps.Keys(skipped)) {
		fmt.Fprintf(out, "  %s (tests: %d)\n", why, skipped[why])
	}
	return nil
}
