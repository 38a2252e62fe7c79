package shell

import (
	"strings"
	"sync"

	"approvalbot/internal/lazy"
)

// Settings are the variables of programs that a line may set, with patterns that their
// values must match as a whole; nil lets any value pass. Shells and their builtins do not
// look at them, except for the locales. Policy checks the values, and the grammar takes
// only the names. If some value of a variable decides what runs, its pattern here admits
// only the other values.
var Settings = sync.OnceValue(func() map[string]*lazy.Regexp {
	m := map[string]*lazy.Regexp{}
	for values, names := range map[string]string{
		"": `CI GOOS GOARCH CGO_ENABLED GOMAXPROCS GOTRACEBACK RUST_BACKTRACE RUST_LOG LOG_LEVEL VERBOSE NODE_ENV NO_COLOR FORCE_COLOR CLICOLOR PYTHONHASHSEED PYTHONUNBUFFERED
			PYTHONDONTWRITEBYTECODE DEBIAN_FRONTEND`,
		`$.`: "PYTHONPATH", // its directories are judged by themselves
		// Some values are part of a path if they are not a plain name.
		`[A-Za-z0-9_.@:,+-]*(?:[A-Za-z0-9]/[A-Za-z0-9_+-]+)*`: "LANG LC_ALL LC_CTYPE LC_COLLATE LC_MESSAGES LC_NUMERIC LC_TIME LANGUAGE TZ TERM",
		`(?i)|0|1|true|false|yes|no|on|off`: `DEBUG UPDATE_GOLDEN UPDATE_GOLDENS UPDATE_SNAPSHOT UPDATE_SNAPSHOTS UPDATE_EXPECT UPDATE_BASELINE GOLDEN_UPDATE BLESS COVERAGE HEADLESS FAIL_FAST TEST_VERBOSE
			INTEGRATION RUN_INTEGRATION RUN_SLOW SKIP_INTEGRATION SKIP_SLOW SKIP_E2E PARALLEL QUIET DRY_RUN CLICOLOR_FORCE PY_COLORS INSTA_FORCE_PASS CARGO_INCREMENTAL CARGO_NET_OFFLINE
			DO_NOT_TRACK NEXT_TELEMETRY_DISABLED TURBO_TELEMETRY_DISABLED ASTRO_TELEMETRY_DISABLED DOTNET_CLI_TELEMETRY_OPTOUT DOTNET_NOLOGO CHECKPOINT_DISABLE TF_IN_AUTOMATION TF_INPUT
			HOMEBREW_NO_AUTO_UPDATE HOMEBREW_NO_ANALYTICS PIP_DISABLE_PIP_VERSION_CHECK PIP_NO_INPUT POETRY_NO_INTERACTION UV_FROZEN UV_OFFLINE UV_NO_PROGRESS NO_UPDATE_NOTIFIER
			PYTHONUTF8 PYTHONNOUSERSITE PYTHONFAULTHANDLER PYTHONASYNCIODEBUG PYTEST_DISABLE_PLUGIN_AUTOLOAD TOKENIZERS_PARALLELISM DOCKER_BUILDKIT GIT_TERMINAL_PROMPT
			BUNDLE_FROZEN BUNDLE_DEPLOYMENT
			PUPPETEER_SKIP_DOWNLOAD PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD CYPRESS_INSTALL_BINARY DISABLE_SPRING SKIP_ENV_VALIDATION`,
		`[0-9]+`: `PORT TEST_PORT RUST_TEST_THREADS RUST_MIN_STACK CARGO_BUILD_JOBS MAKE_JOBS JOBS SEED TEST_SEED RETRIES SOURCE_DATE_EPOCH MALLOC_ARENA_MAX OMP_NUM_THREADS MKL_NUM_THREADS
			OPENBLAS_NUM_THREADS TF_CPP_MIN_LOG_LEVEL PYTHONOPTIMIZE PARALLEL_WORKERS CMAKE_BUILD_PARALLEL_LEVEL CTEST_PARALLEL_LEVEL CTEST_OUTPUT_ON_FAILURE UV_CONCURRENT_BUILDS BUNDLE_JOBS BUNDLE_RETRY`,
		// Never production.
		`test|tests|testing|development|dev|ci|local`: "RAILS_ENV RACK_ENV MIX_ENV APP_ENV HANAMI_ENV FLASK_ENV SYMFONY_ENV BABEL_ENV HYPOTHESIS_PROFILE",
		`(?i)trace|debug|info|warn|warning|error|off`: "LOGLEVEL RUST_LOG_STYLE TEST_LOG_LEVEL",
		`(?:[a-z][a-z0-9_]*\.)*(?:tests?_)?settings(?:_(?:tests?|testing|ci|dev|development|local)|\.(?:tests?|testing|ci|dev|development|local|base|sqlite))?`: "DJANGO_SETTINGS_MODULE",
		// Sizes of memory only: other options load agents and run commands.
		`(?:-X(?:mx|ms|ss)[0-9]+[kKmMgG]?(?: |$))+`: "JAVA_OPTS MAVEN_OPTS GRADLE_OPTS SBT_OPTS",
		`(?:--(?:max[-_]old[-_]space[-_]size=[0-9]+|no-warnings|no-deprecation|enable-source-maps|experimental-vm-modules|trace-warnings|trace-deprecation|trace-uncaught|stack-trace-limit=[0-9]+)(?: |$))+`: "NODE_OPTIONS",
		`(?:-[DAW] ?[a-z_]+(?:::[a-z_]+)?(?: |$))+`: "RUSTFLAGS RUSTDOCFLAGS", // lints
		// What they write, read or run is named by other keys: log_path, suppressions, external_symbolizer_path, include.
		`(?:(?:detect_leaks|detect_odr_violation|detect_stack_use_after_return|detect_deadlocks|detect_container_overflow|halt_on_error|abort_on_error|exitcode|print_stacktrace|print_stats|print_legend` +
			`|print_summary|symbolize|color|verbosity|strict_string_checks|strict_init_order|check_initialization_order|allocator_may_return_null|second_deadlock_stack|history_size|handle_abort|handle_segv` +
			`|malloc_context_size|fast_unwind_on_malloc|disable_coredump|use_sigaltstack|alloc_dealloc_mismatch|new_delete_type_mismatch|report_signal_unsafe|poison_in_dtor|report_error_type|leak_check_at_exit` +
			`|max_leaks|use_unaligned|silence_unsigned_overflow)=-?[a-z0-9]+(?:[:, ]|$))+`: "ASAN_OPTIONS UBSAN_OPTIONS TSAN_OPTIONS LSAN_OPTIONS MSAN_OPTIONS",
		`never|always|auto`:               "CARGO_TERM_COLOR",
		`no|always|auto|new|unseen|force`: "INSTA_UPDATE",
		`on|off|auto`:                     "GO111MODULE",
		`off`:                             "GOWORK GOTELEMETRY",
		`off|[0-9]+`:                      "GOGC",
		`local`:                           "GOTOOLCHAIN",
		`off|[0-9]+(?:[KMGT]i)?B?`:        "GOMEMLIMIT",
		`(?:(?:gctrace|schedtrace|scheddetail|inittrace)=[0-9]+(?:,|$))+`:         "GODEBUG",
		`(?:error|ignore|default|always|once|module)(?:::[A-Z][a-zA-Z]*Warning)?`: "PYTHONWARNINGS",
		`utf-?8`:              "PYTHONIOENCODING",
		`[0-9]+(?:,[0-9]+)*|`: "CUDA_VISIBLE_DEVICES",
		`[0-9]+(?:\.[0-9]+)*`: "MACOSX_DEPLOYMENT_TARGET IPHONEOS_DEPLOYMENT_TARGET",
		`plain|auto|tty`:      "BUILDKIT_PROGRESS",
		`dots|dots-v2|pkgname|testname|testdox|standard-quiet|standard-verbose|short|short-verbose`: "GOTESTSUM_FORMAT",
		`[a-z]{2}(?:-[a-z]+)+-[0-9]`: "AWS_REGION AWS_DEFAULT_REGION",
		`(?:cat)?`:                   "PAGER GIT_PAGER GH_PAGER AWS_PAGER SYSTEMD_PAGER",
	} {
		var re *lazy.Regexp
		if values != "" {
			re = lazy.Pattern(`^(?:` + values + `)$`)
		}
		for name := range strings.FieldsSeq(names) {
			m[name] = re
		}
	}
	return m
})

// Sets reports a setting that may have such a value.
func Sets(name, value string) bool {
	re, ok := Settings()[name]
	if re == nil {
		return ok
	}
	return !strings.Contains(value, "..") && re.MatchString(value)
}

// settable reports the name of one of [Settings].
func settable(name string) bool { _, ok := Settings()[name]; return ok }
