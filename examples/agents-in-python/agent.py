#!/usr/bin/env python3
"""An agent with a shell, on any server that speaks OpenAI's chat completions:
APPROVALBOT_TOKEN=… OPENAI_API_KEY=… OPENAI_BASE_URL=… agent.py "clean up the build folder"
"""
import json, os, subprocess, sys, urllib.request

from approvalbot import Denied, Desk

desk = Desk(reasons={"bash": "reason"})
TOOLS = [{"type": "function", "function": {"name": "bash", "description": "Run a shell command", "parameters": {
    "type": "object", "properties": {"command": {"type": "string"}, "reason": {"type": "string", "description": "Why, in one sentence"}},
    "required": ["command", "reason"]}}}]


@desk.guard
def bash(command, reason):
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True).stdout


def complete(messages):
    body = {"model": os.environ.get("OPENAI_MODEL", "gpt-5"), "messages": messages, "tools": TOOLS}
    headers = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"}
    url = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1") + "/chat/completions"
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as answer:
        return json.load(answer)["choices"][0]["message"]


messages = [{"role": "user", "content": sys.argv[1]}]
while (said := complete(messages)).get("tool_calls"):
    messages.append(said)
    for call in said["tool_calls"]:
        try:
            result = bash(**json.loads(call["function"]["arguments"]))
        except Denied as why:
            result = str(why)
        except subprocess.CalledProcessError as failed:
            result = "exit status %d\n%s%s" % (failed.returncode, failed.stdout, failed.stderr)
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
print(said["content"])
