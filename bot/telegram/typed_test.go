package telegram

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"approvalbot/bot/textcmd"
	"approvalbot/internal/approval"
	"approvalbot/internal/fakechat"
)

func TestTypedIsAnsweredInItsThread(t *testing.T) {
	scene(t, func(r *rig) {
		r.running()
		forum := r.tg.AddForum("forum", r.alice)
		forum.AddTopic("first") // takes id 1, which is General's
		topic := forum.AddTopic("deploys")
		said := r.alice.Say(forum, "/pending", fakechat.TelegramSay{ThreadID: topic})
		r.until("answered", func() bool { return len(forum.FromBot()) == 1 })
		reply := forum.FromBot()[0]
		if reply.ThreadID != topic || reply.ReplyTo != said.ID || reply.Text != "heard /pending" || !reply.NoPreview {
			t.Errorf("%+v", reply)
		}
		m := r.desk.messages()[0]
		want := target(forum.ID)
		want.ThreadID = fmt.Sprint(topic)
		if m.Chat != want || m.MessageID != "" || m.OwnMessage || m.Tap || m.BotName != "approval_test_bot" {
			t.Errorf("%+v", m)
		}
	})
}

func TestRepliesNameTheirMessage(t *testing.T) {
	scene(t, func(r *rig) {
		r.running()
		card, other := r.card(), r.alice.Say(r.group, "chat")
		r.alice.Say(r.group, "deny", fakechat.TelegramSay{ReplyTo: card})
		r.alice.Say(r.group, "deny", fakechat.TelegramSay{ReplyTo: other.ID})
		r.until("seen", func() bool { return len(r.desk.messages()) == 3 })
		all := r.desk.messages()
		if m := all[1]; m.MessageID != fmt.Sprint(card) || !m.OwnMessage || m.Chat.ThreadID != "" {
			t.Errorf("%+v", m)
		}
		if m := all[2]; m.MessageID != fmt.Sprint(other.ID) || m.OwnMessage {
			t.Errorf("%+v", m)
		}
	})
}

func TestIgnoredTalkIsNotAnswered(t *testing.T) {
	scene(t, func(r *rig) {
		r.running()
		r.desk.reply(func(textcmd.Message) (textcmd.Reply, error) { return textcmd.Reply{Ignore: true, Text: "never"}, nil })
		r.alice.Say(r.group, "good morning")
		r.until("handled", func() bool { return r.inbox.open() == 0 && len(r.desk.messages()) == 1 })
		if n := len(r.group.FromBot()); n != 0 {
			t.Errorf("%d messages", n)
		}
	})
}

func TestAdversary_I4_WhoIsNoPerson(t *testing.T) {
	scene(t, func(r *rig) {
		r.running()
		channel := r.tg.AddChannel("news", "")
		robot := r.tg.AddUser(fakechat.TelegramProfile{FirstName: "R2", Bot: true})
		r.alice.Say(r.group, "/approve 1", fakechat.TelegramSay{Anonymous: true})
		r.alice.Say(r.group, "/approve 2", fakechat.TelegramSay{As: channel})
		robot.Say(r.group, "/approve@approval_test_bot 3")
		r.until("seen", func() bool { return len(r.desk.messages()) == 3 })
		for _, m := range r.desk.messages() {
			if m.NotHuman == "" {
				t.Errorf("%q passes for a person: %+v", m.Text, m)
			}
		}
		// What Telegram forwards from a linked channel is somebody's earlier word.
		r.group.AutoForward(channel, channel.Post("/approve 4"))
		r.alice.Say(r.group, "end")
		r.until("end", func() bool { return slices.Contains(r.texts(), "end") })
		if n := len(r.desk.messages()); n != 4 {
			t.Errorf("the desk saw %q", r.texts())
		}
	}, func(o *fakechat.TelegramOptions) { o.BotToBot = true })
}

func TestForwardedCommandsDoNotCount(t *testing.T) {
	scene(t, func(r *rig) {
		r.running()
		elsewhere := r.tg.AddGroup("elsewhere", r.alice)
		said := r.alice.Say(elsewhere, "/approve 7KQ2AB")
		if _, err := r.alice.Forward(elsewhere, said.ID, r.group); err != nil {
			t.Fatal(err)
		}
		r.alice.Say(r.group, "end")
		r.until("end", func() bool { return slices.Contains(r.texts(), "end") })
		if got := r.texts(); !slices.Equal(got, []string{"/approve 7KQ2AB", "end"}) {
			t.Errorf("the desk saw %q", got)
		}
	})
}

func TestAdversary_I12_LargeUserIDs(t *testing.T) {
	scene(t, func(r *rig) {
		r.running()
		carol := r.tg.AddUser(fakechat.TelegramProfile{ID: 1<<52 - 1, FirstName: "Carol"})
		carol.Start("")
		r.until("seen", func() bool { return len(r.desk.messages()) == 1 })
		m := r.desk.messages()[0]
		if m.Voter.UserID != "4503599627370495" || m.Chat.To != "4503599627370495" || !m.Direct {
			t.Errorf("%+v", m)
		}
	})
}

func TestMembershipAndMigrationAreLogged(t *testing.T) {
	scene(t, func(r *rig) {
		r.running()
		group := r.tg.AddGroup("old", r.alice)
		group.Migrate()
		r.group.Kick()
		r.until("logged", func() bool {
			s := r.logs.String()
			return strings.Contains(s, "became a supergroup") && strings.Contains(s, "removed or restricted")
		})
		r.until("handled", func() bool { return r.inbox.open() == 0 })
	})
}

// A reply that the chat cannot take yet comes later, and holds up nothing.
func TestReplyWaitsForItsChat(t *testing.T) {
	scene(t, func(r *rig) {
		r.running()
		r.tg.Fault(fakechat.TelegramFault{Method: "sendMessage", Chat: r.group.ID, Kind: fakechat.TooManyRequests, RetryAfter: 20})
		r.alice.Say(r.group, "/pending")
		tap := r.alice.TapData(r.alice.Chat(), 1, "x")
		if got := r.answered(tap); got.Text != "heard x" {
			t.Errorf("answered %q", got.Text)
		}
		if len(r.group.FromBot()) != 0 {
			t.Fatal("the reply is there already")
		}
		r.until("answered", func() bool { return len(r.group.FromBot()) == 1 })
		calls := r.tg.Calls("sendMessage")
		if gap := calls[1].At.Sub(calls[0].At); len(calls) != 2 || gap.Seconds() < 20 {
			t.Errorf("%d calls, the second after %v", len(calls), gap)
		}
	})
}

func TestReplyToAChatThatIsGone(t *testing.T) {
	scene(t, func(r *rig) {
		r.running()
		r.group.NoRights()
		r.alice.Say(r.group, "/pending")
		r.until("handled", func() bool { return r.inbox.open() == 0 && len(r.tg.Calls("sendMessage")) > 0 })
		r.stop()
		if n := len(r.tg.Calls("sendMessage")); n != 1 {
			t.Errorf("%d tries", n)
		}
	})
}

// Cases that a Telegram hardly ever sends.
func TestTypedMessageTable(t *testing.T) {
	b := &Bot{id: 123456}
	for name, c := range map[string]struct {
		json     string
		command  bool
		notHuman string
		reply    string
		own      bool
	}{
		"plain":              {`{"message_id":1,"from":{"id":7},"chat":{"id":-5},"text":"x"}`, true, "", "", false},
		"no sender":          {`{"message_id":1,"chat":{"id":-5},"text":"x"}`, true, "an unnamed sender", "", false},
		"sender 0":           {`{"message_id":1,"from":{"id":0},"chat":{"id":-5},"text":"x"}`, true, "an unnamed sender", "", false},
		"as a chat":          {`{"message_id":1,"from":{"id":7},"sender_chat":{"id":-6},"chat":{"id":-5},"text":"x"}`, true, "a chat or channel", "", false},
		"business bot":       {`{"message_id":1,"from":{"id":7},"sender_business_bot":{"id":9},"chat":{"id":-5},"text":"x"}`, true, "a bot", "", false},
		"away message":       {`{"message_id":1,"from":{"id":7},"is_from_offline":true,"chat":{"id":-5},"text":"x"}`, true, "an automatic message", "", false},
		"777000 unforwarded": {`{"message_id":1,"from":{"id":777000},"chat":{"id":-5},"text":"x"}`, true, "Telegram itself", "", false},
		"via inline bot":     {`{"message_id":1,"from":{"id":7},"via_bot":{"id":9},"chat":{"id":-5},"text":"x"}`, false, "", "", false},
		"forward":            {`{"message_id":1,"from":{"id":7},"forward_origin":{"type":"new"},"chat":{"id":-5},"text":"x"}`, false, "", "", false},
		"null forward":       {`{"message_id":1,"from":{"id":7},"forward_origin":null,"chat":{"id":-5},"text":"x"}`, true, "", "", false},
		"caption":            {`{"message_id":1,"from":{"id":7},"caption":"/approve 7KQ2AB","chat":{"id":-5}}`, false, "", "", false},
		"reply to own":       {`{"message_id":1,"from":{"id":7},"reply_to_message":{"message_id":4,"from":{"id":123456},"chat":{"id":-5}},"chat":{"id":-5},"text":"x"}`, true, "", "4", true},
		"reply to a copy":    {`{"message_id":1,"from":{"id":7},"reply_to_message":{"message_id":4,"from":{"id":123456},"forward_origin":{"type":"user"},"chat":{"id":-5}},"chat":{"id":-5},"text":"x"}`, true, "", "4", false},
		"topic's beginning":  {`{"message_id":9,"from":{"id":7},"message_thread_id":4,"is_topic_message":true,"reply_to_message":{"message_id":4,"from":{"id":123456},"forum_topic_created":{"name":"n"},"chat":{"id":-5}},"chat":{"id":-5},"text":"x"}`, true, "", "", false},
		"reply to a story":   {`{"message_id":1,"from":{"id":7},"reply_to_story":{"id":3},"chat":{"id":-5},"text":"x"}`, true, "", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			u, err := parseUpdate([]byte(`{"update_id":1,"message":` + c.json + `}`))
			if err != nil {
				t.Fatal(err)
			}
			if got := u.Message.command(); got != c.command {
				t.Errorf("command %v, want %v", got, c.command)
			}
			u.Message.Date = 9
			m := b.typedMessage(u.Message, approval.Inbound{ReceivedMs: 10_000}, "bot")
			if m.NotHuman != c.notHuman || m.MessageID != c.reply || m.OwnMessage != c.own || m.ReceivedMs != 9_999 {
				t.Errorf("%+v", m)
			}
		})
	}
}
