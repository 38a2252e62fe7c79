package workspace

import (
	"path"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzClean holds that clean is path.Clean.
func FuzzClean(f *testing.F) {
	for _, file := range []string{"", "/", "//", "/a", "/a/", "/a//b", "/a/./b", "/a/..", "/.a", "a", "a/b", "./a", "..", "/a.b/c", "~/a", "~", "//a", "/a/b/../c", "/..."} {
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, file string) { require.Equal(t, path.Clean(file), clean(file)) })
}
