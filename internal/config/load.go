package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"
	"go.yaml.in/yaml/v3"

	"approvalbot/internal/lazy"
)

// LocalFile is the name of the configuration that serve --local generates.
const LocalFile = "approvalbot.local.yaml"

// ErrNone says that there is no configuration in any of the usual places.
var ErrNone = errors.New("no configuration")

// maxConfig is how much of a configuration file is read, in bytes.
const maxConfig = 1 << 20

// Find gives the path of the configuration file and its text: path, or where
// findConfig finds it if path is empty.
func Find(path string, env Environ) (file string, text []byte, err error) {
	if file, err = findConfig(path, env); err == nil {
		text, err = readConfig(file)
	}
	return file, text, err
}

// findConfig gives the configuration file: the one that was named, by flag or by
// APPROVALBOT_CONFIG, else approvalbot.yaml in the working directory, in the
// user's configuration directory or in /etc/approvalbot.
func findConfig(path string, env Environ) (string, error) {
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
	for _, dir := range ownFolders(env) {
		v.AddConfigPath(dir)
	}
	var none viper.ConfigFileNotFoundError
	if err := v.ReadInConfig(); errors.As(err, &none) {
		if _, err := os.Stat(LocalFile); err == nil {
			return "", fmt.Errorf("%w: name one with --config; make run has left %s here", ErrNone, LocalFile)
		}
		return "", fmt.Errorf("%w: name one with --config, or put approvalbot.yaml here (approvalbot init writes one, "+
			"config.example.yaml shows every key)", ErrNone)
	}
	return v.ConfigFileUsed(), nil // what is wrong with its text is for the strict reader to say
}

// ownFolders are where a configuration is looked for from any working directory.
func ownFolders(env Environ) []string {
	if dir := Home(env); dir != "" {
		return []string{dir, "/etc/approvalbot"}
	}
	return []string{"/etc/approvalbot"}
}

// FindOwn gives the path of the configuration that was named, by flag or by APPROVALBOT_CONFIG, else of
// the one in the user's configuration directory or in /etc/approvalbot; empty: there is none. It does not
// look into the working directory: a repository's file must not say which desk is this user's.
func FindOwn(path string, env Environ) string {
	if path = cmp.Or(path, env["APPROVALBOT_CONFIG"]); path != "" {
		return path
	}
	for _, dir := range ownFolders(env) {
		file := filepath.Join(dir, "approvalbot.yaml")
		if _, err := os.Stat(file); err == nil {
			return file
		}
	}
	return ""
}

// Home is the user's directory for approvalbot's files, or empty: below
// os.UserConfigDir, as env has it.
func Home(env Environ) string {
	home, below := env["HOME"], ".config"
	switch runtime.GOOS {
	case "windows":
		home, below = env["APPDATA"], ""
	case "darwin", "ios":
		below = "Library/Application Support"
	default:
		if dir := env["XDG_CONFIG_HOME"]; dir != "" {
			home, below = dir, ""
		}
	}
	if !filepath.IsAbs(home) {
		return ""
	}
	return filepath.Join(home, below, "approvalbot")
}

func readConfig(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("the configuration %s cannot be read: %s", path, plainCause(err))
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the configuration %s cannot be read: %s", path, plainCause(err))
	case len(text) > maxConfig:
		return nil, fmt.Errorf("the configuration %s is longer than %d bytes", path, maxConfig)
	}
	return text, nil
}

// Parse reads a configuration's text; file names it in mistakes, and relative paths
// count from there. flags, by key path, override both the text and the environment
// where they were given. What is written is looked at key by key; check reports, in r,
// what is wrong with the whole. The error is a Mistakes with every mistake there is.
func Parse(
	file string, text []byte, env Environ, flags map[string]*pflag.Flag, check func(r *Report, cfg *Config),
) (Config, []Warning, error) {
	r := &Report{file: file, places: map[string]Position{}}
	d := &decoder{Report: r, env: env, override: map[*yaml.Node]string{}}
	cfg := Defaults()
	cfg.File = file
	if root, ok := d.parse(text); ok {
		d.mergeOverrides(root, env, flags)
		d.decode(root, reflect.ValueOf(&cfg).Elem(), spot{source: file})
		cfg.locate()
		if env["NODE_ENV"] == "production" {
			cfg.Server.Production = true
		}
		if env["AGENTSHIELD_APPROVALS_ENABLED"] == "1" {
			cfg.Approvals.AgentShield.Enabled = true
		}
		check(r, &cfg)
	}
	r.sorted()
	if len(r.mistakes) > 0 {
		return Config{}, nil, r.mistakes
	}
	return cfg, r.warnings, nil
}

var yamlLine = lazy.Pattern(`^(?:yaml: )?(?:line (\d+): )?`)

// yamlWords says what the parser finds in words that help.
var yamlWords = strings.NewReplacer("found character that cannot start any token", "a tab, or a value that begins with @, ` or %; indent with blanks, and put such a value in quotes")

// parse gives the document's root mapping, empty for an empty document.
func (d *decoder) parse(text []byte) (*yaml.Node, bool) {
	var doc, second yaml.Node
	in := yaml.NewDecoder(strings.NewReader(string(text)))
	err := in.Decode(&doc)
	empty := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	switch {
	case errors.Is(err, io.EOF):
		return empty, true
	case err != nil:
		m := yamlLine.FindStringSubmatch(err.Error())
		line, _ := strconv.Atoi(m[1])
		d.mistakes = append(d.mistakes, Mistake{Text: "is not YAML: " + yamlWords.Replace(err.Error()[len(m[0]):]), Where: Position{Source: d.file, Line: line}})
		return nil, false
	}
	if err := in.Decode(&second); !errors.Is(err, io.EOF) {
		d.mistake("", "must be one YAML document")
		return nil, false
	}
	if len(doc.Content) == 0 || doc.Content[0].ShortTag() == "!!null" {
		return empty, true
	}
	return doc.Content[0], true
}
