package tool

import (
	"strings"

	"approvalbot/internal/lazy"
)

// What a statement for the session's own database may begin with, and words that lead out of it: Copilot
// refuses most of them itself, by their text.
var (
	rowDeeds = lazy.Words("select insert update delete")
	leadsOut = lazy.Words(`attach detach vacuum pragma create drop alter reindex analyze begin commit rollback savepoint
		release explain`)
)

// keepsToItsTables reports a call of SessionSQL that reads and changes rows, and nothing else: one
// statement without comments and quoted names, whose functions can do no more than compute.
func keepsToItsTables(list []field) bool {
	query := ""
	for i := range list {
		switch f := &list[i]; {
		case f.odd || !f.Str || !f.top:
			return false
		case f.Key == "query" && query == "":
			query = f.Text
		case f.Key != "description":
			return false
		}
	}
	bare, whole := outsideStrings(query)
	bare = strings.TrimSuffix(strings.TrimSpace(bare), ";")
	if !whole || strings.ContainsAny(bare, ";\"`[]\\@$#{}") || strings.Contains(bare, "--") || strings.Contains(bare, "/*") {
		return false
	}
	tokens := strings.FieldsFunc(strings.ToLower(bare), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' })
	for _, w := range tokens {
		if leadsOut.Has(w) || strings.Contains(w, "extension") || strings.Contains(w, "file") || strings.Contains(w, "token") || w == "edit" {
			return false
		}
	}
	return len(tokens) > 0 && rowDeeds.Has(tokens[0]) && strings.HasPrefix(strings.TrimSpace(strings.ToLower(bare)), tokens[0])
}

// outsideStrings is a statement with its strings taken out, and whether each of them has an end.
func outsideStrings(query string) (bare string, whole bool) {
	var b strings.Builder
	parts := strings.Split(query, "'")
	for i, part := range parts {
		if i%2 == 0 {
			b.WriteString(part + " ")
		}
	}
	return b.String(), len(parts)%2 == 1
}
