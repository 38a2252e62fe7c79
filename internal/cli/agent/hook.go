package agent

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"approvalbot/api"
	"approvalbot/internal/cli/answer"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/config"
	"approvalbot/internal/hook"
)

// hookFlags are the flags of the verbs that agent runtimes start by themselves, beside the
// root command's.
type hookFlags struct {
	tokenFile string
	limit     time.Duration
	caller    int
	silent    bool
	confine   bool
}

func (f *hookFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.tokenFile, "token-file", "",
		"file that holds only the API token and that only its owner can read; an absolute path. Unlike --client, it does not say how to recognise the desk")
}

// of are the flags with the root command's.
func (f *hookFlags) of(a *app.App) answer.Flags {
	return answer.Flags{Server: a.Server, Token: a.Token, Client: a.ClientFile, TokenFile: f.tokenFile,
		Limit: f.limit, Caller: f.caller, Silent: f.silent, Confine: f.confine}
}

func newHookCommand(a *app.App) *cobra.Command {
	var f hookFlags
	cmd := &cobra.Command{
		Use:   "hook RUNTIME [EVENT]",
		Short: "Answer an agent runtime's hook, on stdin and stdout",
		Long: "Answer an agent runtime's hook, on stdin and stdout. The runtimes are\n" +
			strings.Join(answer.Runtimes(), ", ") + ".\n" +
			"Any failure is that runtime's deny, with a sentence for its model. If the request is still undecided at\n" +
			"the runtime's time limit, the deny names the approval, and the same call again takes it up.\n" +
			"--server, and --client or --token-file with an absolute path, name the desk and the token:\n" +
			"no environment variable does, and no file that is not named.",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, words []string) error {
			return ended(answer.Hook(cmd.Context(), streams(a), f.of(a), words))
		},
	}
	f.add(cmd)
	cmd.Flags().IntVar(&f.caller, "caller", 0,
		"for the shell that install writes: the process that is answered, with which the hook ends; "+
			"an answer's status is then 3")
	cmd.Flags().DurationVar(&f.limit, "limit", 0,
		"the hook's time limit in the runtime's configuration (else the runtime's default); the answer comes before it")
	cmd.Flags().BoolVar(&f.silent, "silent-allow", false,
		"claude-code PreToolUse: give no decision if policy allows, so that the runtime's own rules apply; "+
			"a person's yes allows")
	cmd.Flags().BoolVar(&f.confine, "confine", false,
		"claude-code PreToolUse: say that commands can run confined, unless settings or other hooks judge them too (experimental)")
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		words := answer.Words(a.Args[slices.Index(a.Args, "hook")+1:])
		return ended(answer.Deny(streams(a), words, fmt.Sprintf("approvalbot hook: %v", err)))
	})
	return cmd
}

// misspeltHook gives the runtime and its event of a command line that meant hook and ran
// no command at all: its exit status 1 would run the call in most runtimes.
func misspeltHook(a *app.App) []string {
	for i := 1; a.Verb == nil && i < len(a.Args); i++ {
		if _, known := hook.Find(a.Args[i]); known && config.DidYouMean(a.Args[i-1], []string{"hook"}) != "" {
			return answer.Words(a.Args[i:])
		}
	}
	return nil
}

// Answered denies in a runtime's words what failed on a command line that meant hook; any
// other error it gives back.
func Answered(a *app.App, err error) error {
	if words := misspeltHook(a); err != nil && words != nil {
		return ended(answer.Deny(streams(a), words, "approvalbot: "+a.Failure(err)))
	}
	return err
}

func streams(a *app.App) answer.Streams {
	return answer.Streams{Stdin: a.Stdin, Stdout: a.Stdout, Stderr: a.Stderr}
}

// ended is the error that ends the process with that status.
func ended(status int) error {
	if status == 0 {
		return nil
	}
	return app.ExitCode(status)
}

// streamClient is the client for a verb whose standard error people read.
func streamClient(a *app.App, f hookFlags) (*api.Client, error) {
	c, err := f.of(a).Connect()
	if err == nil && f.tokenFile != "" {
		a.WarnUnpinned(c.Server)
	}
	return c, err
}
