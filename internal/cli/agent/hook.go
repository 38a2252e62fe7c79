package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"approvalbot/api"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/config"
	"approvalbot/internal/hook"
	"approvalbot/internal/panics"
)

// parentLook is how often a hook looks whether the runtime that started it still lives.
const parentLook = time.Second

// exitAnswered is a hook's exit status, instead of 0, for the shell that install writes:
// that takes everything but this for a program that failed.
const exitAnswered = 3

// hookFlags are the flags of the verbs that agent runtimes start by themselves. Which
// desk they ask, and as whom, is in nothing that a repository can change: neither the
// environment nor the working directory has a say.
type hookFlags struct {
	tokenFile string
	limit     time.Duration
	caller    int
	silent    bool
}

func (f *hookFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.tokenFile, "token-file", "",
		"file with the API token and nothing else, its owner's alone; an absolute path. It says not by what the desk is known, as --client does")
}

func newHookCommand(a *app.App) *cobra.Command {
	var f hookFlags
	cmd := &cobra.Command{
		Use:   "hook RUNTIME [EVENT]",
		Short: "Answer an agent runtime's hook, on stdin and stdout",
		Long: "Answer an agent runtime's hook, on stdin and stdout. The runtimes are\n" +
			strings.Join(commandRuntimes(), ", ") + ".\n" +
			"Whatever goes wrong is that runtime's deny, with a sentence for its model. Where nobody decides before\n" +
			"the runtime's time limit, the deny names the approval, and the same call again takes it up.\n" +
			"Which desk is asked, and as whom, say --server, and --client or --token-file with an absolute path:\n" +
			"no environment variable does, and no file that is not named.",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, words []string) error {
			err := runHook(cmd.Context(), a, f, words)
			if err == nil && f.caller > 0 {
				return app.ExitCode(exitAnswered)
			}
			return err
		},
	}
	f.add(cmd)
	cmd.Flags().IntVar(&f.caller, "caller", 0,
		"for the shell that install writes: the process that is answered, with which the hook ends; "+
			"an answer's status is then 3")
	cmd.Flags().DurationVar(&f.limit, "limit", 0,
		"the hook's time limit in the runtime's configuration (else the runtime's default); the answer comes before it")
	cmd.Flags().BoolVar(&f.silent, "silent-allow", false,
		"claude-code PreToolUse: decide nothing where policy allows, so that the runtime's own rules go on; "+
			"a person's yes allows")
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		words := wordsOfHook(a.Args[slices.Index(a.Args, "hook")+1:])
		return answerEvent(a, hookDeny(words, fmt.Sprintf("approvalbot hook: %v", err)))
	})
	return cmd
}

// commandRuntimes are the names of the runtimes that hook answers.
func commandRuntimes() (names []string) {
	for _, rt := range hook.Runtimes() {
		if slices.ContainsFunc(rt.Events, func(e hook.Event) bool { return e.Command }) {
			names = append(names, rt.Name)
		}
	}
	return names
}

// wordsOfHook are the runtime and its event, if they are there, of a command line's words.
func wordsOfHook(args []string) (words []string) {
	var rt hook.Runtime
	for _, w := range args {
		if len(words) == 0 {
			var known bool
			if rt, known = hook.Find(w); known {
				words = []string{w}
			}
		} else if _, known := rt.Event(w); known {
			return append(words, w)
		}
	}
	return words
}

// misspeltHook gives the runtime and its event of a command line that meant hook and ran
// no command at all: its exit status 1 would run the call in most runtimes.
func misspeltHook(a *app.App) []string {
	for i := 1; a.Verb == nil && i < len(a.Args); i++ {
		if _, known := hook.Find(a.Args[i]); known && config.DidYouMean(a.Args[i-1], []string{"hook"}) != "" {
			return wordsOfHook(a.Args[i:])
		}
	}
	return nil
}

// Answered denies in a runtime's words what failed on a command line that meant hook; any
// other error it gives back.
func Answered(a *app.App, err error) error {
	if words := misspeltHook(a); err != nil && words != nil {
		return answerEvent(a, hookDeny(words, "approvalbot: "+a.Failure(err)))
	}
	return err
}

// hookDeny is the deny of what goes wrong before an event's body is known.
func hookDeny(words []string, why string) hook.Answer {
	if len(words) == 0 {
		return hook.LastResort(why)
	}
	rt, known := hook.Find(words[0])
	if !known || len(rt.Events) == 0 {
		return hook.LastResort(why)
	}
	e := rt.Events[0]
	if len(words) > 1 {
		if named, ok := rt.Event(words[1]); ok {
			e = named
		}
	}
	return e.Deny(hook.Call{}, why)
}

// runHook answers one hook.
func runHook(ctx context.Context, a *app.App, f hookFlags, words []string) (err error) {
	deny := func(format string, args ...any) error {
		return answerEvent(a, hookDeny(words, fmt.Sprintf(format, args...)))
	}
	log := slog.New(slog.NewTextHandler(a.Stderr, nil))
	broken := func() { err = deny("approvalbot hook broke down, so the call was not allowed") }
	defer panics.Catch(log, broken, "a hook caused a panic", "hook", words)
	ctx, stop := whileWanted(ctx, f.caller)
	defer stop()
	if len(words) == 0 || len(words) > 2 {
		return deny("approvalbot hook takes a runtime and perhaps an event, and was given %d words", len(words))
	}
	rt, known := hook.Find(words[0])
	switch {
	case !known:
		return deny("approvalbot hook does not know this runtime; it knows %s", strings.Join(commandRuntimes(), ", "))
	case len(rt.Events) == 0:
		return deny("approvalbot hook cannot answer %s: %s", rt.Title, rt.Traps[0])
	}
	until := rt.Limit.Until(time.Now(), f.limit)
	body, err := within(ctx, until, errStdin, func() ([]byte, error) { return readStdin(a.Stdin) })
	if err != nil {
		return deny("%s", hook.Failed(err))
	}
	e := rt.EventOf(body)
	if len(words) == 2 {
		named, known := rt.Event(words[1])
		if !known {
			why := "approvalbot hook does not know this event of " + rt.Title + "; letter case counts"
			return answerEvent(a, rt.Meant(e, body).Deny(hook.Call{}, why))
		}
		e = named
	}
	words = []string{rt.Name, e.Name}
	c, err := e.Decode(body)
	if err != nil {
		return answerEvent(a, rt.Meant(e, body).Deny(hook.Call{}, hook.Failed(err)))
	}
	desk, err := within(ctx, until, errFile, func() (*api.Client, error) { return hookClient(a, f) })
	if err != nil {
		return answerEvent(a, e.Deny(c, hook.Failed(err)))
	}
	return answerEvent(a, decideHook(ctx, desk, e, c, f.silent, until))
}

// decideHook asks the desk, or reports to it.
func decideHook(ctx context.Context, desk *api.Client, e hook.Event, c hook.Call, silent bool, until time.Time) hook.Answer {
	v := hook.Verdict{Allow: true}
	if e.Phase == hook.After {
		ctx, cancel := context.WithDeadline(ctx, until)
		defer cancel()
		v.Why = hook.Report(ctx, desk, c)
		v.Allow = v.Why == ""
	} else {
		v = hook.Ask(ctx, desk, c, until)
	}
	switch {
	case v.Allow && v.Policy && silent:
		return e.Silent(c, v.Why)
	case v.Allow:
		return e.Allow(c, v.Why)
	}
	return e.Deny(c, v.Why)
}

// answerEvent writes what a runtime reads and gives the exit status. Where nobody can read
// it, the status still denies in most of them.
func answerEvent(a *app.App, what hook.Answer) error {
	_, err := a.Stdout.Write(what.Stdout)
	if what.Stderr != "" {
		fmt.Fprintln(a.Stderr, what.Stderr)
	}
	switch {
	case err != nil:
		fmt.Fprintln(a.Stderr, "approvalbot hook: the answer could not be written, so the call was not allowed")
		return app.ExitCode(2)
	case what.Exit != 0:
		return app.ExitCode(what.Exit)
	}
	return nil
}

// whileWanted gives a context that ends when a signal says that nobody waits any more,
// or when the process that started this one, or caller (0: none), has gone without a word.
func whileWanted(ctx context.Context, caller int) (context.Context, func()) {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		parent, look := os.Getppid(), time.NewTicker(parentLook)
		defer look.Stop()
		for os.Getppid() == parent && !ended(caller) {
			select {
			case <-look.C:
			case <-ctx.Done():
				return
			}
		}
		cancel()
	}()
	return ctx, func() { cancel(); <-done; stop() }
}

// ended reports whether there is no process of that id any more.
func ended(pid int) bool {
	if pid <= 0 {
		return false
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer p.Release() // nothing but a handle
	return errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

// What becomes of a hook whose body or token cannot be read.
var (
	errStdin = errors.New("the hook's body did not come on stdin in time")
	errFile  = errors.New("the file with the token could not be read in time")
)

// readStdin reads a hook's body, all of it, since a runtime may take a closed pipe for
// a failure. What is too long keeps one byte more than a decoder takes.
func readStdin(stdin io.Reader) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(stdin, hook.MaxBody+1))
	if err == nil {
		_, err = io.Copy(io.Discard, stdin)
	}
	return body, err
}

// within gives what read gives, or late where that takes longer: read then stays behind,
// and the process ends.
func within[T any](ctx context.Context, until time.Time, late error, read func() (T, error)) (out T, err error) {
	done := make(chan struct{})
	var got T
	var gotErr error
	go func() {
		defer close(done)
		got, gotErr = read()
	}()
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	select {
	case <-done:
		return got, gotErr
	case <-ctx.Done():
		return out, late
	}
}

// streamClient is hookClient for a verb whose standard error people read.
func streamClient(a *app.App, f hookFlags) (*api.Client, error) {
	c, err := hookClient(a, f)
	if err == nil && f.tokenFile != "" {
		a.WarnUnpinned(c.Server)
	}
	return c, err
}

// hookClient makes the client of a verb that a runtime starts, from its flags alone.
func hookClient(a *app.App, f hookFlags) (*api.Client, error) {
	server, token := a.Server, ""
	switch {
	case a.Token != "":
		return nil,
			errors.New("--token shows in the list of processes: give the absolute path of a file with --token-file")
	case f.tokenFile != "" && a.ClientFile != "":
		return nil, errors.New("--token-file and --client exclude each other")
	case f.tokenFile != "":
		text, err := readNamed("--token-file", f.tokenFile)
		if err != nil {
			return nil, err
		}
		if server == "" {
			server = config.DefaultServer
		}
		token = strings.TrimSpace(string(text))
	case a.ClientFile != "":
		if !filepath.IsAbs(a.ClientFile) {
			return nil, errors.New("--client must be an absolute path: the working directory is whoever's")
		}
		file, err := config.OpenClientFile(a.ClientFile)
		if err != nil {
			return nil, err
		}
		if server != "" && server != file.Server {
			return nil, errors.New("--server names another desk than the client file, whose token is for that alone")
		}
		if file.Token == "" || file.Server == "" {
			return nil, errNoToken
		}
		return app.Connect(file, a.ClientFile, hookTransport())
	default:
		return nil, errors.New("no desk is named: give --token-file or --client with an absolute path")
	}
	if token == "" {
		return nil, errNoToken
	}
	return &api.Client{Server: server, Token: token, HTTP: &http.Client{Transport: hookTransport(),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}, nil
}

var errNoToken = errors.New("the file that was named has no token, or no server")

// hookTransport takes nothing from the environment, which a repository's settings can set
// for what its agent starts: no proxy and no certificates.
func hookTransport() *http.Transport {
	_, _ = os.Unsetenv("SSL_CERT_FILE"), os.Unsetenv("SSL_CERT_DIR")
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil
	transport.Protocols = &http.Protocols{} // GODEBUG can have version 2 print its headers, and so the token
	transport.Protocols.SetHTTP1(true)
	return transport
}

// readNamed reads a file with a token that a flag names by its absolute path.
func readNamed(flag, path string) ([]byte, error) {
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("%s must be an absolute path: the working directory is whoever's", flag)
	}
	return config.ReadOwn(path)
}
