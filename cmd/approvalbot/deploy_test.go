package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"approvalbot/deploy"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/config"
	"approvalbot/internal/config/effective"
)

const (
	deployFolder   = "../../deploy"
	operationsPage = "../../docs/operations.md"
)

// deployed gives the text of a file in deploy.
func deployed(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(deployFolder, name))
	require.NoError(t, err)
	return string(text)
}

// documents gives the documents of a YAML text.
func documents(t *testing.T, text string) (all []map[string]any) {
	t.Helper()
	for d := yaml.NewDecoder(strings.NewReader(text)); ; {
		var doc map[string]any
		err := d.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		all = append(all, doc)
	}
}

// at follows keys into a document.
func at(t *testing.T, doc any, keys ...string) any {
	t.Helper()
	for _, k := range keys {
		m, ok := doc.(map[string]any)
		require.True(t, ok && m[k] != nil, "no %s in %v", k, doc)
		doc = m[k]
	}
	return doc
}

func TestDeploy_FilesParse(t *testing.T) {
	t.Parallel()
	for _, name := range glob(t, "*.yaml") {
		require.NotEmpty(t, documents(t, deployed(t, name)), name)
	}
	for _, name := range glob(t, "*.json") {
		require.True(t, json.Valid([]byte(deployed(t, name))), name)
	}
}

func glob(t *testing.T, pattern string) (names []string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(deployFolder, pattern))
	require.NoError(t, err)
	require.NotEmpty(t, found, pattern)
	for _, f := range found {
		names = append(names, filepath.Base(f))
	}
	return names
}

// secretFolder makes a folder with a file for each secret.
func secretFolder(t *testing.T, secrets map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, value := range secrets {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(value+"\n"), 0o600))
	}
	return dir
}

// named gives each name a secret of its own.
func named(names []string) map[string]string {
	all := map[string]string{}
	for _, n := range names {
		all[n] = "secret-of-" + n + "-0123456789"
	}
	return all
}

// usable loads a configuration and makes its rules.
func usable(t *testing.T, text string, env ...string) config.Config {
	t.Helper()
	cfg, warnings := loadText(t, text, env...)
	require.True(t, cfg.Approvals.Enabled())
	require.True(t, cfg.Channels.Bots["telegram"].On())
	require.Empty(t, warnings)
	_, err := effective.Rules(cfg, effective.Table(cfg))
	require.NoError(t, err)
	classes, err := effective.Classes(cfg)
	require.NoError(t, err)
	for _, c := range classes {
		require.True(t, c.Outcome != "ask" || c.Reachable, "%s has nobody who could approve it", c.Class)
	}
	return cfg
}

// The configuration of compose.yaml has every secret that it names, and loads.
func TestDeploy_ComposeConfiguration(t *testing.T) {
	t.Parallel()
	compose := documents(t, deployed(t, "compose.yaml"))[0]
	one, two := at(t, compose, "services", "desk-1").(map[string]any), at(t, compose, "services", "desk-2").(map[string]any)
	require.NotEqual(t, one["ports"], two["ports"])
	delete(one, "ports")
	delete(two, "ports")
	require.Equal(t, one, two, "both instances have the same configuration, key and secrets")
	var names []string
	for _, s := range at(t, one, "secrets").([]any) {
		names = append(names, s.(string))
	}
	for _, s := range append(names, "database-password") {
		require.Equal(t, "./secrets/"+s, at(t, compose, "secrets", s, "file"))
	}
	dir := secretFolder(t, named(names))
	text := strings.ReplaceAll(deployed(t, "approvalbot.compose.yaml"), "/run/secrets/", dir+"/")
	cfg := usable(t, text)
	require.FileExists(t, cfg.Store.KeyFile)
	require.Contains(t, cfg.Store.URL, "passfile="+dir+"/pgpass")
	require.Equal(t, "approvalbot", at(t, compose, "services", "database", "environment", "POSTGRES_USER"))
}

// The configuration of compose-sqlite.yaml has every secret that it names, loads, and keeps
// its store where the volume is.
func TestDeploy_ComposeOnSQLite(t *testing.T) {
	t.Parallel()
	compose := documents(t, deployed(t, "compose-sqlite.yaml"))[0]
	desk := at(t, compose, "services", "desk")
	var names []string
	for _, s := range at(t, desk, "secrets").([]any) {
		names = append(names, s.(string))
		require.Equal(t, "./secrets/"+s.(string), at(t, compose, "secrets", s.(string), "file"))
	}
	require.Contains(t, at(t, desk, "volumes"), "state:/var/lib/approvalbot")
	require.Equal(t, true, at(t, desk, "read_only"))
	text := strings.ReplaceAll(deployed(t, "approvalbot.compose-sqlite.yaml"), "/run/secrets/", secretFolder(t, named(names))+"/")
	cfg := usable(t, text)
	require.Equal(t, "sqlite:/var/lib/approvalbot/approvalbot.db", cfg.Store.URL)
	require.FileExists(t, cfg.Store.KeyFile)
	require.NotEqual(t, compose["name"], documents(t, deployed(t, "compose.yaml"))[0]["name"], "both may run on one machine")
}

// The configuration for systemd names only what the unit provides.
func TestDeploy_SystemdConfiguration(t *testing.T) {
	t.Parallel()
	unit := deployed(t, "approvalbot.service")
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^LoadCredential=([a-z-]+):`).FindAllStringSubmatch(unit, -1) {
		names = append(names, m[1])
	}
	require.Contains(t, unit, "\nStateDirectory=approvalbot\n")
	require.Contains(t, unit, "\nExecStartPre=install -m 0600 %d/key %t/approvalbot/key\n")
	require.Contains(t, unit, "\nExecReload=kill -HUP $MAINPID\n")
	const without = `botToken: ""`
	text := deployed(t, "approvalbot.systemd.yaml")
	require.Contains(t, text, without, "a package's desk starts before anybody has a bot")
	cfg := usable(t, strings.Replace(text, without, `botToken: "111:secret"`, 1),
		"CREDENTIALS_DIRECTORY="+secretFolder(t, named(names)), "STATE_DIRECTORY=/var/lib/approvalbot", "RUNTIME_DIRECTORY=/run/approvalbot")
	require.Equal(t, "sqlite:/var/lib/approvalbot/approvalbot.db", cfg.Store.URL)
	require.Equal(t, "/run/approvalbot/key", cfg.Store.KeyFile)
}

// install prints the service files for this program and this configuration.
func TestDeploy_ServicesAreForThisProgram(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	require.NoError(t, err)
	for _, manager := range deploy.Services() {
		var out, stderr bytes.Buffer
		require.Zero(t, run(t.Context(), []string{"install", manager, "--print", "--config", "/srv/desk.yaml"}, nil, nil, &out, &stderr), stderr.String())
		require.Contains(t, out.String(), program)
		require.Contains(t, out.String(), "/srv/desk.yaml")
		require.NotContains(t, out.String(), "/usr/local/bin/approvalbot")
		require.Equal(t, 1, run(t.Context(), []string{"install", manager}, nil, nil, &out, &stderr))
		require.Contains(t, stderr.String(), "--print")
	}
	parsed := xml.NewDecoder(strings.NewReader(deployed(t, "approvalbot.plist")))
	for err == nil {
		_, err = parsed.Token()
	}
	require.ErrorIs(t, err, io.EOF)
}

// What systemd's own tool finds open in the unit stays below 1.5 of 10.
func TestDeploy_UnitIsConfined(t *testing.T) {
	t.Parallel()
	tool, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is missing")
	}
	out, err := exec.Command(tool, "security", "--offline=yes", "--no-pager", "--threshold=15", deployFolder+"/approvalbot.service").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "Overall exposure level")
}

// The ConfigMap loads with secrets of the Secret's names, and not with the
// placeholders that stand there.
func TestDeploy_KubernetesConfiguration(t *testing.T) {
	t.Parallel()
	kinds := map[string]map[string]any{}
	for _, doc := range documents(t, deployed(t, "kubernetes.yaml")) {
		kinds[at(t, doc, "kind").(string)] = doc
	}
	for _, kind := range []string{"Deployment", "Service", "PodDisruptionBudget"} {
		require.Contains(t, kinds, kind)
	}
	placeholders := map[string]string{}
	var names []string
	for name, value := range at(t, kinds["Secret"], "stringData").(map[string]any) {
		placeholders[name], names = value.(string), append(names, name)
	}
	text := at(t, kinds["ConfigMap"], "data", "approvalbot.yaml").(string)
	in := func(dir string) string { return strings.ReplaceAll(text, "/secrets/", dir+"/") }
	cfg := usable(t, in(secretFolder(t, named(names))))
	require.Equal(t, "/key/key", cfg.Store.KeyFile)
	_, _, err := effective.Parse("f.yaml", []byte(in(secretFolder(t, placeholders))), nil, nil)
	require.ErrorContains(t, err, "server.tokens[0].token")
	require.NotRegexp(t, `^(.{32}|[0-9a-fA-F]{64})$`, placeholders["key"], "the placeholder must be no key")

	pod := at(t, kinds["Deployment"], "spec", "template", "spec")
	container := at(t, pod, "containers").([]any)[0]
	require.Equal(t, "/healthz", at(t, container, "livenessProbe", "httpGet", "path"))
	require.Equal(t, "/readyz", at(t, container, "readinessProbe", "httpGet", "path"))
	require.Equal(t, true, at(t, container, "securityContext", "readOnlyRootFilesystem"))
	require.Equal(t, true, at(t, pod, "securityContext", "runAsNonRoot"))
	for _, kind := range []string{"Service", "PodDisruptionBudget"} {
		selector := at(t, kinds[kind], "spec", "selector").(map[string]any)
		if inner, ok := selector["matchLabels"]; ok {
			selector = inner.(map[string]any)
		}
		require.Equal(t, at(t, kinds["Deployment"], "spec", "template", "metadata", "labels"), selector, kind)
	}
}

func TestDeploy_DockerfileHasTheGoOfTheModule(t *testing.T) {
	t.Parallel()
	image := regexp.MustCompile(`(?m)^FROM golang:([0-9.]+) `).FindStringSubmatch(deployed(t, "Dockerfile"))
	require.NotNil(t, image)
	mod, err := os.ReadFile("../../go.mod")
	require.NoError(t, err)
	version := regexp.MustCompile(`(?m)^go ([0-9.]+)$`).FindStringSubmatch(string(mod))
	require.NotNil(t, version)
	require.True(t, strings.HasPrefix(version[1]+".", image[1]+"."), "the image has Go %s, and go.mod wants %s", image[1], version[1])
}

// describedMetrics gives the metrics of a running desk with their labels.
func describedMetrics(t *testing.T) map[string][]string {
	t.Helper()
	r := newRig(t)
	descs := make(chan *prometheus.Desc, 1000)
	r.desk.Metrics.Describe(descs)
	close(descs)
	form := regexp.MustCompile(`^Desc\{fqName: "([^"]+)".*variableLabels: \{(.*)\}\}$`)
	out := map[string][]string{"up": nil}
	for d := range descs {
		m := form.FindStringSubmatch(d.String())
		require.NotNil(t, m, d.String())
		out[m[1]] = strings.Split(m[2], ",")
	}
	return out
}

var (
	quoted   = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	selected = regexp.MustCompile(`([a-zA-Z_:][a-zA-Z0-9_:]*)\{([^}]*)\}`)
	ranges   = regexp.MustCompile(`\[[^\]]*\]`)
	clauses  = regexp.MustCompile(`\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)`)
	wordsOf  = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*(\s*\()?`)
	suffix   = regexp.MustCompile(`_(?:bucket|sum|count)$`)
)

// metricsOf gives the metrics that a PromQL expression reads, with the labels that
// it selects by.
func metricsOf(expr string) map[string][]string {
	expr = ranges.ReplaceAllString(quoted.ReplaceAllString(expr, `""`), "")
	out := map[string][]string{}
	for _, m := range selected.FindAllStringSubmatch(expr, -1) {
		for _, l := range strings.Split(m[2], ",") {
			out[m[1]] = append(out[m[1]], strings.TrimRight(strings.Split(l, "=")[0], " !"))
		}
	}
	expr = clauses.ReplaceAllString(selected.ReplaceAllString(expr, "$1"), "")
	for _, w := range wordsOf.FindAllString(expr, -1) {
		if !strings.HasSuffix(w, "(") && !slices.Contains([]string{"and", "or", "unless", "bool", "offset"}, w) {
			out[w] = append(out[w], []string{}...)
		}
	}
	return out
}

// Every metric and label in the alerts and on the dashboard is one that a running
// desk has.
func TestDeploy_MetricsExist(t *testing.T) {
	t.Parallel()
	have := describedMetrics(t)
	var exprs []string
	rules := documents(t, deployed(t, "prometheus-rules.yaml"))[0]
	for _, g := range rules["groups"].([]any) {
		for _, r := range g.(map[string]any)["rules"].([]any) {
			exprs = append(exprs, at(t, r, "expr").(string))
		}
	}
	for _, m := range regexp.MustCompile(`"expr": ("(?:[^"\\]|\\.)*")`).FindAllStringSubmatch(deployed(t, "grafana.json"), -1) {
		var expr string
		require.NoError(t, json.Unmarshal([]byte(m[1]), &expr))
		exprs = append(exprs, expr)
	}
	require.Greater(t, len(exprs), 30)
	for _, e := range exprs {
		found := metricsOf(e)
		require.NotEmpty(t, found, e)
		for name, labels := range found {
			known, ok := have[name]
			if !ok {
				known, ok = have[suffix.ReplaceAllString(name, "")]
			}
			require.True(t, ok, "no metric %s, in %s", name, e)
			for _, l := range labels {
				require.True(t, l == "job" || l == "instance" || slices.Contains(known, l), "no label %s of %s, in %s", l, name, e)
			}
		}
	}
}

// The alerts on the objective and on drills fire when they should, and not before.
func TestDeploy_RulesFire(t *testing.T) {
	t.Parallel()
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool: not tested, install prometheus")
	}
	out, err := exec.Command(tool, "test", "rules", "testdata/prometheus-rules.yaml").CombinedOutput()
	require.NoError(t, err, "%s", out)
}

var (
	spans   = regexp.MustCompile("(?s)```[a-z]*\n(.*?)```|`([^`\n]+)`")
	calls   = regexp.MustCompile(`(?m)(?:^|[\s/])approvalbot((?: [a-z][a-z-]*)+)([^\n|#]*)`)
	longArg = regexp.MustCompile(`(?:^|\s)--([a-z][a-z-]*)`)
)

// commandLines gives the words and the flags of each approvalbot command in a text.
func commandLines(text string) (all [][2]string) {
	text = strings.NewReplacer(`"`, " ", "[", " ", "]", " ", ",", " ").Replace(text)
	text = regexp.MustCompile(`[ \t]+`).ReplaceAllString(text, " ")
	for _, m := range calls.FindAllStringSubmatch(text, -1) {
		all = append(all, [2]string{strings.TrimSpace(m[1]), strings.TrimSpace(m[2])})
	}
	return all
}

// checkCommand looks a command up, as deep as its words name one.
func checkCommand(t *testing.T, root *cobra.Command, line [2]string) {
	t.Helper()
	cmd, _, err := root.Find(strings.Fields(line[0]))
	require.NoError(t, err, line[0])
	require.True(t, cmd != root && !cmd.HasSubCommands(), "there is no command %q", line[0])
	for _, m := range longArg.FindAllStringSubmatch(line[1], -1) {
		known := cmd.Flags().Lookup(m[1]) != nil || cmd.InheritedFlags().Lookup(m[1]) != nil
		require.True(t, known, "%s has no flag --%s", cmd.CommandPath(), m[1])
	}
}

// Every command in the page and in deploy's files is one that there is, with its
// flags.
func TestDeploy_CommandsExist(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(operationsPage)
	require.NoError(t, err)
	var lines [][2]string
	for _, m := range spans.FindAllStringSubmatch(string(page), -1) {
		lines = append(lines, commandLines(m[1]+m[2])...)
	}
	require.Greater(t, len(lines), 15)
	unit := regexp.MustCompile(`(?m)^Exec\w+=(.*)$`).FindAllString(deployed(t, "approvalbot.service"), -1)
	run := regexp.MustCompile(`CMD \[[^\]]*\]|\["CMD"[^\]]*\]`)
	images := run.FindAllString(deployed(t, "Dockerfile")+deployed(t, "compose.yaml")+deployed(t, "compose-sqlite.yaml"), -1)
	for _, text := range append(unit, images...) {
		lines = append(lines, commandLines(text)...)
	}
	require.Contains(t, lines, [2]string{"health", ""}, "the probe of the images")
	for _, l := range lines {
		checkCommand(t, newRootCommand(&app.App{}), l)
	}
}

// Every line that the page tells people to look for is one that the program writes.
func TestDeploy_LogLinesExist(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(operationsPage)
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "\n## Log lines that matter\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	messages := regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(section, -1)
	require.Greater(t, len(messages), 10)
	var code strings.Builder
	require.NoError(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		code.Write(text)
		return err
	}))
	for _, m := range messages {
		require.Contains(t, code.String(), `"`+m[1], "nothing logs %q", m[1])
	}
}

// The probe says ready of a desk that runs, and no longer when it has stopped.
func TestHealth_RealDesk(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	d := deskFor(t)
	out := runCLI(t, d, "", "health", "--server", r.url)
	require.Zero(t, out.code, out.stderr)
	require.Equal(t, "ready\n", out.stdout)
	r.stop()
	require.Equal(t, app.ExitError, runCLI(t, d, "", "health", "--server", r.url).code)
}
