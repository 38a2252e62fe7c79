#!/bin/sh
# Installs the clients of agent runtimes from npm under bin/agents, each in a folder of
# its own, and the libraries that the examples use:
#   internal/agents/install.sh NAME…          claude-code codex gemini-cli … libraries
# What is there already stays. One that cannot be installed is said, and left out: the
# tests say what they did not try.
set -u
cd "$(dirname "$0")/../.."
mkdir -p bin/agents
command -v npm >/dev/null 2>&1 || { echo "npm is missing, so no client can be installed" >&2; exit 1; }

packages() {
  case $1 in
    node) echo node@22.21.1 ;; # several clients choose an old version of themselves for an older Node
    claude-code) echo @anthropic-ai/claude-code@2.1.330 ;;
    codex) echo @openai/codex@0.169.0 ;;
    gemini-cli) echo @google/gemini-cli@0.61.0 ;;
    qwen-code) echo @qwen-code/qwen-code@0.24.4 ;;
    copilot-cli) echo @github/copilot@1.0.102 ;;
    opencode) echo opencode-ai@1.18.33 ;;
    cline) echo cline@3.0.65 ;;
    claude-agent-sdk) echo @anthropic-ai/claude-agent-sdk@0.3.330 ;;
    libraries) echo ai@7.0.173 @ai-sdk/openai-compatible@3 @openai/agents@0.20.0 langchain@1.5.14 @langchain/openai@1 @langchain/langgraph@1 @langchain/core@1 zod@4 ;;
    *) return 1 ;;
  esac
}

for name in node "$@"; do
  wanted=$(packages "$name") || { echo "no client is called $name" >&2; exit 1; }
  folder=bin/agents/$name
  [ "$(cat "$folder/installed" 2>/dev/null)" = "$wanted" ] && continue
  rm -rf "$folder"
  mkdir -p "$folder"
  echo '{"private":true}' >"$folder/package.json"
  # shellcheck disable=SC2086 # several packages
  if (PATH="$PWD/bin/agents/node/node_modules/node/bin:$PATH" && cd "$folder" &&
      nice npm install --no-audit --no-fund --loglevel=error $wanted) >"$folder/install.log" 2>&1; then
    echo "$wanted" >"$folder/installed"
    echo "installed $wanted"
  else
    echo "could not install $wanted; $folder/install.log says why" >&2
  fi
done
