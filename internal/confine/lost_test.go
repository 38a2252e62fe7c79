//go:build linux

package confine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What is nowhere else is not taken away, by any words of the command. The workspace has ten tracked files as
// they are in the index (t/1 …), ten that are not tracked (u/1 …), one that is tracked and has another content now, and data.
func TestLost_WhatCannotBeHadBackStays(t *testing.T) {
	needsConfinement(t)
	for name, a := range map[string]struct {
		script string
		lost   string // as the message has it; empty: the work is kept
	}{
		"a file is removed":                    {`rm u/3`, `"u/3"`},
		"a folder is removed":                  {`rm -r u`, `"u/1", "u/10", "u/2"`},
		"a folder is hidden by a new one":      {`rm -r u; mkdir u; echo x >u/x`, `"u/1", "u/10"`},
		"a file becomes a folder":              {`rm u/1; mkdir u/1`, `"u/1"`},
		"a folder becomes a file":              {`rm -r u; echo x >u`, `"u/1"`},
		"files become holes":                   {`for f in u/1 u/2; do s=$(stat -c %s $f); : >$f; truncate -s $s $f; done`, `"u/1", "u/2"`},
		"a hole is longer than a file may be":  {`: >u/1; truncate -s 65M u/1`, `"u/1"`},
		"files become blanks":                  {`for f in u/1 u/2; do printf "%$(stat -c %s $f)s" >$f; done; head -c $(stat -c %s u/3) /dev/zero >u/3; echo >u/4`, `"u/1", "u/2", "u/3", "u/4"`},
		"what was not committed is reverted":   {`for i in 1 2 3 4 5 6; do seq -f "$i line %g" 40 >w/$i; done`, `"w/1", "w/2"`},
		"a few are reverted":                   {`for i in 1 2 3 4 5; do seq -f "$i line %g" 40 >w/$i; done`, ""},
		"tracked ones are written again":       {`for f in t/*; do cat $f >x; cat x >$f; done; rm x`, ""},
		"files are moved to be thrown away":    {`mkdir tmp; mv u/1 tmp; mv u/2 u/2.tmp`, `"u/1", "u/2"`},
		"a file is emptied":                    {`: >u/1`, `"u/1"`},
		"one is emptied by another's rename":   {`: >x; mv x u/1`, `"u/1"`},
		"a changed one is removed":             {`rm changed`, `"changed"`},
		"all are cut":                          {`for f in u/*; do echo x >$f; done`, `"u/1", "u/10"`},
		"all get the same content":             {`for f in u/* changed; do cp -p long $f; done`, `"changed", "u/1"`},
		"a large one is moved and cut":         {`mv u/1 m; : >m`, `"u/1"`},
		"one of the same length and time":      {`head -c $(stat -c %s u/1) /dev/zero >m; touch -r u/1 m; rm u/1`, `"u/1"`},
		"one that cannot be read, and another": {`rm shut; head -c 6 /dev/zero >m; touch -r u/1 m; chmod 0 m`, `"shut"`},
		"of two that were moved one is gone":   {`mv u/1 m; mv u/2 m`, `"u/1"`},
		"tracked ones are removed":             {`rm -r t`, ""},
		"tracked ones are emptied":             {`for f in t/*; do : >$f; done`, ""},
		"files are moved":                      {`mkdir v; mv u/* v; mv changed v/c`, ""},
		"a folder is moved":                    {`mv u v`, ""},
		"files are written again":              {`for f in u/*; do sed s/line/LINE/ $f >x; mv x $f; done`, ""},
		"a few are cut":                        {`for f in u/1 u/2 u/3; do echo $f >$f; done`, ""},
		"a few get the same content":           {`for f in u/1 u/2 u/3; do cp long $f; done`, ""},
		"build output, logs and journals":      {`rm -r build/a node_modules obj app.log x.o; echo x >>data.db; rm data.db-wal`, ""},
		"what is called as a journal":          {`echo y >>text; rm text-wal`, `"text-wal"`},
		"what is called so, and its database":  {`printf 'SQLite format 3\0' >text; rm text-wal`, `"text-wal"`},
		"blanks that were there":               {`touch blank; chmod 600 blank; echo >blank`, ""},
		"a copy of what is reverted":           {`mkdir v; cp w/* v; for i in 1 2 3 4 5 6; do seq -f "$i line %g" 40 >w/$i; done`, ""},
		"marks that are no text":               {`for f in u/1 u/2; do head -c 500 /dev/zero | tr '\0' '\377' >$f; done`, `"u/1", "u/2"`},
		"a journal that is in no database":     {`rm data.db-wal`, `"data.db-wal"`},
		"code in a folder called cache":        {`rm -r cache`, `"cache/lru.py"`},
		"a changed one among build output":     {`rm -r build`, `"build/rules.mk"`},
		"one is moved over another":            {`mv u/1 u/2`, ""},
		"a copy is moved to its place":         {`sed s/line/LINE/ u/1 >u/1.new; mv u/1.new u/1; cp u/2 v; rm u/2`, ""},
		"what was empty":                       {`rm nothing`, ""},
		"what the call made itself":            {`echo x >y; mkdir z; echo x >z/y; rm -r y z`, ""},
		"another content of its own":           {`rm u/1; cp t/1 u/1`, ""},
		"a copy is left":                       {`cp u/1 m; rm u/1`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.sh(t, m.ws, `mkdir t u build node_modules node_modules/p obj; for i in 1 2 3 4 5 6 7 8 9 10; do
seq -f "$i line %g" 40 >t/$i; seq -f "$i line %g of another" 40 >u/$i; done; echo first >changed; echo x >build/rules.mk; mkdir w; cp t/[1-9] w; git add -f t w changed build/rules.mk; for f in w/*; do echo more >>$f; done; seq 99 >changed; echo y >>build/rules.mk; seq 88 >long; : >nothing
for f in build/a node_modules/p/x obj/y app.log data.db-wal text-wal text x.o; do echo x >$f; done; printf 'SQLite format 3\0' >data.db; printf '\067\177\006\202wal' >data.db-wal; printf '\n\n' >blank; mkdir cache; echo x >cache/lru.py; echo x >cache/data
echo 12345 >shut; touch -r u/1 shut; chmod 0 shut`)
			was := m.seenFiles()
			said, code := m.confined(t, a.script)
			if a.lost == "" {
				require.Equal(t, 0, code, said)
				return
			}
			require.Equal(t, NothingKept, code, said)
			require.Contains(t, said, "of which neither git nor another file has the content: "+a.lost)
			require.Empty(t, differs(was, m.seenFiles()))
			said, code = m.confined(t, a.script, mayRemove+"=1")
			require.Equal(t, 0, code, said)
		})
	}
}

// In a linked worktree the index is in the repository.
func TestLost_InALinkedWorktree(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	m.sh(t, m.ws, `git worktree add -q ../other`)
	m.ws = m.home + "/other"
	m.sh(t, m.ws, `echo x >mine`)
	said, code := m.confined(t, `rm main.go`)
	require.Equal(t, 0, code, said)
	said, code = m.confined(t, `rm mine`)
	require.Equal(t, NothingKept, code, said)
}

// Without a repository in the workspace, or with an index that cannot be read, nothing can be had back from it.
func TestLost_WithoutAnIndex(t *testing.T) {
	needsConfinement(t)
	for name, before := range map[string]string{
		"no repository":    `rm -rf .git`,
		"a broken index":   `echo x >.git/index`,
		"not in the index": `git rm -q --cached main.go`,
		"a conflict":       `h=$(git rev-parse :main.go); printf '0 %040d\tmain.go\n100644 %s 1\tmain.go\n100644 %s 2\tmain.go\n' 0 $h $h | git update-index --index-info`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.sh(t, m.ws, before)
			said, code := m.confined(t, `rm main.go`)
			require.Equal(t, NothingKept, code, said)
			require.Contains(t, said, `has the content: "main.go"`)
		})
	}
}

// What could not be compared any more counts as lost, so a call cannot use up what is compared first.
func TestLost_WhatIsNotComparedCounts(t *testing.T) {
	needsConfinement(t)
	for name, script := range map[string]string{
		"blanks":   `for f in d/*; do printf "%$(stat -c %s $f)s" >$f; done`,
		"alike":    `for f in d/*; do echo one >$f; echo two >>$f; done`,
		"reverted": `for f in w/*; do seq 9 >$f; done`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.sh(t, m.ws, `mkdir d w; for i in 1 2 3 4 5 6 7; do seq -f "$i line %g" 4 >d/$i; seq 9 >w/$i; done; git add -f w; for f in w/*; do echo more >>$f; done; echo log >a`)
			before := m.seenFiles()
			said, code := m.confined(t, `printf '%5000s' '' >x; cat a >>x; mv x a; `+script, summed+"=4096")
			require.Equal(t, NothingKept, code, said)
			require.Empty(t, differs(before, m.seenFiles()))
			said, code = m.confined(t, `seq 99 >d/1`, summed+"=0")
			require.Equal(t, NothingKept, code, said)
		})
	}
}
