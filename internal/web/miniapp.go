package web

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"approvalbot/internal/approval"
	"approvalbot/internal/signin"
)

const (
	initLife  = 5 * time.Minute // how old what Telegram signed may be
	initAhead = time.Minute     // by how much Telegram's clock may be ahead
)

// AppPlatform is the platform that opens pages of the desk inside of itself (Mini Apps).
const AppPlatform = "telegram"

const appPath = "/" + AppPlatform

// miniAppPages sign people in from within Telegram.
type miniAppPages struct {
	admission
	botToken string // of the bot that signs what its Mini App is given
}

func (p *miniAppPages) routes() []route {
	return []route{
		{pattern: "GET " + appPath, open: true, serve: p.miniApp},
		{pattern: "POST " + appPath, open: true, serve: p.fromMiniApp},
	}
}

// miniApp is the page that Telegram opens. Its script sends the data that Telegram
// put into the address; a person who is signed in already stays signed in as before.
func (p *miniAppPages) miniApp(out http.ResponseWriter, r *http.Request, s signin.Session) {
	if s.ID != "" {
		http.Redirect(out, r, "/", http.StatusSeeOther)
		return
	}
	p.show(out, http.StatusOK, miniAppPage(p.head(s, "Sign in from Telegram")))
}

// fromMiniApp signs in the person that Telegram names.
func (p *miniAppPages) fromMiniApp(out http.ResponseWriter, r *http.Request, _ signin.Session) {
	user, once, err := readInitData(r.PostFormValue("initData"), p.botToken, time.Now())
	if err != nil {
		p.refused(out, r, http.StatusForbidden, signin.ByTelegram, err.Error(),
			"The desk did not sign you in: "+err.Error()+". Close this page and open it again from the bot's message.")
		return
	}
	v := p.gate.Rules().People.Identify(approval.Voter{Channel: AppPlatform, UserID: user})
	if v.Person == "" {
		p.refused(out, r, http.StatusForbidden, signin.ByTelegram, AppPlatform+":"+user+" is not "+
			"an account that the desk knows",
			"The desk does not know whose account this is, so it cannot sign you in: its operator names you under people first.")
		return
	}
	s, cookie, err := p.signin.SignIn(r.Context(), signin.SignIn{Person: v.Person, How: signin.ByTelegram, Browser: browser(r),
		Once: once, OnceMs: time.Now().Add(initLife + 2*initAhead).UnixMilli()})
	switch {
	case approval.CodeOf(err) == approval.CodeAlreadyUsed:
		p.refused(out, r, http.StatusForbidden, signin.ByTelegram, "initData that was used before",
			"This page was opened before. Close it and open it again from the bot's message.")
	case err != nil:
		p.failed(out, r, signin.Session{}, err)
	default:
		p.enter(out, r, s, cookie, "/")
	}
}

// readInitData gives the user that Telegram names to a Mini App of the bot, and a value
// that is unique to this opening of it (Mini Apps, Validating data received via the
// Mini App).
func readInitData(data, botToken string, now time.Time) (user, once string, err error) {
	const forged = refusal("this is not what Telegram signs for this bot")
	fields, err := url.ParseQuery(data)
	if err != nil || botToken == "" {
		return "", "", forged
	}
	var lines []string
	for name, values := range fields {
		if len(values) != 1 {
			return "", "", forged
		}
		if name != "hash" {
			lines = append(lines, name+"="+values[0])
		}
	}
	slices.Sort(lines)
	given, err := hex.DecodeString(fields.Get("hash"))
	want := sign(sign([]byte("WebAppData"), botToken), strings.Join(lines, "\n"))
	if err != nil || !hmac.Equal(given, want) {
		return "", "", forged
	}
	seconds, err := strconv.ParseInt(fields.Get("auth_date"), 10, 64)
	age := now.Sub(time.Unix(seconds, 0))
	if err != nil || age > initLife || age < -initAhead {
		return "", "", refusal("this page was opened more than five minutes ago")
	}
	var who struct {
		ID    int64 `json:"id"`
		IsBot bool  `json:"is_bot"`
	}
	if err := json.Unmarshal([]byte(fields.Get("user")), &who); err != nil || who.ID <= 0 || who.IsBot {
		return "", "", refusal("Telegram does not say who you are")
	}
	return strconv.FormatInt(who.ID, 10), "telegram " + hex.EncodeToString(given), nil
}

// sign is HMAC-SHA256.
func sign(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}
