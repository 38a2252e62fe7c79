package textcmd

import (
	"context"
	"errors"
	"strings"

	"github.com/google/uuid"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/signin"
)

// endSession begins the data of a button that ends a session. It cannot be typed.
const endSession = "/endsession "

const noSession = "That session has ended already, or is not yours."

// Door has the methods of sign-in that a Handler needs.
type Door interface {
	// EndSessionFrom ends a session of the account's person: CodeNotFound for any other
	// account.
	EndSessionFrom(ctx context.Context, v approval.Voter, id string, handled *approval.InboundRef) error
	// Pair takes a pairing code, and reports whether it was right.
	Pair(
		ctx context.Context, v approval.Voter, code string, who signin.PairingWho, handled *approval.InboundRef,
	) (right bool, err error)
}

// Links make one-time links to the desk's pages and send them.
type Links interface {
	// LoginLink makes a link for the person who has that account, and gives its
	// message. A refusal says why the person gets no link, for them to read. Without an
	// error the platform update is handled.
	LoginLink(ctx context.Context, v approval.Voter, handled *approval.InboundRef) (core.Posting, error)
	// Send posts in a chat, once, and returns the result.
	Send(ctx context.Context, to approval.Target, p core.Posting) error
}

// NoticeButtons are the buttons below a notice of a sign-in.
func NoticeButtons(session string) [][]Button {
	if session == "" {
		return nil
	}
	return [][]Button{{{Label: "Not me: end it", Data: endSession + session, Style: Denying}}}
}

// sessionOf reads the data of such a button.
func sessionOf(data string) (id string, ok bool) {
	id, ok = strings.CutPrefix(data, endSession)
	return id, ok && uuid.Validate(id) == nil
}

// endSession ends a session by its button, if the account is one of the session's
// person.
func (h *Handler) endSession(ctx context.Context, m Message, id string) (Reply, bool, error) {
	err := h.door.EndSessionFrom(ctx, m.Voter, id, m.Update)
	if approval.CodeOf(err) == approval.CodeNotFound {
		return h.refuse(ctx, m, "a button that ends a session", noSession)
	}
	if err != nil {
		return Reply{}, false, err
	}
	return Reply{Text: "That session has ended. Tell your operator, and check who else can use this chat.", Alert: true},
		true, nil
}

// web sends a link to the desk's pages to the person who asks, only in their own chat
// with the bot: anyone who opens it is signed in as that person.
func (h *Handler) web(ctx context.Context, m Message) (Reply, bool, error) {
	if m.Chat.Validate() != nil {
		return Reply{Text: "This bot is the verifier's own. Send it to the desk's bot."}, false, nil
	}
	p, err := h.links.LoginLink(ctx, m.Voter, m.Update)
	switch {
	case errors.Is(err, approval.ErrHandled):
		return Reply{Text: approval.ErrHandled.Message, Before: true}, false, nil
	case err != nil:
		return Reply{}, false, err
	}
	own := approval.DirectChat(m.Voter.Channel, m.Voter.UserID)
	if err := h.links.Send(ctx, own, p); err != nil {
		return Reply{Text: "I cannot write to you: open a chat with me, and send /web there."}, true, nil
	}
	if m.Direct {
		return Reply{Text: "There it is."}, true, nil
	}
	return Reply{Text: "I have sent it to you directly."}, true, nil
}
