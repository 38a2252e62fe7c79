package effective

import (
	"encoding/json"
	"strings"

	"approvalbot/internal/config"
	"approvalbot/internal/platform"
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
	var value map[string]any
	if err := json.Unmarshal(whole, &value); err != nil {
		return "", err
	}
	byTitle(value)
	said, err := json.Marshal(saying(value))
	return string(said), err
}

// byTitle puts bots and accounts under the titles of their platforms. Versions that had a field for each
// wrote them so, and the hash of a configuration must stay: instances of both run beside each other.
func byTitle(whole map[string]any) {
	move := func(from any, into map[string]any, none any) {
		values, _ := from.(map[string]any)
		for _, r := range platform.Rows {
			if into[r.Title] = none; values[r.Name] != nil {
				into[r.Title] = values[r.Name]
			}
		}
	}
	bots := map[string]any{}
	move(whole["Channels"].(map[string]any)["Bots"], bots, nil)
	whole["Channels"] = bots
	people, _ := whole["People"].([]any)
	for _, p := range people {
		person := p.(map[string]any)
		move(person["Accounts"], person, "")
		delete(person, "Accounts")
	}
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
