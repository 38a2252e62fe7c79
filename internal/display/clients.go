package display

import (
	"slices"
	"strings"
)

// client describes how a program takes a password on its command line.
type client struct {
	attached []string // -pS3cret
	separate []string // -p S3cret
	pairs    []string // -u user:S3cret
}

// clientOf knows programs whose flags do not tell that they take a password.
func clientOf(program string) (client, bool) {
	switch program {
	case "mysql", "mysqldump", "mysqladmin", "mysqlimport", "mysqlcheck", "mysqlshow",
		"mysqlsh", "mariadb", "mariadb-dump", "mariadb-admin", "7z", "7za", "rar":
		return client{attached: []string{"-p"}}, true
	case "sshpass":
		return client{attached: []string{"-p"}, separate: []string{"-p"}}, true
	case "mongo", "mongosh", "login":
		return client{separate: []string{"-p"}}, true
	case "redis-cli":
		return client{separate: []string{"-a"}}, true
	case "zip", "unzip", "sqlcmd":
		return client{separate: []string{"-P"}}, true
	case "curl":
		return client{pairs: []string{"-u", "--user", "-U", "--proxy-user"}}, true
	}
	return client{}, false
}

// clients finds passwords by their place on a known program's command line.
func (f *finder) clients() {
	f.words = lexer{word: -1}
	if !mayCallClient(f.text) {
		return
	}
	var now client
	for i := 0; i < len(f.text); {
		switch c := f.text[i]; {
		case endsCommand(f.text, i):
			now = client{}
			i++
		case wordEnd(f.text, i) == i:
			i++
		default:
			end := wordEnd(f.text, i)
			if known, ok := clientOf(base(f.text[i:end])); ok {
				now = known
			} else if c == '-' {
				f.flag(now, i, end)
			}
			i = end
		}
	}
}

func mayCallClient(s string) bool {
	for _, word := range []string{"mysql", "mariadb", "7z", "rar", "sshpass", "mongo", "login", "redis-cli", "zip",
		"sqlcmd", "curl"} {
		if strings.Contains(s, word) {
			return true
		}
	}
	return false
}

func endsCommand(s string, i int) bool {
	if _, r := readEscape(s[i:]); r == '\n' {
		return true
	}
	return strings.IndexByte(";&|()`\n", s[i]) >= 0 && (i == 0 || s[i-1] != '\\')
}

// wordEnd ends a word at quotation marks and commas too, so that a program
// inside a quoted script or a JSON array is a word of its own.
func wordEnd(s string, i int) int {
	for i < len(s) {
		if strings.HasPrefix(s[i:], redacted) {
			i += len(redacted)
			continue
		}
		if size, r := readEscape(s[i:]); size > 0 && r != '\n' && r != '\t' {
			i += size
			continue
		}
		if strings.IndexByte(" \t\n;&|()`\\\"',[]{}", s[i]) >= 0 {
			return i
		}
		i++
	}
	return i
}

func base(word string) string {
	return strings.TrimSuffix(word[strings.LastIndexByte(word, '/')+1:], ".exe")
}

// flag hides the password of the flag [from, to), if now takes one there.
func (f *finder) flag(now client, from, to int) {
	s := f.text
	if i := nextWord(s, to); i > to && slices.Contains(now.separate, s[from:to]) {
		f.password(from, i, i)
		return
	}
	for _, name := range now.attached {
		if strings.HasPrefix(s[from:], name) {
			f.password(from, from+len(name), from+len(name))
		}
	}
	for _, name := range now.pairs {
		rest, ok := strings.CutPrefix(s[from:to], name)
		switch {
		case !ok:
		case rest == "" || rest == "=":
			f.pair(from, nextWord(s, to))
		default:
			f.pair(from, from+len(name)+len(rest)-len(strings.TrimPrefix(rest, "=")))
		}
	}
}

// nextWord skips what separates two words of a command or an array.
func nextWord(s string, i int) int {
	if quoteEnd(s, i) > i {
		if comma := skipBlanks(s, quoteEnd(s, i)); comma < len(s) && s[comma] == ',' {
			return skipBlanks(s, comma+1)
		}
	}
	return skipGap(s, i)
}

// pair hides the text after the first colon of the word at i.
func (f *finder) pair(flag, i int) {
	start := max(i, quoteEnd(f.text, i))
	end := literalEnd(f.text, start, ':')
	if end < len(f.text) && f.text[end] == ':' {
		f.password(flag, i, end+1)
	}
}

// password hides the part from from on of the word that starts at i.
func (f *finder) password(flag, i, from int) {
	quote := f.text[i:quoteEnd(f.text, i)]
	from = max(from, i+len(quote))
	end, ok := f.valueEnd(from, quote)
	if !ok || isDash(f.text, from) || isPath(f.text[from:end]) {
		return
	}
	if !f.runsApart(flag, from) {
		f.hide(from, end)
	}
}
