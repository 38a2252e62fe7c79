package language

import (
	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// Hash is an example of what git prints for a commit.
const Hash = "4f3a2b1c"

// narrowing are options that only say of which commits git prints hashes, and in which order.
var narrowing = lazy.Pattern(`^(?:-[0-9]+|-n[0-9]+|--max-count=[0-9]+|--skip=[0-9]+|--(?:since|until|after|before|author|committer|grep)=.*|--(?:all|tags|branches|remotes|reverse` +
	`|first-parent|merges|no-merges|topo-order|date-order|ancestry-path|full-history|no-walk))$`)

// hashFormat lets git log print hashes only.
var hashFormat = lazy.Pattern(`^--(?:format|pretty)=(?:t?format:)?%[hH]$`)

// printsHashes reports a command of git that prints only hashes of commits, one a line.
func printsHashes(args []workspace.Word) bool {
	told, number := args[0].Is("rev-list"), false
	if !told && !args[0].Is("log") {
		return false
	}
	for _, w := range args[1:] {
		w = w.Sampled()
		option := w.Kind == workspace.Literal && w.MayBeOption()
		switch {
		case number:
			if number = false; w.Kind != workspace.Literal || !words.Digits(w.Text) {
				return false
			}
		case w.Is("--"):
			return told // paths follow
		case w.MayBeOption() && !option, w.Kind == workspace.Computed:
			return false
		case w.Is("-n"), w.Is("--max-count"):
			number = true
		case args[0].Is("log") && option && hashFormat.MatchString(w.Text):
			told = true
		case option && !narrowing.MatchString(w.Text):
			return false
		}
	}
	return told && !number
}

// PrintsHash reports the words of a command of git that prints the hash of one commit, or
// an empty output.
func PrintsHash(args []string) bool {
	list, one := make([]workspace.Word, len(args)), false
	for i, text := range args {
		list[i].Text = text
		one = one || words.Any(text, "-1", "-n1", "--max-count=1")
	}
	return one && printsHashes(list)
}
