// Command faketelegram plays Telegram for one bot and one person when a release is tried: it prints
// the first card that comes, has the person tap Allow once, and ends when the card says that the
// call is allowed.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"approvalbot/internal/fakechat"
)

func main() {
	addr := flag.String("listen", "127.0.0.1:8081", "the address at which the bot reaches it")
	token := flag.String("token", "123456:TEST", "the bot's token")
	user := flag.Int64("user", 222222222, "the person's id, also that of their chat with the bot")
	patience := flag.Duration("patience", 2*time.Minute, "how long to wait for the card and for its end")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), *patience)
	defer cancel()
	if err := run(ctx, fakechat.TelegramOptions{Addr: *addr, Token: *token}, *user); err != nil {
		fmt.Fprintln(os.Stderr, "faketelegram:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, options fakechat.TelegramOptions, user int64) error {
	tg, err := fakechat.StartTelegram(options)
	if err != nil {
		return err
	}
	defer tg.Close()
	person := tg.AddUser(fakechat.TelegramProfile{ID: user, FirstName: "Alice"})
	person.Start("")
	chat := person.Chat()
	card, err := chat.WaitMessage(ctx, func(m fakechat.TelegramMessage) bool { return len(m.Buttons) > 0 })
	if err != nil {
		return fmt.Errorf("no card came: %w", err)
	}
	fmt.Printf("card: %s\n", card.Text)
	person.Tap(chat, card.ID, "Allow once")
	_, err = chat.WaitMessage(ctx, func(m fakechat.TelegramMessage) bool {
		return m.ID == card.ID && !slices.Contains(m.Labels(), "Allow once") && strings.Contains(m.Text, "Allowed once")
	})
	if err != nil {
		return fmt.Errorf("the card never said that it was allowed: %w", err)
	}
	fmt.Println("allowed")
	return nil
}
