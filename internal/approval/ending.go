package approval

import (
	"time"
)

// TimeText writes a time for people, with its zone named.
func TimeText(ms int64, zone *time.Location) string {
	return time.UnixMilli(ms).In(zone).Format("2 Jan 15:04:05 MST")
}
