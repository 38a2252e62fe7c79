package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"
)

// browser is Chromium without a window. It reads files that this program wrote, and is
// given no network to reach.
type browser struct{ program string }

// errNoBrowser says what is missing.
var errNoBrowser = errors.New("chromium is not installed (Debian: chromium fonts-roboto-unhinted fonts-dejavu-core fonts-noto-color-emoji)")

func newBrowser() (browser, error) {
	for _, name := range []string{"chromium", "chromium-browser"} {
		if program, err := exec.LookPath(name); err == nil {
			return browser{program}, nil
		}
	}
	return browser{}, errNoBrowser
}

// measured has the measures that a page takes of itself.
type measured struct {
	All []struct {
		Lines  int
		Height int
	}
	Page int
	Wide int
}

var measuredForm = regexp.MustCompile(`id="measured">([^<]*)<`)

// measure gives the sizes of all pictures of a page.
func (b browser) measure(ctx context.Context, page string) (m measured, err error) {
	dom, err := b.run(ctx, page, "--dump-dom", "--virtual-time-budget=2000")
	if err != nil {
		return m, err
	}
	found := measuredForm.FindSubmatch(dom)
	if found == nil || len(found[1]) == 0 {
		return m, errors.New("the page has not measured itself")
	}
	return m, json.Unmarshal(found[1], &m)
}

// draw writes a page as a picture, at twice the page's resolution.
func (b browser) draw(ctx context.Context, page, file string) error {
	m, err := b.measure(ctx, page)
	if err != nil {
		return err
	}
	file, err = filepath.Abs(file)
	if err != nil {
		return err
	}
	_, err = b.run(ctx, page, "--screenshot="+file, fmt.Sprintf("--window-size=%d,%d", m.Wide, m.Page), "--force-device-scale-factor=2")
	return err
}

// run has Chromium read a page.
func (b browser) run(ctx context.Context, page string, args ...string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "pictures")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "page.html")
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	args = append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-dev-shm-usage",
		"--disable-background-networking", "--proxy-server=127.0.0.1:9", "--window-size=360,800",
		"--user-data-dir=" + filepath.Join(dir, "profile"),
	}, args...)
	cmd := exec.CommandContext(ctx, b.program, append(args, "file://"+file)...)
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.Output()
	var exited *exec.ExitError
	if errors.As(err, &exited) {
		return nil, fmt.Errorf("%s: %w: %.500s", b.program, err, exited.Stderr)
	}
	return out, err
}
