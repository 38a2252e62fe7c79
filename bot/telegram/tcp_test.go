package telegram

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"go.uber.org/goleak"

	"approvalbot/bot/textcmd"
	"approvalbot/core"
	"approvalbot/internal/fakechat"
)

// Over real connections, in real time: a card goes out, a tap comes in and is
// answered, and nothing is left behind.
func TestOverTCP(t *testing.T) {
	defer goleak.VerifyNone(t)
	defer func() { // its check waits for less than half a second
		for end := time.Now().Add(time.Minute); goleak.Find() != nil && time.Now().Before(end); {
		}
	}()
	server, err := fakechat.StartTelegram(fakechat.TelegramOptions{AnswerWindow: time.Minute, Token: "123456:" + secretPart})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	inbox := newMemory()
	desk := &recorder{inbox: inbox, answer: func(textcmd.Message) (textcmd.Reply, error) { return textcmd.Reply{Text: "ok"}, nil }}
	b, err := New(Config{Token: server.Token(), APIURL: server.URL()}, desk, inbox, inbox.mark, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	run, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- b.Run(run) }()
	<-b.CaughtUp()
	alice := server.AddUser(fakechat.TelegramProfile{FirstName: "Alice"})
	alice.Start("")
	posted, err := b.Post(ctx, target(alice.ID), core.Posting{Card: pendingCard()})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := alice.Tap(alice.Chat(), number(posted.MessageID), "Deny").Answer(ctx)
	if err != nil || answer.Text != "ok" {
		t.Errorf("%+v, %v", answer, err)
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("Run: %v", err)
	}
}
