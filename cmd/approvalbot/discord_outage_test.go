package main

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/fakechat"
	"approvalbot/internal/platform"
)

// front stands before a fake's address and can refuse connections.
type front struct {
	t        *testing.T
	address  string // its own
	upstream string

	mu    sync.Mutex
	ln    net.Listener
	conns []net.Conn
	wg    sync.WaitGroup
}

func newFront(t *testing.T, upstream string) *front {
	f := &front{t: t, address: ownAddr(t), upstream: upstream}
	f.up()
	t.Cleanup(func() {
		f.down()
		f.wg.Wait()
	})
	return f
}

// up takes connections, always at the same address.
func (f *front) up() {
	f.t.Helper()
	ln, err := net.Listen("tcp", f.address)
	require.NoError(f.t, err)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ln = ln
	f.wg.Go(func() {
		for {
			in, err := ln.Accept()
			if err != nil {
				return
			}
			f.wg.Go(func() { f.carry(in) })
		}
	})
}

// down refuses connections and cuts those that stand.
func (f *front) down() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ln.Close()
	for _, c := range f.conns {
		c.Close()
	}
	f.conns = nil
}

func (f *front) carry(in net.Conn) {
	out, err := net.Dial("tcp", f.upstream)
	if err != nil {
		in.Close()
		return
	}
	f.mu.Lock()
	f.conns = append(f.conns, in, out)
	f.mu.Unlock()
	f.wg.Go(func() {
		_, _ = io.Copy(out, in)
		out.Close()
	})
	_, _ = io.Copy(in, out)
	in.Close()
}

// trouble is a way in which a platform is down: begin takes it down, and gives
// what waits until the desk has felt it and what ends it.
type trouble func(r *rig) (felt, lift func())

func discordFails(kind fakechat.FaultKind) trouble {
	return func(r *rig) (felt, lift func()) {
		fault := r.dc.Fault(fakechat.DiscordFault{Times: -1, Kind: kind})
		r.dc.Gateway().Drop()
		return func() {
			require.NoError(r.t, r.dc.WaitFor(r.ctx(), func() bool { return fault.Hits() > 0 }))
		}, fault.Remove
	}
}

func telegramFails(kind fakechat.FaultKind) trouble {
	return func(r *rig) (felt, lift func()) {
		fault := r.tg.Fault(fakechat.TelegramFault{Times: -1, Kind: kind})
		return func() {
			require.NoError(r.t, r.tg.WaitFor(r.ctx(), func() bool { return fault.Hits() > 0 }))
		}, fault.Remove
	}
}

// refused lets nobody connect to a platform.
func refused(name string) trouble {
	return func(r *rig) (felt, lift func()) {
		r.fronts[name].down()
		if name == "discord" {
			r.dc.Gateway().Drop()
		}
		return func() {}, r.fronts[name].up
	}
}

// gatewayClosed closes the gateway and lets nobody in.
func gatewayClosed(r *rig) (felt, lift func()) {
	g := r.dc.Gateway()
	before := len(g.Log(fakechat.GatewayConnected))
	g.HoldHello(true)
	g.CloseWith(4000)
	return func() {
		require.NoError(r.t, r.dc.WaitFor(r.ctx(), func() bool { return len(g.Log(fakechat.GatewayConnected)) > before }))
	}, func() { g.HoldHello(false) }
}

// An outage of one platform changes nothing on the other, and both catch up.
func TestBoth_OutageOfOneLeavesTheOther(t *testing.T) {
	for name, c := range map[string]struct {
		down, up int // of platforms
		trouble  trouble
	}{
		"telegram refuses connections": {0, 1, refused("telegram")},
		"telegram hangs":               {0, 1, telegramFails(fakechat.Hang)},
		"telegram answers 500":         {0, 1, telegramFails(fakechat.Status500)},
		"discord refuses connections":  {1, 0, refused("discord")},
		"discord hangs":                {1, 0, discordFails(fakechat.Hang)},
		"discord answers 500":          {1, 0, discordFails(fakechat.Status500)},
		"discord resets connections":   {1, 0, discordFails(fakechat.Reset)},
		"the gateway is closed":        {1, 0, gatewayClosed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, withDiscord, func(r *rig) { r.fronted = true })
			sick, well := r.chatOn(platform.Names()[c.down]), r.chatOn(platform.Names()[c.up])
			a := r.ask(`{"n":1}`)
			onSick, onWell := sick.card(a), well.card(a)
			r.until(a, "both cards' ids are known", func(a api.Approval) bool {
				return a.Deliveries[0].MessageID != "" && a.Deliveries[1].MessageID != ""
			})
			felt, lift := c.trouble(r)

			require.Equal(t, "Allowed. It may run once, within 5 minutes.", well.tap("alice", onWell.id, "Allow once"))
			require.EqualValues(t, "approved", r.final(a).Status)
			well.settled(onWell.id, "Allowed once by alice")
			b := r.ask(`{"n":2}`)
			well.card(b)
			d := r.ask(`{"n":3}`)
			require.Contains(t, well.say("bob", "/deny "+d.Code), "Denied")
			felt()

			lift()
			sick.settled(onSick.id, "Allowed once by alice")
			card := sick.card(b)
			if sick.platform() == "discord" {
				r.discordReady() // Discord keeps nothing for a bot that is away
			}
			require.Equal(t, "Allowed. It may run once, within 5 minutes.", sick.tap("bob", card.id, "Allow once"))
			sick.settled(card.id, "Allowed once by bob")
			well.settled(well.waitText(b.Code).id, "Allowed once by bob")
		})
	}
}

// stopInTime stops the desk; that it takes bounded time is all it asks.
func (r *rig) stopInTime() {
	r.t.Helper()
	r.cancel()
	select {
	case err := <-r.done:
		require.NoError(r.t, err)
		r.cancel = nil
	case <-r.ctx().Done():
		require.Fail(r.t, "the desk does not stop")
	}
}

// A stop needs nothing of Discord, whatever Discord does.
func TestDiscord_StopWhateverTheGatewayDoes(t *testing.T) {
	for name, c := range map[string]struct {
		before, back func(*rig)
	}{
		"no HELLO":          {func(r *rig) { r.dc.Gateway().HoldHello(true) }, func(r *rig) { r.dc.Gateway().HoldHello(false) }},
		"nothing but HELLO": {func(r *rig) { r.dc.Gateway().Zombie(true) }, func(r *rig) { r.dc.Gateway().Zombie(false) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, withDiscord)
			g := r.dc.Gateway()
			seen := len(g.Log(fakechat.GatewayConnected))
			c.before(r)
			g.Drop()
			require.NoError(t, r.dc.WaitFor(r.ctx(), func() bool { return len(g.Log(fakechat.GatewayConnected)) > seen }))
			r.stopInTime()
			seen = len(g.Log(fakechat.GatewayConnected))
			r.start()
			require.NoError(t, r.dc.WaitFor(r.ctx(), func() bool { return len(g.Log(fakechat.GatewayConnected)) > seen }))
			r.stopInTime()
			c.back(r)
			r.start()
			r.discordReady()
			dc := r.chatOn("discord")
			a := r.ask(`{"n":1}`)
			require.Equal(t, "Allowed. It may run once, within 5 minutes.", dc.tap("alice", dc.card(a).id, "Allow once"))
		})
	}
	t.Run("no answer of the REST API", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, withDiscord)
		fault := r.dc.Fault(fakechat.DiscordFault{Times: -1, Kind: fakechat.Hang})
		r.ask(`{"n":1}`)
		require.NoError(t, r.dc.WaitFor(r.ctx(), func() bool { return fault.Hits() > 0 }))
		r.stopInTime()
		r.start()
		require.NoError(t, r.dc.WaitFor(r.ctx(), func() bool { return fault.Hits() > 1 }))
		r.stopInTime()
	})
}
