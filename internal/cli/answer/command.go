package answer

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"approvalbot/internal/confine"
)

const usage = `approvalbot-hook RUNTIME [EVENT] [flags] answers an agent runtime's hook
as approvalbot hook does, and starts faster.
Its flags are --server, --client, --token-file, --limit, --caller, --silent-allow and --confine, as approvalbot hook --help explains them.
`

// Main is the program approvalbot-hook.
func Main() {
	if confine.Overlaying(os.Args) {
		os.Exit(confine.Overlay(os.Args))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := Command(ctx, os.Args[1:], Streams{os.Stdin, os.Stdout, os.Stderr})
	stop()
	os.Exit(code)
}

// Command answers the hook of a command line and gives the exit status. Flags are those of approvalbot hook,
// before, between and behind the words.
func Command(ctx context.Context, args []string, s Streams) int {
	if len(args) > 0 && args[0] == "confine" {
		return runConfined(ctx, args[1:], s)
	}
	if len(args) > 0 && args[0] == "beside" {
		return Beside(ctx, s, args[1:])
	}
	var f Flags
	set := flag.NewFlagSet("approvalbot-hook", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.StringVar(&f.Server, "server", "", "")
	set.StringVar(&f.Token, "token", "", "")
	set.StringVar(&f.Client, "client", "", "")
	set.StringVar(&f.TokenFile, "token-file", "", "")
	set.DurationVar(&f.Limit, "limit", 0, "")
	set.IntVar(&f.Caller, "caller", 0, "")
	set.BoolVar(&f.Silent, "silent-allow", false, "")
	set.BoolVar(&f.Confine, "confine", false, "")
	set.Bool("json", false, "")  // which approvalbot hook takes, too, and does not use
	set.String("config", "", "") // likewise
	var words []string
	for rest := args; ; words, rest = append(words, rest[0]), rest[1:] {
		err := set.Parse(rest)
		switch {
		case errors.Is(err, flag.ErrHelp) && len(Words(args)) == 0: // with a runtime it is a hook, and no answer would be a yes
			fmt.Fprint(s.Stdout, usage)
			return 0
		case err != nil:
			return Deny(s, Words(args), fmt.Sprintf("approvalbot hook: %v", err))
		}
		if rest = set.Args(); len(rest) == 0 {
			return Hook(ctx, s, f, words)
		}
	}
}
