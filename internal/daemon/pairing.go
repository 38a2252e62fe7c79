package daemon

import (
	"context"
	"errors"
	"time"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/config/local"
	"approvalbot/internal/display"
	"approvalbot/internal/signin"
)

// pairings is sign-in with what a desk does about pairings: it reports what its
// configuration lacks, and writes that if the desk generated the configuration.
type pairings struct {
	*signin.Door
	desk *Daemon
}

// Pair is the door's, and puts into the log what the configuration lacks.
func (p pairings) Pair(
	ctx context.Context, v approval.Voter, code string, who signin.PairingWho, handled *approval.InboundRef,
) (right bool, err error) {
	right, err = p.Door.Pair(ctx, v, code, who, handled)
	if right {
		p.desk.log.Info("a pairing code was sent in a chat; the field missing lists the lines to add to the "+
			"configuration",
			"channel", who.Chat.Channel, "target", who.Chat.String(), "person", v.Channel+":"+v.UserID,
			"name", display.Escape(who.Name), "missing", local.Missing(p.desk.Config(), chatOf(who)))
	}
	return right, err
}

func chatOf(who signin.PairingWho) local.Chat { return local.Chat{At: who.Chat, User: who.UserID} }

// Start makes a pairing.
func (p pairings) Start(ctx context.Context, who core.Caller) (api.PairingCode, error) {
	if len(p.desk.bots) == 0 {
		return api.PairingCode{}, approval.Refuse(approval.CodeUnavailable,
			"No chat is on. Set a bot's token, restart the desk, and then ask for a code.")
	}
	made, code, err := p.StartPairing(ctx, who)
	return api.PairingCode{ID: made.ID, Code: code, ExpiresAtMs: made.ExpiresAtMs}, err
}

// Get gives the progress of a pairing.
func (p pairings) Get(ctx context.Context, id string) (api.Pairing, error) {
	now, err := p.PairingOf(ctx, id)
	if err != nil {
		return api.Pairing{}, err
	}
	status := now.Status(time.Now().UnixMilli())
	out := api.Pairing{ID: now.ID, Status: api.PairingStatus(status), ExpiresAtMs: now.ExpiresAtMs}
	if who := now.Answer; who != nil {
		v := p.desk.Gate.Rules().People.Identify(approval.Voter{Channel: who.Chat.Channel, UserID: who.UserID})
		out.Answer = &api.PairingWho{
			Channel: v.Channel, UserID: v.UserID, Name: who.Name, Chat: who.Chat.String(), Person: v.Person,
		}
		out.Lines = local.Missing(p.desk.Config(), chatOf(*who))
		if p.desk.options.Local != nil && p.desk.options.Local.Writable(chatOf(*who)) {
			out.File = p.desk.options.Local.Path()
		}
	}
	return out, nil
}

// Accept writes the person who gave the code into the generated configuration and
// reloads it. If that fails the file is as it was.
func (p pairings) Accept(ctx context.Context, who core.Caller, id string) (api.Reloaded, error) {
	now, err := p.PairingOf(ctx, id)
	switch {
	case err != nil:
		return api.Reloaded{}, err
	case now.Status(time.Now().UnixMilli()) != signin.PairingAnswered:
		return api.Reloaded{}, approval.Refuse(approval.CodeNotFound,
			"The code of this pairing was not given in a chat in the last five minutes.")
	case p.desk.options.Local == nil || !p.desk.options.Local.Writable(chatOf(*now.Answer)):
		return api.Reloaded{}, approval.Refuse(approval.CodeForbidden,
			"The desk does not write this configuration, because its operator edited it or its variables name "+
				"another chat: add the pairing's lines by hand.")
	}
	undo, err := p.desk.options.Local.Write(chatOf(*now.Answer))
	if err != nil {
		p.desk.log.Error("could not write a pairing into the configuration; the file stays as it was",
			"path", p.desk.options.Local.Path(), "target", now.Answer.Chat.String(), "reason", err)
		return api.Reloaded{}, approval.Refuse(approval.CodeUnavailable,
			"The configuration could not be written; see the desk's log.")
	}
	r, err := p.desk.reloadFor(ctx, who)
	if err != nil {
		err = errors.Join(err, undo())
	}
	return r, err
}
