package core_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/people"
)

// An address is somebody's whatever the case of its letters, but no other letter is one of
// theirs, though Unicode folds it to one.
func TestAdversary_N2_AddressesThatFold(t *testing.T) {
	t.Parallel()
	d, err := people.NewDirectory(people.Rights{People: []people.Person{{Name: "kirsten", Email: "Kirsten@example.org"}}})
	require.NoError(t, err)
	for address, want := range map[string]bool{"kirsten@EXAMPLE.org": true, "Kirsten@example.org": true,
		"\u212airsten@example.org": false, "kir\u017ften@example.org": false, "": false} {
		_, ok := d.WithEmail(address)
		require.Equal(t, want, ok, "%q", address)
	}
}
