package shell

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The patterns of settings are made of parts, so no other test compiles them all.
func TestSettings_Compile(t *testing.T) {
	t.Parallel()
	for name, values := range Settings() {
		if values != nil {
			require.NotPanics(t, func() { values.Compiled() }, name)
		}
	}
}
