package answer

import (
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"approvalbot/internal/hook"
	"approvalbot/internal/policy/workspace"
)

// mentionsSecret reports a skill with a word among its arguments that is the name of a file with secrets in the call's folder: a
// page with "@$1" has the client read that for its model. Policy asks about names that look like files; a word of a sentence
// (credentials) may be one only where it is there.
func mentionsSecret(c hook.Call) bool {
	for word := range strings.FieldsFuncSeq(c.SkillArguments(), unicode.IsSpace) {
		word, _, _ = strings.Cut(word, "#")
		word = strings.TrimFunc(word, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if len(word) > mostName || !workspace.SecretPath(word) {
			continue
		}
		if _, err := os.Stat(filepath.Join(c.Workdir, word)); err == nil {
			return true
		}
	}
	return false
}
