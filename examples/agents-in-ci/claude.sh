#!/bin/sh
# Claude Code in a CI job: what its own rules do not allow, people are asked about in their chat.
#   APPROVALBOT_SERVER=https://desk.example.com APPROVALBOT_TOKEN=… ANTHROPIC_API_KEY=… claude.sh "fix the flaky test"
# The token is an agent's, with the scope approvals.request alone: commands of the job can read it. Over http any program at
# that address would be taken for the desk, so the server is https, or on this machine for a trial.
#
# What expires:
# - A request that people do not answer ends after approvals.tools.timeoutMs of the desk (15 minutes if it says nothing).
#   That is a no: the model reads it, nothing ran, and the job goes on and ends with claude's own status.
# - A yes is taken at once by the waiting job, and is for that one call.
# - A job that its CI ends takes its request back. So let the job's limit be longer than people may take.
# - MCP_TOOL_TIMEOUT is how long Claude Code waits for an answer, in milliseconds; here a day. After it the call does not run.
# Without a desk nothing runs that would have been asked about.
set -eu
export MCP_TOOL_TIMEOUT="${MCP_TOOL_TIMEOUT:-86400000}"
exec claude -p "$1" --permission-mode default --strict-mcp-config \
  --permission-prompt-tool mcp__approvalbot__permission_prompt --mcp-config '{"mcpServers": {"approvalbot": {
    "type": "http", "url": "${APPROVALBOT_SERVER}/mcp", "headers": {"Authorization": "Bearer ${APPROVALBOT_TOKEN}"}}}}'
