package config

import (
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"approvalbot/internal/lazy"
)

// LocalFile is the name of the configuration that serve --local generates.
const LocalFile = "approvalbot.local.yaml"

// MaxFile is how much of a configuration file is read, in bytes.
const MaxFile = 1 << 20

// OwnFolders are the folders in which a configuration is looked for from any working directory.
func OwnFolders(env Environ) []string {
	if dir := Home(env); dir != "" {
		return []string{dir, "/etc/approvalbot"}
	}
	return []string{"/etc/approvalbot"}
}

// FindOwn gives the path of the configuration that was named, by flag or by APPROVALBOT_CONFIG, else of
// the one in the user's configuration directory or in /etc/approvalbot; empty if there is no such file.
// It does not look into the working directory: a repository's file must not say which desk is this
// user's.
func FindOwn(path string, env Environ) string {
	if path = cmp.Or(path, env["APPROVALBOT_CONFIG"]); path != "" {
		return path
	}
	for _, dir := range OwnFolders(env) {
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

// Parse reads a configuration's text; file names it in mistakes, and relative paths count from
// there. over overrides the text. The keys that the text has are checked one by one; check reports,
// in r, mistakes of the whole. The error is a Mistakes with every mistake.
func Parse(
	file string, text []byte, env Environ, over Overrides, check func(r *Report, cfg *Config),
) (Config, []Warning, error) {
	r := &Report{file: file, places: map[string]Position{}}
	d := &decoder{Report: r, env: env, override: map[*yaml.Node]string{}}
	cfg := Defaults()
	cfg.File = file
	if root, ok := d.parse(text); ok {
		d.mergeOverrides(root, over)
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

// yamlWords words the parser's error so that it helps.
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
