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
	m.sh(t, m.ws, `mkdir -p .git/git-crypt/keys .git/svn; echo `+secretText+` >.git/git-crypt/keys/default; echo `+secretText+` >.git/svn/config; git branch fix-token`)
	said, code := m.confined(t, `cat .git/git-crypt/keys/default .git/svn/config; git log -1 --format=%s fix-token`)
	require.NotContains(t, said, secretText)
	require.Equal(t, 0, code, said)

	// What is committed is shown, if it is in objects that the call can read.
	shared := newMachine(t)
	shared.sh(t, shared.home, `git init -q other; cd other; echo `+secretText+` >prod.env; git add -f prod.env; git commit -qm x; cp prod.env $HOME/ws/prod.env`)
	cat := func(yes bool) {
		t.Helper()
		said, _ := shared.confined(t, `cat prod.env`)
		require.Equal(t, yes, strings.Contains(said, secretText), said)
	}
	cat(false)
	shared.sh(t, shared.ws, `echo $HOME/other/.git/objects >.git/objects/info/alternates; git cat-file -e $(git hash-object prod.env)`)
	cat(false)
	shared.sh(t, shared.ws, `rm .git/objects/info/alternates; mv .git/objects/pack $HOME/pack; ln -s $HOME/pack .git/objects/pack
		cd $HOME/other; git repack -adq; cp .git/objects/pack/* $HOME/pack; cd $HOME/ws; git cat-file -e $(git hash-object prod.env)`)
	cat(false)
	shared.sh(t, shared.ws, `rm .git/objects/pack; mv $HOME/pack .git/objects/pack`)
	cat(true)
}
