package discord

import (
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/bwmarrin/discordgo"
)

const (
	signatureHeader = "X-Signature-Ed25519"
	timestampHeader = "X-Signature-Timestamp"
	maxInteraction  = 1 << 20
	replayWindow    = 5 * time.Minute // either way; the inbox knows what came before
)

// InteractionsHandler receives interactions from Discord (Interactions Endpoint
// URL). It answers 401 without a fresh, valid signature over the body, before
// anything of it is parsed; 413 above 1 MiB; 400 if it is no interaction; else 200
// with the first answer, once the interaction is stored; and 404 always if
// interactions come over the gateway. signed is called for each request that
// Discord has signed, once it has come in whole.
func (b *Bot) InteractionsHandler(signed func(http.ResponseWriter, *http.Request)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		first, status := b.takeHTTP(w, r, signed)
		if status == http.StatusMethodNotAllowed {
			w.Header().Set("Allow", http.MethodPost)
		}
		if status != http.StatusOK {
			w.WriteHeader(status)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(first); err != nil {
			b.log.Debug("Discord did not accept the first answer to an interaction; the interaction is handled all the same",
				"reason", err)
		}
	})
}

func (b *Bot) takeHTTP(
	w http.ResponseWriter, r *http.Request, signed func(http.ResponseWriter, *http.Request),
) (callback, int) {
	switch {
	case b.key == nil:
		return callback{}, http.StatusNotFound
	case r.Method != http.MethodPost:
		return callback{}, http.StatusMethodNotAllowed
	}
	signature, err := hex.DecodeString(r.Header.Get(signatureHeader))
	stamp := r.Header.Get(timestampHeader)
	if err != nil || len(signature) != ed25519.SignatureSize || !fresh(stamp, time.Now()) {
		return callback{}, http.StatusUnauthorized
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxInteraction))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return callback{}, http.StatusRequestEntityTooLarge
	case err != nil:
		return callback{}, http.StatusBadRequest
	case !b.signed(signature, stamp, body):
		return callback{}, http.StatusUnauthorized
	}
	signed(w, r)
	i, err := readInteraction(body)
	switch {
	case err != nil:
		return callback{}, http.StatusBadRequest
	case i.Type == pingInteraction:
		return callback{Type: discordgo.InteractionResponsePong}, http.StatusOK
	}
	done := b.acks.begin(i.ID)
	defer done()
	return b.take(r.Context(), i, body), http.StatusOK
}

// fresh reports whether a signature's time is about now.
func fresh(timestamp string, now time.Time) bool {
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	return err == nil && len(timestamp) <= 12 && now.Sub(time.Unix(seconds, 0)).Abs() <= replayWindow
}

// signed checks Discord's signature over time and body (Interactions, Setting Up
// an Endpoint, Validating Security Request Headers).
func (b *Bot) signed(signature []byte, timestamp string, body []byte) bool {
	return ed25519.Verify(b.key, append([]byte(timestamp), body...), signature)
}
