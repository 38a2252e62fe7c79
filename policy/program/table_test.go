package program

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func TestTheTableIsWhole(t *testing.T) {
	_, err := Rules()
	require.NoError(t, err)
}

// A mistake in the table stops the desk, and names the place.
func TestTheTableRefusesMistakes(t *testing.T) {
	for _, c := range []struct{ name, text, says string }{
		{"unknown key", "programs: {x: {is: read-only-command, flogs: -a}}", "flogs"},
		{"unknown code", "programs: {x: {is: harmless-enough}}", `there is no code "harmless-enough"`},
		{"no code", "programs: {x: {flags: -a}}", "does not say what the command is"},
		{"two arities", "programs: {x: {is: read-only-command, flags: -ab, text: -bc}}", "the option b stands in flags and in text"},
		{"two arities of a long one", "programs: {x: {is: read-only-command, optional: --a, reads: --a}}", "the option --a stands in optional and in reads"},
		{"one option twice", "programs: {x: {is: read-only-command, flags: -aa}}", "the option a stands in flags and in flags"},
		{"two arities by a set", "options: {s: {text: -a}}\nprograms: {x: {is: read-only-command, with: s, flags: -a}}", "the option a stands in flags and in text"},
		{"unknown set", "programs: {x: {is: read-only-command, with: s}}", `there is no set of options "s"`},
		{"program twice", "programs: {x: {is: read-only-command}, y x: {is: read-only-command}}", "x stands twice"},
		{"verb twice", "programs: {x: {verbs: {a: {is: read-only-command}, b a: {is: read-only-command}}}}", "a stands twice"},
		{"not reached", "programs: {x: {is: read-only-command, verbs: {a: {is: read-only-command}}}}", "never reached"},
		{"unknown operands", "programs: {x: {is: read-only-command, operands: fish}}", `operands cannot be "fish"`},
		{"needs what it has not", "programs: {x: {is: read-only-command, needs: -a}}", "it needs the option a, which it does not have"},
		{"shape of no value", "programs: {x: {is: read-only-command, flags: -a, shapes: {-a: b}}}", "the option a has a shape and takes no value"},
		{"broken shape", "programs: {x: {is: read-only-command, text: -a, shapes: {-a: '('}}}", "missing closing )"},
		{"unknown leading", "programs: {x: {is: read-only-command, leading: fish}}", `leading operands cannot be "fish"`},
		{"unknown language", "programs: {x: {rule: klingon}}", `there is no language "klingon"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(fstest.MapFS{"data/x.yaml": {Data: []byte(c.text)}})
			require.ErrorContains(t, err, c.says)
		})
	}
}
