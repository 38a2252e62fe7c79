package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/cli/reach"
	"approvalbot/internal/config"
	"approvalbot/internal/display"
)

// ownKeyFindings looks at the keys in this user's own client file. Mistakes in the file
// itself are reported by [clientFindings] and by each verb.
func ownKeyFindings(ctx context.Context, a *app.App, offline bool) []core.Diagnostic {
	path, _ := a.ClientPath()
	file, err := config.OpenClientFile(path)
	if err != nil || offline {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	found, _ := deskKeyFindings(ctx, "client", file, path)
	return found
}

// deskKeyFindings compares what answers at a client file's socket and server with the keys
// in the file. known is false if something answers that is not the desk.
func deskKeyFindings(
	ctx context.Context, what string, file config.ClientFile, path string,
) (found []core.Diagnostic, known bool) {
	renew := "run: approvalbot admin keys trust --client " + display.ShellPath(path)
	server := cmp.Or(file.Server, config.DefaultServer)
	while := " any program that answers at " + server + " while the desk is down gets the token"
	switch {
	case file.PlainTCP && len(file.DeskKeys) == 0:
		found = append(found, core.Warn(what, path+" has plainTCP and no "+
			"deskKeys, so"+while+" and is trusted as the desk", renew))
	case file.PlainTCP:
		found = append(found, core.Warn(what, path+" has plainTCP, so"+while+", though what it allows is checked",
			"set server to the desk's own address, and remove plainTCP"))
	case !file.KnowsDesk():
		found = append(found, core.Warn(what, path+" has no deskKeys, so"+while+" and is trusted as the desk", renew))
	}
	if file.Owner == "" && len(file.DeskKeys) > 0 && (file.PlainTCP || strings.HasPrefix(server, "https:")) {
		found = append(found, core.Warn(what, path+" has no owner, so a program between the client and the desk "+
			"could ask with another token, and the client would obey the answer", renew))
	}
	var away []core.Diagnostic
	if file.Socket != "" {
		away = socketFindings(ctx, what, file, path)
		found = append(found, away...)
	}
	if len(file.DeskKeys) == 0 {
		return found, true
	}
	atServer := file
	atServer.Socket = ""
	at, known := answerFinding(ctx, what, server, atServer, path, renew)
	found = append(found, at...)
	if file.Socket != "" && len(away) == 0 {
		more, ok := answerFinding(ctx, what, "the socket "+file.Socket, file, path, renew)
		found, known = append(found, more...), known && ok
	}
	return found, known
}

// socketFindings says why a client file's socket is not used; empty: it is used.
func socketFindings(ctx context.Context, what string, file config.ClientFile, path string) []core.Diagnostic {
	conn, err := reach.DialSocket(ctx, file.Socket)
	if err == nil {
		_ = conn.Close()
		return nil
	}
	fix := "start the desk, or correct socket in " + path
	if len(file.DeskKeys) == 0 {
		return []core.Diagnostic{core.Fail(what, oneLine(err)+", and without deskKeys the client asks at no other "+
			"address", fix)}
	}
	return []core.Diagnostic{core.Warn(what, oneLine(err)+", so the client asks at server, by TLS, instead", fix)}
}

// answerFinding says whether what answers at one place has the file's keys, or keys that
// followed them. Another check says if there is no answer.
func answerFinding(
	ctx context.Context, what, place string, file config.ClientFile, path, renew string,
) (found []core.Diagnostic, known bool) {
	got, err := reach.CheckDesk(ctx, file, path, false)
	var refused *api.Problem
	switch {
	case errors.Is(err, api.ErrNotBelieved), errors.As(err, &refused):
		return []core.Diagnostic{core.Fail(what, oneLine(err), "first find out which program listens there; "+
			"if the desk's keys were rotated as exposed, "+renew+" --replace")}, false
	case err != nil:
		return nil, true
	case got.Old:
		return []core.Diagnostic{core.Warn(what, fmt.Sprintf("the deskKeys in "+
			"%s are older than those of %s", path, place), renew)}, true
	}
	return []core.Diagnostic{core.OK(what, fmt.Sprintf("%s has a key of deskKeys in %s", place, path))}, true
}
