package web

import (
	"sync"

	"approvalbot/internal/approval"
)

// classNamed is a class as it is written everywhere, by its name.
func classNamed(name string) string {
	for class := approval.R0; class <= approval.R4; class++ {
		if class.String() == name {
			return classWords(class)
		}
	}
	return name
}

// classExamples says by examples what is in a class.
var classExamples = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"R0": "reading a file, git status", "R1": "editing a file of the workspace, building it", "R2": "fetching a page, listing a bucket",
		"R3": "git push, sending mail, installing a package", "R4": "deleting infrastructure, payments, production data",
	}
})

// explained is a value of the configuration with what it means.
func explained(texts map[string]string, value string) string {
	if text := texts[value]; text != "" {
		return value + ": " + text
	}
	return value
}

var modeTexts = sync.OnceValue(func() map[string]string {
	return map[string]string{"adaptive": "each call is judged by its risk", "always": "every call asks", "off": "only the hard layers count"}
})

var selfTexts = sync.OnceValue(func() map[string]string {
	return map[string]string{"block": "another approver decides them", "solo": "a person may approve their own"}
})

// execWords describes the effect of approvals.exec on command lines. A hit is a line that is known, or on the
// allowlist.
func execWords(security, ask string) string {
	switch {
	case security == "deny":
		return "all are refused"
	case ask == "always":
		return "all of them ask, every time"
	case security == "full":
		return "the risk class decides"
	case ask == "off":
		return "a hit of the allowlist or the program table runs, any other is refused"
	}
	return "a hit of the allowlist or the program table runs, any other asks"
}

var routingTexts = sync.OnceValue(func() map[string]string {
	return map[string]string{"session": "the chat that the call came from", "targets": "the configured chats",
		"both": "the chat that the call came from, and the configured chats"}
})

var confineTexts = sync.OnceValue(func() map[string]string {
	return map[string]string{"unsure": "what is only not understood runs confined instead of asking, if these tokens ask:",
		"always": "what is not understood, or allowed and local, runs confined, if these tokens ask:"}
})
