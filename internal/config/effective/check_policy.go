package effective

import (
	"errors"
	"slices"
	"strings"

	"approvalbot/internal/config"
	"approvalbot/internal/policy"
)

// checkPolicy has the policy itself check what only it understands: patterns,
// expressions, groups. Its finding is left out if the key has a mistake already, or
// if it is about a whole block that has a mistake inside.
func (c *checker) checkPolicy(cfg *config.Config) {
	_, err := policy.New(Policy(*cfg))
	var mistakes policy.Mistakes
	switch {
	case err == nil:
		return
	case !errors.As(err, &mistakes):
		mistakes = policy.Mistakes{{Text: err.Error()}}
	}
	var keys []string
	texts := map[string][]string{}
	for _, m := range mistakes {
		key := c.keyOf(m.Path, cfg.Agents.List)
		if texts[key] == nil {
			keys = append(keys, key)
		}
		texts[key] = append(texts[key], inOneLine(m.Text))
	}
	for _, key := range keys {
		if key != "" && !c.Wrong(key, ".name") {
			c.Mistake(key, "%s", strings.Join(texts[key], "; "))
		}
	}
	if no := texts[""]; no != nil && !c.Wrong("") {
		c.Mistake("", "makes no policy: %s", strings.Join(no, "; "))
	}
}

// keyOf is the key at the end of a policy's path: here agents are in a list, and keys
// of a layer may be below tools.
func (c *checker) keyOf(path []string, agents []config.Agent) (key string) {
	for i, step := range path {
		switch {
		case i == 1 && path[0] == "agents":
			at := slices.IndexFunc(agents, func(a config.Agent) bool { return a.ID == step })
			key = config.Index("agents.list", at)
		case strings.HasPrefix(step, "["):
			key += step
		default:
			key = config.Join(key, step)
		}
		if ends := i == len(path)-1 || path[i+1] == "allow" || path[i+1] == "deny"; ends && i > 0 {
			key = c.layerKey(key)
		}
	}
	return key
}

// inOneLine writes a text of several lines as one.
func inOneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}
