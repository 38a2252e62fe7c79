package setup

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/cli/reach"
	"approvalbot/internal/cli/show"
	"approvalbot/internal/config"
	"approvalbot/internal/hook/install"
)

// hooksFindings looks at every installation of a runtime's hook that this user meets here.
func hooksFindings(ctx context.Context, a *app.App, cfg *config.Config, offline bool) []core.Diagnostic {
	var looks []func() []core.Diagnostic
	for _, name := range installable() {
		for _, o := range installations(a, name) {
			looks = append(looks, func() []core.Diagnostic {
				found, _ := installationFindings(ctx, a, o, cfg, offline)
				return found
			})
		}
	}
	return core.Gather(looksAtOnce, looks...)
}

// installations are the scopes in which a runtime's files have approvalbot's hook, strongest
// first, with the options that wrote it.
func installations(a *app.App, name string) []install.Options {
	o, err := runtimeOptions(a, name)
	if err != nil {
		return nil
	}
	var out []install.Options
	for _, o.Scope = range install.Has(o.Runtime.Name) {
		found, ok := install.Find(o)
		same := func(other install.Options) bool { return other.File() == found.File() } // the home itself as a project
		if ok && !slices.ContainsFunc(out, same) {
			out = append(out, found)
		}
	}
	return out
}

// installationFindings says of one installation whether it is in force, and of its desk
// whether it answers. fit is false if a client cannot be tried with it.
func installationFindings(
	ctx context.Context, a *app.App, o install.Options, cfg *config.Config, offline bool,
) (found []core.Diagnostic, fit bool) {
	what := fmt.Sprintf("hook %s (%s)", o.Runtime.Name, o.Scope)
	file, fileErr := config.OpenClientFileOf(o.Client, clientOwner(o.Client, o.Scope))
	client := runtimeClient(ctx, a, o)
	doubts := install.Doubts(ctx, o, client)
	some := func(f install.Force) bool {
		return slices.ContainsFunc(doubts, func(d install.Doubt) bool { return d.Force == f })
	}
	fit = !some(install.Off)
	switch {
	case fit && some(install.NotYet):
		found = append(found, core.OK(what, o.File()+" is as install writes it"))
	case fit:
		found = append(found, core.OK(what, o.File()+" is as install writes it and in force: it asks "+install.Asks(o)))
	}
	for _, d := range doubts {
		level := core.Warn
		if d.Force == install.Off {
			level = core.Fail
		}
		found = append(found, level(what, d.Why, d.Fix))
	}
	if at := install.Loaded(o.File()); at != "" {
		found = append(found, core.OK(what, "it last loaded its plugin at "+at))
	}
	if client.Version != "" {
		found = append(found, core.OK(what, "its client is "+o.Runtime.Title+" "+client.Version))
	}
	if o.Program != "" {
		program := programFinding(what, o)
		fit = fit && program.Level != core.LevelFail
		found = append(found, program)
	}
	return append(found, deskFindings(ctx, what, o, file, fileErr, cfg, offline)...), fit
}

// programFinding says whether the program that a hook calls is this one, or its small one beside it. The program is
// not started, because a file in a repository may name any program.
func programFinding(what string, o install.Options) core.Diagnostic {
	again := fmt.Sprintf("run: approvalbot install %s --%s", o.Runtime.Name, o.Scope)
	mine, err := ownProgram()
	if err != nil {
		return core.Fail(what, oneLine(err), "")
	}
	own, _ := os.Stat(mine)
	info, err := os.Stat(o.Program)
	switch {
	case err != nil:
		return core.Fail(what, "its program is gone, so every call is denied: "+oneLine(err), again)
	case !info.Mode().IsRegular() || runtime.GOOS != "windows" && info.Mode()&0o111 == 0:
		return core.Fail(what, "its program "+o.Program+" cannot be executed, so every call is denied", again)
	case os.SameFile(own, info):
		return core.OK(what, "its program "+o.Program+" is this one")
	}
	if small, err := os.Stat(install.HookProgram(mine)); err == nil && os.SameFile(small, info) && isApprovalbot(o.Program) {
		return core.OK(what, "its program "+o.Program+" is the one beside this")
	}
	if !isApprovalbot(o.Program) || o.Scope == install.Project {
		return core.Fail(what, "its program "+o.Program+" is not this one, so doctor cannot know what it "+
			"answers", again)
	}
	return core.Warn(what, "its program "+o.Program+" is a different file of approvalbot from this one", again)
}

// isApprovalbot reports whether a file says of itself that it was built from this
// project, as Go writes it into each program (debug/buildinfo would be half a megabyte).
func isApprovalbot(path string) bool {
	text, err := os.ReadFile(path)
	return err == nil && (bytes.Contains(text, []byte("path\tapprovalbot/cmd/approvalbot\n")) ||
		bytes.Contains(text, []byte("path\tapprovalbot/cmd/approvalbot-hook\n")))
}

// deskFindings says whether the desk of a hook's client file answers and takes its token,
// and when it was last asked. The token goes to no other desk than the configuration's.
func deskFindings(
	ctx context.Context, what string, o install.Options, file config.ClientFile, fileErr error, cfg *config.Config,
	offline bool,
) []core.Diagnostic {
	server := cmp.Or(file.Server, config.DefaultServer)
	again := fmt.Sprintf("run: approvalbot install %s --%s --client FILE", o.Runtime.Name, o.Scope)
	switch {
	case o.Client == "":
		return []core.Diagnostic{core.Fail(what, "it names no client file", again)}
	case errors.Is(fileErr, fs.ErrPermission) && o.Scope == install.Managed:
		return []core.Diagnostic{core.Warn(what, o.Client+" belongs to another user, so your calls are denied",
			"run doctor as that user")}
	case fileErr != nil:
		return []core.Diagnostic{core.Fail(what, "its client file cannot be used, so every call is denied: "+oneLine(fileErr),
			again)}
	case cfg != nil && !leadsTo(*cfg, server):
		return []core.Diagnostic{core.Fail(what, fmt.Sprintf("%s names the desk %s, and that of %s is %s",
			o.Client, server, cfg.File, cfg.LocalURL()), "correct server there, or give that address as server.publicUrl")}
	case offline:
		return []core.Diagnostic{core.OK(what, o.Client+" names the desk "+server+", its owner's alone")}
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	found, known := deskKeyFindings(ctx, what, file, o.Client)
	if !known {
		return found // the token goes to no other desk
	}
	desk, err := reach.Connect(file, o.Client, nil)
	if err != nil {
		return append(found, core.Fail(what, oneLine(err), again))
	}
	info, err := desk.TokenInfo(ctx)
	switch {
	case errors.Is(err, api.ErrNotReached):
		return append(found, core.Fail(what, fmt.Sprintf("the desk %s of %s was not reached, so every call is denied",
			server, o.Client), "start it, or correct server there"))
	case err != nil:
		return append(found, core.Fail(what, fmt.Sprintf(
			"the desk of %s does not take its token, so every call is denied: %s", o.Client, oneLine(err)), "set "+
			"server and token there to those of a running desk"))
	}
	if wrong := unfit(info); wrong != "" {
		return append(found, core.Fail(what, fmt.Sprintf("the token %s of %s %s", info.Name, o.Client, wrong), again))
	}
	if file.Owner != "" && file.Owner != info.Name {
		found = append(found, core.Fail(what, fmt.Sprintf("owner in %s is not %s, as the desk calls its token, so every allow "+
			"is refused", o.Client, info.Name), "correct owner there, if only the desk answers at "+server))
	}
	found = append(found, core.OK(what, fmt.Sprintf("%s names the desk %s, which takes its token %s",
		o.Client, server, info.Name)))
	switch newest, err := desk.List(ctx, api.Filter{Limit: 1}); {
	case err != nil:
		return append(found, core.Warn(what, "cannot find out when the hook last asked: "+oneLine(err), ""))
	case len(newest.Items) == 0:
		return append(found, core.Warn(what, "no call was ever asked with the token "+info.Name,
			"start the client and let it run a command"))
	default:
		return append(found, core.OK(what, "the token "+info.Name+" last asked at "+show.When(newest.Items[0].CreatedAtMs)))
	}
}

// leadsTo reports whether an address is that of the configuration's desk: its public one, or
// its port on an address of this machine that it listens on.
func leadsTo(cfg config.Config, server string) bool {
	at, err := url.Parse(server)
	if err != nil {
		return false
	}
	if strings.TrimRight(server, "/") == strings.TrimRight(cfg.Server.PublicURL, "/") {
		return true
	}
	own, err := url.Parse(cfg.LocalURL())
	if err != nil || at.Scheme != own.Scheme || at.Port() != own.Port() {
		return false
	}
	host := at.Hostname()
	listen, _, _ := net.SplitHostPort(cfg.Server.Listen)
	if ip := net.ParseIP(listen); listen == "" || ip != nil && ip.IsUnspecified() {
		return config.Loopback(host) || isThisMachine(net.ParseIP(host))
	}
	local := func(host string) bool { return host == "localhost" || host == "127.0.0.1" } // ::1 may be another user's
	return host == own.Hostname() || local(host) && local(own.Hostname())
}

// isThisMachine reports whether an address is one of this machine's.
func isThisMachine(ip net.IP) bool {
	own, err := net.InterfaceAddrs()
	return err == nil && ip != nil && slices.ContainsFunc(own, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		return ok && n.IP.Equal(ip)
	})
}
