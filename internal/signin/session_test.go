package signin_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/people"
	"approvalbot/internal/signin"
)

// A session holds for seven days, and for twelve hours after its last use.
func TestSessionLive(t *testing.T) {
	t.Parallel()
	const hour = int64(3_600_000)
	s := signin.Session{UsedMs: 100 * hour, EndsMs: 110 * hour}
	require.True(t, s.Live(110*hour-1))
	require.False(t, s.Live(110*hour))
	s.EndsMs = 268 * hour
	require.True(t, s.Live(112*hour-1))
	require.False(t, s.Live(112*hour))
}

// session puts a session of alice into the store that was last used so long ago, and ends
// so long from now.
func (d *rig) session(t *testing.T, id string, ago, left time.Duration) signin.Session {
	t.Helper()
	now := time.Now()
	s := signin.Session{ID: id, Person: "alice", How: signin.ByLink, CreatedMs: now.Add(-ago).UnixMilli(),
		UsedMs: now.Add(-ago).UnixMilli(), EndsMs: now.Add(left).UnixMilli()}
	require.NoError(t, d.store.SignIn(t.Context(), signin.SignedIn{Session: s, Cookie: signin.CookieHash(id),
		Event: approval.Event{AtMs: s.CreatedMs, Type: approval.EventSignIn}}))
	return s
}

func (d *rig) usedMs(t *testing.T, id string) int64 {
	t.Helper()
	s, err := d.store.Session(t.Context(), signin.CookieHash(id))
	require.NoError(t, err)
	return s.UsedMs
}

// Only the first use of a minute is written down, and a stream's look is none.
func TestAUseIsWrittenDownOnceAMinute(t *testing.T) {
	t.Parallel()
	d := newRig(t)
	recent := d.session(t, "recent", 30*time.Second, time.Hour)
	_, err := d.Session(t.Context(), "recent")
	require.NoError(t, err)
	require.Equal(t, recent.UsedMs, d.usedMs(t, "recent"))

	old := d.session(t, "old", 2*time.Minute, time.Hour)
	_, err = d.SessionStands(t.Context(), "old")
	require.NoError(t, err)
	require.Equal(t, old.UsedMs, d.usedMs(t, "old"))
	got, err := d.Session(t.Context(), "old")
	require.NoError(t, err)
	require.Greater(t, got.UsedMs, old.UsedMs)
	require.Equal(t, got.UsedMs, d.usedMs(t, "old"))
}

// A session that is over, that never was, or whose person is no longer configured, is none.
func TestNoSession(t *testing.T) {
	t.Parallel()
	d := newRig(t)
	d.session(t, "idle", 13*time.Hour, time.Hour)
	d.session(t, "over", time.Minute, -time.Minute)
	d.session(t, "good", time.Minute, time.Hour)
	for _, cookie := range []string{"idle", "over", "never", "", signin.CookieHash("good")} {
		_, err := d.Session(t.Context(), cookie)
		require.Equal(t, approval.CodeNotFound, approval.CodeOf(err), cookie)
	}
	all, err := d.Sessions(t.Context(), "alice")
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, "good", all[0].ID)

	d.use(func(r *core.Rules) {
		r.People, err = people.NewDirectory(people.Rights{People: []people.Person{{Name: "bob"}}})
	})
	require.NoError(t, err)
	_, err = d.Session(t.Context(), "good")
	require.Equal(t, approval.CodeNotFound, approval.CodeOf(err))
	_, _, err = d.SignIn(t.Context(), signin.SignIn{Person: "alice", How: signin.ByOIDC})
	require.Equal(t, approval.CodeForbidden, approval.CodeOf(err))
}

// Who may make a link for whom: an operator.admin for anybody, a token that decides for its
// own person, and an agent's for nobody, also where it names who stands behind it.
func TestAdversary_N2_WhoMayMakeALink(t *testing.T) {
	t.Parallel()
	d := newRig(t)
	for name, c := range map[string]struct {
		who    core.Caller
		person string
		enrols bool
		want   approval.Code
		for_   string
	}{
		"my own":              {core.Caller{Token: "t", Person: "alice", MayDecide: true}, "", false, "", "alice"},
		"my own by name":      {core.Caller{Token: "t", Person: "alice", MayDecide: true}, "alice", false, "", "alice"},
		"another's":           {core.Caller{Token: "t", Person: "alice", MayDecide: true}, "bob", false, approval.CodeForbidden, ""},
		"mine, to enrol":      {core.Caller{Token: "t", Person: "alice", MayDecide: true}, "alice", true, approval.CodeForbidden, ""},
		"an admin's":          {core.Caller{Token: "t", MayAdmin: true}, "bob", false, "", "bob"},
		"an admin's to enrol": {core.Caller{Token: "t", MayAdmin: true}, "bob", true, "", "bob"},
		"an admin's of none":  {core.Caller{Token: "t", MayAdmin: true}, "", false, approval.CodeInvalidRequest, ""},
		"a stranger's":        {core.Caller{Token: "t", MayAdmin: true}, "eve", false, approval.CodeInvalidRequest, ""},
		"an agent's":          {core.Caller{Token: "t", Person: "alice", MayRequest: true}, "", false, approval.CodeForbidden, ""},
		"an auditor's":        {core.Caller{Token: "t", Person: "alice", MayAudit: true}, "", false, approval.CodeForbidden, ""},
		"nobody's":            {core.Caller{Token: "t", MayDecide: true}, "", false, approval.CodeForbidden, ""},
	} {
		l, secret, err := d.MakeLink(t.Context(), c.who, c.person, c.enrols)
		require.Equal(t, c.want, approval.CodeOf(err), name)
		if c.want != "" {
			require.Empty(t, secret, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, c.for_, l.Person, name)
		s, _, err := d.SpendLink(t.Context(), secret, "")
		require.NoError(t, err, name)
		require.Equal(t, c.enrols, s.Enrols, name)
	}
}

// An account in a chat makes a link for its own person, which enrols nothing.
func TestAdversary_N2_AChatsLinkEnrolsNothing(t *testing.T) {
	t.Parallel()
	d := newRig(t)
	_, secret, err := d.LinkFor(t.Context(), approval.Voter{Channel: "telegram", UserID: "1"}, nil)
	require.NoError(t, err)
	s, _, err := d.SpendLink(t.Context(), secret, "")
	require.NoError(t, err)
	require.Equal(t, "alice", s.Person)
	require.False(t, s.Enrols)
	for _, v := range []approval.Voter{{Channel: "telegram", UserID: "9"}, {Channel: "discord", UserID: "1"},
		{Channel: "telegram", UserID: "9", Person: "alice"}} {
		_, _, err = d.LinkFor(t.Context(), v, nil)
		require.Equal(t, approval.CodeForbidden, approval.CodeOf(err), v)
	}
}

// The log says who signed in how and by whose link, and no secret; a browser's own words
// are cut and made visible.
func TestWhatIsOnRecordOfASignIn(t *testing.T) {
	t.Parallel()
	d := newRig(t)
	_, secret, err := d.MakeLink(t.Context(), core.Caller{Token: "ops", MayAdmin: true}, "alice", true)
	require.NoError(t, err)
	s, cookie, err := d.SpendLink(t.Context(), secret, "Evil\u202e\n"+strings.Repeat("x", 500))
	require.NoError(t, err)
	require.LessOrEqual(t, len([]rune(s.Browser)), 80)
	require.True(t, strings.HasPrefix(s.Browser, `Evil\u{202E}`), s.Browser)
	require.NoError(t, d.EndSession(t.Context(), "alice", s.ID))

	log, err := d.store.Log(t.Context(), 0, 100)
	require.NoError(t, err)
	var types []approval.EventType
	for _, e := range log {
		types = append(types, e.Type)
		for _, hidden := range []string{secret, cookie, signin.CookieHash(cookie)} {
			require.NotContains(t, string(e.Data), hidden)
		}
	}
	require.Equal(t, []approval.EventType{approval.EventLoginLink, approval.EventSignIn, approval.EventSignedOut}, types)
	var said map[string]any
	require.NoError(t, json.Unmarshal(log[1].Data, &said))
	require.Equal(t, map[string]any{"by": "person:alice", "how": "link", "session": s.ID, "browser": s.Browser,
		"enrols": true, "linkBy": "token:ops"}, said)
	_, _, err = d.store.Verify(t.Context())
	require.NoError(t, err)
}

// Whoever proves who they are by what counts once, signs in once.
func TestWhatCountsOnce(t *testing.T) {
	t.Parallel()
	d := newRig(t)
	in := signin.SignIn{Person: "alice", How: signin.ByTelegram, Once: "this", OnceMs: time.Now().Add(time.Hour).UnixMilli()}
	_, _, err := d.SignIn(t.Context(), in)
	require.NoError(t, err)
	_, _, err = d.SignIn(t.Context(), in)
	require.Equal(t, approval.CodeAlreadyUsed, approval.CodeOf(err))
}

// Whoever waits for the end of sessions hears of one, and of other rules.
func TestSessionsTurn(t *testing.T) {
	t.Parallel()
	d := newRig(t)
	d.session(t, "s", time.Minute, time.Hour)
	turn := d.SessionsTurn()
	require.Equal(t, turn, d.SessionsTurn())
	require.NoError(t, d.EndSession(t.Context(), "alice", "s"))
	<-turn
	turn = d.SessionsTurn()
	d.use(func(*core.Rules) {})
	<-turn
}
