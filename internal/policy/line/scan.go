package line

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// scan looks through text that could not be read for the words of destructive
// commands and for the desk itself.
func (v *verdict) scan(text string) {
	if text == v.scanned {
		return
	}
	v.scanned = text
	if v.wide.own.InText(text) {
		v.Found.Add(finding.TouchesDesk)
	}
	if v.Found.Any(finding.Unread) && workspace.SettingsIn(text) {
		v.Found.Add(finding.WritesAgentSettings)
	}
	words := WordsOf(text)
	if Destructive(words) || v.hides(text) {
		v.Found.Add(finding.DestructiveWord)
	}
	if hasAny(words, fetchers) && hasAny(words, feeders) {
		v.Found.Add(finding.RunsDownload)
	}
}

// Unquoted is a text without its quotes.
func Unquoted(text string) string { return unquoted.Replace(text) }

var unquoted = strings.NewReplacer("'", "", `"`, "", "\\", "")

// shortestHidden is the length of the shortest command that is looked for in
// encoded text, "rm x" in hexadecimal digits.
const shortestHidden = 8

// hides reports text that is written in base64 or hexadecimal digits and holds
// the words of destructive commands.
func (v *verdict) hides(text string) bool {
	for w := range strings.FieldsFuncSeq(text,
		func(r rune) bool { return r >= 0x80 || !words.WordByte(byte(r)) && !strings.ContainsRune("+/=-", r) }) {
		if len(w) < shortestHidden {
			continue
		}
		w = strings.TrimRight(w, "=")
		for _, decode := range [...]func(string) ([]byte, error){base64.RawStdEncoding.DecodeString,
			base64.RawURLEncoding.DecodeString, hex.DecodeString} {
			plain, err := decode(w)
			plain = bytes.ReplaceAll(plain, []byte{0}, nil) // as PowerShell writes it
			if err != nil || !utf8.Valid(plain) {
				continue
			}
			if v.wide.own.InText(string(plain)) {
				v.Found.Add(finding.TouchesDesk)
			}
			if Destructive(WordsOf(string(plain))) {
				return true
			}
		}
	}
	return false
}

// fetchers get something from the network, feeders run what they are given.
var (
	fetchers = lazy.Words("curl wget")
	feeders  = lazy.Words("sh bash zsh dash ksh fish eval source python python3 perl ruby node php")
)

func hasAny(words []string, some *lazy.Set) bool {
	return slices.ContainsFunc(words, func(w string) bool { return some.Has(w) })
}

// Phrases are words of destructive commands, in lower case. A phrase of several
// words is found if they follow each other, with anything between them; a
// word that ends in "*" may go on.
var Phrases = sync.OnceValue(func() map[string][][]string {
	m := map[string][][]string{}
	for p := range strings.Lines(`rm
		rmtree
		rm_rf*
		remove_dir_all
		removeall
		rimraf
		del /f
		del /s
		del /q
		rd /s
		rmsync
		rmdirsync
		unlinksync
		remove-item
		mkfs*
		mke2fs
		wipefs
		shred
		fdisk
		sfdisk
		sgdisk
		parted
		blkdiscard
		dd if=*
		dd of=*
		of=/dev/*
		/dev/sd*
		/dev/nvme*
		/dev/disk*
		shutdown
		reboot
		poweroff
		halt
		userdel
		deluser
		dropdb
		dropdatabase
		deletemany
		flushall
		flushdb
		drop table
		drop database
		drop schema
		drop view
		drop index
		drop collection
		drop user
		drop role
		truncate table
		truncate
		delete from
		update * set
		alter table
		--force*
		--hard
		push --mirror
		push --delete
		push -f
		reset --hard
		clean -f*
		clean -xf*
		clean -df*
		filter-branch
		kubectl delete
		helm uninstall
		terraform destroy
		terraform apply
		tofu destroy
		system prune
		volume rm
		kill -9 -1
		kill -1
		killall5
		iptables -f
		iptables --flush
		nft flush
		crontab -r
		chmod -r
		chown -r
		chpasswd
		terminate-instances
		delete-bucket
		delete-stack
		delete-db-instance
		rmdir /s
		format c:
		diskpart
		authorized_keys
		/etc/sudoers*
		/etc/shadow
		sysrq-trigger`) {
		words := strings.Fields(p)
		first := strings.TrimSuffix(words[0], "*")
		m[first[:2]] = append(m[first[:2]], words)
	}
	return m
})

// WordsOf splits text into words. What is not part of a word, an option or a
// path separates them, so that a list of strings in some language reads like
// the command it makes.
func WordsOf(text string) []string {
	if strings.Contains(text, "/*") { // drop/**/table
		text = commentMarks.Replace(text)
	}
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', strings.ContainsRune("_-/=:*", r):
			return false
		}
		return true
	})
}

// commentMarks are around the comments of SQL, between its words; what is in some of them runs, in MySQL.
var commentMarks = strings.NewReplacer("/*!", " ", "/*", " ", "*/", " ")

// Destructive reports whether a phrase is among the words.
func Destructive(words []string) bool {
	for i, w := range words {
		for {
			if len(w) >= 2 {
				for _, p := range Phrases()[w[:2]] {
					if follows(words[i+1:], p[1:]) && command.WordMatches(w, p[0]) {
						return true
					}
				}
			}
			cut := strings.IndexAny(w, "/=")
			if cut < 0 {
				break
			}
			w = w[cut+1:] // /bin/rm is rm, and so is x=rm
		}
	}
	return false
}

// Uncompared gives a statement without the texts that a column is compared with, which are
// data. It gives all of a statement that dialects may read in several ways.
func Uncompared(sql string) string {
	if !compares.MatchString(sql) || words.Holds(sql, "\\", "--", "/*", "$", "#", "`", `"`) {
		return sql
	}
	return compared.ReplaceAllString(sql, "$1 ''")
}

var (
	// compares is one statement that only selects, and the end of the statement is the end
	// of the text.
	compares = lazy.Pattern(`(?is)^\s*(?:select|with)\b(?:[^';]|'[^']*')*;?\s*$`)
	compared = lazy.Pattern(`(?is)(\b(?:i?like|similar\s+to)|[\w)\s](?:=|<>|!=|~\*?))\s*'[^']*'`)
)

func follows(words, rest []string) bool {
	if len(words) < len(rest) {
		return false
	}
	for i, p := range rest {
		if !command.WordMatches(words[i], p) {
			return false
		}
	}
	return true
}
