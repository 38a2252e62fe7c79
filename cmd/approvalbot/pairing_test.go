package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/config"
	"approvalbot/internal/config/effective"
	"approvalbot/internal/config/local"
	"approvalbot/internal/fakechat"
)

// pairing is a command line that waits until somebody gives its code.
type pairing struct {
	t        *testing.T
	out, err safeBuffer
	code     string // as it is shown
	done     chan int
}

var shownCode = regexp.MustCompile(`/pair ([0-9A-Z]{4}-[0-9A-Z]{4})\n`)

// pair starts approvalbot pair and waits for its code.
func pair(t *testing.T, env []string, stdin io.Reader, args ...string) *pairing {
	t.Helper()
	p := &pairing{t: t, done: make(chan int, 1)}
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	t.Cleanup(cancel)
	go func() { p.done <- run(ctx, append([]string{"pair"}, args...), env, stdin, &p.out, &p.err) }()
	require.Eventually(t, func() bool {
		m := shownCode.FindStringSubmatch(p.out.String())
		if m != nil {
			p.code = m[1]
		}
		return m != nil
	}, patient, 5*time.Millisecond, "%s", &p.err)
	return p
}

// ends waits for the command's end.
func (p *pairing) ends(status int) (out string) {
	p.t.Helper()
	require.Equal(p.t, status, <-p.done, p.out.String()+p.err.String())
	return p.out.String()
}

func (r *rig) operatorEnv() []string {
	return []string{"APPROVALBOT_SERVER=" + r.url, "APPROVALBOT_TOKEN=" + operatorSecret}
}

const (
	saidPaired   = "The desk's operator sees this chat and your account now. You may decide once the configuration names you."
	saidNotRight = "That code is not right."
)

// Who gives the code is shown to the operator with what the configuration lacks, and
// gets no right by it.
func TestPair_ShowsWhoItWasAndWhatIsMissing(t *testing.T) {
	t.Parallel()
	r := newRig(t, hearsEverything)
	evil := r.tg.AddUser(fakechat.TelegramProfile{FirstName: "Eve\x1b[2J\u202e", LastName: "people: [", Username: "eve_0"})
	elsewhere := r.tg.AddSupergroup("elsewhere", evil)
	p := pair(t, r.operatorEnv(), strings.NewReader(""))
	require.Equal(t, saidPaired, r.reply(elsewhere, evil.Say(elsewhere, "/pair "+strings.ToLower(p.code))).Text)
	out := p.ends(0)
	require.Contains(t, out, fmt.Sprintf("telegram user %d gave the code in the chat telegram:%d.", evil.ID, elsewhere.ID))
	require.Contains(t, out, `They call themselves: Eve\u{1B}[2J\u{202E} people: [ (@eve_0)`)
	missing := fmt.Sprintf("people:\n  - {name: NAME, telegram: \"%d\"} # or add the id to whose it is\nchannels:\n  telegram: {allowedUserIds: [\"%d\"]}\n"+
		"approvals:\n  tools:\n    routing: {targets: [{channel: telegram, to: \"%d\"}]}\n", evil.ID, evil.ID, elsewhere.ID)
	require.Contains(t, out, missing)
	require.Contains(t, r.logs.String(), "a pairing code was sent in a chat")
	require.Contains(t, r.logs.String(), `allowedUserIds`)
	require.NotContains(t, r.logs.String(), strings.ReplaceAll(p.code, "-", ""))

	require.Contains(t, r.reply(elsewhere, evil.Say(elsewhere, "/whoami")).Text, "You may not approve.")
	a := r.ask(`{"n":1}`)
	card := r.card(a)
	require.Contains(t, r.tap(r.mallory, r.group, card.ID, "Allow once").Text, "not authorized")
	_, err := r.operator().AcceptPairing(r.ctx(), r.newestPairing())
	requireProblem(t, err, "forbidden")
	require.Equal(t, api.Pending, r.get(a).Status)
}

// newestPairing is the id of the newest pairing.
func (r *rig) newestPairing() string {
	r.t.Helper()
	p, err := r.desk.Store.Pairing(r.ctx())
	require.NoError(r.t, err)
	return p.ID
}

// Whom the configuration lets decide there already needs no lines.
func TestPair_KnownAlready(t *testing.T) {
	t.Parallel()
	r := newRig(t, hearsEverything)
	p := pair(t, r.operatorEnv(), strings.NewReader(""))
	require.Equal(t, saidPaired, r.reply(r.group, r.alice.Say(r.group, "/pair "+p.code)).Text)
	out := p.ends(0)
	require.Contains(t, out, "The configuration knows them as: alice\n")
	require.Contains(t, out, "lets them decide there already")
	require.Equal(t, saidNotRight, r.reply(r.group, r.bob.Say(r.group, "/pair "+p.code)).Text, "a code counts once")
}

// A stranger who guesses learns nothing, is on record, and ends it after five wrong
// codes: the right one is wrong from then on.
func TestAdversary_PairingCodesCannotBeGuessed(t *testing.T) {
	t.Parallel()
	r := newRig(t, hearsEverything)
	try := func(text string) string { return r.reply(r.group, r.mallory.Say(r.group, text)).Text }
	require.Equal(t, saidNotRight, try("/pair 0000-0000"), "where no pairing is under way")
	p := pair(t, r.operatorEnv(), strings.NewReader(""))
	for i, text := range []string{"/pair 0000-0000", "/pair 0", "/pair " + p.code + "0", "/pair " + p.code[1:]} {
		require.Equal(t, saidNotRight, try(text), "%d", i)
	}
	require.Contains(t, try("/pair"), "Send /pair with the code")
	require.Equal(t, saidNotRight, try("/pair ZZZZ-ZZZZ"))
	require.Equal(t, saidNotRight, try("/pair "+p.code))
	p.ends(1)
	require.Contains(t, p.err.String(), "five wrong codes ended the pairing")
	log := r.cli(operatorSecret, strings.NewReader(""), "audit", "list", "--type", "refused", "--json")
	require.Equal(t, 7, strings.Count(log.out, "a pairing code that is not right"))
	require.Equal(t, 1, strings.Count(log.out, "it was the fifth"))
	require.Contains(t, log.out, fmt.Sprintf("telegram:%d", r.mallory.ID))
	require.NotContains(t, log.out, p.code)
	require.NotContains(t, log.out, strings.ReplaceAll(p.code, "-", ""))
}

// Where no chat is on nobody could give a code.
func TestPair_NeedsAChat(t *testing.T) {
	t.Parallel()
	l := &localDesk{t: t, dir: t.TempDir(), tg: fakechat.NewTelegram(t, fakechat.TelegramOptions{})}
	l.start("TELEGRAM_BOT_TOKEN=")
	var out, errs safeBuffer
	require.Equal(t, app.ExitError, run(t.Context(), []string{"pair"}, l.env(), strings.NewReader(""), &out, &errs))
	require.Contains(t, errs.String(), "No chat is on")
}

// Only operators with operator.admin may ask for a code, see who gave it and accept it.
func TestAdversary_PairingIsForAdministrators(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	made, err := r.operator().StartPairing(r.ctx())
	require.NoError(t, err)
	for _, secret := range []string{agentSecret, aliceSecret} {
		c := r.client(secret)
		_, err := c.StartPairing(r.ctx())
		requireProblem(t, err, "forbidden")
		_, err = c.Pairing(r.ctx(), made.ID)
		requireProblem(t, err, "forbidden")
		_, err = c.AcceptPairing(r.ctx(), made.ID)
		requireProblem(t, err, "forbidden")
	}
	_, err = r.operator().AcceptPairing(r.ctx(), made.ID)
	requireProblem(t, err, "not_found")
	again, err := r.operator().StartPairing(r.ctx())
	require.NoError(t, err)
	require.NotEqual(t, made.Code, again.Code)
	_, err = r.operator().Pairing(r.ctx(), made.ID)
	requireProblem(t, err, "not_found")
}

// A pairing outlives the desk's end, and so does an anonymous administrator's being
// nobody.
func TestPair_OutlivesARestart(t *testing.T) {
	t.Parallel()
	r := newRig(t, hearsEverything)
	p := pair(t, r.operatorEnv(), strings.NewReader(""))
	r.stop()
	<-p.done // the desk cannot be asked
	r.start()
	require.Equal(t, saidNotRight, r.reply(r.group, r.mallory.Say(r.group, "/pair 0000-0000")).Text)
	require.Equal(t, saidPaired, r.reply(r.group, r.carol.Say(r.group, "/pair "+p.code)).Text)
	got, err := r.operator().Pairing(r.ctx(), r.newestPairing())
	require.NoError(t, err)
	require.Equal(t, api.PairingAnswered, got.Status)
	require.Equal(t, "carol", got.Answer.Person)
	require.Equal(t, fmt.Sprintf("channels:\n  telegram: {allowedUserIds: [\"%d\"]}\n", r.carol.ID), got.Lines)
}

// With several instances the one that hears the code need not be the one that made it.
func TestCluster_PairingAtAnyInstance(t *testing.T) {
	t.Parallel()
	a := newRig(t, onPostgres(t), hearsEverything)
	b := a.another()
	for _, at := range []*rig{a, b} {
		p := pair(t, at.operatorEnv(), strings.NewReader(""))
		require.Equal(t, saidPaired, a.reply(a.group, a.carol.Say(a.group, "/pair "+p.code)).Text)
		require.Contains(t, p.ends(0), "knows them as: carol")
	}
}

// On Discord a slash command names the private chat, and a mention the channel.
func TestPair_OnDiscord(t *testing.T) {
	t.Parallel()
	r := newRig(t, withDiscord)
	carol := r.accounts["carol"]
	p := pair(t, r.operatorEnv(), strings.NewReader(""))
	require.Contains(t, r.told(carol.Slash(carol.DM(), "pair", fakechat.DiscordArgs{"code": p.code})), "operator sees this chat")
	out := p.ends(0)
	require.Contains(t, out, fmt.Sprintf("discord user %s gave the code in the chat discord:dm:%s.\n", carol.ID, carol.ID))
	require.Contains(t, out, "They call themselves: Alice (@carol)\n")
	require.Contains(t, out, fmt.Sprintf("channels:\n  discord: {allowedUserIds: [%q]}\n", carol.ID))
	require.Contains(t, out, fmt.Sprintf("targets: [{channel: discord, to: \"dm:%s\"}]", carol.ID))

	line := fmt.Sprintf("```\nDISCORD_CHANNEL_ID=%s DISCORD_USER_ID=%s\n```", r.ops.ID, carol.ID)
	require.Contains(t, r.told(carol.Slash(r.ops, "whoami", nil)), line)
	said := carol.Say(r.ops, "<@"+r.dc.BotUserID()+"> whoami")
	answer, err := r.ops.WaitMessage(r.ctx(), func(m fakechat.DiscordMessage) bool { return m.ReplyTo == said.ID })
	require.NoError(t, err)
	require.Contains(t, answer.Content, line)
}

// /whoami gives the line to start a desk with, as code: a tap copies it.
func TestWhoAmI_GivesALineToCopy(t *testing.T) {
	t.Parallel()
	r := newRig(t, hearsEverything)
	said := r.reply(r.group, r.mallory.Say(r.group, "/whoami"))
	line := fmt.Sprintf("TELEGRAM_CHAT_ID=%d TELEGRAM_USER_ID=%d", r.group.ID, r.mallory.ID)
	require.Contains(t, said.RawText, "\n<code>"+line+"</code>")
	require.Len(t, said.Entities, 1)
	require.Equal(t, "code", said.Entities[0].Type, "and nothing else is")
	require.True(t, strings.HasSuffix(said.Text, line))
	chats, err := local.ChatsOf(config.NewEnviron(strings.Fields(line)))
	require.NoError(t, err)
	require.Equal(t, fmt.Sprint(r.group.ID), chats["telegram"].At.To)
}

// localDesk is serve --local on this machine.
type localDesk struct {
	t    *testing.T
	tg   *fakechat.Telegram
	dir  string
	out  *safeBuffer
	errs *safeBuffer
	stop func()
}

func (l *localDesk) start(env ...string) {
	l.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l.out, l.errs = &safeBuffer{}, &safeBuffer{}
	done := make(chan int, 1)
	out, errs := l.out, l.errs
	env = append([]string{"APPROVALBOT_CFG__SERVER__LISTEN=127.0.0.1:0", "TELEGRAM_BOT_TOKEN=123456:TEST", "TELEGRAM_API_URL=" + l.tg.URL()}, env...)
	go func() { done <- run(ctx, []string{"serve", "--local", l.dir}, env, nil, out, errs) }()
	l.stop = func() {
		cancel()
		require.Zero(l.t, <-done, errs.String())
		l.stop = func() {}
	}
	l.t.Cleanup(func() { l.stop() })
	require.Eventually(l.t, func() bool { return strings.Contains(out.String(), "Paste this") }, patient, 5*time.Millisecond, "%s", errs)
}

func (l *localDesk) env() []string {
	return []string{"APPROVALBOT_CLIENT=" + local.DeskFiles.In(l.dir).Operator}
}

func (l *localDesk) config() string {
	l.t.Helper()
	text, err := os.ReadFile(filepath.Join(l.dir, config.LocalFile))
	require.NoError(l.t, err)
	return string(text)
}

// A generated configuration is written and put in force when the operator says yes,
// and remembers the chat. Once it is edited it is the user's.
func TestPair_WritesAGeneratedConfiguration(t *testing.T) {
	t.Parallel()
	l := &localDesk{t: t, dir: t.TempDir(), tg: fakechat.NewTelegram(t, fakechat.TelegramOptions{AnswerWindow: patient})}
	alice := l.tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice"})
	chat := alice.Chat()
	alice.Start("")
	l.start()
	require.Contains(t, l.out.String(), " pair\n")
	before := l.config()

	p := pair(t, l.env(), strings.NewReader("n\n"))
	alice.Say(chat, "/pair "+p.code)
	require.Contains(t, p.ends(1), "No file was written.")
	require.Equal(t, before, l.config())

	p = pair(t, l.env(), strings.NewReader("y\n"))
	alice.Say(chat, "/pair "+p.code)
	require.Contains(t, p.ends(0), "It is written and applied.")
	require.Contains(t, l.config(), fmt.Sprintf(`to: "%d"`, chat.ID))
	l.asksIn(alice, chat)
	l.stop()

	l.start()
	require.Contains(t, l.out.String(), "Cards go to the chat.")
	l.asksIn(alice, chat)
	l.stop()

	mine := strings.Replace(l.config(), "mode: both", "mode: targets", 1)
	require.NoError(t, os.WriteFile(filepath.Join(l.dir, config.LocalFile), []byte(mine), 0o600))
	bob := l.tg.AddUser(fakechat.TelegramProfile{FirstName: "Bob"})
	l.start("TELEGRAM_CHAT_ID=telegram:-1005", fmt.Sprintf("TELEGRAM_USER_ID=%d", bob.ID))
	require.Equal(t, mine, l.config())
	require.Contains(t, l.out.String(), "was edited, so it is yours")
	require.Contains(t, l.out.String(), `targets: [{channel: telegram, to: "-1005"}]`)
	p = pair(t, l.env(), strings.NewReader(""), "--yes")
	bob.Start("")
	bob.Say(bob.Chat(), "/pair "+p.code)
	require.Contains(t, p.ends(0), fmt.Sprintf(`allowedUserIds: ["%d"]`, bob.ID))
	require.Equal(t, mine, l.config())
}

// What a pairing writes has the paths that the start wrote, also where the directory was
// named by the way from here: nothing of it waits for a restart.
func TestPair_WritesTheSamePaths(t *testing.T) {
	t.Chdir(t.TempDir())
	l := &localDesk{t: t, dir: ".", tg: fakechat.NewTelegram(t, fakechat.TelegramOptions{AnswerWindow: patient})}
	alice := l.tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice"})
	alice.Start("")
	l.start()
	p := pair(t, l.env(), strings.NewReader(""), "--yes")
	alice.Say(alice.Chat(), "/pair "+p.code)
	require.Contains(t, p.ends(0), "It is written and applied.")
	require.NotContains(t, l.errs.String(), "only after a restart")
	require.Contains(t, l.config(), fmt.Sprintf("# Chats: TELEGRAM_CHAT_ID=%[1]d TELEGRAM_USER_ID=%[1]d\n", alice.ID))
}

// asksIn asks for something, and lets that person allow it there.
func (l *localDesk) asksIn(u *fakechat.TelegramUser, chat *fakechat.TelegramChat) {
	l.t.Helper()
	before, done := len(chat.FromBot()), make(chan int, 1)
	var out, errs safeBuffer
	go func() {
		done <- run(context.Background(), []string{"request", "--tool", "demo.greet", "--params", `{"say":"hello"}`, "--wait"},
			[]string{"APPROVALBOT_CLIENT=" + local.DeskFiles.In(l.dir).Client}, nil, &out, &errs)
	}()
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	all, err := chat.WaitMessages(ctx, func(all []fakechat.TelegramMessage) bool {
		return len(chat.FromBot()) > before && len(all[len(all)-1].Buttons) > 0
	})
	require.NoError(l.t, err)
	card := all[len(all)-1]
	_, err = u.Tap(chat, card.ID, "Allow once").Answer(ctx)
	require.NoError(l.t, err)
	require.Zero(l.t, <-done, errs.String())
}

// Where variables name another chat the generated configuration is not written: they
// would win at the next start.
func TestPair_VariablesWin(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := config.NewEnviron([]string{"TELEGRAM_CHAT_ID=telegram:-1005:7", "TELEGRAM_USER_ID=telegram:5"})
	path, err := local.Prepare(dir, env)
	require.NoError(t, err)
	chats, err := local.ChatsOf(env)
	require.NoError(t, err)
	file, c := &local.File{Dir: dir, Env: env}, chats["telegram"]
	require.Equal(t, "7", c.At.ThreadID)
	require.True(t, file.Writable(c))
	c.User = "6"
	require.False(t, file.Writable(c))
	require.True(t, (&local.File{Dir: dir, Env: config.Environ{}}).Writable(c))

	undo, err := (&local.File{Dir: dir, Env: config.Environ{}}).Write(c)
	require.NoError(t, err)
	cfg, _, err := effective.Load(path, nil, nil)
	require.NoError(t, err)
	require.Equal(t, config.ID("6"), cfg.Channels.Bots["telegram"].AllowedUserIDs[0])
	require.NoError(t, undo())
	cfg, _, err = effective.Load(path, nil, nil)
	require.NoError(t, err)
	require.Equal(t, config.ID("5"), cfg.Channels.Bots["telegram"].AllowedUserIDs[0])
}

// What a variable holds that is no id is said by the variable's name alone.
func TestLocalChats_Refused(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"TELEGRAM_CHAT_ID=@ops", "TELEGRAM_CHAT_ID=discord:5", "TELEGRAM_USER_ID=-5", "TELEGRAM_USER_ID=123456:SECRET",
		"DISCORD_CHANNEL_ID=ops", "DISCORD_USER_ID=dm:5", "TELEGRAM_CHAT_ID=5\nserver: {}"} {
		_, err := local.Prepare(t.TempDir(), config.NewEnviron([]string{line}))
		name, value, _ := strings.Cut(line, "=")
		require.ErrorContains(t, err, name)
		require.NotContains(t, err.Error(), value)
	}
}
