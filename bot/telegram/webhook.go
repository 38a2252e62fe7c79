package telegram

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"io"
	"net/http"
	"time"

	tg "github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"approvalbot/bot/textcmd"
	"approvalbot/internal/fault"
)

const (
	secretHeader   = "X-Telegram-Bot-Api-Secret-Token" // Bot API, setWebhook.secret_token
	maxUpdate      = 1 << 20
	webhookInspect = time.Minute // how often Telegram is asked how the webhook does
)

// WebhookHandler takes updates that Telegram sends (setWebhook). It answers 200
// once the update is stored, so that Telegram may forget it; 401 without the
// secret, before anything of the body is read; 413 above 1 MiB; 400 for what is
// no update; 503 when it cannot be stored, so that Telegram sends it again; and
// 404 for everything when updates are polled. known is called for each request with
// the secret, once it has come in whole.
func (b *Bot) WebhookHandler(known func(http.ResponseWriter, *http.Request)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := b.takeWebhook(w, r, known)
		if status == http.StatusMethodNotAllowed {
			w.Header().Set("Allow", http.MethodPost)
		}
		w.WriteHeader(status)
	})
}

func (b *Bot) takeWebhook(w http.ResponseWriter, r *http.Request, known func(http.ResponseWriter, *http.Request)) int {
	switch {
	case b.cfg.Updates != Webhook:
		return http.StatusNotFound
	case r.Method != http.MethodPost:
		return http.StatusMethodNotAllowed
	case !b.knowsSecret(r.Header.Get(secretHeader)):
		return http.StatusUnauthorized
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxUpdate))
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return http.StatusRequestEntityTooLarge
	}
	known(w, r)
	in, ok := b.inbound(body)
	if err != nil || !ok {
		return http.StatusBadRequest
	}
	fault.Point("before-update-stored")
	if err := b.keep(r.Context(), in.Inbound); err != nil {
		b.log.Warn("could not store a Telegram update; Telegram will send it again", "reason", err)
		return http.StatusServiceUnavailable
	}
	return http.StatusOK
}

// knowsSecret compares in constant time.
func (b *Bot) knowsSecret(given string) bool {
	a, c := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(b.cfg.WebhookSecret))
	return subtle.ConstantTimeCompare(a[:], c[:]) == 1
}

// receiveWebhook has Telegram send updates here, waits until it has sent those
// that waited, and looks after the webhook until ctx ends.
func (b *Bot) receiveWebhook(ctx context.Context) {
	if !b.insist(ctx, b.setWebhook) {
		return
	}
	b.health.Set(true, "", nil)
	for failures := 0; ctx.Err() == nil; {
		info, err := b.webhookInfo(ctx)
		if err != nil {
			b.trouble(ctx, err, failures)
			failures++
			continue
		}
		failures = 0
		if info.PendingUpdateCount == 0 {
			b.start.dryUp()
		}
		b.health.Set(b.judgeWebhook(info))
		wait := webhookInspect
		if b.start.waiting() {
			wait = 250 * time.Millisecond
		}
		textcmd.Sleep(ctx, wait)
	}
}

func (b *Bot) setWebhook(ctx context.Context) error {
	_, err := b.api.SetWebhook(ctx, &tg.SetWebhookParams{
		URL: b.cfg.WebhookURL, SecretToken: b.cfg.WebhookSecret, AllowedUpdates: allowedUpdates,
	})
	return err
}

func (b *Bot) webhookInfo(ctx context.Context) (info *models.WebhookInfo, err error) {
	err = b.once(ctx, firstCall, func(ctx context.Context) error {
		info, err = b.api.GetWebhookInfo(ctx)
		return err
	})
	return info, err
}

// judgeWebhook gives the findings of getWebhookInfo (Bot API, WebhookInfo).
func (b *Bot) judgeWebhook(info *models.WebhookInfo) (up bool, detail string, cause error) {
	failedAt := time.Unix(int64(info.LastErrorDate), 0)
	switch {
	case info.URL != b.cfg.WebhookURL:
		cause = errors.New("getWebhookInfo names another url")
		return false, "Another program took the webhook of this bot's token away. " +
			"Stop it and restart the desk, or get a new token from @BotFather.", cause
	case info.PendingUpdateCount > 0 && time.Since(failedAt) < 2*webhookInspect:
		cause = errors.New(b.polls.clean(info.LastErrorMessage))
		return false, "Telegram cannot reach the webhook: " + cause.Error() +
			". Check that its url leads here from the internet.", cause
	}
	return true, "", nil
}
