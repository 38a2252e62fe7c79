//go:build linux

package confine

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// K1: keys of git-crypt are secrets; a branch is none, whatever its name.
func TestK1_SecretsInARepository(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	m.sh(t, m.ws, `mkdir -p .git/git-crypt/keys; echo `+secretText+` >.git/git-crypt/keys/default
		for d in .git/svn .git/modules/m/svn .git/modules/m/lfs bare.git/svn; do mkdir -p $d; echo `+secretText+` >$d/config; done; git init -q --bare bare.git; git branch fix-token`)
	said, code := m.confined(t, `cat .git/git-crypt/keys/default .git/svn/config .git/modules/m/*/config bare.git/svn/config; git log -1 --format=%s fix-token`)
	require.NotContains(t, said, secretText)
	require.Equal(t, 0, code, said)

	// What is tracked is shown, and nothing that is tracked under another name: an agent may guess.
	shared := newMachine(t)
	shared.sh(t, shared.ws, `echo `+secretText+` >prod.env; echo `+secretText+` >guess; git add guess; git commit -qm guess`)
	cat := func(yes bool) {
		t.Helper()
		said, _ := shared.confined(t, `cat prod.env`)
		require.Equal(t, yes, strings.Contains(said, secretText), said)
	}
	cat(false)
	shared.sh(t, shared.ws, `git add -f prod.env`)
	cat(true)
	shared.sh(t, shared.ws, `echo more >>prod.env`)
	cat(false)
	shared.sh(t, shared.ws, `git commit -qam x; git update-index --split-index; mv .git/index .git/i; ln -s i .git/index`)
	cat(false)
	shared.sh(t, shared.ws, `rm .git/index; mv .git/i .git/index; git update-index --no-split-index`)
	cat(true)
	shared.sh(t, shared.ws, `head -c 2000000 /dev/zero >>prod.env; git commit -qam large`)
	cat(false) // it would be read before each call
}
