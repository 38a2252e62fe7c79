package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"approvalbot/internal/cli/reach"
	"approvalbot/internal/config"
	"approvalbot/internal/display"
)

// TrustDesk writes the keys of the client file's desk into that file and says on a line
// what was done. Without replace, a file that has keys is given only keys that follow them.
func (a *App) TrustDesk(ctx context.Context, replace bool) (string, error) {
	path, _ := a.ClientPath()
	if path == "" {
		return "", errors.New("there is no client file: name one with --client")
	}
	file, err := config.OpenToRenew(path, os.Geteuid() == 0) // root renews any user's
	if err != nil {
		return "", err
	}
	defer file.Close()
	return RenewKeys(ctx, file, replace, replace)
}

// TrustFirst writes the desk's keys into a client file of 0.1.0 that a verb is about to
// use, and reports it on a line; empty if there is no such file, or no desk that has
// keys.
func (a *App) TrustFirst(ctx context.Context) string {
	explicit := a.ClientFile == "" && cmp.Or(a.Env["APPROVALBOT_SERVER"], a.Env["APPROVALBOT_TOKEN"]) != ""
	if explicit || a.Server != "" || a.Token != "" {
		return ""
	}
	path, _ := a.ClientPath()
	if path == "" {
		return ""
	}
	file, err := config.OpenToRenew(path, false)
	if err != nil {
		return ""
	}
	defer file.Close()
	if file.KnowsDesk() || file.PlainTCP {
		return ""
	}
	said, err := RenewKeys(ctx, file, false, true)
	if err != nil {
		return ""
	}
	return said
}

// RenewKeys is [App.TrustDesk] for an open client file, whose socket its caller may have set. The desk's
// name for the token is written, too, if the desk is known, or the caller uses the token there anyway.
func RenewKeys(ctx context.Context, file *config.Renewal, replace, uses bool) (string, error) {
	got, err := reach.CheckDesk(ctx, file.ClientFile, file.Path, replace)
	if errors.Is(err, reach.ErrOtherKeys) {
		err = fmt.Errorf("%w; if the desk's operator says that the keys were replaced because they were exposed, "+
			"add --replace to: approvalbot admin keys trust --client %s", err, display.ShellPath(file.Path))
	}
	if err != nil {
		return "", err
	}
	set := config.ClientDesk{Socket: file.Socket, DeskKeys: got.Keys}
	kept := file.Owner != "" && file.PlainTCP && !replace // a relay may say any name
	if !kept && file.Token != "" && (uses || got.How != "") {
		known := file.ClientFile
		known.DeskKeys = got.Keys
		set.Owner = tokenName(ctx, known, file.Path)
	}
	wrote, err := file.Write(set)
	shown := display.Escape(file.Path)
	switch {
	case err != nil && file.Has(set):
		return fmt.Sprintf("%s has the desk's keys, but not its name for the token: %s", shown, Sentence(err)), nil
	case err != nil:
		return "", err
	}
	file.DeskKeys, file.Owner = got.Keys, cmp.Or(set.Owner, file.Owner)
	switch {
	case !wrote:
		return fmt.Sprintf("%s has the desk's keys.", shown), nil
	case got.How != "":
		return fmt.Sprintf("Renewed %s; its desk was known %s.", shown, display.Escape(got.How)), nil
	}
	return fmt.Sprintf("Wrote into %s the keys of what answers at %s, and trusted this first answer. "+
		"If you are not sure of it,\ncompare the key's id %s with the first kid of\n"+
		"/.well-known/jwks.json on the desk's machine.", shown, display.Escape(cmp.Or(file.Server, config.DefaultServer)), got.Keys[0].ID), nil
}

// tokenName asks the desk for its name of the file's token; empty if it does not tell.
func tokenName(ctx context.Context, file config.ClientFile, path string) string {
	c, err := reach.Connect(file, path, nil)
	if err != nil {
		return ""
	}
	info, err := c.TokenInfo(ctx)
	if err != nil {
		return ""
	}
	return info.Name
}
