package fakechat

import (
	"encoding/base64"
	"regexp"
	"strconv"
	"time"
)

// discordEpoch is the first millisecond of 2015 (Discord, "API Reference":
// snowflakes).
const discordEpoch = 1420070400000

var snowflakeFormat = regexp.MustCompile(`^[0-9]{1,20}$`)

func isSnowflake(id string) bool { return snowflakeFormat.MatchString(id) }

// newID makes a snowflake: the milliseconds since 2015, then 22 bits that make
// it larger than the one before.
func (dc *Discord) newID() string {
	id := (dc.now().UnixMilli() - discordEpoch) << 22
	dc.lastID = max(id, dc.lastID+1)
	return strconv.FormatInt(dc.lastID, 10)
}

// olderID reports whether snowflake a is smaller than b.
func olderID(a, b string) bool {
	x, _ := strconv.ParseUint(a, 10, 64)
	y, _ := strconv.ParseUint(b, 10, 64)
	return x < y
}

// tokenFor makes a token of the form that real ones have.
func tokenFor(botID string) string {
	return base64.RawStdEncoding.EncodeToString([]byte(botID)) + ".Gfake0.not-a-real-token-but-as-long-as-one-is"
}

// discordTime is how Discord writes times: ISO 8601 with microseconds.
func discordTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000+00:00") }

// optionalTime is discordTime, or nil for no time.
func optionalTime(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := discordTime(t)
	return &s
}
