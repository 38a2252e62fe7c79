package effective

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"approvalbot/internal/config"
)

// ErrNone means that there is no configuration in any of the usual places.
var ErrNone = errors.New("no configuration")

// Find gives the path of the configuration file and its text: path, or, if path
// is empty, the path that findConfig finds.
func Find(path string, env config.Environ) (file string, text []byte, err error) {
	if file, err = findConfig(path, env); err == nil {
		text, err = readConfig(file)
	}
	return file, text, err
}

// findConfig gives the configuration file: the one that was named, by flag or by
// APPROVALBOT_CONFIG, else approvalbot.yaml in the working directory, in the
// user's configuration directory or in /etc/approvalbot.
func findConfig(path string, env config.Environ) (string, error) {
	if path != "" {
		return path, nil
	}
	if path = env["APPROVALBOT_CONFIG"]; path != "" {
		return path, nil
	}
	v := viper.NewWithOptions(viper.KeyDelimiter("::"))
	v.SetConfigName("approvalbot.yaml") // with the type set, the very name
	v.SetConfigType("yaml")
	v.AddConfigPath(".")
	for _, dir := range config.OwnFolders(env) {
		v.AddConfigPath(dir)
	}
	var none viper.ConfigFileNotFoundError
	if err := v.ReadInConfig(); errors.As(err, &none) {
		if _, err := os.Stat(config.LocalFile); err == nil {
			return "", fmt.Errorf("%w: name one with --config; make run has left %s here", ErrNone, config.LocalFile)
		}
		return "", fmt.Errorf("%w: name one with --config, or put approvalbot.yaml here (approvalbot init writes one, "+
			"config.example.yaml shows every key)", ErrNone)
	}
	return v.ConfigFileUsed(), nil // the strict reader reports mistakes in its text
}

func readConfig(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("the configuration %s cannot be read: %s", path, config.PlainCause(err))
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, config.MaxFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the configuration %s cannot be read: %s", path, config.PlainCause(err))
	case len(text) > config.MaxFile:
		return nil, fmt.Errorf("the configuration %s is longer than %d bytes", path, config.MaxFile)
	}
	return text, nil
}

// overrides are the values of the environment and the flags that replace those of the file, in the order of
// their keys, so that a block comes before the keys in it.
func overrides(env config.Environ, flags map[string]*pflag.Flag) (over config.Overrides) {
	merged := viper.NewWithOptions(viper.KeyDelimiter("::"))
	names := map[string]string{} // key in lower case -> its source
	for _, name := range slices.Sorted(maps.Keys(env)) {
		rest, ok := strings.CutPrefix(name, config.OverridePrefix)
		if !ok {
			continue
		}
		key := strings.ToLower(strings.ReplaceAll(rest, "__", "."))
		if other, twice := names[key]; twice {
			over.Mistakes = append(over.Mistakes, config.Mistake{Key: key, Text: "is also set by " + other,
				Where: config.Position{Source: name}})
		}
		names[key] = name
		merged.SetDefault(key, env[name])
	}
	for key, flag := range flags {
		if flag.Changed {
			names[strings.ToLower(key)] = "--" + flag.Name
			_ = merged.BindPFlag(key, flag) // fails for a nil flag only
		}
	}
	for _, key := range slices.Sorted(maps.Keys(names)) {
		over.Keys = append(over.Keys, config.KeyOverride{Key: key, Text: merged.GetString(key), Name: names[key]})
	}
	return over
}
