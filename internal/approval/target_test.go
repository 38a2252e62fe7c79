package approval

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseTarget(t *testing.T) {
	good := map[string]Target{
		"telegram:-1001234567890":    {Channel: "telegram", To: "-1001234567890"},
		"telegram:-1001234567890:42": {Channel: "telegram", To: "-1001234567890", ThreadID: "42"},
		"discord:123456789012345678": {Channel: "discord", To: "123456789012345678"},
		"discord:dm:2222":            {Channel: "discord", To: "dm:2222"},
	}
	for text, want := range good {
		got, err := ParseTarget(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got)
		require.Equal(t, text, got.String())
	}
	for _, text := range []string{
		"", "telegram", "telegram:", "telegram:@ops", "slack:1", "telegram:1:2:3", "telegram:1:x", "discord:dm:",
		"telegram:--1",
	} {
		_, err := ParseTarget(text)
		require.Error(t, err, text)
	}
}

// One place has one spelling (P1): the same chat written otherwise is no second
// target.
func TestAdversary_P1_OnePlaceOneSpelling(t *testing.T) {
	place := Target{Channel: "telegram", To: "-1001234567890"}
	for _, other := range []Target{
		{Channel: "Telegram", To: "-1001234567890"},
		{Channel: "telegram", To: " -1001234567890 "},
		{Channel: "telegram", To: "-01001234567890"},
		{Channel: "telegram", To: "-1001234567890", ThreadID: "1"}, // the General topic
		{Channel: "telegram", To: "-1001234567890", ThreadID: "0"},
	} {
		require.Equal(t, place, other.Normal())
	}
	require.NotEqual(t, place, Target{Channel: "telegram", To: "-1001234567890", ThreadID: "7"}.Normal())
}

// A place is normalised several times on every card's way: one that is written
// normally already costs nothing. What no platform has stays what it is.
func TestNormalTargetsAreLeftAlone(t *testing.T) {
	for _, place := range []Target{
		{Channel: "telegram", To: "-1001234567890", ThreadID: "42"}, {Channel: "discord", To: "dm:123456789012345678"},
		{Channel: "callback", To: "0198c0de-1"}, {Channel: "telegram", To: "0"}, {Channel: "discord", To: "dm:-5"}, {},
	} {
		require.Equal(t, place, place.Normal())
		require.Zero(t, testing.AllocsPerRun(10, func() { place = place.Normal() }), place)
	}
	require.Equal(t, "dm:7", Target{Channel: "discord", To: "dm:007"}.Normal().To)
}
