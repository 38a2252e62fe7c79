// Package effective interprets a configuration: it reports mistakes in it as a
// whole, makes the policy, people, tokens, routing and outside opinions of it, and
// tells who could approve each class now, and what another configuration allows that
// this one did not.
package effective

import (
	"github.com/spf13/pflag"

	"approvalbot/internal/config"
)

// Check is a further check of a configuration, which only some verbs need.
type Check func(r *config.Report, cfg config.Config)

// Load reads the configuration from path, or, if path is empty, from the file that
// Find finds. env is the process environment (NAME=value); flags, by key path,
// override both file and environment if they were given. The error is a Mistakes with
// every mistake, or the reason why the file cannot be read.
func Load(path string, env []string, flags map[string]*pflag.Flag, more ...Check) (config.Config, []config.Warning, error) {
	vars := config.NewEnviron(env)
	file, text, err := Find(path, vars)
	if err != nil {
		return config.Config{}, nil, err
	}
	return Parse(file, text, vars, flags, more...)
}

// Parse is Load for a text that is at hand; file names it in mistakes.
func Parse(
	file string, text []byte, env config.Environ, flags map[string]*pflag.Flag, more ...Check,
) (config.Config, []config.Warning, error) {
	return config.Parse(file, text, env, overrides(env, flags), func(r *config.Report, cfg *config.Config) {
		c := &checker{r}
		c.check(cfg)
		for _, look := range more {
			look(r, *cfg)
		}
	})
}
