package discord

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/bot/discord/rest"
	"approvalbot/internal/fakechat"
)

// P7: whatever the gateway does, the next tap is heard, by resuming where that is
// possible.
func TestAdversary_P7_GatewayComesBack(t *testing.T) {
	cases := map[string]struct {
		do         func(*fakechat.DiscordGateway)
		identifies int
	}{
		"dropped":             {func(g *fakechat.DiscordGateway) { g.Drop() }, 1},
		"closed with 4000":    {func(g *fakechat.DiscordGateway) { g.CloseWith(4000) }, 1},
		"op 7":                {func(g *fakechat.DiscordGateway) { g.Reconnect() }, 1},
		"op 9, resumable":     {func(g *fakechat.DiscordGateway) { g.InvalidSession(true) }, 1},
		"op 9, not resumable": {func(g *fakechat.DiscordGateway) { g.InvalidSession(false) }, 2},
		"closed with 4009":    {func(g *fakechat.DiscordGateway) { g.CloseWith(4009) }, 2},
		"sessions are gone":   {func(g *fakechat.DiscordGateway) { g.EndSessions(); g.Drop() }, 2},
		"heartbeat asked for": {func(g *fakechat.DiscordGateway) { g.RequestHeartbeat() }, 1},
		"zombie":              {func(g *fakechat.DiscordGateway) { g.Zombie(true); time.Sleep(time.Minute); g.Zombie(false) }, 1},
		"no acknowledgements": {func(g *fakechat.DiscordGateway) { g.StopAcks(true); time.Sleep(90 * time.Second); g.StopAcks(false) }, 0},
		"HELLO held for a bit": {func(g *fakechat.DiscordGateway) {
			g.HoldHello(true)
			g.Drop()
			time.Sleep(15 * time.Second)
			g.HoldHello(false)
		}, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			scene(t, func(r *rig) {
				card := r.card()
				r.running()
				r.told(r.alice.Click(r.ops, card, "Deny"))
				c.do(r.dc.Gateway())
				r.until("the gateway is back", func() bool { return r.dc.Gateway().Ready() && r.bot.State().Up })
				time.Sleep(20 * time.Second)
				r.told(r.alice.Click(r.ops, card, "Deny"))
				if c.identifies > 0 {
					require.Equal(t, c.identifies, r.dc.Gateway().Identifies())
				}
			})
		})
	}
}

// P7: a tap that comes while the connection is down is replayed and answered in
// time.
func TestAdversary_P7_ReplayedTapIsAnsweredInTime(t *testing.T) {
	scene(t, func(r *rig) {
		card := r.card()
		r.running()
		r.dc.Gateway().Drop()
		tap := r.alice.Click(r.ops, card, "Allow once")
		require.Equal(t, "heard /approve 7KQ2AB", r.told(tap))
		require.Equal(t, 1, r.dc.Gateway().Resumes())
	})
}

// P7: fatal close codes end the attempts, with a clear word.
func TestAdversary_P7_FatalCloseCodes(t *testing.T) {
	for code, text := range map[int]string{
		4004: "does not accept the bot token", 4010: "close code 4010", 4011: "close code 4011",
		4012: "close code 4012", 4013: "close code 4013", 4014: "close code 4014",
	} {
		for _, when := range []string{"at identify", "later"} {
			t.Run(strconv.Itoa(code)+" "+when, func(t *testing.T) {
				scene(t, func(r *rig) {
					if when == "later" {
						r.running()
						r.dc.Gateway().CloseWith(code)
					} else {
						r.dc.Gateway().RefuseWith(code, -1)
						r.run()
					}
					r.until("the adapter says so", func() bool { s := r.bot.State(); return !s.Up && strings.Contains(s.Detail, text) })
					n := r.dc.Gateway().Identifies()
					time.Sleep(10 * time.Minute)
					require.Equal(t, n, r.dc.Gateway().Identifies())
					require.Zero(t, r.dc.Gateway().Resumes())
				})
			})
		}
	}
}

// A revoked token ends the attempts, at start too.
func TestRevokedToken(t *testing.T) {
	scene(t, func(r *rig) {
		r.dc.RevokeToken()
		r.run()
		r.until("the adapter says so", func() bool { return r.bot.State().Detail == rest.BadToken })
		n := len(r.dc.Journal())
		time.Sleep(time.Hour)
		require.Len(t, r.dc.Journal(), n)
	})
}

// The identify budget is kept: a gateway that ends every session is asked ever
// more slowly, and not at all when Discord says that the budget is spent.
func TestIdentifyBudget(t *testing.T) {
	scene(t, func(r *rig) {
		r.dc.Gateway().RefuseWith(4000, -1)
		r.run()
		time.Sleep(24 * time.Hour)
		require.Less(t, len(r.dc.Gateway().Log(fakechat.GatewayIdentified))+len(r.dc.Gateway().Log(fakechat.GatewayConnected)), 900)
	})
	scene(t, func(r *rig) {
		r.dc.Gateway().SpendIdentifies(1000)
		r.run()
		time.Sleep(time.Hour)
		require.Empty(t, r.dc.Gateway().Log(fakechat.GatewayConnected))
		require.Contains(t, r.bot.State().Detail, "no more sessions")
	})
}

// A stop takes about a second, whatever the gateway does.
func TestStopIsQuick(t *testing.T) {
	cases := map[string]func(*rig){
		"HELLO held": func(r *rig) { r.dc.Gateway().HoldHello(true); r.run(); time.Sleep(time.Second) },
		"connected":  func(r *rig) { r.running() },
		"zombie":     func(r *rig) { r.running(); r.dc.Gateway().Zombie(true) },
		"between":    func(r *rig) { r.running(); r.dc.Gateway().Drop() },
		"REST hangs": func(r *rig) {
			r.dc.Fault(fakechat.DiscordFault{Times: -1, Kind: fakechat.Hang})
			r.run()
			time.Sleep(time.Second)
		},
		"a tap hangs": func(r *rig) {
			card := r.card()
			r.running()
			r.dc.Fault(fakechat.DiscordFault{Times: -1, Kind: fakechat.Hang})
			r.alice.Click(r.ops, card, "Deny")
			time.Sleep(time.Second)
		},
	}
	for name, before := range cases {
		t.Run(name, func(t *testing.T) {
			scene(t, func(r *rig) {
				before(r)
				began := time.Now()
				r.stop()
				require.LessOrEqual(t, time.Since(began), 1500*time.Millisecond)
			})
		})
	}
}

// Discord away in any way is told, and got over.
func TestDiscordAway(t *testing.T) {
	for _, kind := range []fakechat.FaultKind{fakechat.HTML502, fakechat.Hang, fakechat.Reset, fakechat.Truncated} {
		t.Run(kind.String(), func(t *testing.T) {
			scene(t, func(r *rig) {
				fault := r.dc.Fault(fakechat.DiscordFault{Times: -1, Kind: kind})
				r.run()
				<-r.bot.CaughtUp()
				time.Sleep(2 * time.Minute)
				require.False(t, r.bot.State().Up)
				fault.Remove()
				r.until("up", func() bool { return r.bot.State().Up })
			})
		})
	}
}

// Over a real connection, with the race detector's eyes on the library.
func TestOverTCP(t *testing.T) {
	dc := fakechat.NewDiscord(t, fakechat.DiscordOptions{AckWindow: time.Minute})
	alice := dc.AddUser(fakechat.DiscordProfile{Username: "alice"})
	ops := dc.AddGuild("desk", alice).AddChannel("ops")
	r := &rig{t: t, dc: dc, inbox: newMemory(), logs: &lockedBuffer{}, ops: ops, alice: alice, cfg: Config{Token: dc.Token(), APIURL: dc.URL()}}
	r.desk = &recorder{inbox: r.inbox}
	r.desk.reply(heard)
	r.bot = r.newBot()
	card := r.card()
	r.run()
	defer r.stop()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, dc.Gateway().WaitReady(ctx))
	require.Equal(t, "heard /deny 7KQ2AB", r.told(alice.Click(ops, card, "Deny")))
	dc.Gateway().Drop()
	require.NoError(t, dc.WaitFor(ctx, func() bool { return dc.Gateway().Resumes() == 1 }))
	require.Equal(t, "heard /deny 7KQ2AB", r.told(alice.Click(ops, card, "Deny")))
}
