package routing

import (
	"time"
)

// Limits of the dispatcher.
const (
	callsAtOnce = 16                     // to one platform
	chatsAtOnce = 64                     // of one channel that are served: most of them wait for a record
	maxAttempts = 500                    // tries of one message before it is given up
	firstWait   = time.Second            // after the first passing failure, then doubled …
	longestWait = 60 * time.Second       // … up to this
	chatRest    = 5 * time.Second        // how long a chat rests at most after a passing failure
	triesAsIs   = 3                      // of a file, or of a card, before less of it is tried
	recordPause = 100 * time.Millisecond // before a record is tried again, then doubled
	recordTime  = 15 * time.Second       // for which a record is tried
	lookAgain   = 30 * time.Second       // how long a dispatcher or the timers sleep at most
	maxBehind   = 16                     // edits of one chat that are made and not recorded
	stopGrace   = 700 * time.Millisecond // a call under way may finish for so long when the desk stops
)
