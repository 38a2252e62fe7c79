package program

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

var update = flag.Bool("update", false, "make table.txt of data/*.yaml")

// written is one file of data.
type written struct {
	Options  map[string]row // sets of options that rows share
	Programs map[string]row // rows by the names of the programs
	Says     map[string][]saying
}

// made gives the text of the table that the files of data are, one for each family of programs.
// It refuses what is unknown, stands twice, cannot be reached, or says of one option two things.
func made(files fs.FS) (string, error) {
	names, err := fs.Glob(files, "data/*.yaml")
	if err != nil {
		return "", err
	}
	l, families := loader{options: map[string]row{}}, map[string]written{}
	var sets, said, rows []string
	line := func(name string, r any) string {
		text, err := json.Marshal(r)
		l.errs = append(l.errs, err)
		return name + "\t" + string(text) + "\n"
	}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return "", err
		}
		d := yaml.NewDecoder(bytes.NewReader(text))
		d.KnownFields(true)
		var f written
		plain := struct{ Options, Programs, Says map[string]any }{} // without what a row leaves out
		if err := errors.Join(d.Decode(&f), yaml.Unmarshal(text, &plain)); err != nil {
			return "", fmt.Errorf("%s: %w", path.Base(name), err)
		}
		families[path.Base(name)] = f
		for set, r := range f.Options {
			if _, twice := l.options[set]; twice {
				l.fail(path.Base(name), "the set of options %q stands twice", set)
			}
			l.options[set] = r
			sets = append(sets, line("+"+set, plain.Options[set]))
		}
		for programs, list := range f.Says {
			for _, y := range list {
				for _, option := range y.twice() {
					l.fail(programs, "the option %s is listed twice beside %v", option, slices.Sorted(maps.Keys(y.Says)))
				}
				for codes, usages := range y.Says {
					l.codes(programs, codes)
					for usage, sentence := range usages {
						if _, _, ok := fill(sentence, make([][]string, strings.Count(usage, " ")+1)); !ok || usage != "" && wrongUsage(usage) {
							l.fail(programs, "the sentence %q has no such usage as %q", sentence, usage)
						}
					}
				}
			}
			said = append(said, line("?"+programs, plain.Says[programs]))
		}
		for programs := range f.Programs {
			rows = append(rows, line(programs, plain.Programs[programs]))
		}
	}
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(families)) {
		for _, programs := range slices.Sorted(maps.Keys(families[name].Programs)) {
			l.entry(name+": "+programs, families[name].Programs[programs], nil)
			for n := range strings.FieldsSeq(programs) {
				if seen[n] {
					l.fail(name, "%s stands twice", n)
				}
				seen[n] = true
			}
		}
	}
	slices.Sort(sets)
	slices.Sort(said)
	slices.Sort(rows)
	return strings.Join(slices.Concat(sets, said, rows), ""), errors.Join(l.errs...)
}

// twice gives the options that stand in more than one of a saying's lists.
func (y *saying) twice() (list []string) {
	seen := map[string]bool{}
	lists := []string{y.Quiet, y.Takes, y.Sql}
	for _, options := range y.clauses() {
		lists = append(lists, options)
	}
	for _, options := range lists {
		letters, long := shortNames(options, y.OneDash)
		for i, o := range append(letters, long...) {
			if key := fmt.Sprint(i < len(letters), o); seen[key] {
				list = append(list, o)
			} else {
				seen[key] = true
			}
		}
	}
	return list
}

func wrongUsage(text string) bool {
	u := parseUsage(text)
	return u.wrong()
}

func TestTheTableIsMadeOfItsFiles(t *testing.T) {
	text, err := made(os.DirFS("."))
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile("table.txt", []byte(text), 0o600))
		return
	}
	stored, err := os.ReadFile("table.txt")
	require.NoError(t, err)
	require.True(t, text == string(stored), "table.txt is not what data/*.yaml says: go test ./internal/policy/program -run TableIsMade -update")
}

// Each row is read as it was written, and what cannot be read asks.
func TestTheTableIsWhole(t *testing.T) {
	tab := tables()
	for name := range tab.rows {
		require.NotNil(t, known(name), name)
		require.NotNil(t, RuleOf(name), name)
	}
	require.Greater(t, len(tab.rows), 500)
	for name := range tab.says {
		require.NotEmpty(t, tab.sayings(name), name)
	}
	broken := shelve("+s\t{\"flags\": 1}\nx\t{\"is\":\"read-only-command\",\"with\":\"s\"}\ny\t{\"is\"\nz\t{\"is\":\"read-only-command\"}\n")
	require.Nil(t, broken.read("x"))
	require.Nil(t, broken.read("y"))
	require.Nil(t, broken.read("nothing"))
	require.NotNil(t, broken.read("z"))
}

// A mistake in the files of the table makes none, and names the place.
func TestTheTableRefusesMistakes(t *testing.T) {
	for _, c := range []struct{ name, text, says string }{
		{"unknown key", "programs: {x: {is: read-only-command, flogs: -a}}", "flogs"},
		{"unknown code", "programs: {x: {is: harmless-enough}}", `there is no code "harmless-enough"`},
		{"no code", "programs: {x: {flags: -a}}", "does not say what the command is"},
		{"two arities", "programs: {x: {is: read-only-command, flags: -ab, text: -bc}}", "the option b is listed in flags and in text"},
		{"two arities of a long one", "programs: {x: {is: read-only-command, optional: --a, reads: --a}}", "the option --a is listed in optional and in reads"},
		{"one option twice", "programs: {x: {is: read-only-command, flags: -aa}}", "the option a is listed in flags and in flags"},
		{"two arities by a set", "options: {s: {text: -a}}\nprograms: {x: {is: read-only-command, with: s, flags: -a}}", "the option a is listed in flags and in text"},
		{"unknown set", "programs: {x: {is: read-only-command, with: s}}", `there is no set of options "s"`},
		{"program twice", "programs: {x: {is: read-only-command}, y x: {is: read-only-command}}", "x stands twice"},
		{"verb twice", "programs: {x: {verbs: {a: {is: read-only-command}, b a: {is: read-only-command}}}}", "a is given twice"},
		{"not reached", "programs: {x: {is: read-only-command, verbs: {a: {is: read-only-command}}}}", "never reached"},
		{"unknown operands", "programs: {x: {is: read-only-command, operands: fish}}", `operands cannot be "fish"`},
		{"needs what it has not", "programs: {x: {is: read-only-command, needs: -a}}", "it needs the option a, which it does not have"},
		{"shape of no value", "programs: {x: {is: read-only-command, flags: -a, shapes: {-a: b}}}", "the option a has a shape and takes no value"},
		{"broken shape", "programs: {x: {is: read-only-command, text: -a, shapes: {-a: '('}}}", "missing closing )"},
		{"unknown leading", "programs: {x: {is: read-only-command, leading: fish}}", `leading operands cannot be "fish"`},
		{"unknown language", "programs: {x: {rule: klingon}}", `there is no language "klingon"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := made(fstest.MapFS{"data/x.yaml": {Data: []byte(c.text)}})
			require.ErrorContains(t, err, c.says)
		})
	}
}
