package card

import (
	"fmt"
	"strconv"
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

// FileOf holds the whole call. payload is what PayloadFacts gives.
func FileOf(a approval.Approval, payload []Fact) *File {
	var text strings.Builder
	fmt.Fprintf(&text, "Request %s\nTool: %s\nFingerprint: %s\n", a.Code, display.Escape(a.ToolName), a.Fingerprint)
	f := form(a, payload)
	fmt.Fprintf(&text, "%s asks %s\n", Asker(a), f.does)
	if len(f.place) > 0 {
		fmt.Fprintln(&text, f.place)
	}
	text.WriteString(Spelled(f.blocks(), a.ToolName))
	return &File{
		Name:    a.Code + ".txt",
		Caption: fmt.Sprintf("Everything that request %s would run. Fingerprint %s", a.Code, a.Fingerprint[:12]),
		Text:    text.String(),
	}
}

// Spelled writes blocks as plain text. Each line of a call follows a bar, with its number if that is known, so that
// it cannot pass for a line of the desk's.
func Spelled(blocks []Block, tool string) string {
	var text strings.Builder
	for i, b := range blocks {
		name := b.Name
		if name == "" {
			name = b.param
		}
		switch {
		case b.Kind == Table:
			if i == 0 || blocks[i-1].Kind != Table {
				text.WriteByte('\n')
			}
			for _, r := range b.Rows {
				value := r.Value
				if value == "" {
					value = "(empty)"
				}
				fmt.Fprintf(&text, "%s: %s\n", Fact{Name: r.Name, Own: b.Own}.Label(tool), value)
			}
		case name != "":
			fmt.Fprintf(&text, "\n%s:\n", Fact{Name: name, Own: b.Own || b.param == changeName}.Label(tool))
		default:
			text.WriteByte('\n')
		}
		most := 0
		for _, l := range b.Lines {
			most = max(most, l.No)
		}
		for _, line := range b.Lines {
			before := ""
			if most > 1 {
				width := len(strconv.Itoa(most))
				if before = strings.Repeat(" ", width+1); line.No > 0 {
					before = fmt.Sprintf("%*d ", width, line.No)
				}
			}
			shown := line.Text()
			if b.Kind == Diff {
				shown = line.Signed()
			}
			fmt.Fprintf(&text, "%s%s%s\n", before, display.Bar, shown)
		}
		if b.Cut != "" {
			fmt.Fprintln(&text, b.Cut)
		}
	}
	return text.String()
}

// maxSpelled is the longest file that messages may replace, in characters.
const maxSpelled = 6000

// Parts cuts a file that a chat refuses into the texts of messages, of at most n
// characters each and at line ends if possible. Together they are the whole text. It
// gives nil if the file is too long for that.
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

// PartHead is the desk's line above a part, not within it.
func (f File) PartHead(i, of int) string {
	return fmt.Sprintf("%s. Part %d of %d:", f.Caption, i+1, of)
}
