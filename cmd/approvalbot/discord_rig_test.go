package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/fakechat"
	"approvalbot/internal/platform"
)

// onDiscord is what a test changes of the Discord side.
type onDiscord struct {
	on         bool
	inOps      []string // names of those in allowedUserIds; nil: alice, bob
	byRole     bool     // allowedRoleIds has the role approvers
	getUpdates string   // channels.discord.updates
	dcOptions  fakechat.DiscordOptions
	fronted    bool // the platforms are reached through fronts
}

// discordSide is a server with a channel, and the same people as on Telegram.
type discordSide struct {
	dc        *fakechat.Discord
	guild     *fakechat.DiscordGuild
	ops       *fakechat.DiscordChannel
	approvers *fakechat.DiscordRole
	accounts  map[string]*fakechat.DiscordUser
	fronts    map[string]*front // by platform
}

// withDiscord puts a Discord beside the Telegram; cards go to both.
func withDiscord(r *rig) { r.on = true }

func (r *rig) addDiscord() {
	r.dcOptions.AckWindow = patient // a slow machine is no late answer
	r.dc = fakechat.NewDiscord(r.t, r.dcOptions)
	r.accounts = map[string]*fakechat.DiscordUser{}
	r.guild = r.dc.AddGuild("desk")
	for _, name := range []string{"alice", "bob", "carol", "mallory"} {
		r.accounts[name] = r.dc.AddUser(fakechat.DiscordProfile{Username: name, GlobalName: "Alice"})
		r.guild.AddMember(r.accounts[name])
	}
	r.approvers = r.guild.AddRole("approvers", 0)
	r.ops = r.guild.AddChannel("ops")
	if r.fronted {
		r.fronts = map[string]*front{
			"telegram": newFront(r.t, strings.TrimPrefix(r.tg.URL(), "http://")),
			"discord":  newFront(r.t, strings.TrimPrefix(r.dc.URL(), "http://")),
		}
	}
}

// address is where the desk reaches a platform.
func (r *rig) address(name, url string) string {
	if f := r.fronts[name]; f != nil {
		return "http://" + f.address
	}
	return url
}

// discordReady waits until the bot hears what people do: Discord keeps nothing
// for a bot that is away. The fake knows that somebody is connected before the desk
// knows it, and of a desk that has just ended it may not know yet.
func (r *rig) discordReady() {
	r.t.Helper()
	if r.dc == nil {
		return
	}
	if r.getUpdates == "" {
		agent, ctx := r.agent(), r.ctx()
		require.Eventually(r.t, func() bool {
			s, err := agent.Ready(ctx)
			return err == nil && s.Channels["discord"].Up
		}, patient, 5*time.Millisecond)
		require.NoError(r.t, r.dc.Gateway().WaitReady(ctx))
	}
	require.NoError(r.t, r.dc.WaitFor(r.ctx(), func() bool { return len(r.dc.Commands(nil)) > 0 }))
}

func (r *rig) discordTranscript() string {
	if r.dc == nil {
		return ""
	}
	return r.dc.Transcript()
}

// discordOf is the Discord account of a person in the configuration.
func (r *rig) discordOf(name string) string {
	if r.dc == nil {
		return ""
	}
	return fmt.Sprintf(", discord: %q", r.accounts[name].ID)
}

func (r *rig) discordYAML() string {
	if r.dc == nil {
		return ""
	}
	names := r.inOps
	if names == nil {
		names = []string{"alice", "bob"}
	}
	var ids, roles []string
	for _, name := range names {
		ids = append(ids, strconv.Quote(r.accounts[name].ID))
	}
	if r.byRole {
		roles = append(roles, strconv.Quote(r.approvers.ID))
	}
	updates := r.getUpdates
	if updates == "" {
		updates = "gateway"
	}
	return fmt.Sprintf("  discord: {botToken: %q, apiUrl: %q, allowedUserIds: [%s], allowedRoleIds: [%s], updates: %s}\n",
		r.dc.Token(), r.address("discord", r.dc.URL()), strings.Join(ids, ", "), strings.Join(roles, ", "), updates)
}

const (
	inGroup = `{channel: telegram, to: "GROUP"}`
	inOps   = `{channel: discord, to: "OPS"}`
)

// targets are the places of the platforms that are on.
func (r *rig) targets() string {
	if r.dc == nil {
		return inGroup
	}
	return inGroup + ", " + inOps
}

// placed puts the places' ids into a routing.
func (r *rig) placed(routing string) string {
	routing = strings.ReplaceAll(routing, "GROUP", fmt.Sprint(r.group.ID))
	if r.dc != nil {
		routing = strings.ReplaceAll(routing, "OPS", r.ops.ID)
		routing = strings.ReplaceAll(routing, "ALICE", r.accounts["alice"].ID)
	}
	return routing
}

// shown is a message as a person sees it, on either platform.
type shown struct {
	id, text string
	labels   []string
	file     string                    // what its file holds
	alive    []string                  // mentions, links and previews in it
	quoted   string                    // what stands in quotations
	data     func(label string) string // what a button sends
}

// chat is a place on one platform, with the people in it. Where an attack is the
// same on both, its test speaks this.
type chat interface {
	platform() string
	// account is the person's id there.
	account(who string) string
	// card waits for an approval's open card.
	card(a api.Approval) shown
	// settled waits until a message has no buttons that decide, and says the words.
	settled(id string, words ...string) shown
	// waitText waits for a message of the bot that says so.
	waitText(words string) shown
	// tap and press tap a button, by its label or by what it carries, and give
	// the answer.
	tap(who, id, label string) string
	press(who, id, data string) string
	// once taps Allow once on an R4 card, and gives the message and the data of the second button.
	once(who, id, code string) (message, data string)
	// typed types a yes to an R4 call, and gives the message and the data of the second button.
	typed(who, text string) (message, data string)
	// say types something to the bot, also as a reply to a message, and gives
	// the bot's reply.
	say(who, text string, to ...string) string
	// type_ types something to the bot and waits for nothing.
	type_(who, text string)
	// begin is press that does not wait for the answer; what it gives does.
	begin(who, id, data string) (answer func() string)
	// edit has somebody type one thing, and when it was answered change it into
	// another.
	edit(who, from, to string)
	// direct is the direct messages between the bot and somebody.
	direct(who string) chat
	// fromBot are all of the bot's messages there.
	fromBot() []shown
}

// onBoth runs a story on each platform: cards go there and nowhere else, unless
// the story's routing says otherwise, in which PLACE is the target there.
func onBoth(t *testing.T, story func(*testing.T, *rig, chat), change ...func(*rig)) {
	t.Helper()
	for _, name := range platform.Names() {
		t.Run(name, func(t *testing.T) {
			place := map[string]string{"telegram": inGroup, "discord": inOps}[name]
			r := newRig(t, append([]func(*rig){withDiscord, hearsEverything, func(r *rig) { r.routing = "{mode: targets, targets: [PLACE]}" }},
				append(change, func(r *rig) { r.routing = strings.ReplaceAll(r.routing, "PLACE", place) })...)...)
			story(t, r, r.chatOn(name))
		})
	}
}

func (r *rig) chatOn(name string) chat {
	if name == "discord" {
		return dcChat{r, r.ops}
	}
	return tgChat{r, r.group}
}

type tgChat struct {
	r    *rig
	chat *fakechat.TelegramChat
}

func (c tgChat) user(who string) *fakechat.TelegramUser {
	return map[string]*fakechat.TelegramUser{"alice": c.r.alice, "bob": c.r.bob, "carol": c.r.carol, "mallory": c.r.mallory}[who]
}

func (c tgChat) number(id string) int {
	c.r.t.Helper()
	n, err := strconv.Atoi(id)
	require.NoError(c.r.t, err)
	return n
}

func tgShown(m fakechat.TelegramMessage) shown {
	s := shown{id: fmt.Sprint(m.ID), text: m.Text + m.Caption, labels: m.Labels()}
	s.data = func(label string) string { b, _ := m.Button(label); return b.CallbackData }
	if m.Document != nil {
		s.file = string(m.Document.Bytes)
	}
	for _, e := range m.Entities {
		switch e.Type {
		case "mention", "text_mention", "text_link", "url":
			s.alive = append(s.alive, e.Type)
		case "blockquote":
			s.quoted += m.EntityText(e)
		}
	}
	if !m.NoPreview && m.Document == nil {
		s.alive = append(s.alive, "preview")
	}
	return s
}

func (c tgChat) platform() string          { return "telegram" }
func (c tgChat) account(who string) string { return fmt.Sprint(c.user(who).ID) }
func (c tgChat) card(a api.Approval) shown { return tgShown(c.r.cardIn(c.chat, a)) }

func (c tgChat) settled(id string, words ...string) shown {
	return tgShown(c.r.settled(c.chat, c.number(id), words...))
}

func (c tgChat) waitText(words string) shown {
	c.r.t.Helper()
	m, err := c.chat.WaitMessage(c.r.ctx(), func(m fakechat.TelegramMessage) bool { return strings.Contains(m.Text, words) })
	require.NoError(c.r.t, err, words)
	return tgShown(m)
}

func (c tgChat) tap(who, id, label string) string {
	return c.r.tap(c.user(who), c.chat, c.number(id), label).Text
}

func (c tgChat) press(who, id, data string) string { return c.begin(who, id, data)() }

func (c tgChat) begin(who, id, data string) func() string {
	tap := c.user(who).TapData(c.chat, c.number(id), data)
	return func() string { return c.r.answer(tap).Text }
}

func (c tgChat) type_(who, text string) { c.user(who).Say(c.chat, text) }

func (c tgChat) edit(who, from, to string) {
	old := c.user(who).Say(c.chat, from)
	c.r.reply(c.chat, old)
	c.user(who).Edit(c.chat, old.ID, to)
}

func (c tgChat) direct(who string) chat {
	c.user(who).Start("")
	return tgChat{c.r, c.user(who).Chat()}
}

func (c tgChat) say(who, text string, to ...string) string {
	how := fakechat.TelegramSay{}
	for _, id := range to {
		how.ReplyTo = c.number(id)
	}
	return c.r.reply(c.chat, c.user(who).Say(c.chat, text, how)).Text
}

func (c tgChat) fromBot() (all []shown) {
	for _, m := range c.chat.FromBot() {
		all = append(all, tgShown(m))
	}
	return all
}

type dcChat struct {
	r    *rig
	chat *fakechat.DiscordChannel
}

func (c dcChat) user(who string) *fakechat.DiscordUser { return c.r.accounts[who] }

// inert takes off the backslashes that make Markdown plain.
var inert = regexp.MustCompile("\\\\([`*_~|<@\\[:#>+.\\\\-])")

func dcText(s string) string { return inert.ReplaceAllString(s, "$1") }

var fenceOpens = regexp.MustCompile("^```[a-z]+\n$") // with a language

// alive finds what would be a link or a mention outside of code; an escaped one
// has a backslash in it.
var alive = regexp.MustCompile(`[a-z]://|(^|[^\\])(<[@#]|@(everyone|here))`)

func dcShown(m fakechat.DiscordMessage) shown {
	s := shown{id: m.ID, text: dcText(m.Text()), labels: m.Labels(), alive: m.Pings}
	s.data = func(label string) string { b, _ := m.Button(label); return b.CustomID }
	if n := len(s.labels) - 1; n > 0 && s.labels[n] == "Details" { // what Telegram folds instead
		s.labels = s.labels[:n]
	}
	for _, f := range m.Attachments {
		s.file += string(f.Data)
	}
	code := false
	for line := range strings.Lines(m.Text()) {
		fence := strings.TrimPrefix(line, "> ")
		code = code != (fence == "```\n" || !code && fenceOpens.MatchString(fence))
		if !code && alive.MatchString(line) {
			s.alive = append(s.alive, line)
		}
		if rest, ok := strings.CutPrefix(line, "> "); ok {
			s.quoted += dcText(rest)
		}
	}
	return s
}

func (c dcChat) platform() string          { return "discord" }
func (c dcChat) account(who string) string { return c.user(who).ID }

func (c dcChat) card(a api.Approval) shown {
	c.r.t.Helper()
	m := c.shown(a)
	c.r.knows(a, m.id)
	return m
}

// shown waits for the open card of an approval, of which the desk may not know.
func (c dcChat) shown(a api.Approval) shown {
	c.r.t.Helper()
	m, err := c.chat.WaitMessage(c.r.ctx(), func(m fakechat.DiscordMessage) bool {
		return strings.Contains(m.Text(), a.Code) && decides(m.Labels())
	})
	require.NoError(c.r.t, err)
	return dcShown(m)
}

func (c dcChat) settled(id string, words ...string) shown {
	c.r.t.Helper()
	var s shown
	require.NoError(c.r.t, c.r.dc.WaitFor(c.r.ctx(), func() bool {
		m, ok := c.chat.Message(id)
		s = dcShown(m)
		for _, w := range words {
			ok = ok && strings.Contains(s.text, w)
		}
		return ok && !decides(m.Labels())
	}), "message %s never showed %q", id, words)
	return s
}

func (c dcChat) waitText(words string) shown {
	c.r.t.Helper()
	m, err := c.chat.WaitMessage(c.r.ctx(), func(m fakechat.DiscordMessage) bool { return strings.Contains(dcText(m.Text()), words) })
	require.NoError(c.r.t, err, words)
	return dcShown(m)
}

// told is what only that person sees of an interaction's answer.
func (r *rig) told(i *fakechat.DiscordInteraction) string {
	r.t.Helper()
	s, err := i.EphemeralText(r.ctx())
	require.NoError(r.t, err)
	return dcText(s)
}

func (c dcChat) tap(who, id, label string) string {
	c.r.t.Helper()
	click := c.user(who).Click(c.chat, id, label)
	if told := c.r.told(click); !asksAgain(told) {
		return told
	}
	menu, data := c.asked(click)
	return c.press(who, menu, data)
}

func (c dcChat) press(who, id, data string) string {
	c.r.t.Helper()
	before, _ := c.chat.Message(id)
	click := c.user(who).ClickData(c.chat, id, data)
	if !before.Ephemeral {
		return c.r.told(click)
	}
	after := before // which is edited
	require.NoError(c.r.t, c.r.dc.WaitFor(c.r.ctx(), func() bool {
		after, _ = click.Original()
		return after.ID != "" && after.Text() != before.Text()
	}))
	return dcText(after.Text())
}

func (c dcChat) begin(who, id, data string) func() string {
	click := c.user(who).ClickData(c.chat, id, data)
	return func() string { return c.r.told(click) }
}

func (c dcChat) type_(who, text string) { c.said(who, text) }

func (c dcChat) said(who, text string, to ...string) fakechat.DiscordMessage {
	how := fakechat.DiscordSay{MentionBot: c.chat.Guild != nil}
	for _, id := range to {
		how.ReplyTo = id
	}
	return c.user(who).Say(c.chat, text, how)
}

func (c dcChat) edit(who, from, to string) {
	old := c.said(who, from)
	c.replyTo(old)
	c.user(who).Edit(c.chat, old.ID, "<@"+c.r.dc.BotUserID()+"> "+to)
}

func (c dcChat) direct(who string) chat { return dcChat{c.r, c.user(who).DM()} }

func (c dcChat) say(who, text string, to ...string) string {
	c.r.t.Helper()
	return c.replyTo(c.said(who, text, to...)).text
}

func (c dcChat) replyTo(said fakechat.DiscordMessage) shown {
	c.r.t.Helper()
	m, err := c.chat.WaitMessage(c.r.ctx(), func(m fakechat.DiscordMessage) bool { return m.ReplyTo == said.ID })
	require.NoError(c.r.t, err)
	return dcShown(m)
}

func (c dcChat) fromBot() (all []shown) {
	for _, m := range c.chat.FromBot() {
		all = append(all, dcShown(m))
	}
	return all
}
