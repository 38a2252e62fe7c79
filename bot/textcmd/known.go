package textcmd

import (
	"context"
	"errors"

	"approvalbot/internal/approval"
	"approvalbot/internal/display"
	"approvalbot/internal/platform"
	"approvalbot/internal/signin"
)

const pairedText = "The desk's operator sees this chat and your account now. " +
	"You may decide once the configuration names you."

// maxName is how much of a platform's name for a person is kept, in characters.
const maxName = 64

// whoami tells anyone which person the desk knows them as, with a line that names
// chat and account to `serve --local`.
func (h *Handler) whoami(m Message) Reply {
	v := h.gate.Rules().People.Identify(m.Voter)
	who := "You are a " + v.Channel + " user" // the line says which one
	if v.Person != "" {
		who += " (" + display.Escape(v.Person) + ")"
	}
	r := Reply{Text: who + ". You may approve.", Copy: variables(v, m.Chat)}
	switch {
	case !h.approver(v):
		r.Text = who + ". You may not approve."
	case !h.mayCommand(m):
		r.Text = who + ". You may approve, but not here: the desk does not know this chat."
	}
	return r
}

// variables are the environment variables of `serve --local` that name a chat and a
// person in it.
func variables(v approval.Voter, chat approval.Target) string {
	on := platform.ByName(v.Channel)
	if on == nil {
		return ""
	}
	to := chat.To
	if chat.ThreadID != "" {
		chat.Channel = v.Channel // even if another bot of that platform receives it
		to = chat.String()       // only this form has room for a thread
	}
	return on.PlaceVariable() + "=" + to + " " + on.UserVariable() + "=" + v.UserID
}

// pair gives a pairing code to the desk. The answer to every wrong code is the same,
// so that it reveals only that the code is wrong.
func (h *Handler) pair(ctx context.Context, m Message, code string) (Reply, bool, error) {
	switch {
	case m.Chat.Validate() != nil:
		return Reply{Text: "This bot is the verifier's own. Send it to the desk's bot."}, false, nil
	case code == "":
		return Reply{Text: "Send /pair with the code that approvalbot pair shows at the desk."}, false, nil
	}
	name, _ := display.Clip(OneLine(m.Name), maxName)
	who := signin.PairingWho{Chat: m.Chat.Normal(), UserID: m.Voter.UserID, Name: name}
	right, err := h.door.Pair(ctx, m.Voter, code, who, m.Update)
	switch {
	case errors.Is(err, approval.ErrHandled):
		return Reply{Text: approval.ErrHandled.Message, Before: true}, false, nil
	case err != nil:
		return Reply{}, false, err
	case !right:
		return Reply{Text: "That code is not right."}, true, nil
	}
	return Reply{Text: pairedText}, true, nil
}
