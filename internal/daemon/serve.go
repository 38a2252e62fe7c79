package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/lmittmann/tint"
	"golang.org/x/term"

	"approvalbot/internal/config"
	"approvalbot/internal/config/effective"
	"approvalbot/internal/config/local"
	"approvalbot/internal/progress"
	"approvalbot/proof"
)

// Start is what a desk is served with.
type Start struct {
	Config  string   // path of the configuration; empty: looked for
	Environ []string // NAME=value
	Local   bool     // the configuration is one that serve --local generates
	Version string
	Stdout  io.Writer // gets what to do next, with Local
	Stderr  io.Writer // gets the log
}

// Serve loads the configuration and runs the desk until ctx ends.
func Serve(ctx context.Context, s Start) error {
	log := newLogger(s.Stderr)
	load := func() (config.Config, []config.Warning, error) {
		return effective.Load(s.Config, s.Environ, nil, effective.KeyFolder)
	}
	cfg, warnings, err := load()
	if err != nil {
		return err
	}
	for _, w := range warnings {
		if !s.Local || !noChat(cfg, w) { // the lines that follow say it in words
			log.Warn(w.String())
		}
	}
	o := Options{Version: s.Version, Log: log, Load: load}
	if s.Local {
		o.Local = &local.File{Dir: filepath.Dir(cfg.File), Env: config.NewEnviron(s.Environ)}
	}
	if s.Local && isTerminal(s.Stdout) {
		o.Terminal = s.Stdout
	}
	ln, err := Listen(cfg.Server)
	if err != nil {
		return err
	}
	if ln.Lost != nil {
		log.Error("this desk has no pages and makes no sign-in links", "reason", ln.Lost)
		cfg.Server.Web.Enabled = "false"
	}
	o.Opening = progress.Start(s.Stderr, isTerminal(s.Stderr), "opening the store")
	d, err := New(ctx, cfg, o)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	if cfg.Approvals.Enabled() && cfg.ApprovalTools().Policy.ProjectCode != "ask" {
		log.Info("agents may run the workspace's tests and builds without asking; to ask people, set " +
			"approvals.tools.policy.projectCode: ask")
	}
	log.Info("the desk is open", "listen", ln.Addr().String(), "store", storeName(cfg.Store.URL), "policy",
		d.Gate.Rules().Policy.Hash()[:12], "version", s.Version)
	if s.Local {
		here := cfg
		here.Server.Listen = ln.Addr().String() // the environment may name another address, or port 0
		files, ok := local.FindClientFiles(filepath.Dir(s.Config), config.NewEnviron(s.Environ), cfg.HasToken)
		if ok {
			err = files.Point(clientDesk(here, d.Auditor.DeskKeys()), cfg.TokenName)
		}
		if err != nil {
			return errors.Join(err, ln.Close(), d.Store.Close())
		}
		fmt.Fprint(s.Stdout, local.Hints(here, files, o.Local))
	} else if files := local.DeskFiles.In(filepath.Dir(cfg.File)); files.Of(cfg.HasToken) { // init's
		own := clientDesk(cfg, d.Auditor.DeskKeys())
		own.Server = "" // its operator's
		if err := files.Point(own, cfg.TokenName); err != nil {
			log.Warn("could not write this desk's keys into the client files beside the configuration; programs that use "+
				"these files may not recognise the desk", "path", filepath.Dir(cfg.File), "error", err)
		}
	}
	keepHeapFloor(config.NewEnviron(s.Environ)["GOGC"])
	if err := d.Run(ctx, ln); err != nil {
		return err
	}
	log.Info("the desk is closed; pending approvals are still pending at the next start")
	return nil
}

// noChat reports a warning about a chat that is off because it has no token.
func noChat(cfg config.Config, w config.Warning) bool {
	on := false
	for name, bot := range cfg.Channels.Bots {
		if on = on || bot.On(); !bot.On() && w.Key == "channels."+name+".botToken" {
			return true
		}
	}
	return !on && w.Key == "approvals.tools.routing.targets"
}

// clientDesk is the desk's part of the client files on this machine.
func clientDesk(cfg config.Config, keys []proof.DeskKey) config.ClientDesk {
	out := config.ClientDesk{Server: cfg.LocalURL()}
	if path := cfg.SocketFile(); path != "" {
		out.Socket, _ = filepath.Abs(path) // the path is empty without a working directory
	}
	for _, k := range keys {
		out.DeskKeys = append(out.DeskKeys, config.DeskKey(k))
	}
	return out
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// newLogger writes for people on a terminal and JSON otherwise.
func newLogger(w io.Writer) *slog.Logger {
	if isTerminal(w) {
		return slog.New(tint.NewTextHandler(w, &tint.Options{TimeFormat: "15:04:05"}))
	}
	return slog.New(slog.NewJSONHandler(w, nil))
}
