package effective

import (
	"encoding/json"
	"strings"

	"approvalbot/internal/config"
)

// judged is what of the configuration decides about calls, as text for the policy's
// hash: all of it, but for secrets (which print as such), the files they stand in, what
// is the instance's own, and what only a restart puts in force, since instances
// restart one after the other.
func judged(c config.Config) (string, error) {
	KeepRunning(&c, config.Config{})
	c.File, c.Server = "", config.Server{Production: c.Server.Production, Tokens: c.Server.Tokens}
	whole, err := json.Marshal(c)
	if err != nil {
		return "", err
	}
	var value any
	if err := json.Unmarshal(whole, &value); err != nil {
		return "", err
	}
	said, err := json.Marshal(saying(value))
	return string(said), err
}

// saying leaves out of a configuration's JSON the paths of files and what says
// nothing, so that a key that is empty and one that is not there are the same.
func saying(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			if inner = saying(inner); inner == nil || strings.HasSuffix(key, "File") {
				delete(v, key)
			} else {
				v[key] = inner
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		for i := range v {
			v[i] = saying(v[i])
		}
		if len(v) == 0 {
			return nil
		}
	}
	return value
}
