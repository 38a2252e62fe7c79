package telegram

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"approvalbot/bot/telegram/render"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/fakechat"
)

func (r *rig) post(to approval.Target, p core.Posting) (int, error) {
	posted, err := r.bot.Post(context.Background(), to, p)
	return number(posted.MessageID), err
}

func refusal(t *testing.T, err error) *core.DeliveryError {
	t.Helper()
	var d *core.DeliveryError
	if !errors.As(err, &d) {
		t.Fatalf("%v is no DeliveryError", err)
	}
	return d
}

func TestPostCard(t *testing.T) {
	scene(t, func(r *rig) {
		forum := r.tg.AddForum("forum", r.alice)
		forum.AddTopic("first")
		topic := forum.AddTopic("deploys")
		to := target(forum.ID)
		to.ThreadID = fmt.Sprint(topic)
		id, err := r.post(to, core.Posting{Card: pendingCard()})
		if err != nil {
			t.Fatal(err)
		}
		m, _ := forum.Message(id)
		if m.ThreadID != topic || !m.NoPreview || m.ParseMode != "HTML" {
			t.Errorf("%+v", m)
		}
		if first, _, _ := strings.Cut(m.Text, "\n"); first != "main-agent asks to run" {
			t.Errorf("first line %q", first)
		}
		allow, _ := m.Button("Allow once")
		deny, _ := m.Button("Deny")
		more, _ := m.Button("More")
		if allow.Style != "success" || deny.Style != "danger" || more.Style != "" || allow.CallbackData != "/approve 7KQ2AB" {
			t.Errorf("buttons %+v", m.Buttons)
		}
	})
}

func TestEditDrawsTheEnd(t *testing.T) {
	scene(t, func(r *rig) {
		id := r.card()
		ended := *pendingCard()
		ended.Status, ended.Outcome, ended.Offers = approval.Approved, card.Words{{Text: "✅ Allowed once by alice, "}, {Text: "15:00 CET", AtMs: 1}}, nil
		for range 2 { // the second changes nothing
			if err := r.bot.Edit(r.t.Context(), r.place(), fmt.Sprint(id), ended); err != nil {
				t.Fatal(err)
			}
		}
		m, _ := r.group.Message(id)
		lines := strings.Split(m.Text, "\n")
		if len(m.Buttons) != 0 || lines[0] != "✅ Allowed once by alice, 15:00 CET" {
			t.Errorf("%q, buttons %v", m.Text, m.Buttons)
		}
	})
}

func TestAdversary_P5_EditOfWhatIsGone(t *testing.T) {
	scene(t, func(r *rig) {
		id := r.card()
		said := r.alice.Say(r.group, "not ours")
		r.alice.Delete(r.group, id)
		for _, message := range []string{fmt.Sprint(id), fmt.Sprint(said.ID), "999999", "", "x"} {
			d := refusal(t, r.bot.Edit(r.t.Context(), r.place(), message, *pendingCard()))
			if !d.MessageGone || d.Gone {
				t.Errorf("message %q: %+v", message, d)
			}
		}
	})
}

func TestAdversary_P4_ChatsThatAreGone(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(r *rig) approval.Target
		say   string
	}{
		"blocked": {func(r *rig) approval.Target { r.alice.Start(""); r.alice.Chat().Block(); return target(r.alice.ID) }, "unblock"},
		"deactivated": {func(r *rig) approval.Target {
			r.alice.Start("")
			r.alice.Chat().Deactivate()
			return target(r.alice.ID)
		}, "account was deleted"},
		"never started": {func(r *rig) approval.Target {
			r.alice.Say(r.group, "hello")
			return target(r.alice.Chat().ID)
		}, "press Start"},
		"unknown":     {func(r *rig) approval.Target { return target(4711) }, "knows no such chat"},
		"kicked":      {func(r *rig) approval.Target { r.group.Kick(); return r.place() }, "add it again"},
		"left":        {func(r *rig) approval.Target { r.group.Leave(); return r.place() }, "not in this chat"},
		"deleted":     {func(r *rig) approval.Target { g := r.tg.AddGroup("g", r.alice); g.Delete(); return target(g.ID) }, "group was deleted"},
		"no rights":   {func(r *rig) approval.Target { r.group.NoRights(); return r.place() }, "right to send messages"},
		"no access":   {func(r *rig) approval.Target { r.group.NoWriteAccess(); return r.place() }, "right to send messages"},
		"restricted":  {func(r *rig) approval.Target { r.group.Restrict(); return r.place() }, "restricted this chat"},
		"no admin":    {func(r *rig) approval.Target { c := r.tg.AddChannel("c", ""); c.Demote(); return target(c.ID) }, "administrator of this channel"},
		"no number":   {func(*rig) approval.Target { return approval.Target{Channel: "telegram", To: "@ops"} }, "not a Telegram chat"},
		"other place": {func(*rig) approval.Target { return approval.Target{Channel: "discord", To: "1"} }, "not a Telegram chat"},
		"topic deleted": {func(r *rig) approval.Target {
			forum := r.tg.AddForum("forum", r.alice)
			forum.AddTopic("first")
			topic := forum.AddTopic("deploys")
			forum.DeleteTopic(topic)
			return approval.Target{Channel: "telegram", To: fmt.Sprint(forum.ID), ThreadID: fmt.Sprint(topic)}
		}, "topic was deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			scene(t, func(r *rig) {
				_, err := r.post(c.spoil(r), core.Posting{Card: pendingCard()})
				d := refusal(t, err)
				if !d.Gone || !strings.Contains(d.Message, c.say) || strings.Contains(d.Message, secretPart) {
					t.Errorf("%+v, want gone and %q", d, c.say)
				}
			})
		})
	}
}

func TestAdversary_P4_GeneralTopicAndMigration(t *testing.T) {
	scene(t, func(r *rig) {
		forum := r.tg.AddForum("forum", r.alice)
		to := target(forum.ID)
		to.ThreadID = "1" // General, which the Bot API refuses by number
		if _, err := r.post(to, core.Posting{Text: "hello"}); err != nil {
			t.Fatal(err)
		}
		group := r.tg.AddGroup("old", r.alice)
		next := group.Migrate()
		_, err := r.post(target(group.ID), core.Posting{Text: "hello"})
		if d := refusal(t, err); d.Moved == nil || *d.Moved != target(next.ID) || d.Gone {
			t.Errorf("%+v", d)
		}
	})
}

// 429 stops one chat for as long as Telegram says, and no other.
func TestAdversary_P3_RetryAfterIsPerChat(t *testing.T) {
	scene(t, func(r *rig) {
		other := r.tg.AddSupergroup("other", r.alice)
		r.tg.Fault(fakechat.TelegramFault{Method: "sendMessage", Chat: r.group.ID, Kind: fakechat.TooManyRequests, RetryAfter: 35})
		_, err := r.post(r.place(), core.Posting{Card: pendingCard()})
		if d := refusal(t, err); d.RetryAfter != 35*time.Second || d.Gone {
			t.Errorf("%+v", d)
		}
		time.Sleep(5 * time.Second)
		calls := len(r.tg.Journal())
		_, err = r.post(r.place(), core.Posting{Card: pendingCard()})
		if d := refusal(t, err); d.RetryAfter != 30*time.Second {
			t.Errorf("%+v", d)
		}
		if len(r.tg.Journal()) != calls {
			t.Error("Telegram was called although it asked to wait")
		}
		if _, err := r.post(target(other.ID), core.Posting{Card: pendingCard()}); err != nil {
			t.Errorf("another chat: %v", err)
		}
		time.Sleep(30 * time.Second)
		if _, err := r.post(r.place(), core.Posting{Card: pendingCard()}); err != nil {
			t.Errorf("after the wait: %v", err)
		}
	})
}

// What may pass is no DeliveryError, whether it struck before or after the effect.
func TestAdversary_P3_PassingFaults(t *testing.T) {
	for _, kind := range []fakechat.FaultKind{fakechat.Status500, fakechat.HTML502, fakechat.Truncated, fakechat.Reset, fakechat.Hang} {
		for _, when := range []fakechat.FaultWhen{fakechat.Before, fakechat.After} {
			t.Run(fmt.Sprintf("%v/%d", kind, when), func(t *testing.T) {
				scene(t, func(r *rig) {
					r.tg.Fault(fakechat.TelegramFault{Method: "sendMessage", Kind: kind, When: when})
					_, err := r.post(r.place(), core.Posting{Card: pendingCard()})
					var d *core.DeliveryError
					if err == nil || errors.As(err, &d) {
						t.Fatalf("got %v", err)
					}
					if s := err.Error(); strings.Contains(s, secretPart) || strings.Contains(s, "git push") || len(s) > 400 {
						t.Errorf("error %q", s)
					}
					if _, err := r.post(r.place(), core.Posting{Card: pendingCard()}); err != nil {
						t.Errorf("second try: %v", err)
					}
				})
			})
		}
	}
}

func TestRevokedTokenOnASend(t *testing.T) {
	scene(t, func(r *rig) {
		r.tg.RevokeToken()
		_, err := r.post(r.place(), core.Posting{Card: pendingCard()})
		var d *core.DeliveryError
		if err == nil || errors.As(err, &d) {
			t.Errorf("got %v: the chat is not to blame", err)
		}
		if s := r.bot.State(); s.Up || !strings.Contains(s.Detail, "@BotFather") {
			t.Errorf("state %+v", s)
		}
	})
}

func TestAttach(t *testing.T) {
	scene(t, func(r *rig) {
		forum := r.tg.AddForum("forum", r.alice)
		forum.AddTopic("first")
		topic := forum.AddTopic("deploys")
		file := card.File{Name: "7KQ2AB.txt", Caption: "Everything <b>& @all", Text: "line\n<b>not markup</b>\n@everyone"}
		err := r.bot.Attach(r.t.Context(), approval.Target{Channel: "telegram", To: fmt.Sprint(forum.ID), ThreadID: fmt.Sprint(topic)}, file)
		if err != nil {
			t.Fatal(err)
		}
		m := forum.FromBot()[0]
		if m.Document == nil || string(m.Document.Bytes) != file.Text || m.Document.Name != file.Name || m.Caption != file.Caption || m.ThreadID != topic {
			t.Errorf("%+v", m)
		}
	})
}

// A refusal that names no chat is one of the message.
func TestAdversary_P11_AnUnheardOfRefusalIsOfTheMessage(t *testing.T) {
	scene(t, func(r *rig) {
		r.tg.Fault(fakechat.TelegramFault{Method: "sendMessage", Kind: fakechat.Custom, Code: 400, Description: "Bad Request: SOMETHING_NEW"})
		_, err := r.post(r.place(), core.Posting{Card: pendingCard()})
		if d := refusal(t, err); !d.Refused || d.Gone || !strings.Contains(d.Message, "SOMETHING_NEW") {
			t.Errorf("%+v", d)
		}
	})
}

func TestAttachWhereNoFilesAreTaken(t *testing.T) {
	for _, description := range []string{
		"Bad Request: not enough rights to send documents to the chat", "Bad Request: CHAT_SEND_DOCS_FORBIDDEN", "Bad Request: SOMETHING_NEW",
	} {
		scene(t, func(r *rig) {
			r.tg.Fault(fakechat.TelegramFault{Method: "sendDocument", Kind: fakechat.Custom, Code: 400, Description: description})
			d := refusal(t, r.bot.Attach(r.t.Context(), r.place(), card.File{Name: "x.txt", Text: strings.Repeat("x", 7000)}))
			if !d.NoFiles || d.Gone {
				t.Errorf("%s: %+v", description, d)
			}
		})
	}
	scene(t, func(r *rig) { // messages stand for a file that is short enough
		text := strings.Repeat("  <b>&\u0333 @all /approve /x\n", 150)
		if err := r.bot.AttachParts(r.t.Context(), r.place(), card.File{Name: "x.txt", Caption: "Everything that request 7KQ2AB would run. Fingerprint 0123456789ab", Text: text}); err != nil {
			t.Fatal(err)
		}
		all, sent := "", r.group.FromBot()
		for i, m := range sent {
			head, rest, _ := strings.Cut(m.Text, "\n")
			part, found := strings.CutSuffix(rest, "\n"+render.PartEnd)
			if want := fmt.Sprintf("Everything that request 7KQ2AB would run. Fingerprint 0123456789ab. Part %d of %d:", i+1, len(sent)); head != want || !found {
				t.Errorf("%q", m.Text)
			}
			all += part
		}
		if all != strings.ReplaceAll(text, "\u0333", `\u{333}`) || len(sent) < 2 {
			t.Errorf("%d messages: %q", len(sent), all)
		}
	})
	scene(t, func(r *rig) { // one of them is refused for good: no card may say that all is there
		r.tg.Fault(fakechat.TelegramFault{Method: "sendMessage", Kind: fakechat.Custom, Code: 400, Description: "Bad Request: SOMETHING_NEW"})
		if d := refusal(t, r.bot.AttachParts(r.t.Context(), r.place(), card.File{Name: "x.txt", Text: "x"})); !d.NoFiles || d.Gone {
			t.Errorf("%+v", d)
		}
	})
	scene(t, func(r *rig) { // nor where it is too long for messages
		if d := refusal(t, r.bot.AttachParts(r.t.Context(), r.place(), card.File{Name: "x.txt", Text: strings.Repeat("x", 7000)})); !d.NoFiles || len(r.group.FromBot()) > 0 {
			t.Errorf("%+v", d)
		}
	})
	scene(t, func(r *rig) {
		r.group.Kick()
		if d := refusal(t, r.bot.Attach(r.t.Context(), r.place(), card.File{Name: "x.txt", Text: "x"})); !d.Gone || d.NoFiles {
			t.Errorf("%+v", d)
		}
	})
}

func TestTextsAsAReplyAndAsAQuestion(t *testing.T) {
	scene(t, func(r *rig) {
		card := r.card()
		id, err := r.post(r.place(), core.Posting{Text: "Denied 7KQ2AB. Reply to this.", ReplyTo: fmt.Sprint(card), ForUser: fmt.Sprint(r.alice.ID)})
		if err != nil {
			t.Fatal(err)
		}
		m, _ := r.group.Message(id)
		if m.ReplyTo != card || m.Text != "Denied 7KQ2AB. Reply to this." {
			t.Errorf("%+v", m)
		}
		calls := r.tg.Calls("sendMessage")
		if got := calls[len(calls)-1].Params["reply_markup"]; got != `{"force_reply":true,"selective":true}` {
			t.Errorf("reply_markup %s", got)
		}
		if len(m.Entities) != 1 || m.Entities[0].Type != "text_mention" || m.Entities[0].UserID != r.alice.ID {
			t.Errorf("entities %+v", m.Entities)
		}
		r.alice.Delete(r.group, card)
		if _, err := r.post(r.place(), core.Posting{Text: "later", ReplyTo: fmt.Sprint(card)}); err != nil {
			t.Errorf("reply to a deleted message: %v", err)
		}
	})
}

// hostile is everything that means something to a chat.
const hostile = `<b>bold</b> </code></pre> &lt;i&gt; ` + "`tick` ```fence``` *star* _under_ [x](http://evil.example)" +
	` @everyone @admin <@123> https://evil.example/?a=1&b=2 evil.example /approve@bot #tag $USD a@b.cz +491701234567 4111 1111 1111 1111 ' " \u{202E}`

func TestAdversary_S4_NothingInATextIsAlive(t *testing.T) {
	scene(t, func(r *rig) {
		c := pendingCard()
		line := card.Words{{Text: hostile[:200]}, {Text: hostile[:200], Theirs: true}}
		c.Headline, c.Place, c.Why, c.Warnings = line, line, hostile, []string{hostile}
		c.State = card.State{Flags: []string{hostile}, Votes: hostile, Until: hostile}
		c.Call = card.Blocks([]card.Fact{{Name: hostile, Value: hostile}, {Name: "a.b", Value: hostile}})
		c.Details, c.Claims = []card.Fact{{Name: "Agent", Value: hostile}, {Name: hostile, Value: hostile}}, []string{hostile}
		ended := *c
		ended.Status, ended.Outcome, ended.Summary = approval.Denied, line, hostile
		id, err := r.post(r.place(), core.Posting{Card: c})
		if err != nil {
			t.Fatal(err)
		}
		r.checkInert(id, 9)
		if err := r.bot.Edit(r.t.Context(), r.place(), fmt.Sprint(id), ended); err != nil {
			t.Fatal(err)
		}
		r.checkInert(id, 9)
		if id, err = r.post(r.place(), core.Posting{Text: "fine\n" + hostile + "\n\nand plain"}); err != nil {
			t.Fatal(err)
		}
		r.checkInert(id, 1)
		if err := r.bot.Attach(r.t.Context(), r.place(), card.File{Name: "x.txt", Text: "x", Caption: hostile}); err != nil {
			t.Fatal(err)
		}
		all := r.group.FromBot()
		r.checkInert(all[len(all)-1].ID, 1)
	})
}

// checkInert holds that a message shows the hostile text at least so many times,
// as it is, with nothing in it that can be tapped or that mentions anybody.
func (r *rig) checkInert(id, times int) {
	r.t.Helper()
	m, _ := r.group.Message(id)
	if n := strings.Count(m.Text+m.Caption, hostile); n < times {
		r.t.Errorf("shown %d times in\n%s", n, m.Text+m.Caption)
	}
	for _, e := range m.Entities {
		switch e.Type {
		case "code", "pre", "bold", "blockquote", "expandable_blockquote":
		default:
			r.t.Errorf("%s is alive: %q", e.Type, m.EntityText(e))
		}
	}
}
