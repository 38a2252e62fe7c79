package discord_test

import (
	"crypto/ed25519"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/bot/discord"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/fakechat"
)

// probed is a fake Discord with a server and a channel in it.
type probed struct {
	dc   *fakechat.Discord
	g    *fakechat.DiscordGuild
	ops  *fakechat.DiscordChannel
	user *fakechat.DiscordUser
}

func newProbed(t *testing.T) *probed {
	dc := fakechat.NewDiscord(t, fakechat.DiscordOptions{})
	alice := dc.AddUser(fakechat.DiscordProfile{Username: "alice", GlobalName: "Alice"})
	g := dc.AddGuild("acme", alice)
	return &probed{dc, g, g.AddChannel("ops"), alice}
}

// look gives the last finding of each thing, and checks that nothing was done that
// a running desk or a person could feel.
func (p *probed) look(t *testing.T, cfg discord.Config, places []approval.Target, users, roles []string) map[string]core.Diagnostic {
	t.Helper()
	cfg.Token, cfg.APIURL = p.dc.Token(), p.dc.URL()
	found := map[string]core.Diagnostic{}
	for _, f := range discord.Probe(t.Context(), cfg, places, users, roles) {
		require.NotContains(t, f.Text+f.Fix, p.dc.Token())
		found[f.What] = f
	}
	for _, route := range []string{fakechat.RouteOpenDM, fakechat.RouteMessages} {
		require.Empty(t, p.dc.Calls("POST", route))
	}
	require.Zero(t, p.dc.Gateway().Identifies())
	return found
}

func TestProbeComputesPermissions(t *testing.T) {
	tests := []struct {
		name  string
		set   func(p *probed) approval.Target
		level core.Level
		says  string
	}{
		{"open", func(p *probed) approval.Target { return at(p.ops) }, core.LevelOK, "may post and edit"},
		{"a thread", func(p *probed) approval.Target { return at(p.ops.AddThread("deploys")) }, core.LevelOK, "may post and edit"},
		{"a thread of another channel", func(p *probed) approval.Target {
			return approval.Target{Channel: "discord", To: p.g.AddChannel("other").ID, ThreadID: p.ops.AddThread("deploys").ID}
		}, core.LevelFail, "not in that channel"},
		{"a forum", func(p *probed) approval.Target { return at(p.g.AddForum("asks")) }, core.LevelOK, "may post"},
		{"a forum that wants tags", func(p *probed) approval.Target {
			f := p.g.AddForum("asks", "deploy")
			f.RequireTag()
			return at(f)
		}, core.LevelFail, "wants a tag"},
		{"everyone may not see it", func(p *probed) approval.Target {
			p.ops.OverwriteRole(p.g.ID, 0, fakechat.PermissionViewChannel)
			return at(p.ops)
		}, core.LevelFail, "cannot see"},
		{"everyone may not write, the bot may", func(p *probed) approval.Target {
			p.ops.OverwriteRole(p.g.ID, 0, fakechat.PermissionSendMessages)
			p.ops.OverwriteMember(p.dc.BotUserID(), fakechat.PermissionSendMessages, 0)
			return at(p.ops)
		}, core.LevelOK, "may post"},
		{"the bot may not write", func(p *probed) approval.Target {
			p.ops.SetAccess(fakechat.DiscordNoSend)
			return at(p.ops)
		}, core.LevelFail, "may not write"},
		{"threads are closed to it", func(p *probed) approval.Target {
			p.ops.OverwriteMember(p.dc.BotUserID(), 0, fakechat.PermissionSendInThreads)
			return at(p.ops.AddThread("deploys"))
		}, core.LevelFail, "may not write"},
		{"no files", func(p *probed) approval.Target {
			p.ops.OverwriteMember(p.dc.BotUserID(), 0, fakechat.PermissionAttachFiles)
			return at(p.ops)
		}, core.LevelWarn, "Attach Files"},
		{"archived", func(p *probed) approval.Target {
			c := p.ops.AddThread("deploys")
			c.Archive(false)
			return at(c)
		}, core.LevelWarn, "archived"},
		{"locked", func(p *probed) approval.Target {
			c := p.ops.AddThread("deploys")
			c.Lock()
			return at(c)
		}, core.LevelFail, "locked"},
		{"deleted", func(p *probed) approval.Target {
			p.ops.Delete()
			return at(p.ops)
		}, core.LevelFail, "no such channel"},
		{"a person", func(p *probed) approval.Target { return approval.Target{Channel: "discord", To: "dm:" + p.user.ID} }, core.LevelOK, "Alice, a person"},
		{"a bot's direct messages", func(p *probed) approval.Target {
			return approval.Target{Channel: "discord", To: "dm:" + p.dc.AddUser(fakechat.DiscordProfile{Bot: true}).ID}
		}, core.LevelFail, "is a bot"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newProbed(t)
			target := tt.set(p)
			f := p.look(t, discord.Config{}, []approval.Target{target}, nil, nil)[target.String()]
			require.Equal(t, tt.level, f.Level, f)
			require.Contains(t, f.Text, tt.says)
			require.Equal(t, f.Level == core.LevelOK, f.Fix == "", "what is wrong has a way out")
		})
	}
}

func at(c *fakechat.DiscordChannel) approval.Target {
	if c.Parent != nil {
		return approval.Target{Channel: "discord", To: c.Parent.ID, ThreadID: c.ID}
	}
	return approval.Target{Channel: "discord", To: c.ID}
}

func TestProbeFindsUsersAndRoles(t *testing.T) {
	p := newProbed(t)
	robot := p.dc.AddUser(fakechat.DiscordProfile{Username: "robby", Bot: true})
	role := p.g.AddRole("ops", 0)
	found := p.look(t, discord.Config{}, []approval.Target{at(p.ops)}, []string{p.user.ID, robot.ID, "404"}, []string{role.ID, "405"})
	require.Contains(t, found["discord user "+p.user.ID].Text, "Alice, a person")
	require.Contains(t, found["discord user "+robot.ID].Text, "is a bot (robby)")
	require.Contains(t, found["discord user 404"].Text, "no such user")
	require.Contains(t, found["discord role "+role.ID].Text, `"ops" in "acme"`)
	require.Equal(t, core.LevelWarn, found["discord role 405"].Level)
}

func TestProbeSaysWhetherTapsComeIn(t *testing.T) {
	p := newProbed(t)
	inter := discord.Config{Updates: discord.Interactions, PublicKey: p.dc.PublicKey()}
	require.Contains(t, p.look(t, discord.Config{}, nil, nil, nil)["discord"].Text, "over the gateway")
	require.Contains(t, p.look(t, inter, nil, nil, nil)["discord"].Text, "no Interactions Endpoint URL")

	key, err := hex.DecodeString(p.dc.PublicKey())
	require.NoError(t, err)
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		signature, _ := hex.DecodeString(r.Header.Get("X-Signature-Ed25519"))
		if !ed25519.Verify(key, append([]byte(r.Header.Get("X-Signature-Timestamp")), body...), signature) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, `{"type":1}`)
	}))
	t.Cleanup(endpoint.Close)
	require.NoError(t, p.dc.SetEndpoint(t.Context(), endpoint.URL))
	require.Contains(t, p.look(t, discord.Config{}, nil, nil, nil)["discord"].Text, "the gateway gets no taps")
	require.Equal(t, core.LevelOK, p.look(t, inter, nil, nil, nil)["discord"].Level)
	inter.PublicKey = strings.Repeat("ab", 32)
	require.Contains(t, p.look(t, inter, nil, nil, nil)["discord"].Text, "publicKey is not the application's")
}

func TestProbeOfABadTokenOrNobodyThere(t *testing.T) {
	p := newProbed(t)
	p.dc.RevokeToken()
	f := p.look(t, discord.Config{}, []approval.Target{at(p.ops)}, nil, nil)
	require.Len(t, f, 1)
	require.Equal(t, core.LevelFail, f["discord"].Level)
	cfg := discord.Config{Token: p.dc.Token(), APIURL: p.dc.URL()}
	p.dc.Close()
	away := discord.Probe(t.Context(), cfg, nil, nil, nil)
	require.Contains(t, away[0].Text, "gave no answer")
}

func TestProbeComparesTheClock(t *testing.T) {
	p := newProbed(t)
	require.Equal(t, core.LevelOK, p.look(t, discord.Config{}, nil, nil, nil)["clock"].Level)
	p.dc.Advance(time.Hour)
	require.Equal(t, core.LevelWarn, p.look(t, discord.Config{}, nil, nil, nil)["clock"].Level)
}
