package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/fakechat"
)

// One kind of message that always fails, beside good ones.

// uploadsFail has both platforms answer 500 to every file.
func (r *rig) uploadsFail() {
	r.tg.Fault(fakechat.TelegramFault{Method: "sendDocument", Times: -1, Kind: fakechat.Status500})
	if r.dc != nil {
		r.dc.Fault(fakechat.DiscordFault{Method: http.MethodPost, Uploads: true, Times: -1, Kind: fakechat.Status500})
	}
}

// withSpare adds a chat that is asked only where nothing else arrives.
func withSpare(after string) func(*rig) {
	return func(r *rig) {
		r.routing = `{mode: targets, targets: [PLACE], fallback: [{channel: telegram, to: "-1009999"}], fallbackAfter: ` + after + `}`
	}
}

// inParts is a command that is too long for a card, and short enough for messages.
func inParts(i int) string { return fmt.Sprintf("echo %d %s; rm -rf /", i, strings.Repeat("x ", 1500)) }

// A card of a short call arrives while the files of fourteen others fail, and those
// are shown whole all the same.
func TestAdversary_P11_UploadsThatFailStarveNoCard(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, r *rig, c chat) {
		r.uploadsFail()
		long := make([]api.Approval, 14)
		for i := range long {
			long[i] = r.exec(inParts(i))
		}
		short := r.ask(`{"n":1}`)
		card := c.card(short)
		require.Contains(t, c.tap("alice", card.id, "Allow once"), "Allowed. It may run once")
		for i, a := range long {
			card := c.card(a)
			require.Equal(t, []string{"Allow once", "Deny", "More"}, card.labels, "call %d", i)
		}
		said := ""
		for _, m := range c.fromBot() {
			said += m.text
		}
		require.Equal(t, 2*len(long), strings.Count(said, "; rm -rf /\n"), "each call stands there whole, once, and its worst words on the card")
	}, withSpare("20s"))
}

// A call that is too long for messages gets a card that may only deny, and that is
// somebody who was asked.
func TestAdversary_P11_WhatCannotBeShownCanOnlyBeDenied(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, r *rig, c chat) {
		r.uploadsFail()
		a := r.exec("echo " + strings.Repeat("x ", 4000) + "; rm -rf /")
		card := c.card(a)
		require.Equal(t, []string{"Deny", "More"}, card.labels)
		require.Contains(t, c.press("alice", card.id, "/approve "+a.Code), "Not everything that would run has been shown")
		got := r.get(a)
		require.True(t, got.Reached)
		require.Len(t, got.Deliveries, 1, "no fallback was needed")
		c.tap("alice", card.id, "Deny")
		require.EqualValues(t, "denied", r.final(a).Status)
		c.settled(card.id, "Denied by alice")
	}, withSpare("20s"))
}

// A call whose card the platform refuses, or fails with, is not one that nobody could
// be asked about: people get a card without it, that may only deny, and nothing runs.
func TestAdversary_P11_ACardThatIsRefusedOpensNothing(t *testing.T) {
	fails := func(r *rig, method, verb string, times int, kind fakechat.FaultKind) {
		r.tg.Fault(fakechat.TelegramFault{Method: method, Chat: r.group.ID, Times: times, Kind: kind, Code: 400, Description: "Bad Request: can't parse entities"})
		r.dc.Fault(fakechat.DiscordFault{Method: verb, Channel: r.ops.ID, Times: times, Kind: kind, Code: 50035, Message: "Invalid Form Body"})
	}
	opens := func(r *rig) {
		r.after = "  exec: {askFallback: full}\n"
		r.routing = `{mode: targets, targets: [PLACE], fallbackAfter: 8s}`
	}
	for name, c := range map[string]struct {
		kind  fakechat.FaultKind
		times int // the card with the call on it is tried so often
	}{"refused": {fakechat.Custom, 1}, "failed with": {fakechat.Status500, 2}, "unanswered": {fakechat.Reset, 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, r *rig, chat chat) {
				fails(r, "sendMessage", http.MethodPost, c.times, c.kind)
				a := r.exec("git push origin main")
				card := chat.card(a)
				require.Equal(t, []string{"Deny", "More"}, card.labels)
				require.NotContains(t, card.text, "git push", "nothing that an asker chose stands on it")
				require.Contains(t, chat.press("alice", card.id, "/approve "+a.Code), "Not everything that would run has been shown")
				got := r.get(a)
				require.EqualValues(t, "pending", got.Status)
				require.True(t, got.Reached)
				fails(r, "editMessageText", http.MethodPatch, 1, c.kind)
				chat.tap("alice", card.id, "Deny")
				require.EqualValues(t, "denied", r.final(a).Status)
				chat.settled(card.id, "Denied by alice")
			}, opens)
		})
	}
	t.Run("without the call too", func(t *testing.T) {
		t.Parallel()
		onBoth(t, func(t *testing.T, r *rig, _ chat) {
			fails(r, "sendMessage", http.MethodPost, -1, fakechat.Custom)
			a := r.exec("git push origin main")
			got := r.until(a, "it is known that nobody was asked", func(a api.Approval) bool { return !a.Reached || a.Status != api.Pending })
			require.EqualValues(t, "pending", got.Status)
			r.looked(a, time.Now())
			require.EqualValues(t, "pending", r.get(a).Status)
		}, opens)
	})
}

// TestAdversary_P11_KilledWhileItFallsBack: wherever the desk dies on the way from the
// file to what stands for it, at most one card too many stands in the chat, and none
// that allows what was not shown.
func TestAdversary_P11_KilledWhileItFallsBack(t *testing.T) {
	bin, err := faultyBinary()
	require.NoError(t, err)
	for name, c := range map[string]struct {
		command string
		labels  []string
	}{
		"to messages":  {inParts(1), []string{"Allow once", "Deny", "More"}},
		"to deny only": {"echo " + strings.Repeat("x ", 4000) + "; rm -rf /", []string{"Deny", "More"}},
	} {
		for _, point := range []string{"file-sent", "parts-sent", "card-sent", "id-recorded"} {
			for _, when := range []string{"before-", "after-"} {
				t.Run(name+" "+when+point, func(t *testing.T) {
					t.Parallel()
					r := newCrashRig(t, bin)
					r.uploadsFail()
					r.run(when + point)
					r.fallsBack(c.command, c.labels)
					r.mustHaveDied(when + point)
				})
			}
		}
	}
}

// fallsBack takes one long call from the question to the end, and counts its cards.
func (c *crashRig) fallsBack(command string, labels []string) {
	t := c.t
	var a api.Approval
	req := api.CreateRequest{ID: "job-1", ToolName: "exec", Params: fmt.Appendf(nil, `{"command":%q}`, command)}
	c.until("create", func(ctx context.Context) (err error) {
		a, err = c.agent().Create(ctx, req, api.CreateOptions{})
		return err
	})
	var card fakechat.TelegramMessage
	c.until("card", func(ctx context.Context) (err error) {
		card, err = c.group.WaitMessage(ctx, func(m fakechat.TelegramMessage) bool { return strings.Contains(m.Text, a.Code) && len(m.Buttons) > 0 })
		return err
	})
	require.Equal(t, labels, card.Labels())
	if labels[0] == "Allow once" {
		said := ""
		for _, m := range c.group.FromBot() {
			said += m.Text
		}
		require.Contains(t, said, "; rm -rf /\n", "all of it stands above")
	}
	c.until("vote", func(ctx context.Context) error {
		m, _ := c.group.Message(card.ID)
		switch yes := yesOn(m.Buttons); {
		case yes != "": // the line ends in rm -rf /, which is R4
			c.alice.TapData(c.group, card.ID, yes)
		case slices.Contains(m.Labels(), labels[0]): // again, if the desk died before it had shown everything
			c.alice.Tap(c.group, card.ID, labels[0])
		}
		got, err := c.operator().Get(ctx, a.Code, 4*time.Second)
		if err != nil {
			return err
		}
		if a = got; a.Status == api.Pending {
			return errors.New("still pending")
		}
		return nil
	})
	want := map[string]api.Status{"Allow once": api.Approved, "Deny": api.Denied}[labels[0]]
	require.Equal(t, want, a.Status)
	cards := 0
	for _, m := range c.group.FromBot() {
		if strings.Contains(m.Text, "Code: "+a.Code) {
			cards++
		}
	}
	require.LessOrEqual(t, cards, 2, "at most one card too many")
}
