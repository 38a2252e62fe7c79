package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"

	"approvalbot/api"
	"approvalbot/internal/cli/reach"
	"approvalbot/internal/config"
	"approvalbot/internal/config/local"
	"approvalbot/internal/display"
)

// readClientFile reads the client file: the one that --client or APPROVALBOT_CLIENT
// names, else client.yaml in the user's configuration directory. A file in the
// working directory is never read: anyone who can write there could choose the desk
// for the asker. Without a file the result is empty.
func (a *App) readClientFile() (config.ClientFile, string, error) {
	path, named := a.ClientPath()
	if path == "" {
		return config.ClientFile{}, "", nil
	}
	file, err := config.OpenClientFile(path)
	if !named && errors.Is(err, fs.ErrNotExist) {
		return config.ClientFile{}, "", nil
	}
	return file, path, err
}

// ClientPath gives the path of the client file, and whether a flag or the
// environment named it.
func (a *App) ClientPath() (path string, named bool) {
	for _, path := range []string{a.ClientFile, a.Env["APPROVALBOT_CLIENT"]} {
		if path != "" {
			return path, true
		}
	}
	if dir := config.Home(a.Env); dir != "" {
		return filepath.Join(dir, local.HomeFiles.Client), false
	}
	return "", false
}

// Client makes the API client for a verb: flags, then environment, then the client
// file. --client goes before the environment. A token from a file goes to the file's
// own server only.
func (a *App) Client() (*api.Client, error) {
	server, token := a.Server, a.Token
	if a.ClientFile == "" {
		server, token = cmp.Or(server, a.Env["APPROVALBOT_SERVER"]), cmp.Or(token, a.Env["APPROVALBOT_TOKEN"])
	}
	if a.Token == "" && token != "" {
		a.TokenFrom = "APPROVALBOT_TOKEN"
	}
	if server != "" && token != "" {
		a.WarnUnpinned(server)
		return &api.Client{Server: server, Token: token}, nil
	}
	file, path, err := a.readClientFile()
	if err != nil {
		return nil, err
	}
	if server == "" || server == file.Server {
		defer a.warnUnknownDesk(file, path)
	}
	if token == "" {
		if server != "" && file.Server != server && path != "" {
			return nil, fmt.Errorf("there is no token for %s, because %s is for another server; give a token with "+
				"--token or APPROVALBOT_TOKEN", server, path)
		}
		a.TokenFrom, token = path, string(file.Token)
	}
	if token == "" {
		return nil, errors.New("no API token: name a client file with --client or APPROVALBOT_CLIENT, " +
			"or give a token with --token or APPROVALBOT_TOKEN; make run prints lines that do")
	}
	if path == "" || server != "" && server != file.Server {
		server = cmp.Or(server, config.DefaultServer)
		a.WarnUnpinned(server)
		return &api.Client{Server: server, Token: token}, nil
	}
	if string(file.Token) != token {
		file.Owner = "" // it is the name of the file's own
	}
	file.Token, a.plainTCP = config.Secret(token), file.PlainTCP && len(file.DeskKeys) > 0
	return reach.Connect(file, path, nil)
}

// warnUnknownDesk tells a person once that their client file is one of 0.1.0.
func (a *App) warnUnknownDesk(file config.ClientFile, path string) {
	if path == "" || a.warned || file.KnowsDesk() || a.JSON {
		return
	}
	a.warned = true
	fmt.Fprintf(a.Stderr, "approvalbot: %s has no deskKeys, so any program that answers at its server is taken for the desk; "+
		"write them with: %s\n", display.Escape(path), reach.TrustLine(path))
}

// WarnUnpinned tells a person once that a token without a client file goes to anything that
// answers at an http server.
func (a *App) WarnUnpinned(server string) {
	at, err := url.Parse(server)
	if err != nil || at.Scheme != "http" || a.warned || a.JSON {
		return
	}
	a.warned = true
	fmt.Fprintf(a.Stderr, "approvalbot: without a client file the desk cannot be recognised, so any program that "+
		"answers at %s is taken for it; write server and token into a file of yours, and use --client\n", display.Escape(at.Host))
}

// Desk makes the API client for a verb about approvals, and returns an error if they
// are disabled or the desk cannot be reached. The desk itself refuses requests only,
// so that programs can still read what is on record; people are told.
func (a *App) Desk(ctx context.Context) (*api.Client, error) {
	c, err := a.Client()
	if err != nil {
		return nil, err
	}
	return c, InForce(ctx, c)
}

// InForce is errDisabled if the desk's approvals are disabled. If the desk answers
// without its state, the next request shows the problem.
func InForce(ctx context.Context, c *api.Client) error {
	state, err := c.Ready(ctx)
	var refused *api.Problem
	switch {
	case state.Policy == api.PolicyDisabled:
		return ErrDisabled
	case errors.As(err, &refused):
		return nil
	}
	return err
}
