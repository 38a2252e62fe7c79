package core

import "time"

func nowMs() int64 { return time.Now().UnixMilli() }

// clocksApartMs is by how much the clocks of instances and platforms may differ.
const clocksApartMs = 60 * 1000
