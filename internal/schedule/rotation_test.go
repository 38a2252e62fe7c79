package schedule

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func berlin() Rota {
	return Rota{Among: []string{"alice", "bob", "carol"}, Order: []string{"bob", "alice"}, Timezone: "Europe/Berlin", Handoff: "Mon 09:00"}
}

func TestRotation(t *testing.T) {
	t.Parallel()
	rota := berlin()
	rota.Overrides = []Override{
		{"carol", "2026-11-25T09:00:00+01:00", "2026-11-26T09:00:00+01:00"},
		{"alice", "2026-12-31T18:00:00+01:00", "2027-01-01T12:00:00+01:00"},
	}
	r, err := NewRotation(rota)
	require.NoError(t, err)
	d := NewDuty(Roster{Name: "ops", Among: rota.Among, Zone: r.zone, Rotation: r})
	for _, c := range []struct{ now, who, until, next string }{
		{"2024-01-01T09:00:00+01:00", "bob", "2024-01-08T09:00:00+01:00", "alice"}, // where counting begins
		{"2024-01-01T08:59:59+01:00", "alice", "2024-01-01T09:00:00+01:00", "bob"},
		{"2026-11-23T08:59:59+01:00", "bob", "2026-11-23T09:00:00+01:00", "alice"},
		{"2026-11-23T09:00:00+01:00", "alice", "2026-11-25T09:00:00+01:00", "carol"},
		{"2026-11-25T12:00:00+01:00", "carol", "2026-11-26T09:00:00+01:00", "alice"},
		{"2026-11-26T12:00:00+01:00", "alice", "2026-11-30T09:00:00+01:00", "bob"},
		{"2026-12-30T12:00:00+01:00", "bob", "2026-12-31T18:00:00+01:00", "alice"}, // over the year's end
		{"2027-01-01T00:00:00+01:00", "alice", "2027-01-01T12:00:00+01:00", "bob"},
		{"2026-10-24T12:00:00+02:00", "bob", "2026-10-26T09:00:00+01:00", "alice"}, // clocks are set that night
		{"1999-07-01T00:00:00Z", "alice", "1999-07-05T09:00:00+02:00", "bob"},
	} {
		on, ok := d.WhoNow("ops", at(t, c.now))
		require.True(t, ok)
		require.Equal(t, []string{c.who}, on.People, c.now)
		require.Equal(t, c.until, on.Until.Format(time.RFC3339), c.now)
		require.Equal(t, []string{c.next}, on.Next, c.now)
		require.Empty(t, on.Unknown)
	}
	on, _ := d.WhoNow("ops", at(t, "2026-11-24T12:00:00Z"))
	require.Equal(t, "alice until Wed 09:00 CET, then carol", on.String(at(t, "2026-11-24T12:00:00Z"), r.zone))
	require.True(t, d.Has("ops", "alice", at(t, "2026-11-24T12:00:00Z")))
	require.False(t, d.Has("ops", "bob", at(t, "2026-11-24T12:00:00Z")))
	_, ok := d.WhoNow("dev", at(t, "2026-11-24T12:00:00Z"))
	require.False(t, ok)
}

// A handoff that clocks skip is when they skip it; of one shown twice the first counts.
func TestRotation_ClocksAreSet(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ zone, handoff, before, until string }{
		{"Europe/Berlin", "02:30", "2026-03-29T00:00:00Z", "2026-03-29T03:00:00+02:00"},
		{"Europe/Berlin", "02:30", "2026-10-24T22:00:00Z", "2026-10-25T02:30:00+02:00"},
		{"America/New_York", "Sun 02:15", "2026-03-08T00:00:00Z", "2026-03-08T03:00:00-04:00"},
		{"Australia/Lord_Howe", "02:10", "2026-10-03T14:00:00Z", "2026-10-04T02:30:00+11:00"},
		{"Asia/Kathmandu", "09:00", "2026-03-29T00:00:00Z", "2026-03-29T09:00:00+05:45"},
	} {
		rota := berlin()
		rota.Timezone, rota.Handoff = c.zone, c.handoff
		r, err := NewRotation(rota)
		require.NoError(t, err)
		require.Equal(t, c.until, r.at(at(t, c.before)).until.Format(time.RFC3339), c.zone)
	}
}

func TestRotation_OfOne(t *testing.T) {
	t.Parallel()
	rota := berlin()
	rota.Order = []string{"alice", "alice"}
	r, err := NewRotation(rota)
	require.NoError(t, err)
	require.Equal(t, OnDuty{People: []string{"alice"}}, r.duty(at(t, "2026-11-24T12:00:00Z")), "for good")
	rota.Overrides = []Override{{"bob", "2030-01-01T00:00:00Z", "2030-01-02T00:00:00Z"}}
	r, err = NewRotation(rota)
	require.NoError(t, err)
	on := r.duty(at(t, "2026-11-24T12:00:00Z"))
	require.Equal(t, []string{"bob"}, on.Next, "years ahead")
	require.Equal(t, []string{"alice"}, r.duty(at(t, "2030-01-01T12:00:00Z")).Next)
}

func TestRotation_Refuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		change    func(*Rota)
		key, text string
	}{
		{func(r *Rota) { r.Among = nil }, "among", "is empty"},
		{func(r *Rota) { r.Order = nil }, "rotation", "no person would ever be on duty"},
		{func(r *Rota) { r.Order = []string{"alice", "mallory"} }, "rotation[1]", "not one of among"},
		{func(r *Rota) { r.Timezone = "" }, "timezone", "must be a timezone"},
		{func(r *Rota) { r.Handoff = "Monday" }, "handoff", "such as Mon 09:00"},
		{func(r *Rota) { r.Handoff = "24:00" }, "handoff", "such as Mon 09:00"},
		{func(r *Rota) { r.Overrides = []Override{{"mallory", "2026-11-25T09:00:00Z", "2026-11-26T09:00:00Z"}} }, "overrides[0].who", "not one of among"},
		{func(r *Rota) { r.Overrides = []Override{{"alice", "tomorrow", "2026-11-26T09:00:00Z"}} }, "overrides[0]", "RFC 3339"},
		{func(r *Rota) { r.Overrides = []Override{{"alice", "2026-11-26T09:00:00Z", "2026-11-26T09:00:00Z"}} }, "overrides[0]", "ends before it begins"},
		{func(r *Rota) {
			r.Overrides = []Override{{"alice", "2026-11-25T09:00:00Z", "2026-11-27T09:00:00Z"}, {"bob", "2026-11-26T09:00:00Z", "2026-11-28T09:00:00Z"}}
		}, "overrides[1]", "overlaps overrides[0]"},
	} {
		rota := berlin()
		c.change(&rota)
		_, err := NewRotation(rota)
		var bad *Fault
		require.ErrorAs(t, err, &bad)
		require.Equal(t, c.key, bad.Key)
		require.Contains(t, bad.Text, c.text)
	}
}

// Whenever it is, exactly one of the order is on duty, until the very moment at which
// the next one is.
func TestRotation_Properties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		handoff := rapid.SampledFrom([]string{"Mon 09:00", "Sun 02:30", "02:30", "00:00", "Fri 23:59"}).Draw(t, "handoff")
		r, err := NewRotation(Rota{Among: []string{"a", "b", "c"}, Order: []string{"a", "b", "b", "c"},
			Timezone: rapid.SampledFrom(zones).Draw(t, "zone"), Handoff: handoff})
		require.NoError(t, err)
		now := time.Unix(rapid.Int64Range(1262304000, 2208988800).Draw(t, "now"), 0)
		turn := r.at(now)
		require.True(t, turn.until.After(now))
		require.False(t, turn.until.After(now.AddDate(0, 0, 2*r.period+2)), "b has two in a row, the others one")
		require.Equal(t, turn.who, r.at(turn.until.Add(-time.Second)).who)
		require.Equal(t, map[string]string{"a": "b", "b": "c", "c": "a"}[turn.who], r.at(turn.until).who)
	})
}
