package textcmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/people"
)

// perRow is how many buttons are in a row below a digest (Discord, Components,
// Action Row: five).
const perRow = 5

// digestButtons gives the buttons that open each card of a list, and one that denies
// all of them. They never allow, because the calls have not been shown.
func digestButtons(d card.Digest) [][]Button {
	if len(d.Entries) == 0 {
		return nil
	}
	var open []Button
	for i, e := range d.Entries {
		open = append(open, Button{
			Label: fmt.Sprintf("Open %d", i+1), Data: Command{Verb: Show, Code: e.Code}.String(), Style: Neutral,
		})
	}
	all := fmt.Sprintf("Deny all %d", len(d.Entries))
	switch {
	case d.More > 0:
		all = fmt.Sprintf("Deny these %d", len(d.Entries))
	case len(d.Entries) == 1:
		all = "Deny"
	}
	deny := Command{Verb: DenyAll, Code: d.Code, Version: d.Version}
	return append(slices.Collect(slices.Chunk(open, perRow)), []Button{{all, deny.String(), Denying}})
}

// DigestFoot is the last line of a digest: how many wait beside those that it lists, and
// how a request can be allowed.
func DigestFoot(d card.Digest) string {
	foot := "A request can be allowed on its own card only: open it."
	switch {
	case len(d.Entries) == 0:
		return ""
	case d.More > 0:
		return fmt.Sprintf("… and %d more: /pending lists what waits. ", d.More) + foot
	}
	return foot
}

// onDigest handles a button of a digest. One that the desk does not know, since its id
// was lost in a crash, is still accepted if it leads to a list or a card of that chat.
func (h *Handler) onDigest(
	ctx context.Context, m Message, cmd Command, digest approval.Delivery, known bool,
) (Reply, bool, error) {
	ofDigest := !known || digest.Kind == approval.DigestDelivery
	if known { // in a forum the tapped message is in a thread of its own
		m.Chat = digest.Target
	}
	switch {
	case ofDigest && cmd.Verb == DenyAll:
		return h.denyAll(ctx, m, cmd, digest)
	case ofDigest && cmd.Verb == Show:
		return h.open(ctx, m, cmd.Code)
	}
	return h.noButton(ctx, m, "a button of another card")
}

// open sends the card of an approval that a digest lists.
func (h *Handler) open(ctx context.Context, m Message, code string) (Reply, bool, error) {
	a, err := h.gate.ByCode(ctx, code)
	if err != nil && approval.CodeOf(err) != approval.CodeNotFound {
		return Reply{}, false, err
	}
	forHere := func(d approval.Delivery) bool {
		return d.Kind == approval.CardDelivery && d.Target.Normal() == m.Chat.Normal()
	}
	directory := h.gate.Rules().People
	switch {
	case err != nil || !slices.ContainsFunc(a.Deliveries, forHere):
		return h.noButton(ctx, m, "a card in a chat to which it was not sent")
	case a.Final() && people.Concerns(a, m.Voter, directory):
		return Reply{Text: "Already decided: " + card.Ending(a), Alert: true}, false, nil
	case !people.MayBeDecidedBy(a, m.Voter, directory):
		return h.refuse(ctx, m, "a card opened by a stranger", notAuthorized)
	case h.cardStands(a, m.Chat):
		return Reply{Text: "The card of " + a.Code + " is in this chat already."}, false, nil
	}
	_, err = h.gate.Show(ctx, a.Key, m.Chat, m.Update)
	return Reply{Text: "Here is " + a.Code + "."}, true, err
}

// denyAll denies the approvals that a version of a digest lists, with one vote for
// each. An approval that has ended meanwhile, or that this person may not decide, is
// not changed. It may be repeated, as after a crash.
func (h *Handler) denyAll(ctx context.Context, m Message, cmd Command, digest approval.Delivery) (Reply, bool, error) {
	list, err := h.gate.Listed(ctx, digest, m.Chat, cmd.Code, cmd.Version)
	if approval.CodeOf(err) == approval.CodeNotFound {
		return h.noButton(ctx, m, "a list of another chat")
	}
	if err != nil {
		return Reply{}, false, err
	}
	directory := h.gate.Rules().People
	if !slices.ContainsFunc(list, func(a approval.Approval) bool { return people.Concerns(a, m.Voter, directory) }) {
		return h.refuse(ctx, m, "a list denied by a stranger", notAuthorized)
	}
	chat, denied, ended := m.Chat, 0, 0
	for _, a := range list {
		_, err := h.gate.Vote(ctx, a.Key, core.Ballot{
			Voter: m.Voter, Decision: approval.Deny, Chat: &chat, ReceivedMs: m.ReceivedMs, Code: a.Code,
		})
		refusal := refusalOf(err)
		switch {
		case err == nil:
			denied++
		case refusal == nil || errors.Is(err, approval.ErrHandled):
			return Reply{}, false, err
		case refusal.Code == approval.CodeAlreadyResolved:
			ended++
		}
	}
	return Reply{Text: deniedText(denied, ended, len(list)-denied-ended), Alert: denied < len(list)}, false, nil
}

// deniedText tells the results for the approvals of a list.
func deniedText(denied, ended, refused int) string {
	text := []string{fmt.Sprintf("Denied %d of the %d listed", denied, denied+ended+refused)}
	if ended > 0 {
		text = append(text, fmt.Sprintf("%d had ended before", ended))
	}
	if refused > 0 {
		text = append(text, fmt.Sprintf("%d you may not decide", refused))
	}
	return strings.Join(text, "; ") + "."
}
