package textcmd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/display"
	"approvalbot/internal/people"
)

const helpText = "/approve CODE [reason] · /deny CODE [reason] · /retry CODE · /pending · /show CODE · /duty · " +
	"/away 2h [to NAME] · /back · /web · /whoami · /pair CODE. In a reply to a card the code may be left out."

// maxListed bounds /pending, maxListedCall the text for each call.
const (
	maxListed     = 20
	maxListedCall = 80
)

// typed handles a typed message.
func (h *Handler) typed(ctx context.Context, m Message, card approval.Delivery, known bool) (Reply, bool, error) {
	var failed error // of a look-up below: if set, the message is not handled
	c := Context{BotName: m.BotName, Mention: m.Mention, IsCode: func(code string) bool {
		a, err := h.gate.ByCode(ctx, code)
		if err != nil && approval.CodeOf(err) != approval.CodeNotFound {
			failed = err
		}
		return err == nil && (!a.Final() || h.roundText(a) != "")
	}}
	cards := []approval.DeliveryKind{approval.CardDelivery, approval.ReminderDelivery, approval.RetryAskedDelivery}
	ofCard := slices.Contains(cards, card.Kind)
	var replied approval.Approval
	if known && ofCard && m.OwnMessage {
		var err error
		if replied, err = h.gate.ByKey(ctx, card.Key); err != nil {
			return Reply{}, false, err
		}
		c.CardCode = replied.Code
	}
	cmd, ok := Parse(m.Text, c)
	if c.CardCode != "" && (!ok || onlyInReply(m.Text)) {
		if r, talk := h.talk(m, c, replied, cmd, ok); talk {
			return r, false, nil
		}
	}
	if known && ok && cmd.Decision == approval.Retry && card.Kind == approval.RetryAskedDelivery {
		a, err := h.gate.ByKey(ctx, card.Key)
		if err != nil {
			return Reply{}, false, err
		}
		if a.Code == cmd.Code && a.Round != nil && !a.TellsOfRound(card) {
			return Reply{Text: "That message is about an earlier retry of " + a.Code + ", so your answer was not counted. " +
				"Answer the newest one, or send: retry " + a.Code}, false, nil
		}
	}
	another := ""
	if below := known && c.CardCode == cmd.Code; below && ok && cmd.Decision != "" {
		another = c.named(cmp.Or(cmd.Note, cmd.Reason))
	}
	switch {
	case failed != nil:
		return Reply{}, false, failed
	case !ok && h.missesItsCard(m, c):
		return Reply{Text: "Your answer was not counted: the message that you replied to is not a card. Name the " +
				"code, or reply to the card itself."},
			false, nil
	case !ok:
		return Reply{Ignore: true}, false, nil
	case m.NotHuman != "":
		return h.refuse(ctx, m, "a command by "+m.NotHuman, notAuthorized)
	case cmd.Verb == WhoAmI:
		return h.whoami(m), false, nil
	case cmd.Verb == Pair:
		return h.pair(ctx, m, cmd.Code)
	case cmd.Verb == Web:
		return h.web(ctx, m)
	case cmd.Verb == Help:
		return Reply{Text: helpText}, false, nil
	case !h.approver(m.Voter):
		return h.other(ctx, m, cmd)
	case !h.mayCommand(m):
		return h.refuse(ctx, m, "a command in a chat that is not configured",
			"This chat is not one of the desk's; use a configured chat or a direct message.")
	}
	if another != "" {
		return anothersCard(cmd.Code, another), false, nil
	}
	return h.command(ctx, m, cmd)
}

func anothersCard(card, named string) Reply {
	return Reply{Text: fmt.Sprintf("This is the card of %s, and you named %s, so your answer was not counted. "+
		"Write /approve or /deny with the code that you mean.", card, named)}
}

// talk answers a reply to a card that is not a vote: people who may decide it are told how to vote, replies of others
// are ignored. decides says that the reply is a yes, ok or no, which is talk if a person says it who may not decide. If
// the approval is over, a bare yes or ok is talk too, but a no, or words for the agent, get the answer that it is too
// late.
func (h *Handler) talk(m Message, c Context, a approval.Approval, cmd Command, decides bool) (r Reply, talk bool) {
	directory := h.gate.Rules().People
	round := h.roundText(a) != ""
	open := m.NotHuman == "" && (!a.Final() || round)
	may := people.MayBeDecidedBy(a, m.Voter, directory) || round && h.approver(m.Voter)
	asked := people.AskedBy(a, m.Voter, directory)
	switch {
	case decides && open && (may || asked || h.approver(m.Voter)):
		return Reply{}, false
	case decides && a.Final() && m.NotHuman == "" && (may || h.approver(m.Voter)) && (cmd.Decision == approval.Deny || cmd.Note != ""):
		return Reply{}, false
	case !decides && open && may && strings.TrimSpace(m.Text) != "" && !strings.HasPrefix(m.Text, "/"):
		if read, _ := c.command(strings.Fields(m.Text)); c.named(read.Reason) != "" {
			return anothersCard(a.Code, c.named(read.Reason)), true
		}
		word := "yes"
		if round {
			word = "retry"
		}
		return Reply{Text: "Your answer was not counted. Reply " + word + ", or " + word + ": WORDS FOR THE AGENT, or no: WHY."}, true
	}
	return Reply{Ignore: true}, true
}

// missesItsCard reports whether an approver decides in a reply to a message of the bot
// that is no card.
func (h *Handler) missesItsCard(m Message, c Context) bool {
	noCard := m.OwnMessage && c.CardCode == ""
	return noCard && m.NotHuman == "" && h.approver(m.Voter) && decides(m.Text, c)
}

// decides reports whether a text would be a decision if it replied to a card.
func decides(text string, c Context) bool {
	c.CardCode = strings.Repeat("0", codeLen)
	cmd, ok := Parse(text, c)
	if words := strings.Fields(text); !ok && len(words) > 0 { // a reason with a yes, as it is typed in other places
		cmd, ok = c.command(words)
	}
	return ok && cmd.Decision != ""
}

// other serves people who are no approvers. A person that this one request names
// may decide it, in a chat in which commands are allowed. The requester may take
// their own request back, and is told that they cannot approve it. Everyone else
// gets the same refusal, whether the code exists or not.
func (h *Handler) other(ctx context.Context, m Message, cmd Command) (Reply, bool, error) {
	a, err := h.gate.ByCode(ctx, cmd.Code)
	directory := h.gate.Rules().People
	switch {
	case err != nil && approval.CodeOf(err) != approval.CodeNotFound:
		return Reply{}, false, err
	case err != nil || cmd.Decision == "":
	case people.AskedBy(a, m.Voter, directory), people.MayBeDecidedBy(a, m.Voter, directory) && h.mayCommand(m):
		return h.decide(ctx, m, cmd, a, "")
	}
	return h.refuse(ctx, m, "a command by a stranger", notAuthorized)
}

// mayCommand reports whether commands are allowed in the chat of the message.
func (h *Handler) mayCommand(m Message) bool { return m.Direct || h.places(m.Chat.Normal()) }

// command runs an approver's command in a chat in which it is allowed.
func (h *Handler) command(ctx context.Context, m Message, cmd Command) (Reply, bool, error) {
	switch cmd.Verb {
	case Unclear:
		return Reply{Text: "Your message says two things at once, so neither was counted. " +
			"Send one command: /approve CODE or /deny CODE."}, false, nil
	case Pending:
		r, err := h.pending(ctx)
		return r, false, err
	case Duty:
		return h.duty(m), false, nil
	case Away:
		return h.away(ctx, m, cmd.Reason)
	case Return:
		return h.back(ctx, m)
	}
	if cmd.Code == "" {
		return Reply{Text: "Which one? Name the code, or reply to its card. /pending lists what waits."}, false, nil
	}
	a, err := h.gate.ByCode(ctx, cmd.Code)
	if approval.CodeOf(err) == approval.CodeNotFound {
		return Reply{Text: fmt.Sprintf("There is no request %s. /pending lists what waits.", display.Escape(cmd.Code))},
			false, nil
	}
	switch {
	case err != nil:
		return Reply{}, false, err
	case cmd.Decision != "":
		return h.decide(ctx, m, cmd, a, "")
	case cmd.Verb == Again:
		return h.again(ctx, m, a)
	case cmd.Verb == TakeBack:
		return h.takeBack(ctx, m, a)
	case cmd.Verb == Show && !a.Final() && !h.cardStands(a, m.Chat):
		_, err := h.gate.Show(ctx, a.Key, m.Chat, m.Update)
		return Reply{Text: "Here is " + a.Code + "."}, true, err
	case a.Final():
		return Reply{Text: a.Code + " has ended: " + card.Ending(a) + h.roundText(a)}, false, nil
	}
	long, err := h.details(ctx, a)
	return Reply{Long: long}, false, err
}

func (h *Handler) cardStands(a approval.Approval, place approval.Target) bool {
	return slices.ContainsFunc(a.Deliveries, func(o approval.Delivery) bool {
		stands := o.Kind == approval.CardDelivery && o.State != approval.Failed && !o.InDigest()
		return stands && o.Target.Normal() == place.Normal()
	})
}

// roundText says which retry round is open and how people vote in it; empty if there is no open one.
func (h *Handler) roundText(a approval.Approval) string {
	round, open := people.OpenRound(a, h.gate.Rules().People, time.Now().UnixMilli())
	if !open {
		return ""
	}
	return "; " + round.Text() + ": retry " + a.Code + " or deny " + a.Code
}

// pending lists the pending approvals, riskiest and oldest first, and then the open retry rounds.
func (h *Handler) pending(ctx context.Context) (Reply, error) {
	all, err := h.gate.PendingCards(ctx, 200)
	if err != nil {
		return Reply{}, err
	}
	rounds, err := h.gate.OpenRounds(ctx, maxListed)
	if err != nil {
		return Reply{}, err
	}
	if len(all)+len(rounds) == 0 {
		return Reply{Long: "No request is waiting for a decision."}, nil
	}
	slices.SortStableFunc(all, func(a, b approval.Approval) int {
		return cmp.Or(cmp.Compare(b.Assessment.RiskClass, a.Assessment.RiskClass),
			cmp.Compare(a.CreatedAtMs, b.CreatedAtMs))
	})
	var b strings.Builder
	now, times := time.Now(), card.Times{}
	for i, a := range all {
		if i == maxListed {
			fmt.Fprintf(&b, "and %d more\n", len(all)-maxListed)
			break
		}
		what, _ := display.Clip(card.Headline(a), maxListedCall)
		end := until(time.UnixMilli(a.ExpiresAtMs), now)
		times[end] = a.ExpiresAtMs
		fmt.Fprintf(&b, "%s · %s · %s · until %s\n", a.Code, a.Assessment.RiskClass, what, end)
	}
	for _, a := range rounds {
		what, _ := display.Clip(card.Headline(a), maxListedCall)
		end := until(time.UnixMilli(a.RoundEndsMs()), now)
		times[end] = a.RoundEndsMs()
		fmt.Fprintf(&b, "🔁 %s · %s · %s%s · until %s\n", a.Code, a.Assessment.RiskClass, what, h.roundText(a), end)
	}
	return Reply{Long: b.String(), Times: times}, nil
}

// until writes a time for people, with its zone, and with the date if it is not
// today.
func until(t, now time.Time) string {
	if t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format("15:04 MST")
	}
	return t.Format("2 Jan 15:04 MST")
}
