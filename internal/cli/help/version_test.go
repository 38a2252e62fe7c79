package help

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

// A build names its commit and that commit's time, and says where files differed or none is known.
func TestVersion_NamesTheCommit(t *testing.T) {
	t.Parallel()
	settings := []debug.BuildSetting{{Key: "vcs.revision", Value: "3ad48e0"}, {Key: "vcs.time", Value: "2026-11-23T14:21:00Z"}}
	require.Contains(t, buildOf("0.1.0", &debug.BuildInfo{Settings: settings}).String(),
		"approvalbot 0.1.0\nrevision: 3ad48e0 of 2026-11-23T14:21:00Z\ngo1.")
	changed := append(settings, debug.BuildSetting{Key: "vcs.modified", Value: "true"})
	require.Contains(t, buildOf("0.1.0", &debug.BuildInfo{Settings: changed}).String(), "Z, with changes\n")
	require.Contains(t, buildOf("dev", nil).String(), "revision: unknown")
}
