package live

import (
	"strings"
	"sync"
)

// client is how a runtime's program is started against a fake model.
type client struct {
	program string
	files   map[string]string // below the home directory; {model} is the model's URL
	env     []string
	args    []string
	setup   []string // arguments of a first call, which logs in
	trust   bool     // hooks count only once they are trusted
}

// prompt is what the client is told; the model does not read it.
const prompt = "clean up the build folder"

// opencodeDir is OpenCode's configuration directory, below the home directory.
const opencodeDir = ".config/opencode/"

var clients = sync.OnceValue(func() map[string]client {
	return map[string]client{
		"claude-code": {
			program: "claude",
			env: []string{
				"ANTHROPIC_BASE_URL={model}", "ANTHROPIC_API_KEY=x", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
				"DISABLE_AUTOUPDATER=1",
			},
			args: []string{"-p", prompt, "--output-format", "json", "--allowedTools", "Bash"},
		},
		"codex": {
			program: "codex",
			files: map[string]string{".codex/config.toml": `model = "m"
model_provider = "fake"
check_for_update_on_startup = false

[model_providers.fake]
name = "fake"
base_url = "{model}/v1"
wire_api = "responses"
requires_openai_auth = false
`},
			args:  []string{"exec", "--skip-git-repo-check", "-s", "danger-full-access", prompt},
			trust: true,
		},
		"gemini-cli": {
			program: "gemini",
			files: map[string]string{".gemini/settings.json": `{
  "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}},
  "general": {"enableAutoUpdate": false}, "privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false}
}
`},
			env:  []string{"GEMINI_API_KEY=x", "GOOGLE_GEMINI_BASE_URL={model}", "GEMINI_CLI_NO_RELAUNCH=true"},
			args: []string{"-p", prompt, "--yolo"},
		},
		"qwen-code": {
			program: "qwen",
			files: map[string]string{".qwen/settings.json": `{
  "security": {"auth": {"selectedType": "openai"}}, "general": {"enableAutoUpdate": false},
  "privacy": {"usageStatisticsEnabled": false}
}
`},
			env:  []string{"OPENAI_API_KEY=x", "OPENAI_BASE_URL={model}/v1", "OPENAI_MODEL=m"},
			args: []string{"-p", prompt, "--yolo"},
		},
		"copilot-cli": {
			program: "copilot",
			env: []string{
				"COPILOT_OFFLINE=true", "COPILOT_PROVIDER_BASE_URL={model}/v1", "COPILOT_PROVIDER_TYPE=openai",
				"COPILOT_PROVIDER_API_KEY=x", "COPILOT_MODEL=m", "COPILOT_AUTO_UPDATE=false",
			},
			args: []string{"-p", prompt, "--allow-all-tools"},
		},
		"opencode": {
			program: "opencode",
			files: map[string]string{opencodeDir + "opencode.json": `{
  "model": "fake/m",
  "provider": {"fake": {
    "npm": "@ai-sdk/openai-compatible", "name": "fake",
    "options": {"baseURL": "{model}/v1", "apiKey": "x"}, "models": {"m": {"name": "m", "tool_call": true}}
  }},
  "autoupdate": false, "share": "disabled"
}
`,
				// With a plugin it installs this package first, and waits long if there is no network.
				opencodeDir + "package.json":                                  `{"dependencies":{"@opencode-ai/plugin":"{version}"}}`,
				opencodeDir + "package-lock.json":                             `{"lockfileVersion":3,"packages":{"":{"dependencies":{"@opencode-ai/plugin":"{version}"}}}}`,
				opencodeDir + "node_modules/@opencode-ai/plugin/package.json": `{"name":"@opencode-ai/plugin","version":"{version}"}`,
			},
			env:  []string{"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_AUTOUPDATE=1"},
			args: []string{"run", prompt},
		},
		"cline": {
			program: "cline",
			setup:   []string{"auth", "-p", "openai", "-k", "x", "-m", "m", "-b", "{model}/v1"},
			args:    []string{prompt},
		},
	}
})

// Runtimes are those that can be tried, in the order of names.
func Runtimes() []string {
	return []string{"claude-code", "cline", "codex", "copilot-cli", "gemini-cli", "opencode", "qwen-code"}
}

// Program gives the name of a runtime's client on PATH; empty if it cannot be
// tried.
func Program(runtime string) string { return clients()[runtime].program }

func filled(text, model string) string { return strings.ReplaceAll(text, "{model}", model) }

func fillAll(texts []string, model string) []string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = filled(t, model)
	}
	return out
}
