package web

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// initData is what Telegram gives a Mini App, signed as it documents
// (Mini Apps, Validating data received via the Mini App).
func initData(token string, at time.Time, user string, more ...string) url.Values {
	v := url.Values{"query_id": {"AAH"}, "user": {user}, "auth_date": {fmt.Sprint(at.Unix())}, "signature": {"third-party"}}
	for i := 0; i < len(more); i += 2 {
		v.Set(more[i], more[i+1])
	}
	var lines []string
	for name := range v {
		lines = append(lines, name+"="+v.Get(name))
	}
	slices.Sort(lines)
	v.Set("hash", hex.EncodeToString(sign(sign([]byte("WebAppData"), token), strings.Join(lines, "\n"))))
	return v
}

const aliceThere = `{"id":111,"first_name":"Alice & <b>","language_code":"en"}`

// A known sample keeps the check from agreeing with nothing but itself: computed with
// OpenSSL from Telegram's description.
func TestInitDataOfAnotherHand(t *testing.T) {
	t.Parallel()
	const sample = "auth_date=1700000000&query_id=AAHdF6IQAAAAAN0XohDhrOrc&user=%7B%22id%22%3A279058397%7D" +
		"&hash=3e6947dad3e098dc4dbc5caa8e35e9537d1bab3fde1a168387120bd005405238"
	at := time.Unix(1700000010, 0)
	user, _, err := readInitData(sample, "123456:ABC-DEF", at)
	require.NoError(t, err)
	require.Equal(t, "279058397", user)
	_, _, err = readInitData(sample, "123456:ABC-DEG", at)
	require.Error(t, err)
}

// The person of the account that Telegram names is signed in, once.
func TestMiniApp(t *testing.T) {
	t.Parallel()
	x := newSite(t)
	v := x.visitor()
	require.Contains(t, v.get("/telegram").text, `<script src="/static/telegram.js" defer></script>`)
	data := initData(botToken, time.Now(), aliceThere)
	require.Equal(t, "/", v.leads(v.post("/telegram", url.Values{"initData": {data.Encode()}})))
	require.Contains(t, v.get("/me").text, "Signed in with: Telegram")
	require.Equal(t, "/", v.leads(v.get("/telegram")), "somebody who is in stays who they are")

	thief := x.visitor()
	a := thief.post("/telegram", url.Values{"initData": {data.Encode()}})
	require.Equal(t, http.StatusForbidden, a.StatusCode)
	require.Contains(t, a.text, "opened before")
	again := strings.Join([]string{data.Encode(), ""}, "&")
	require.Equal(t, http.StatusForbidden, thief.post("/telegram", url.Values{"initData": {again}}).StatusCode, "in another spelling")
	require.Equal(t, http.StatusForbidden, thief.post("/telegram", url.Values{"initData": {
		strings.Replace(data.Encode(), data.Get("hash"), strings.ToUpper(data.Get("hash")), 1)}}).StatusCode)
	require.False(t, thief.in())
	require.Len(t, x.events(approval.EventSignIn), 1)
}

// What Telegram did not sign for this bot, just now, of a known person, signs nobody in and
// is on record.
func TestAdversary_N3_ForgedInitData(t *testing.T) {
	t.Parallel()
	now := time.Now()
	const forged, old, unsaid = "this is not what Telegram signs for this bot",
		"this page was opened more than five minutes ago", "Telegram does not say who you are"
	signed := initData(botToken, now, aliceThere)
	changed := func(name, value string) string {
		v := initData(botToken, now, aliceThere)
		v.Set(name, value)
		return v.Encode()
	}
	for name, c := range map[string]struct{ data, why string }{
		"nothing":            {"", forged},
		"another bot's":      {initData("43:OTHER", now, aliceThere).Encode(), forged},
		"no key at all":      {initData("", now, aliceThere).Encode(), forged},
		"another user":       {changed("user", `{"id":333}`), forged},
		"another time":       {changed("auth_date", fmt.Sprint(now.Unix()+1)), forged},
		"a field more":       {changed("x", "1"), forged},
		"a field less":       {strings.Replace(signed.Encode(), "query_id=AAH&", "", 1), forged},
		"a field twice":      {signed.Encode() + "&user=" + url.QueryEscape(`{"id":333}`), forged},
		"half a hash":        {changed("hash", signed.Get("hash")[:32]), forged},
		"no hash":            {changed("hash", ""), forged},
		"no hex":             {changed("hash", "zz"), forged},
		"six minutes old":    {initData(botToken, now.Add(-6*time.Minute), aliceThere).Encode(), old},
		"of the future":      {initData(botToken, now.Add(6*time.Minute), aliceThere).Encode(), old},
		"no time":            {initData(botToken, now, aliceThere, "auth_date", "x").Encode(), old},
		"no user":            {initData(botToken, now, "").Encode(), unsaid},
		"a bot":              {initData(botToken, now, `{"id":111,"is_bot":true}`).Encode(), unsaid},
		"a user without id":  {initData(botToken, now, `{}`).Encode(), unsaid},
		"a stranger":         {initData(botToken, now, `{"id":999}`).Encode(), "telegram:999 is not an account that the desk knows"},
		"an id in capitals":  {initData(botToken, now, `{"ID":111}`).Encode(), unsaid},
		"an id twice":        {initData(botToken, now, `{"id":333,"id":111}`).Encode(), unsaid},
		"a bot, twice":       {initData(botToken, now, `{"id":111,"is_bot":true,"is_bot":false}`).Encode(), unsaid},
		"an id in two forms": {initData(botToken, now, `{"id":"111"}`).Encode(), unsaid},
	} {
		t.Run(name, func(t *testing.T) { // at once, for the data grow old in five minutes
			x := newSite(t)
			v := x.visitor()
			require.Equal(t, http.StatusForbidden, v.post("/telegram", url.Values{"initData": {c.data}}).StatusCode)
			require.False(t, v.in())
			require.Empty(t, x.events(approval.EventSignIn))
			record := x.events(approval.EventRefused)
			require.Len(t, record, 1)
			require.Contains(t, string(record[0].Data), c.why)
		})
	}
}

// Without a Telegram bot there is no Mini App.
func TestNoMiniAppWithoutABot(t *testing.T) {
	t.Parallel()
	x := newSite(t, func(c *Config) { c.BotToken = "" })
	require.Equal(t, http.StatusNotFound, x.visitor().get("/telegram").StatusCode)
	require.Equal(t, http.StatusNotFound, x.visitor().post("/telegram", nil).StatusCode)
}
