package core

import (
	"strings"

	"approvalbot/internal/approval"
	"approvalbot/internal/people"
)

// SearchText is what a search looks for its words in: what lists show of an approval, redacted as it is kept, in small
// letters. The id that the desk gave it is its key, which the store finds by how it begins: see [Speaks].
func SearchText(a approval.Approval) string {
	id := a.ID
	if id == a.Key {
		id = ""
	}
	return strings.ToLower(strings.Join([]string{a.Code, id, a.Owner, a.AgentID, a.ToolName, a.Summary, a.SessionKey,
		a.Assessment.RiskClass.String(), string(a.Status), people.People(a.DecidedBy)}, " "))
}

// Speaks reports whether a search finds the approval: each of its words is somewhere in the approval's SearchText, or at
// the beginning of its key, if it is long enough for that.
func Speaks(a approval.Approval, search string) bool {
	text := SearchText(a)
	for _, word := range strings.Fields(strings.ToLower(search)) {
		if !strings.Contains(text, word) && !(MayBeKey(word) && strings.HasPrefix(a.Key, word)) {
			return false
		}
	}
	return true
}

// MayBeKey reports whether a word can be the beginning of a key: of one that no other approval is likely to have.
func MayBeKey(word string) bool {
	return len(word) >= 8 && strings.Trim(word, "0123456789abcdef-") == ""
}
