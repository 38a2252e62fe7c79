package telegram_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/bot/telegram"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/fakechat"
)

// look gives what Probe finds, by what was looked at, and checks that it asked
// nothing that a running desk could feel.
func look(t *testing.T, tg *fakechat.Telegram, cfg telegram.Config, places []approval.Target, users ...string) map[string][]core.Diagnostic {
	t.Helper()
	cfg.Token, cfg.APIURL = tg.Token(), tg.URL()
	found := map[string][]core.Diagnostic{}
	for _, f := range telegram.Probe(t.Context(), cfg, places, users) {
		require.NotContains(t, f.Text+f.Fix, "TEST", "no secret")
		found[f.What] = append(found[f.What], f)
	}
	for _, method := range []string{"getUpdates", "setWebhook", "deleteWebhook", "sendMessage", "sendChatAction"} {
		require.Empty(t, tg.Calls(method))
	}
	return found
}

func at(id int64, thread string) approval.Target {
	return approval.Target{Channel: "telegram", To: fmt.Sprint(id), ThreadID: thread}
}

func TestProbeSaysWhetherCardsGetThere(t *testing.T) {
	tests := []struct {
		name  string
		place func(*fakechat.Telegram) (*fakechat.TelegramChat, string)
		level core.Level
		says  string
	}{
		{"a group", func(tg *fakechat.Telegram) (*fakechat.TelegramChat, string) { return tg.AddSupergroup("ops"), "" }, core.LevelOK, "may post and edit"},
		{"a forum's topic", func(tg *fakechat.Telegram) (*fakechat.TelegramChat, string) { return tg.AddForum("ops"), "7" }, core.LevelOK, "whether topic 7 is there"},
		{"a topic where there are none", func(tg *fakechat.Telegram) (*fakechat.TelegramChat, string) { return tg.AddSupergroup("ops"), "7" }, core.LevelWarn, "has no topics"},
		{"kicked", func(tg *fakechat.Telegram) (*fakechat.TelegramChat, string) {
			c := tg.AddSupergroup("ops")
			c.Kick()
			return c, ""
		}, core.LevelFail, "The bot was removed"},
		{"left", func(tg *fakechat.Telegram) (*fakechat.TelegramChat, string) {
			c := tg.AddGroup("ops")
			c.Leave()
			return c, ""
		}, core.LevelFail, "not in this chat"},
		{"no rights", func(tg *fakechat.Telegram) (*fakechat.TelegramChat, string) {
			c := tg.AddSupergroup("ops")
			c.NoRights()
			return c, ""
		}, core.LevelFail, "may not write"},
		{"a channel", func(tg *fakechat.Telegram) (*fakechat.TelegramChat, string) { return tg.AddChannel("ops", ""), "" }, core.LevelOK, "may post"},
		{"a channel as a mere member", func(tg *fakechat.Telegram) (*fakechat.TelegramChat, string) {
			c := tg.AddChannel("ops", "")
			c.Demote()
			return c, ""
		}, core.LevelFail, "may not post in this channel"},
		{"gone", func(tg *fakechat.Telegram) (*fakechat.TelegramChat, string) {
			c := tg.AddSupergroup("ops")
			c.NotFound()
			return c, ""
		}, core.LevelFail, "knows no such chat"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tg := fakechat.NewTelegram(t, fakechat.TelegramOptions{})
			c, thread := tt.place(tg)
			target := at(c.ID, thread)
			f := look(t, tg, telegram.Config{}, []approval.Target{target})[target.String()]
			require.Len(t, f, 1)
			require.Equal(t, tt.level, f[0].Level, f)
			require.Contains(t, f[0].Text, tt.says)
			require.Equal(t, f[0].Level == core.LevelOK, f[0].Fix == "", "what is wrong has a way out")
		})
	}
}

func TestProbeSaysWhoIsAHuman(t *testing.T) {
	tg := fakechat.NewTelegram(t, fakechat.TelegramOptions{})
	alice := tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice"})
	robot := tg.AddUser(fakechat.TelegramProfile{FirstName: "Robby", Bot: true})
	absent := tg.AddUser(fakechat.TelegramProfile{FirstName: "Bob"})
	writer := tg.AddUser(fakechat.TelegramProfile{FirstName: "Carol"})
	writer.Start("")
	own := tg.AddUser(fakechat.TelegramProfile{FirstName: "Dora"})
	own.Start("")
	group := tg.AddSupergroup("ops", alice, robot)
	found := look(t, tg, telegram.Config{}, []approval.Target{at(group.ID, ""), at(own.ID, "")}, fmt.Sprint(own.ID), fmt.Sprint(alice.ID), fmt.Sprint(robot.ID), fmt.Sprint(absent.ID), fmt.Sprint(writer.ID), "1087968824")
	for id, want := range map[string]struct {
		level core.Level
		says  string
	}{
		fmt.Sprint(alice.ID):  {core.LevelOK, "Alice is in telegram:"},
		fmt.Sprint(robot.ID):  {core.LevelWarn, "is a bot (Robby)"},
		fmt.Sprint(absent.ID): {core.LevelWarn, "never wrote to it"},
		fmt.Sprint(writer.ID): {core.LevelWarn, "Carol has written to the bot"},
		fmt.Sprint(own.ID):    {core.LevelOK, "Dora is asked in their own chat"},
		"1087968824":          {core.LevelWarn, "anonymous administrators"},
	} {
		f := found["telegram user "+id]
		require.Len(t, f, 1, id)
		require.Equal(t, want.level, f[0].Level, f)
		require.Contains(t, f[0].Text, want.says)
	}
}

func TestProbeSaysWhetherTapsComeIn(t *testing.T) {
	tg := fakechat.NewTelegram(t, fakechat.TelegramOptions{AnyWebhook: true})
	worst := func(cfg telegram.Config) core.Diagnostic {
		all := look(t, tg, cfg, nil)["telegram"]
		return all[len(all)-1]
	}
	webhook := telegram.Config{Updates: telegram.Webhook, WebhookURL: "https://desk.example/hook", WebhookSecret: "s"}
	require.Contains(t, worst(telegram.Config{}).Text, "by polling")
	require.Contains(t, worst(webhook).Text, "no webhook is set")
	set(t, tg, "https://other.example/hook")
	found := telegram.Probe(t.Context(), telegram.Config{Token: tg.Token(), APIURL: tg.URL()}, nil, nil)
	require.Equal(t, core.LevelFail, found[len(found)-1].Level)
	require.Contains(t, found[len(found)-1].Text, "polling gets no taps")
	webhook.Token, webhook.APIURL = tg.Token(), tg.URL()
	found = telegram.Probe(t.Context(), webhook, nil, nil)
	require.Contains(t, found[len(found)-1].Text, "another address")
	set(t, tg, webhook.WebhookURL)
	found = telegram.Probe(t.Context(), webhook, nil, nil)
	require.Equal(t, core.LevelOK, found[len(found)-1].Level)
}

// set sets a webhook as another program would.
func set(t *testing.T, tg *fakechat.Telegram, address string) {
	t.Helper()
	tg.Advance(2 * time.Second) // setWebhook is allowed once a second
	resp, err := tg.HTTPClient().Get(tg.URL() + "/bot" + tg.Token() + "/setWebhook?url=" + address)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.NoError(t, resp.Body.Close())
}

func TestProbeOfABadTokenOrNobodyThere(t *testing.T) {
	tg := fakechat.NewTelegram(t, fakechat.TelegramOptions{})
	tg.RevokeToken()
	found := look(t, tg, telegram.Config{}, []approval.Target{at(-5, "")})
	require.Len(t, found, 1)
	require.Equal(t, core.LevelFail, found["telegram"][0].Level)
	require.Contains(t, found["telegram"][0].Fix, "@BotFather")
	bad := telegram.Probe(t.Context(), telegram.Config{Token: "nonsense"}, nil, nil)
	require.Equal(t, core.LevelFail, bad[0].Level)
	require.NotContains(t, bad[0].Text, "nonsense")
	cfg := telegram.Config{Token: tg.Token(), APIURL: tg.URL()}
	tg.Close()
	away := telegram.Probe(t.Context(), cfg, nil, nil)
	require.Contains(t, away[0].Text, "gave no answer")
	require.NotContains(t, away[0].Text, "TEST")
}

func TestProbeComparesTheClock(t *testing.T) {
	tg := fakechat.NewTelegram(t, fakechat.TelegramOptions{})
	require.Equal(t, core.LevelOK, look(t, tg, telegram.Config{}, nil)["clock"][0].Level)
	tg.Advance(time.Hour)
	f := look(t, tg, telegram.Config{}, nil)["clock"][0]
	require.Equal(t, core.LevelWarn, f.Level)
	require.Contains(t, f.Text, "behind Telegram's")
}

// A Telegram that hangs holds nobody up for longer than the time of one look.
func TestProbeEndsWhereTelegramHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg := fakechat.NewTelegram(t, fakechat.TelegramOptions{InMemory: true})
		client := tg.HTTPClient()
		defer client.CloseIdleConnections()
		hung := tg.Fault(fakechat.TelegramFault{Method: "getChat", Times: -1, Kind: fakechat.Hang})
		begun := time.Now()
		cfg := telegram.Config{Token: tg.Token(), APIURL: tg.URL(), Transport: client.Transport}
		found := telegram.Probe(t.Context(), cfg, []approval.Target{at(-5, ""), at(-6, ""), at(-7, "")}, []string{"111"})
		require.LessOrEqual(t, time.Since(begun), 11*time.Second)
		for _, f := range found[len(found)-4:] {
			require.NotEqual(t, core.LevelOK, f.Level)
			require.Contains(t, f.Text, "gave no answer")
		}
		hung.Release()
	})
}
