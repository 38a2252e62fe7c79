package costs

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A cost may grow by what its line says; one without a line, and more growth, are told.
func TestGrew(t *testing.T) {
	t.Parallel()
	allowed, err := read("evaluate\t100\t5\tallocations of one\n")
	require.NoError(t, err)
	for _, c := range []struct {
		name  string
		value float64
		grows bool
	}{{"evaluate", 100, false}, {"evaluate", 105, false}, {"evaluate", 106, true}, {"evaluate", 50, false}, {"batch", 1, true}} {
		require.Equal(t, c.grows, len(grew(allowed, []cost{{name: c.name, value: c.value}})) > 0, "%s %g", c.name, c.value)
	}
	_, err = read("evaluate 100 5\n")
	require.ErrorContains(t, err, "without three tabs")
	_, err = read("evaluate\tmany\t5\tallocations\n")
	require.ErrorContains(t, err, "not a number")
	require.Equal(t, "evaluate\t100\t5\tallocations of one\n", write(allowed))
}
