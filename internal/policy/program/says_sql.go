package program

import (
	"strings"

	"approvalbot/internal/policy/words"
)

// ChangesTable says what a single plain statement of SQL does to the one table that it names, as it is written there:
// "deletes every row of table %s". ok is false for all else.
func ChangesTable(sql string) (does, table string, ok bool) {
	list, ok := tokens(sql)
	if !ok {
		return "", "", false
	}
	at := func(i int) string {
		if i < len(list) {
			return strings.ToLower(list[i])
		}
		return ""
	}
	holds := func(some ...string) bool { // outside of parentheses
		depth := 0
		for i := range list {
			switch {
			case list[i] == "(":
				depth++
			case list[i] == ")":
				depth--
			case depth == 0 && words.Any(at(i), some...):
				return true
			}
		}
		return false
	}
	i := 0
	var after []string             // what may follow the table's name; nil: any word
	skip := func(some ...string) { // words that come one after the other, if they are there
		for j, w := range some {
			if at(i+j) != w {
				return
			}
		}
		i += len(some)
	}
	rows := func(all, some string) string {
		if holds("where", "limit") {
			return some
		}
		return all
	}
	switch verb := at(0); {
	case verb == "delete" && at(1) == "from":
		does, i = rows("deletes every row of table %s", "deletes rows from table %s"), 2
		skip("only")
	case verb == "update":
		does, i = rows("changes every row of table %s", "changes rows of table %s"), 1
		skip("only")
		after = []string{"set", "as"} // another word joins a table, which may be what is changed
	case verb == "insert" && at(1) == "into" && !holds("conflict", "duplicate"):
		does, i = "adds rows to table %s", 2
	case verb == "truncate":
		does, i = "deletes every row of table %s", 1
		skip("table")
		skip("if", "exists")
		skip("only")
		if holds("cascade") {
			does = "deletes every row of table %s and of what refers to it"
		}
	case verb == "drop" && words.Any(at(1), "table", "database", "schema", "view", "index", "sequence", "role", "user"):
		does, i = "drops "+at(1)+" %s", 2
		skip("concurrently")
		skip("if", "exists")
		if holds("cascade") {
			does += " and what depends on it"
		}
	case verb == "alter" && at(1) == "table":
		does, i = "changes the structure of table %s", 2
		skip("if", "exists")
		skip("only")
		if holds("drop", "rename") {
			does = "changes, drops or renames parts of table %s"
		}
		after = []string{"add", "drop", "rename", "alter", "modify", "change"}
	case verb == "create" && at(1) == "table":
		does, i = "makes table %s", 2
		skip("if", "not", "exists")
	default:
		return "", "", false
	}
	for ; ; i++ {
		if i >= len(list) || !words.WordByte(list[i][0]) && !strings.ContainsAny(list[i][:1], "\"`") {
			return "", "", false
		}
		if table += list[i]; at(i+1) != "." {
			break
		}
		table, i = table+".", i+1
	}
	next := at(i + 1)
	if after != nil && !words.Any(next, after...) { // such as an owner, row security, a partition
		return "", "", false
	}
	if next != "" && next != "(" && !words.WordByte(next[0]) { // another table, or something that is not known
		return "", "", false
	}
	return does, table, true
}

// tokens splits one statement that all dialects read the same way.
func tokens(sql string) (list []string, ok bool) {
	sql = strings.TrimSuffix(strings.TrimSpace(sql), ";")
	if strings.ContainsAny(sql, "\\#$[]{}\x00\r;") || words.Holds(sql, "--", "/*") || spelledOut.MatchString(sql) {
		return nil, false
	}
	for text := strings.TrimLeft(sql, " \t\n"); text != ""; text = strings.TrimLeft(text, " \t\n") {
		n := 1
		switch c := text[0]; {
		case c == '\'' || c == '"' || c == '`':
			end := strings.IndexByte(text[1:], c)
			if end < 0 {
				return nil, false
			}
			if n = end + 2; n < len(text) && text[n] == c {
				return nil, false // a quote in quotes
			}
		case words.WordByte(c):
			for n < len(text) && words.WordByte(text[n]) {
				n++
			}
		case c >= 0x80:
			return nil, false
		}
		list, text = append(list, text[:n]), text[n:]
	}
	return list, len(list) > 0
}
