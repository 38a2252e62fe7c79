package workspace

import (
	"path"
	"strings"

	"approvalbot/internal/lazy"
)

// Made reports a path, or a glob of paths, of build output by its names. Directories of source code
// may have one in them that is only called so.
func Made(file string) bool {
	base := path.Base(file)
	if madeFiles.Has(base) || MadeEnds.Has(path.Ext(base)) && strings.TrimSuffix(base, path.Ext(base)) != "" {
		return true
	}
	sure, maybe, source := false, false, false
	for c := range strings.SplitSeq(file, "/") {
		if strings.ContainsAny(c, "*?[") && strings.IndexByte(".[", c[0]) >= 0 {
			return false // hidden files are not
		}
		sure = sure || madeDirs.Has(c)
		maybe = maybe || !source && MaybeMade(c)
		source = source || sourceDirs.Has(c) || c == "**"
	}
	return sure || maybe
}

// MaybeMade reports a directory's name that build output has, and at times source code too.
func MaybeMade(name string) bool { return outputNames.Has(name) }

// Installed reports a file below a directory that tools fill alone (node_modules, .venv). rel is relative to the workspace.
func Installed(rel string) bool { return AnyPart(path.Dir(rel), madeDirs.Has) }

// HoldsCode reports a directory below one that usually has source code alone.
func HoldsCode(dir string) bool { return AnyPart(path.Clean(dir), sourceDirs.Has) }

// Passing reports a file that programs write and take away again by themselves: build output, also by names that are less
// sure, logs, and what databases and editors keep while they run. Code in a folder called tmp or cache is none. rel is
// relative to the workspace.
func Passing(rel string) bool {
	dir, base := path.Split(rel)
	if Made(rel) || passingFiles.MatchString(base) {
		return true
	}
	ext := strings.TrimPrefix(path.Ext(base), ".")
	code := CodeEnds.Has(ext) && !reports.Has(ext)
	for c := range strings.SplitSeq(dir, "/") {
		if sourceDirs.Has(c) {
			return false
		}
		if outputDirs.Has(c) || !code && passingDirs.Has(c) || MadeEnds.Has(path.Ext(c)) || strings.HasPrefix(c, "cmake-build-") {
			return true
		}
	}
	return strings.Contains("/"+dir, "/bin/Debug/") || strings.Contains("/"+dir, "/bin/Release/")
}

// madeDirs and outputNames are directories that hold only what a tool makes again from the
// rest of the project. Rebuilt are some more, for which that is less sure. Below sourceDirs
// an output's name may be that of source code.
var (
	madeDirs = lazy.Words(`node_modules htmlcov .next .nuxt .svelte-kit .turbo .parcel-cache .nyc_output .venv venv
		__pycache__ .pytest_cache .mypy_cache .ruff_cache
		.tox .nox .gradle .angular .vite`)
	outputNames = lazy.Words("dist build coverage target")
	sourceDirs  = lazy.Words("src lib app internal cmd pkg test tests docs scripts")
	Rebuilt     = lazy.Words(`node_modules dist build target out coverage .next .turbo .cache .parcel-cache
		__pycache__ .pytest_cache .mypy_cache .ruff_cache .tox .nox tmp temp`)
	outputDirs = lazy.Words(`out obj _build .cache .output .terraform .dart_tool .bundle .eggs .stack-work dist-newstyle CMakeFiles .libs .deps
		autom4te.cache .ipynb_checkpoints .sass-cache .ccache .wrangler .hypothesis test-results playwright-report
		storybook-static .phpunit.cache .build DerivedData .zig-cache zig-out .bsp .metals dbt_packages`)
	reports     = lazy.Words("html htm md svg css sql log tex php") // what programs write into caches and logs, too
	passingDirs = lazy.Words("log logs cache tmp temp")
)

// madeFiles and MadeEnds are names of files that compilers and test runs leave.
var (
	madeFiles = lazy.Words(`coverage.out coverage.xml coverage.html coverage.txt coverage.json cover.out .coverage
		lcov.info cpu.out mem.out cpu.prof mem.prof .eslintcache .DS_Store`)
	MadeEnds     = lazy.Words(".o .pyc .pyo .gcda .gcno .tsbuildinfo .class .obj .egg-info")
	passingFiles = lazy.Pattern(`(?:\.(?:log|tmp|temp|pid|prof|lo|la)|-shm)$|^\.coverage\.|^\.#|~$`)
)
