package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/fakechat"
	"approvalbot/internal/platform"
)

// Traps of the platform.

func TestAdversary_P1_OneCardPerPlaceOnDiscord(t *testing.T) {
	t.Parallel()
	r := newRig(t, withDiscord, func(r *rig) {
		r.routing = "{mode: both, targets: [" + inOps + `], fallback: [{channel: discord, to: "0OPS"}]}`
		r.agentHas = `, sessionChats: ["discord:OPS"]`
	})
	dc := r.chatOn("discord")
	a := r.ask(`{"n":1}`, func(c *api.CreateRequest) { c.Origin = &api.Target{Channel: "discord", To: "00" + r.ops.ID} })
	card := dc.card(a)
	dc.tap("alice", card.id, "Allow once")
	dc.settled(card.id)
	require.Len(t, r.get(a).Deliveries, 1)
	require.Len(t, dc.fromBot(), 1)
}

func TestAdversary_P3_DiscordsTroublesLoseNothing(t *testing.T) {
	post := func(f fakechat.DiscordFault) fakechat.DiscordFault {
		f.Method, f.Route = http.MethodPost, fakechat.RouteMessages
		return f
	}
	edit := func(f fakechat.DiscordFault) fakechat.DiscordFault {
		f.Method, f.Route = http.MethodPatch, fakechat.RouteMessage
		return f
	}
	for name, fault := range map[string]fakechat.DiscordFault{
		"429, a fraction of a second": post(fakechat.DiscordFault{Kind: fakechat.TooManyRequests, RetryAfter: 0.35}),
		"429, global":                 post(fakechat.DiscordFault{Kind: fakechat.TooManyRequests, RetryAfter: 0.35, Scope: "global"}),
		"500":                         post(fakechat.DiscordFault{Kind: fakechat.Status500}),
		"500 after":                   post(fakechat.DiscordFault{Kind: fakechat.Status500, When: fakechat.After}),
		"502 with a page":             post(fakechat.DiscordFault{Kind: fakechat.HTML502}),
		"reset before":                post(fakechat.DiscordFault{Kind: fakechat.Reset}),
		"reset after":                 post(fakechat.DiscordFault{Kind: fakechat.Reset, When: fakechat.After}),
		"truncated after":             post(fakechat.DiscordFault{Kind: fakechat.Truncated, When: fakechat.After}),
		"edit 429":                    edit(fakechat.DiscordFault{Kind: fakechat.TooManyRequests, RetryAfter: 0.35}),
		"edit 502":                    edit(fakechat.DiscordFault{Kind: fakechat.HTML502}),
		"edit reset after":            edit(fakechat.DiscordFault{Kind: fakechat.Reset, When: fakechat.After}),
		"first answer 500":            {Method: http.MethodPost, Route: fakechat.RouteCallback, Kind: fakechat.Status500},
		"first answer lost":           {Method: http.MethodPost, Route: fakechat.RouteCallback, Kind: fakechat.Reset, When: fakechat.After},
		"answer 429":                  {Method: http.MethodPatch, Route: fakechat.RouteFollowup, Kind: fakechat.TooManyRequests, RetryAfter: 0.35},
		"answer 502":                  {Method: http.MethodPatch, Route: fakechat.RouteFollowup, Kind: fakechat.HTML502},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, withDiscord, onlyOps)
			dc := r.chatOn("discord")
			handle := r.dc.Fault(fault)
			a := r.ask(`{"n":1}`)
			r.until(a, "its card's id is known", func(a api.Approval) bool { return a.Deliveries[0].MessageID != "" })
			card := dc.card(a)
			require.Contains(t, dc.tap("alice", card.id, "Allow once"), "llowed")
			got := r.final(a)
			require.EqualValues(t, "approved", got.Status)
			require.Len(t, got.Votes, 1)
			dc.settled(card.id, "Allowed once by alice")
			require.Len(t, dc.fromBot(), 1, "the nonce keeps one card")
			require.NoError(t, r.dc.WaitFor(r.ctx(), func() bool { return handle.Hits() == 1 }))
		})
	}
}

func TestAdversary_P3_ALimitedChannelDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t, withDiscord)
	r.dc.Fault(fakechat.DiscordFault{Method: http.MethodPost, Route: fakechat.RouteMessages, Channel: r.ops.ID, Times: -1, Kind: fakechat.TooManyRequests, RetryAfter: 3600})
	other := r.guild.AddChannel("other")
	r.stop()
	r.routing = "{mode: targets, targets: [" + inOps + `, {channel: discord, to: "` + other.ID + `"}]}`
	r.start()
	r.discordReady()
	there := dcChat{r, other}
	a := r.ask(`{"n":1}`)
	card := there.card(a)
	require.Contains(t, there.tap("alice", card.id, "Allow once"), "Allowed. It may run once")
	there.settled(card.id)
}

// What cannot be written to is named, the fallback is asked, and when nobody is
// left the asker is told.
func TestAdversary_P4_DeadChannelsAreNamedAndFallbackIsTried(t *testing.T) {
	for name, c := range map[string]struct {
		kill func(*rig)
		to   string
		says string
	}{
		"no access":        {func(r *rig) { r.ops.SetAccess(fakechat.DiscordNoAccess) }, "OPS", "View Channel"},
		"no right":         {func(r *rig) { r.ops.SetAccess(fakechat.DiscordNoSend) }, "OPS", "Send Messages"},
		"deleted":          {func(r *rig) { r.ops.Delete() }, "OPS", "no such channel"},
		"closed messages":  {func(r *rig) { r.accounts["alice"].CloseDMs(true) }, "dm:ALICE", "direct messages"},
		"no server shared": {func(r *rig) { r.accounts["alice"].Stranger(true) }, "dm:ALICE", "server"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, withDiscord, func(r *rig) {
				r.routing = `{mode: targets, targets: [{channel: discord, to: "` + c.to + `"}], fallback: [` + inGroup + `], fallbackAfter: 20s}`
			})
			c.kill(r)
			tg := r.chatOn("telegram")
			a := r.ask(`{"n":1}`)
			card := tg.card(a)
			got := r.until(a, "the failed delivery is visible", func(a api.Approval) bool {
				return len(a.Deliveries) == 2 && a.Deliveries[0].State == "failed"
			})
			require.Contains(t, got.Deliveries[0].Error, c.says)
			require.True(t, got.Reached)
			require.Contains(t, tg.tap("alice", card.id, "Allow once"), "Allowed. It may run once")
		})
	}
}

func TestAdversary_P4_TheAskerLearnsThatNobodyWasReachedOnDiscord(t *testing.T) {
	t.Parallel()
	r := newRig(t, withDiscord, func(r *rig) {
		r.routing = "{mode: targets, targets: [" + inOps + "]}"
		r.agentHas = `, sessionChats: ["telegram:GROUP"]`
	})
	r.ops.Delete()
	a := r.ask(`{"n":1}`, func(c *api.CreateRequest) { c.Origin = &api.Target{Channel: "telegram", To: fmt.Sprint(r.group.ID)} })
	got := r.until(a, "reached is false", func(a api.Approval) bool { return !a.Reached })
	require.Contains(t, got.ReasonCodes, "no-approver-reachable")
	require.EqualValues(t, "pending", got.Status, "an operator may still decide")
	r.chatOn("telegram").waitText("No approver could be asked")
}

func TestAdversary_P5_HarmlessErrorsOfDiscord(t *testing.T) {
	t.Parallel()
	r := newRig(t, withDiscord, onlyOps)
	dc := r.chatOn("discord")
	for i, f := range []fakechat.DiscordFault{
		{Method: http.MethodPost, Route: fakechat.RouteCallback, Kind: fakechat.Custom, Status: 404, Code: 10062, Message: "Unknown interaction"},
		{Method: http.MethodPost, Route: fakechat.RouteCallback, Kind: fakechat.Custom, Status: 400, Code: 40060, Message: "Interaction has already been acknowledged."},
		{Method: http.MethodPatch, Route: fakechat.RouteFollowup, Kind: fakechat.Custom, Status: 404, Code: 10008, Message: "Unknown Message"},
	} {
		a := r.ask(fmt.Sprintf(`{"n":%d}`, i))
		card := dc.card(a)
		fault := r.dc.Fault(f)
		r.accounts["alice"].Click(r.ops, card.id, "Allow once")
		require.EqualValues(t, "approved", r.final(a).Status)
		dc.settled(card.id, "Allowed once by alice")
		require.NoError(t, r.dc.WaitFor(r.ctx(), func() bool { return fault.Hits() == 1 }))
	}

	// A card that is too old for another edit: the end is told below it.
	a := r.ask(`{"n":10}`)
	card := dc.card(a)
	r.dc.Fault(fakechat.DiscordFault{Method: http.MethodPatch, Route: fakechat.RouteMessage, Times: -1, Kind: fakechat.TooManyRequests,
		Code: 30046, Message: "Maximum number of edits to messages older than 1 hour reached. Try again later."}) // as long as it stands
	require.Contains(t, dc.tap("alice", card.id, "Allow once"), "Allowed. It may run once")
	_, err := r.ops.WaitMessage(r.ctx(), func(m fakechat.DiscordMessage) bool {
		return m.ReplyTo == card.id && strings.Contains(dcText(m.Text()), a.Code+": ✅ Allowed once by alice")
	})
	require.NoError(t, err)
}

func TestAdversary_P5_ADeletedCardIsGivenUp(t *testing.T) {
	t.Parallel()
	r := newRig(t, withDiscord, onlyOps)
	a := r.ask(`{"n":1}`)
	card := r.chatOn("discord").card(a)
	r.until(a, "its card's id is known", func(a api.Approval) bool { return a.Deliveries[0].MessageID != "" })
	r.accounts["mallory"].Delete(r.ops, card.id)
	_, err := r.operator().Resolve(r.ctx(), a.Code, api.ResolveRequest{Decision: "deny"})
	require.NoError(t, err)
	r.until(a, "a deleted card is given up", func(a api.Approval) bool { return a.Deliveries[0].State == "failed" })
}

// The desk stops after Discord took a card and before it said so: another start
// finds the same card by its nonce.
func TestAdversary_P2_StoppedWithoutTheCardsID(t *testing.T) {
	for name, kind := range map[string]fakechat.FaultKind{"hang": fakechat.Hang, "reset": fakechat.Reset} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, withDiscord, onlyOps)
			dc := dcChat{r, r.ops}
			fault := r.dc.Fault(fakechat.DiscordFault{Method: http.MethodPost, Route: fakechat.RouteMessages, Kind: kind, When: fakechat.After, Times: -1})
			a := r.ask(`{"n":1}`)
			card := dc.shown(a)
			r.stopInTime()
			fault.Remove()
			r.start()
			r.discordReady()
			r.until(a, "its card's id is known", func(a api.Approval) bool { return a.Deliveries[0].MessageID == card.id })
			require.Contains(t, dc.tap("alice", card.id, "Allow once"), "Allowed. It may run once")
			dc.settled(card.id, "Allowed once by alice")
			require.Len(t, dc.fromBot(), 1)
		})
	}
}

// The request ends while Discord has its card and the desk does not know it: the
// card that the nonce finds shows the end all the same.
func TestAdversary_P2_EndedWithoutTheCardsID(t *testing.T) {
	t.Parallel()
	r := newRig(t, withDiscord, inTheSession)
	dc := r.chatOn("discord")
	fault := r.dc.Fault(fakechat.DiscordFault{Method: http.MethodPost, Route: fakechat.RouteMessages, Kind: fakechat.Reset, When: fakechat.After, Times: -1})
	a := r.ask(`{"n":1}`, fromOps(r))
	card := dc.waitText(a.Code)
	_, err := r.agent().Withdraw(r.ctx(), a.ID, api.WithdrawRequest{Reason: "done by hand"})
	require.NoError(t, err)
	fault.Remove()
	dc.settled(card.id, a.Code, "Withdrawn")
	require.Len(t, dc.fromBot(), 1)
}

// A request ends before its card: its session chat is told in words, and what
// comes later is drawn there.
func TestDiscord_WhatCameTooLateForACardIsDrawnAnew(t *testing.T) {
	t.Parallel()
	r := newRig(t, withDiscord, inTheSession)
	dc := r.chatOn("discord")
	fault := r.dc.Fault(fakechat.DiscordFault{Method: http.MethodPost, Route: fakechat.RouteMessages, Kind: fakechat.Status500, Times: -1})
	a := r.ask(`{"n":1}`, fromOps(r))
	_, err := r.operator().Resolve(r.ctx(), a.Code, api.ResolveRequest{Decision: api.AllowOnce})
	require.NoError(t, err)
	fault.Remove()
	told := dc.waitText("llowed once by olga")
	_, err = r.agent().Claim(r.ctx(), a.ID, api.ClaimRequest{})
	require.NoError(t, err)
	_, err = r.agent().Result(r.ctx(), a.ID, api.ResultRequest{Status: "succeeded", Summary: "it is out"})
	require.NoError(t, err)
	dc.settled(told.id, "it is out")
	r.until(a, "settled", func(a api.Approval) bool { return a.Deliveries[0].State == "settled" })
}

// inTheSession sends cards to the session chat alone, which may be the channel.
func inTheSession(r *rig) {
	r.routing, r.agentHas = "{mode: session}", `, sessionChats: ["discord:OPS"]`
}

func fromOps(r *rig) func(*api.CreateRequest) {
	return func(c *api.CreateRequest) { c.Origin = &api.Target{Channel: "discord", To: r.ops.ID} }
}

// byHTTP lets interactions come as signed requests to the desk.
func byHTTP(r *rig) {
	r.addr = ownAddr(r.t)
	r.dcOptions.Seed = []byte("0123456789abcdef0123456789abcdef")
	r.getUpdates = "{interactions: {publicKey: " + fakechat.NewDiscord(r.t, r.dcOptions).PublicKey() + "}}"
}

// An interaction that was stored and acknowledged counts after a restart.
func TestAdversary_P2_StoredTapCountsAfterARestart(t *testing.T) {
	t.Parallel()
	r := newRig(t, withDiscord, onlyOps, byHTTP)
	dc := r.chatOn("discord")
	endpoint := r.url + platform.ByName("discord").Path()
	require.NoError(t, r.dc.SetEndpoint(r.ctx(), endpoint))
	a := r.ask(`{"n":1}`)
	card := dc.card(a)
	r.stop()
	// Until the bot knows who it is, what comes in is kept and not yet handled.
	fault := r.dc.Fault(fakechat.DiscordFault{Route: fakechat.RouteMe, Times: -1, Kind: fakechat.Status500})
	r.start()
	tap := r.accounts["alice"].Click(r.ops, card.id, "Allow once")
	response, err := tap.Response(r.ctx())
	require.NoError(t, err)
	require.Equal(t, fakechat.CallbackDeferredMessage, response.Type)
	require.EqualValues(t, "pending", r.get(a).Status)
	r.stopInTime()
	fault.Remove()
	r.start()
	require.EqualValues(t, "approved", r.final(a).Status)
	require.Contains(t, r.told(tap), "Allowed. It may run once")
	dc.settled(card.id, "Allowed once by alice")
}

func TestDiscord_HTTPInteractions(t *testing.T) {
	t.Parallel()
	r := newRig(t, withDiscord, onlyOps, byHTTP)
	dc := r.chatOn("discord")
	endpoint := r.url + platform.ByName("discord").Path()
	require.NoError(t, r.dc.SetEndpoint(r.ctx(), endpoint))
	a := r.ask(`{"n":1}`)
	card := dc.card(a)
	require.Equal(t, refusal, dc.tap("mallory", card.id, "Allow once"))
	require.Equal(t, "Allowed. It may run once, within 5 minutes.", dc.tap("alice", card.id, "Allow once"))
	b := r.ask(`{"n":2}`)
	card = dc.card(b)
	form := r.denyWithAReason("bob", card)
	require.EqualValues(t, "denied", r.final(b).Status)
	require.Contains(t, r.told(r.accounts["bob"].SubmitModal(form, map[string]string{"reason": "no"})), "Noted.")
	dc.settled(card.id, "Denied by bob, ", ": no")
	require.Zero(t, r.dc.Gateway().Identifies())
	require.NoError(t, r.dc.Probe(r.ctx(), endpoint))
}

// A Discord that is away when the desk starts holds up no timer of Telegram's,
// also where an interaction waits to be handled.
func TestBoth_TimersRunWhileDiscordIsAway(t *testing.T) {
	t.Parallel()
	r := newRig(t, withDiscord, byHTTP)
	dc := r.chatOn("discord")
	require.NoError(t, r.dc.SetEndpoint(r.ctx(), r.url+platform.ByName("discord").Path()))
	a := r.ask(`{"n":1}`)
	card := dc.card(a)
	r.stop()
	r.dc.Fault(fakechat.DiscordFault{Route: fakechat.RouteMe, Times: -1, Kind: fakechat.Status500})
	r.start()
	_, err := r.accounts["alice"].Click(r.ops, card.id, "Allow once").Response(r.ctx())
	require.NoError(t, err)
	r.stopInTime()
	r.start()
	b := r.ask(`{"n":2}`, func(c *api.CreateRequest) { c.TimeoutMs = 300 })
	require.EqualValues(t, "expired", r.final(b).Status)
}

// A burst to one limited channel: nothing is lost, the riskiest come first, then
// the oldest.
func TestAdversary_P9_ABurstToDiscordKeepsItsOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t, withDiscord, onlyOps)
	hold := r.dc.Fault(fakechat.DiscordFault{Method: http.MethodPost, Route: fakechat.RouteMessages, Times: -1, Kind: fakechat.TooManyRequests, RetryAfter: 1})
	const n = 60
	asked := make([]api.Approval, n)
	for i := range asked {
		if i%10 == 9 {
			asked[i] = r.exec(fmt.Sprintf("rm -rf /srv/data%d", i))
		} else {
			asked[i] = r.ask(fmt.Sprintf(`{"n":%d}`, i))
		}
	}
	hold.Remove()
	require.NoError(t, r.dc.WaitFor(r.ctx(), func() bool { return len(r.ops.FromBot()) >= n }))
	place := map[string]int{}
	for i, m := range r.ops.FromBot() {
		for _, a := range asked {
			if strings.Contains(m.Text(), a.Code) {
				place[a.Code] = i
			}
		}
	}
	require.Len(t, place, n, "one card each")
	last := -1
	for i := 9; i < n; i += 10 {
		require.Less(t, place[asked[i].Code], n/10, "the riskiest come first")
		require.Greater(t, place[asked[i].Code], last, "oldest first among equals")
		last = place[asked[i].Code]
	}
}

// Kinds and fields that do not exist yet are ignored, a replayed or old request
// is refused, and the desk goes on.
func TestAdversary_P8_I11_UnknownAndReplayedInteractions(t *testing.T) {
	t.Parallel()
	r := newRig(t, withDiscord, onlyOps, byHTTP)
	dc, url := r.chatOn("discord"), r.url+platform.ByName("discord").Path()
	require.NoError(t, r.dc.SetEndpoint(r.ctx(), url))
	a := r.ask(`{"n":1}`)
	card := dc.card(a)
	send := func(body string, at time.Time) int {
		status, _, err := r.dc.Send(r.ctx(), r.dc.SignedRequest(url, []byte(body), at))
		require.NoError(t, err)
		return status
	}
	for _, body := range []string{
		`{"type":99,"id":"900","token":"x","hologram":{"depth":3}}`,
		`{"type":3,"id":"901","token":"x","data":{"component_type":77,"custom_id":"/approve ` + a.Code + `"}}`,
		`{"type":5,"id":"902","token":"x","data":null}`, `[]`, `nonsense`,
	} {
		require.Less(t, send(body, time.Now()), 500, body)
	}
	require.Equal(t, http.StatusUnauthorized, send(`{"type":1}`, time.Now().Add(-time.Hour)), "an old timestamp")
	require.EqualValues(t, "pending", r.get(a).Status)
	require.Empty(t, r.get(a).Votes)
	require.Contains(t, dc.tap("alice", card.id, "Allow once"), "llowed")
}
