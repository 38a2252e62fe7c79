package verifier

import (
	"crypto/sha256"
	"encoding/json"
	"sync"
	"time"

	"approvalbot/internal/approval"
)

// maxCached bounds how many allows one webhook's cache keeps.
const maxCached = 1024

// cache remembers calls that a webhook allowed. A nil cache is always empty.
type cache struct {
	ttl time.Duration

	mu    sync.Mutex
	until map[[sha256.Size]byte]time.Time
}

func newCache(ttl time.Duration) *cache {
	if ttl <= 0 {
		return nil
	}
	return &cache{ttl: ttl, until: map[[sha256.Size]byte]time.Time{}}
}

// usable reports whether a remembered allow may count for a call of that class:
// from R3 on the authority is asked every time.
func (c *cache) usable(class approval.RiskClass) bool {
	return c != nil && class >= approval.R0 && class < approval.R3
}

// cacheKey names everything of a call that the webhook sees, and what of its
// params is hidden from it.
func cacheKey(call approval.Call) ([sha256.Size]byte, bool) {
	sealed, err := approval.Canonical(call.ToolName, call.Params, call.Bind)
	if err != nil {
		return [sha256.Size]byte{}, false
	}
	key, err := json.Marshal([]string{sealed.Fingerprint, call.AgentID, call.SessionKey, provider(call)})
	return sha256.Sum256(key), err == nil
}

func (c *cache) has(key [sha256.Size]byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Before(c.until[key])
}

// add remembers a call. When the cache is full of calls that still count it is
// emptied: asking once more is always right.
func (c *cache) add(key [sha256.Size]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if len(c.until) >= maxCached {
		for k, until := range c.until {
			if !now.Before(until) {
				delete(c.until, k)
			}
		}
	}
	if len(c.until) >= maxCached {
		clear(c.until)
	}
	c.until[key] = now.Add(c.ttl)
}
