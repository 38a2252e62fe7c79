package display

import "strings"

// longestName is how far a name is read to either side of its telling word.
const longestName = 64

// named finds the values whose name says that they are secret, and credentials
// after the words Bearer and Basic.
func (f *finder) named() {
	f.words = lexer{word: -1}
	for i := 0; i < len(f.text); {
		switch cueAt(f.text, i) {
		case cueName:
			from, to := nameAround(f.text, i)
			k := kindOf(f.text[from:to])
			if k != ordinary && !strings.HasSuffix(f.text[:from], redacted) {
				f.member(from, to, k)
			}
			i = to
		case cueScheme:
			i = f.scheme(i)
		default:
			i++
		}
	}
}

type cue int

const (
	cueNone cue = iota
	cueName
	cueScheme
)

// cues are the few words that start a name worth reading, or a scheme, by
// their first letter.
var cues = [256][]string{
	'k': {"key"}, 's': {"secret", "sig"}, 't': {"token"}, 'p': {"pass", "pwd"},
	'a': {"auth"}, 'c': {"cred", "cookie"}, 'b': {"bearer", "basic"},
}

// cueAt is the filter before all other work.
func cueAt(s string, i int) cue {
	for _, word := range cues[s[i]|0x20] {
		if i+len(word) > len(s) || s[i+1]|0x20 != word[1] || !strings.EqualFold(s[i:i+len(word)], word) {
			continue
		}
		if word[0] == 'b' {
			return cueScheme
		}
		return cueName
	}
	return cueNone
}

// nameAround returns the bounds of the name around position i.
func nameAround(s string, i int) (from, to int) {
	from, to = i, i+1
	for from > 0 && i-from < longestName && isNameByte(s[from-1]) {
		from--
	}
	for to < len(s) && to-i < longestName && isNameByte(s[to]) {
		to++
	}
	if from > 0 && from < i && s[from-1] == '\\' {
		from++ // the n of an escaped line feed
	}
	return from, to
}

func isNameByte(c byte) bool { return isAlnum(c) || strings.IndexByte("_-.", c) >= 0 }

// member hides the value of the name [from, to), if it has one.
func (f *finder) member(from, to int, k kind) {
	at, loose, ok := f.afterName(from, to)
	if !ok {
		return
	}
	start, quoted := at, quoteEnd(f.text, at) > at
	if quoted {
		start = quoteEnd(f.text, at)
	}
	if quoted || strings.Contains(f.text[to:at], ":") {
		start = skipScheme(f.text, start)
	}
	end, ok := f.valueEnd(start, f.text[at:quoteEnd(f.text, at)])
	if !ok || strings.ContainsAny(f.text[to:start], " \t\n") && f.runsApart(from, start) {
		return
	}
	name := f.text[from:to]
	sure := quoted || name == "pass" || strings.HasSuffix(strings.ToLower(name), "authorization")
	if worthHiding(k, f.text[start:end], loose && !sure) {
		f.hide(start, end)
	}
}

// afterName returns the start of the value that belongs to the name [from, to);
// loose says that what follows the name may be the rest of a sentence.
func (f *finder) afterName(from, to int) (at int, loose, ok bool) {
	s := f.text
	end := quoteEnd(s, to)
	sign := skipBlanks(s, end)
	isFlag, isQuoted := s[from] == '-', end > to
	switch {
	case sign < len(s) && (s[sign] == '=' || s[sign] == ':'):
		after := skipSign(s, sign)
		at = skipBlanks(s, after)
		if s[sign] == '=' && at > after && sign == end {
			return 0, false, false // A= B: an empty value, and the command B
		}
		spoken := sign > end || at > after || s[sign] == ':'
		loose = spoken && !isQuoted && !startsItem(s, from)
		return at, loose, !strings.HasPrefix(s[after:], ":")
	case isFlag && isQuoted && strings.HasPrefix(s[sign:], ","):
		at = skipBlanks(s, sign+1) // an element of a JSON array
		return at, false, quoteEnd(s, at) > at && !isDash(s, quoteEnd(s, at))
	case isFlag:
		at = skipGap(s, end)
		return at, false, at > end && !isDash(s, quoteEnd(s, at))
	case isSet(s, from):
		at = skipGap(s, end)
		return at, true, at > end && !isDash(s, quoteEnd(s, at))
	}
	return 0, false, false
}

// isSet reports whether the name that starts at i is in a setting passed to a
// program: aws configure set NAME VALUE.
func isSet(s string, i int) bool {
	before := strings.TrimRight(s[:back(s, i, 2*longest, isInWord)], " \t")
	if len(before) == i {
		return false
	}
	for _, words := range [...]string{"configure set", "config set", "secret set", "secrets set", "variable set",
		"env set", "settings set"} {
		if rest, found := strings.CutSuffix(before, words); found {
			return rest == "" || isBlank(rune(rest[len(rest)-1]))
		}
	}
	return false
}

func isInWord(c byte) bool { return c > ' ' }

func isDash(s string, i int) bool { return i < len(s) && s[i] == '-' }

// skipSign skips one of = == => : :=
func skipSign(s string, i int) int {
	i++
	if strings.HasPrefix(s[i:], "=") || strings.HasPrefix(s[i-1:], "=>") {
		i++
	}
	return i
}

// skipGap skips blanks and continued lines.
func skipGap(s string, i int) int {
	for {
		i = skipBlanks(s, i)
		if !strings.HasPrefix(s[i:], "\\\n") {
			return i
		}
		i += 2
	}
}

// startsItem reports whether the name at i starts a line, or a member of a list
// or object.
func startsItem(s string, i int) bool {
	for i > 0 && (s[i-1] == ' ' || s[i-1] == '\t') {
		i--
	}
	return i == 0 || strings.IndexByte("\n\"'{,[(-&?;", s[i-1]) >= 0
}

// skipScheme skips a word such as Bearer, and the blanks after it.
func skipScheme(s string, i int) int {
	end := i
	for end < len(s) && isAlnum(s[end]) && end-i < 16 {
		end++
	}
	if after := skipBlanks(s, end); after > end && isScheme(s[i:end]) {
		return after
	}
	return i
}

// valueEnd returns the end of the literal that starts at from, and whether the
// whole value does: with the closing quotation mark, if it had an opening one.
func (f *finder) valueEnd(from int, quote string) (int, bool) {
	if quote == "" {
		end := literalEnd(f.text, from, ',')
		return end, end > from && wordEnds(f.text, end)
	}
	end := literalEnd(f.text, from, 0)
	return end, end > from && strings.HasPrefix(f.text[end:], quote)
}
