package card

import (
	"fmt"
	"strings"

	"approvalbot/internal/approval"
	"approvalbot/internal/display"
)

// File is a text attached before a card, because the payload is too long for it.
type File struct {
	Name    string
	Caption string
	Text    string
	Silent  bool // as of its card
}

// File holds the whole call, as Payload gives it.
func FileOf(a approval.Approval, payload []Fact) *File {
	var text strings.Builder
	fmt.Fprintf(&text, "Request %s\nTool: %s\nFingerprint: %s\n\n", a.Code, display.Escape(a.ToolName), a.Fingerprint)
	facts := payload
	if f := form(a, payload); len(f.rest) > 0 && f.rest[0].Name == changeName && f.rest[0].Block {
		facts = append(f.rest[:1:1], payload...)
	}
	for _, f := range facts {
		fmt.Fprintf(&text, "%s:\n%s\n\n", f.Label(a.ToolName), strings.ReplaceAll(f.Line(), `\u{A}`, "\\u{A}\n"))
	}
	return &File{
		Name:    a.Code + ".txt",
		Caption: fmt.Sprintf("Everything that request %s would run. Fingerprint %s", a.Code, a.Fingerprint[:12]),
		Text:    text.String(),
	}
}

// maxSpelled is how long a file may be for messages to stand for it, in characters.
const maxSpelled = 6000

// Parts cuts a file that a chat does not take into the texts of messages, of at most n
// characters each and at line ends where it can: together they are the whole text.
// None, when it is too long for that.
func (f File) Parts(n int) []string {
	rest := []rune(f.Text)
	if len(rest) > maxSpelled {
		return nil
	}
	var parts []string
	for len(rest) > n {
		end := n
		for i := n; i > n/2; i-- {
			if rest[i-1] == '\n' {
				end = i
				break
			}
		}
		parts, rest = append(parts, string(rest[:end])), rest[end:]
	}
	return append(parts, string(rest))
}

// PartHead is what stands above a part, outside of it.
func (f File) PartHead(i, of int) string {
	return fmt.Sprintf("%s. Part %d of %d:", f.Caption, i+1, of)
}
