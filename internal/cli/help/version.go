package help

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"approvalbot/internal/cli/app"
)

// build is what the toolchain wrote into this program. Time is the commit's: a build has no
// time of its own, so that two of them are the same bytes.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`
	Time     string `json:"time"`
	Modified bool   `json:"modified"` // files differed from the commit's
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// VersionCommand says which build this is.
func VersionCommand(a *app.App) *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Say which build this is: version, commit, its time, Go, platform",
		Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
			info, _ := debug.ReadBuildInfo()
			b := buildOf(a.Version, info)
			if a.JSON {
				return a.PrintJSON(b)
			}
			_, err := fmt.Fprint(a.Stdout, b)
			return err
		}}
}

func buildOf(version string, info *debug.BuildInfo) build {
	b := build{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info == nil {
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// String is the build in lines.
func (b build) String() string {
	revision := "unknown: it was built without a repository"
	if b.Revision != "" {
		revision = b.Revision + " of " + b.Time
	}
	if b.Modified {
		revision += ", with changes"
	}
	return fmt.Sprintf("approvalbot %s\nrevision: %s\n%s %s\n", b.Version, revision, b.Go, b.Platform)
}
