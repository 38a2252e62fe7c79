package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/lmittmann/tint"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"approvalbot/config"
	"approvalbot/config/effective"
	"approvalbot/config/local"
)

// newServeCommand is the bot process.
func newServeCommand(a *app) *cobra.Command {
	var localDir string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the desk",
		Long: "Run the desk until it is told to stop. Approvals that are pending stay pending: the next start goes on with them.\n" +
			"With --local DIR it writes what it needs into DIR first: tokens and client files, if they are not there, and a\n" +
			"configuration, anew at every start until that is edited.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, env := a.config, a.environ
			if localDir != "" {
				if path != "" {
					return errors.New("--local writes its own configuration; leave --config away")
				}
				var err error
				if path, err = local.Prepare(localDir, a.env); err != nil {
					return err
				}
			}
			return serve(cmd.Context(), path, env, localDir, a.stdout, a.stderr)
		},
	}
	cmd.Flags().StringVar(&localDir, "local", "", "directory for a generated configuration")
	return cmd
}

// serve loads the configuration and runs the desk until ctx ends.
func serve(ctx context.Context, path string, env []string, localDir string, stdout, stderr io.Writer) error {
	log := newLogger(stderr)
	load := func() (config.Config, []config.Warning, error) {
		return effective.Load(path, env, nil, effective.KeyFolder)
	}
	cfg, warnings, err := load()
	if err != nil {
		return err
	}
	for _, w := range warnings {
		log.Warn(w.String())
	}
	d, err := newDesk(ctx, cfg, load, log)
	if err != nil {
		return err
	}
	if localDir != "" {
		d.local = &local.File{Dir: filepath.Dir(cfg.File), Env: config.NewEnviron(env)}
	}
	ln, err := d.listen()
	if err != nil {
		return errors.Join(err, d.store.Close())
	}
	if cfg.Approvals.Enabled() && cfg.ApprovalTools().Policy.ProjectCode != "ask" {
		log.Info("tests and builds run the workspace's own code unasked; approvals.tools.policy.projectCode: ask asks people")
	}
	log.Info("the desk is open", "listen", ln.Addr().String(), "store", storeName(cfg.Store.URL), "policy", d.gate.Rules().Policy.Hash()[:12], "version", version)
	if localDir != "" {
		here := cfg
		here.Server.Listen = ln.Addr().String() // the environment may name another address, or port 0
		files, ok := local.FindClientFiles(filepath.Dir(path), config.NewEnviron(env), cfg.HasToken)
		if ok {
			err = files.Point(here.LocalURL())
		}
		if err != nil {
			return errors.Join(err, ln.Close(), d.store.Close())
		}
		fmt.Fprint(stdout, local.Hints(here, files, d.local))
	}
	if err := d.Run(ctx, ln); err != nil {
		return err
	}
	log.Info("the desk is closed; what was pending is still pending at the next start")
	return nil
}

// newLogger writes for people on a terminal and JSON otherwise.
func newLogger(w io.Writer) *slog.Logger {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return slog.New(tint.NewTextHandler(w, &tint.Options{TimeFormat: "15:04:05"}))
	}
	return slog.New(slog.NewJSONHandler(w, nil))
}
