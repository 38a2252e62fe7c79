// Command approvalbot-hook answers an agent runtime's hook as approvalbot hook does. It is a program of its
// own since a runtime starts it before each tool call and waits: it is small and starts at once.
package main

import "approvalbot/internal/cli/answer"

func main() { answer.Main() }
