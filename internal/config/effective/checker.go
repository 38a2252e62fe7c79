package effective

import (
	"net/url"
	"slices"
	"strings"

	"approvalbot/internal/config"
)

// checker finds what is wrong with a configuration whose keys and types are right.
type checker struct{ *config.Report }

// checkURL accepts absolute http and https URLs without user, query or
// fragment, and gives the parsed one, or nil.
func (c *checker) checkURL(key, text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || !plainAddress(u) {
		c.Mistake(key, "must be an absolute http or https URL without a query")
		return nil
	}
	return u
}

// plainAddress reports http or https without user, query or fragment.
func plainAddress(u *url.URL) bool {
	bare := u.User == nil && u.RawQuery == "" && u.Fragment == ""
	return bare && (u.Scheme == "http" || u.Scheme == "https")
}

func (c *checker) atLeast(key string, n, least int) {
	if n < least {
		c.Mistake(key, "must be %d or more", least)
	}
}

// names checks that each of a list has a valid name that no other one has, not
// even in another letter case.
func (c *checker) names(list, field string, all []string) {
	seen := map[string]int{}
	for i, n := range all {
		key := config.Index(list, i) + "." + field
		if !config.GoodName(n) {
			c.Mistake(key, "must be a name: 1 to 64 letters, digits or . _ -, a letter or digit first")
			continue
		}
		folded := strings.ToLower(n)
		if first, twice := seen[folded]; twice {
			c.Mistake(key, "is the same name as %s", config.Index(list, first)+"."+field)
			continue
		}
		seen[folded] = i
	}
}

// distinct reports the entries that a list has twice.
func distinct[T comparable](c *checker, key string, list []T) {
	twice(list, func(i, first int) { c.Mistake(config.Index(key, i), "is the same as %s", config.Index(key, first)) })
}

// distinctPlaces is distinct for chats, of which each gets one card all the same.
func (c *checker) distinctPlaces(key string, places []config.Place) {
	twice(config.Targets(places), func(i, first int) { c.Warn(config.Index(key, i), "is the same as %s", config.Index(key, first)) })
}

// twice calls found for each entry that the list has before.
func twice[T comparable](list []T, found func(i, first int)) {
	for i, x := range list {
		if first := slices.Index(list, x); first < i {
			found(i, first)
		}
	}
}
