// Command pictures makes the pictures of cards that the README shows, from what the desk
// sends to the chats:
//
//	go run ./internal/pictures docs/pictures
//
// Chromium draws them, at the width of a phone. The test of this package holds that
// typical cards do not grow beyond what a tired person reads there.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: pictures FOLDER")
		os.Exit(2)
	}
	if err := makePictures(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

// makePictures writes a picture for each platform and state into a folder.
func makePictures(ctx context.Context, folder string) error {
	browser, err := newBrowser()
	if err != nil {
		return err
	}
	d, err := newDesk(ctx)
	if err != nil {
		return err
	}
	defer d.close()
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	shown, err := d.asked(ctx, shownCall)
	if err != nil {
		return err
	}
	pending, ended, err := d.lifeOf(ctx, shown)
	if err != nil {
		return err
	}
	for name, drawn := range map[string]picture{
		"telegram.png": telegram(pending), "discord.png": discord(pending),
		"telegram-ended.png": telegram(ended), "discord-ended.png": discord(ended),
	} {
		if err := browser.draw(ctx, page(drawn), filepath.Join(folder, name)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
