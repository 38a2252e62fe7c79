package effective

import (
	"encoding/json"
	"strings"

	"approvalbot/internal/config"
)

// judged is the part of the configuration that decides about calls, as text for the
// policy's hash. It leaves out secrets (which are printed as redacted), the files that
// hold them, settings of the single instance, and settings that take a restart, since
// instances restart one after the other.
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

// saying removes the paths of files and empty values from a configuration's
// JSON, so that an empty key and a missing one are the same.
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
