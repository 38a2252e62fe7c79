// Command pictures makes the pictures of cards that the README shows, from what the desk
// sends to the chats:
//
//	go run ./internal/pictures docs/pictures [FOLDER]
//
// If a second folder is given, it also draws there a picture of each kind of call, on both platforms side by side,
// and writes beside it what approvalbot watch shows of it. internal/web's browser tests draw the same calls on pages.
//
// Chromium draws them, at the width of a phone. The test of this package checks that
// typical cards stay short enough to be read there by a tired person.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"approvalbot/internal/pictures/calls"
)

func main() {
	if len(os.Args) != 2 && len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: pictures FOLDER-OF-THE-DOCS [FOLDER-OF-ALL-KINDS]")
		os.Exit(2)
	}
	err := makePictures(context.Background(), os.Args[1])
	if err == nil && len(os.Args) == 3 {
		err = makeKinds(context.Background(), os.Args[2])
	}
	if err != nil {
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
	shown, err := d.asked(ctx, call{Call: calls.README()})
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

// makeKinds writes a picture of each kind of call, and it as text, into a folder.
func makeKinds(ctx context.Context, folder string) error {
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
	for _, k := range calls.Kinds() {
		a, err := d.asked(ctx, call{Call: k.Call})
		if err != nil {
			return err
		}
		c, err := d.card(ctx, a, "")
		if err != nil {
			return err
		}
		if err := browser.draw(ctx, beside(telegram(c), discord(c)), filepath.Join(folder, k.Name+".png")); err != nil {
			return fmt.Errorf("%s: %w", k.Name, err)
		}
		text, err := d.terminals(ctx, a)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, k.Name+".txt"), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
