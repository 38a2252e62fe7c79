package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"approvalbot/api"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/cli/reach"
	"approvalbot/internal/cli/show"
	"approvalbot/internal/config"
	"approvalbot/internal/config/effective"
	"approvalbot/internal/display"
	"approvalbot/internal/hook"
	"approvalbot/internal/hook/install"
	"approvalbot/internal/hook/live"
)

// attaching has the values of the flags of install and uninstall.
type attaching struct {
	managed, user, project bool
	beside, print, trust   bool
	silent, silentSaid     bool
	confine, confineSaid   bool
}

func newInstallCommand(a *app.App) *cobra.Command {
	var at attaching
	cmd := &cobra.Command{
		Use:   "install RUNTIME",
		Short: "Attach an agent runtime: it then asks the desk before its tool calls",
		Long: "Write a hook into the runtime's own configuration, so that it asks the desk before its tool calls, and say what stays\n" +
			"open. All else in the file stays byte by byte, a copy of it is kept, and uninstall gives that copy back. If the runtime\n" +
			"does not ask the hook yet, as Codex before it trusts it, the exit status is 1 and the reason is said. The hook uses\n" +
			"the client file of this machine (--client names another), whose token must have an agentId and the scope\n" +
			"approvals.request alone. Without a scope it is the user's file; for root it is the managed one, which changes the\n" +
			"settings of every user of the machine: install asks before, and without a terminal it needs --managed.\n" +
			"Runtimes: " + strings.Join(installable(), ", ") + ".\n" +
			"install systemd --print and install launchd --print show the file by which these run the desk itself.",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: runtimeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			if isService(args[0]) {
				return printService(a, args[0], at)
			}
			at.silentSaid, at.confineSaid = cmd.Flags().Changed("silent-allow"), cmd.Flags().Changed("confine")
			return installHooks(cmd.Context(), a, args[0], at)
		},
	}
	at.flags(cmd)
	f := cmd.Flags()
	f.BoolVar(&at.beside, "beside", false,
		"ask beside the runtime's own dialog, when it would have asked, instead of before every call")
	f.BoolVar(&at.silent, "silent-allow", false,
		"claude-code: if policy allows a call, its own rules and dialog go on, instead of the desk's allow")
	f.BoolVar(&at.confine, "confine", false,
		"claude-code on Linux: offer the desk to run commands confined (experimental, docs/confine.md); the token needs mayConfine: true")
	f.BoolVar(&at.trust, "trust", false, "codex: mark the hook as trusted, without asking first")
	return cmd
}

func newUninstallCommand(a *app.App) *cobra.Command {
	var at attaching
	cmd := &cobra.Command{
		Use:   "uninstall RUNTIME",
		Short: "Take approvalbot out of a runtime's configuration again",
		Long: "Give back the very bytes from before install. If the file was changed since, only approvalbot's part is taken out.\n" +
			"Without a scope every file that approvalbot is in is written.",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: runtimeNames,
		RunE:              func(_ *cobra.Command, args []string) error { return uninstallHooks(a, args[0], at) },
	}
	at.flags(cmd)
	return cmd
}

func (at *attaching) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&at.managed, "managed", false,
		"the machine's managed file, which only its administrator can switch off")
	f.BoolVar(&at.user, "user", false, "this user's file")
	f.BoolVar(&at.project, "project", false, "the file in the working directory, for every user who works there")
	f.BoolVar(&at.print, "print", false, "show what would be written as a diff, without writing it")
	cmd.MarkFlagsMutuallyExclusive("managed", "user", "project")
}

// installable are the runtimes that install writes for.
func installable() []string {
	return slices.DeleteFunc(hook.Names(), func(name string) bool { return len(install.Has(name)) == 0 })
}

func runtimeNames(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return installable(), cobra.ShellCompDirectiveNoFileComp
}

// scope is the one that the flags name; empty: they do not name one.
func (at attaching) scope() install.Scope {
	switch {
	case at.managed:
		return install.Managed
	case at.user:
		return install.User
	case at.project:
		return install.Project
	}
	return ""
}

// usual is the scope of install without a flag: the strongest that this user may write.
func usual(r hook.Runtime) install.Scope {
	has := install.Has(r.Name)
	if r.Managed && os.Geteuid() == 0 && slices.Contains(has, install.Managed) {
		return install.Managed
	}
	if slices.Contains(has, install.User) || len(has) == 0 {
		return install.User
	}
	return has[0]
}

// runtimeOptions are what install and uninstall are told of this machine.
func runtimeOptions(a *app.App, name string) (install.Options, error) {
	r, known := hook.Find(name)
	if !known {
		return install.Options{},
			fmt.Errorf("no runtime is called %s; known are %s", display.Escape(name), strings.Join(installable(), ", "))
	}
	dir, err := os.Getwd()
	return install.Options{
		Runtime: r, Home: a.Env["HOME"], Project: dir, OS: runtime.GOOS,
		Env: func(name string) string { return a.Env[name] }, Environ: a.Environ,
	}, err
}

// installHooks writes the hook, once its token is fit for an agent.
func installHooks(ctx context.Context, a *app.App, name string, at attaching) error {
	o, err := runtimeOptions(a, name)
	if err != nil {
		return err
	}
	o.Beside = at.beside
	if o.Scope = at.scope(); o.Scope == "" {
		o.Scope = usual(o.Runtime)
	}
	program, err := ownProgram()
	if err != nil {
		return err
	}
	o.Program = install.HookProgram(program)
	if err := chooseSilence(ctx, a, &o, at); err != nil {
		return err
	}
	if err := chooseConfine(&o, at); err != nil {
		return err
	}
	if err := agentClient(ctx, a, &o, at.print); err != nil {
		return err
	}
	changes, err := install.Plan(o)
	if err != nil {
		return err
	}
	if at.print {
		printChanges(a, changes)
		return nil
	}
	if at.scope() == "" {
		if err := agreed(ctx, a, o, changes); err != nil {
			return err
		}
	}
	if err := writeChanges(a, changes); err != nil {
		return err
	}
	client := runtimeClient(ctx, a, o)
	if err := trustCodex(ctx, a, o, client, at.trust); err != nil {
		return fmt.Errorf("the hook is written and NOT in force, so Codex runs calls without asking: %w", err)
	}
	return sayInstalled(ctx, a, o, client)
}

// chooseSilence decides whether the runtime's own rules still apply when policy allows a call: as the flag says, as
// it is installed already, or as a person at the terminal says.
func chooseSilence(ctx context.Context, a *app.App, o *install.Options, at attaching) error {
	if at.silent && !o.CanBeSilent() {
		return fmt.Errorf("--silent-allow is for claude-code without --beside: if a hook of %s gives no decision, "+
			"it is not known whether the runtime's own rules still apply", o.Runtime.Title)
	}
	before, installed := install.Find(*o)
	switch {
	case at.silentSaid || !o.CanBeSilent():
		o.Silent = at.silent
		return nil
	case installed:
		o.Silent = before.Silent
		return nil
	case at.print || !show.IsTerminal(a.Stdin), at.scope() == "" && o.Scope == install.Managed:
		return nil // no person is at the terminal, or root is asked something else
	}
	lines, _ := app.ReadLines(ctx, a.Stdin)
	answer, err := askPerson(ctx, a, lines, fmt.Sprintf("If policy allows a call, should %s still go by its own rules, "+
		"and perhaps ask you, instead of running it?", o.Runtime.Title), "no")
	o.Silent = err == nil && strings.HasPrefix(strings.ToLower(answer), "y")
	return err
}

// chooseConfine decides whether the hook offers to run commands confined: as the flag says, or as it is installed
// already.
func chooseConfine(o *install.Options, at attaching) error {
	if at.confine && !o.CanConfine() {
		return fmt.Errorf("--confine is for claude-code on Linux without --beside: no hook of %s was seen to replace a "+
			"command there", o.Runtime.Title)
	}
	before, _ := install.Find(*o)
	o.Confine = at.confine || !at.confineSaid && before.Confine && o.CanConfine()
	if o.Confine && o.Silent {
		return errors.New("--confine and --silent-allow exclude each other: no command may run beside a confined one, which the hook " +
			"can see to only for commands that its answer names. Give --silent-allow=false or --confine=false")
	}
	return nil
}

// agreed asks before it writes the machine's settings, if root runs the command without a
// scope.
func agreed(ctx context.Context, a *app.App, o install.Options, changes []install.Change) error {
	others := func(c install.Change) bool { return !c.Same() }
	if o.Scope != install.Managed || !slices.ContainsFunc(changes, others) {
		return nil
	}
	refused := fmt.Errorf("no file was written: as root, install would write %s, the settings of every user of "+
		"this machine. Confirm that with --managed, or use --user for root's own settings", o.File())
	if !show.IsTerminal(a.Stdin) {
		return refused
	}
	lines, _ := app.ReadLines(ctx, a.Stdin)
	answer, err := askPerson(ctx, a, lines, fmt.Sprintf("Write %s, for every user of this machine?", o.File()), "no")
	if err == nil && !strings.HasPrefix(strings.ToLower(answer), "y") {
		err = refused
	}
	return err
}

// uninstallHooks removes approvalbot from the files of one scope, or of all.
func uninstallHooks(a *app.App, name string, at attaching) error {
	o, err := runtimeOptions(a, name)
	if err != nil {
		return err
	}
	scopes := []install.Scope{at.scope()}
	if scopes[0] == "" {
		scopes = install.Has(o.Runtime.Name)
	}
	var changes []install.Change
	seen := map[string]bool{}
	for _, o.Scope = range scopes {
		more, err := install.Undo(o)
		if err != nil {
			return err
		}
		for _, c := range more {
			if !seen[c.Path] { // a project may be the home itself
				changes = append(changes, c)
			}
			seen[c.Path] = true
		}
	}
	if len(changes) == 0 {
		fmt.Fprintf(a.Stdout, "approvalbot is not in any file of %s.\n", o.Runtime.Title)
		return nil
	}
	if at.print {
		printChanges(a, changes)
		return nil
	}
	defer install.LeaveFolders(changes)
	return writeChanges(a, changes)
}

func printChanges(a *app.App, changes []install.Change) {
	for _, c := range changes {
		if !c.Same() {
			fmt.Fprint(a.Stdout, c.Diff())
		}
	}
}

func writeChanges(a *app.App, changes []install.Change) error {
	for _, c := range changes {
		err := c.Write()
		switch {
		case errors.Is(err, fs.ErrPermission):
			return fmt.Errorf("%w; run this as the machine's administrator (sudo)", err)
		case err != nil:
			return err
		case c.Same():
			fmt.Fprintf(a.Stdout, "%s is as it should be.\n", c.Path)
		case c.After == nil:
			fmt.Fprintf(a.Stdout, "Took %s away.\n", c.Path)
		case c.Before == nil && c.Copy() != "":
			fmt.Fprintf(a.Stdout, "Wrote %s, which was not there; %s tells that to uninstall.\n", c.Path,
				filepath.Base(c.Copy()))
		case c.Copy() != "":
			fmt.Fprintf(a.Stdout, "Wrote %s; %s keeps what it was.\n", c.Path, filepath.Base(c.Copy()))
		default:
			fmt.Fprintf(a.Stdout, "Wrote %s.\n", c.Path)
		}
	}
	return nil
}

// ownProgram is this program's file, as hooks are to call it.
func ownProgram() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// agentClient puts the client file for the hook into o. If its token may do more than an
// agent's should, it returns an error and prints the lines that mend it.
func agentClient(ctx context.Context, a *app.App, o *install.Options, unchecked bool) error {
	path, _ := a.ClientPath()
	if path == "" {
		return errors.New("the hook needs a client file: name one with --client")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	_, err = config.OpenClientFileOf(path, clientOwner(path, o.Scope))
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !(unchecked && missing) {
		if missing {
			fmt.Fprint(a.Stderr, tokenLines(o.Runtime, config.DefaultServer))
			err = fmt.Errorf("%s is not there: make run writes it, or name another client file with --client", path)
		}
		return err
	}
	o.Client = path
	if unchecked {
		return nil
	}
	a.TokenFrom = path
	file, err := renewClient(ctx, a, path, o.Scope)
	if err != nil {
		return err
	}
	desk, err := reach.Connect(file, path, nil)
	if err != nil {
		return err
	}
	info, err := desk.TokenInfo(ctx)
	if err != nil {
		return fmt.Errorf("cannot find out whether the token of %s is fit for an agent: %w", path, err)
	}
	if wrong := unfit(info); wrong != "" {
		fmt.Fprint(a.Stderr, tokenLines(o.Runtime, desk.Server))
		return fmt.Errorf("the token %s of %s %s; give the agent one of its own, as above", info.Name, path, wrong)
	}
	if o.Confine && !info.MayConfine {
		fmt.Fprintf(a.Stderr, "approvalbot: commands do not run confined yet, but ask: add mayConfine: true to the token %s "+
			"in the desk's configuration, below server.tokens\n", display.Escape(info.Name))
	}
	return nil
}

// renewClient writes the desk's keys into the hook's client file, before the token is
// sent. A desk of 0.1.0 does not publish keys: then the file stays as it is.
func renewClient(ctx context.Context, a *app.App, path string, scope install.Scope) (config.ClientFile, error) {
	file, err := config.OpenToRenew(path, scope == install.Managed && os.Geteuid() == 0)
	if err != nil {
		return config.ClientFile{}, err
	}
	defer file.Close()
	socket, of := ownSocket(ctx, a, cmp.Or(file.Server, config.DefaultServer))
	before := file.Socket
	file.Socket = cmp.Or(socket, before)
	said, err := app.RenewKeys(ctx, file, false, true)
	switch {
	case err != nil && !file.KnowsDesk():
		fmt.Fprintf(a.Stderr, "approvalbot: the desk's keys could not be written into %s, so over http any "+
			"program that answers at its server is taken for the desk: %s\n", display.Escape(path), app.Sentence(err))
		return file.ClientFile, nil
	case err != nil:
		return config.ClientFile{}, err
	case file.Socket != before:
		fmt.Fprintf(a.Stdout, "Wrote into %s the socket %s, which %s names.\n", display.Escape(path),
			display.Escape(socket), display.Escape(of))
	}
	fmt.Fprintln(a.Stdout, said)
	return file.ClientFile, nil
}

// ownSocket is the socket of this user's desk, if it runs and the server is its address, and the
// configuration that names it; empty: there is no such socket. The working directory's
// configuration does not count.
func ownSocket(ctx context.Context, a *app.App, server string) (socket, of string) {
	if of = config.FindOwn(a.Config, a.Env); of == "" {
		return "", ""
	}
	cfg, _, err := effective.Load(of, a.Environ, nil)
	if err != nil || cfg.SocketFile() == "" || !leadsTo(cfg, server) {
		return "", ""
	}
	if socket, err = filepath.Abs(cfg.SocketFile()); err != nil {
		return "", ""
	}
	conn, err := reach.DialSocket(ctx, socket)
	if err != nil {
		return "", ""
	}
	_ = conn.Close()
	return socket, of
}

// clientOwner is the user who may own the hook's client file: the one who installs; for
// the machine's managed file, which root writes, the user whose agents use it.
func clientOwner(path string, scope install.Scope) int {
	me := os.Geteuid()
	info, err := os.Stat(path)
	if err != nil || scope != install.Managed || me != 0 {
		return me
	}
	return config.OwnerOf(info)
}

// unfit says why a token is unfit for an agent; empty: it is fit.
func unfit(t api.TokenInfo) string {
	switch {
	case !slices.Contains(t.Scopes, "approvals.request"):
		return "may not ask (approvals.request)"
	case len(t.Scopes) > 1:
		return "may do more than ask (" + strings.Join(t.Scopes, ", ") +
			"): an agent that reads it would approve for itself"
	case t.AgentID == "":
		return "names no agentId, so an agent could give itself any name"
	}
	return ""
}

// tokenLines gives the lines that an operator must add to give an agent its own token.
func tokenLines(r hook.Runtime, server string) string {
	return fmt.Sprintf(`In the desk's configuration, below server.tokens, with a long random secret in the file:

    - {name: %[1]s, tokenFile: %[1]s.token, scopes: [approvals.request], agentId: %[1]s}

In a file that only the agent's user can read (chmod 600):

    server: %[2]s
    token: THE SECRET

Then: approvalbot install %[1]s --client THAT FILE

`, r.Name, server)
}

// runtimeClient is the runtime's own program on the user's PATH, as install asks it.
func runtimeClient(ctx context.Context, a *app.App, o install.Options) install.Client {
	program := live.Find(o.Runtime.Name, a.Env["PATH"])
	if program == "" {
		return install.Client{}
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	return install.Client{
		Version: live.Version(ctx, o.Runtime.Name, a.Env["PATH"]),
		Start: func(ctx context.Context, env []string, args ...string) *exec.Cmd {
			cmd := exec.CommandContext(ctx, program, args...)
			cmd.Dir, cmd.Env = o.Project, slices.Concat(a.Environ, env)
			return cmd
		},
	}
}

// trustCodex has Codex trust the hook, after asking: it skips others without a word.
// Whether it does then is for install.Doubts to say.
func trustCodex(ctx context.Context, a *app.App, o install.Options, client install.Client, sure bool) error {
	if o.Runtime.Name != "codex" || o.Scope == install.Managed || client.Start == nil {
		return nil
	}
	start := func(ctx context.Context, args ...string) *exec.Cmd { return client.Start(ctx, nil, args...) }
	hooks, err := install.CodexHooks(ctx, o, start)
	hooks = slices.DeleteFunc(hooks, func(h install.Trust) bool { return h.Trusted })
	if err != nil || len(hooks) == 0 {
		return err
	}
	if !sure {
		lines, _ := app.ReadLines(ctx, a.Stdin)
		answer, err := askPerson(ctx, a, lines, "Codex skips a hook until it is trusted. Mark this one as trusted?",
			"no")
		if err != nil || !strings.HasPrefix(strings.ToLower(answer), "y") {
			return nil
		}
	}
	return install.TrustThem(ctx, o, hooks, start)
}

// sayInstalled says whether the hook is in force, and what it does not cover. It returns
// an error if the runtime does not ask the hook.
func sayInstalled(ctx context.Context, a *app.App, o install.Options, client install.Client) error {
	open := install.Open(o)
	said := fmt.Sprintf("%s asks the desk %s. A session that already runs may go on without it: start it anew.",
		o.Runtime.Title, install.Asks(o))
	var inForce error
	for _, d := range install.Doubts(ctx, o, client) {
		switch {
		case d.Force == install.Off && inForce == nil:
			inForce = fmt.Errorf("the hook is written and NOT in force, so %s runs calls without asking: %s; %s",
				o.Runtime.Title, d.Why, d.Fix)
		case d.Force == install.NotYet:
			said = fmt.Sprintf("Not known to be in force yet: %s; %s. Then %s asks the desk %s.",
				d.Why, d.Fix, o.Runtime.Title, install.Asks(o))
		}
		if line := d.Why + "."; !slices.Contains(open, line) {
			open = append(open, line)
		}
	}
	if inForce == nil {
		fmt.Fprintf(a.Stdout, "\n%s\n", said)
	}
	if o.Scope == install.Managed {
		fmt.Fprintf(a.Stdout, "Calls of users who cannot read %s are denied: it is its owner's alone.\n", o.Client)
	}
	if len(open) > 0 {
		fmt.Fprintln(a.Stdout, "\nWhat stays open:")
		for _, line := range open {
			fmt.Fprintln(a.Stdout, "  "+line)
		}
	}
	if where := install.Sandbox(o); where != "" {
		fmt.Fprintf(a.Stdout,
			"\n%s confines commands by itself (%s). "+
				"If you rely on that, tell the desk,\nin agents.list: sandboxed: true\n",
			o.Runtime.Title, where)
	}
	if inForce != nil {
		return inForce
	}
	if triable(o) {
		fmt.Fprintf(a.Stdout, "\nTo see it allow and deny for real: approvalbot doctor --live %s\n", o.Runtime.Name)
	} else {
		fmt.Fprintln(a.Stdout, "\nTo see whether it stays in force: approvalbot doctor")
	}
	return nil
}

// triable reports whether doctor --live can try an installation: the runtime's client works without
// a person, and asks only the hook that is tried.
func triable(o install.Options) bool {
	return live.Program(o.Runtime.Name) != "" && o.Scope != install.Managed && !o.Beside
}
