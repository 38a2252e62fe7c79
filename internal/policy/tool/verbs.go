package tool

import (
	"sync"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/words"
)

// What the name of an unknown tool says is told to people, and can only make
// the call worse.
var (
	writingVerbs = lazy.Words(`create update edit push merge fork add post put patch upload publish comment reply
		close reopen assign invite deploy release set insert
		move rename archive share grant approve submit sync import trigger start stop restart run execute transition
		label star subscribe click fill type select drag evaluate
		shutdown reboot poweroff halt revoke drain kill eval exec decrypt unlock disable enable reset rotate flush cancel evict cordon
		uncordon restore rollback impersonate logout ban unban block unblock detach unmount suspend quarantine`)
	endingVerbs = lazy.Words("delete drop destroy purge terminate wipe truncate erase")
	// secretWords are secrets, and so are keys beside one of whichKeys.
	secretWords = lazy.Words(`secret secrets token tokens credential credentials creds password passwords passwd passphrase passphrases apikey apikeys
		privatekey privatekeys kubeconfig keystore keychain keyring vault otp totp cookie cookies`)
	keysWords   = lazy.Words("key keys")
	whichKeys   = lazy.Words("api private access ssh gpg pgp signing encryption master kms deploy service host account")
	wholeThings = lazy.Words(`repository repositories repo repos project projects database databases db table tables
		collection collections bucket buckets cluster clusters namespace
		namespaces instance instances vm server servers volume volumes disk disks stack stacks deployment
		deployments organization org account tenant schema index
		queue topic domain zone backup backups snapshot snapshots environment workspace`)
	databaseWords = lazy.Words(`sql postgres postgresql mysql mariadb sqlite mongo mongodb redis database db neon
		supabase snowflake bigquery clickhouse duckdb prisma cypher neo4j`)
)

// nameSays is what the words of a tool's name say, a set of the bits below.
type nameSays uint8

const (
	saysWrite nameSays = 1 << iota
	saysEnd
	saysWhole
	saysDatabase
	saysSecret
	saysKey
	saysWhichKey
)

var nameWords = sync.OnceValue(func() map[string]nameSays {
	m := map[string]nameSays{}
	for says, words := range map[nameSays]*lazy.Set{saysWrite: writingVerbs, saysEnd: endingVerbs,
		saysWhole: wholeThings, saysDatabase: databaseWords,
		saysSecret: secretWords, saysKey: keysWords, saysWhichKey: whichKeys} {
		for _, w := range words.List() {
			m[w] |= says
		}
	}
	return m
})

// saidBy reads the words of a name such as mcp__github__create_issue or
// createIssue.
func saidBy(name string) (n nameSays) {
	var buf [64]byte
	word := buf[:0]
	flush := func() {
		n |= nameWords()[string(word)]
		word = buf[:0]
	}
	for i := range len(name) {
		switch c := name[i]; {
		case 'A' <= c && c <= 'Z':
			if len(word) > 0 && !(name[i-1] >= 'A' && name[i-1] <= 'Z') {
				flush()
			}
			if len(word) < len(buf) {
				word = append(word, c+'a'-'A')
			}
		case words.WordByte(c) && c != '_':
			if len(word) < len(buf) {
				word = append(word, c)
			}
		default:
			flush()
		}
	}
	flush()
	return n
}

// assessName adds what the name of an unknown tool says.
func (x *Reading) assessName() nameSays {
	n := saidBy(x.Call.ToolName)
	if n&(saysWrite|saysEnd) != 0 {
		x.Found.Add(finding.RemoteWrite)
	}
	if n&saysEnd != 0 && n&saysWhole != 0 {
		x.Found.Add(finding.DestroysInfrastructure)
	}
	if n&saysDatabase != 0 {
		x.Found.Add(finding.DatabaseClient)
	}
	if n&saysSecret != 0 || n&saysKey != 0 && n&saysWhichKey != 0 {
		x.Found.Add(finding.KeywordSecret)
	}
	return n
}
