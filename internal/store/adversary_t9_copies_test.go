package store

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Who gives a store another key, another engine or another place checks its MACs, and makes new ones.
func TestAdversary_T9_RotatedCopiedRestored(t *testing.T) {
	t.Parallel()
	for _, damaged := range []bool{false, true} {
		t.Run(fmt.Sprint("damaged ", damaged), func(t *testing.T) {
			o := fileOptions(t.TempDir())
			keys := map[string]string{}
			openAndClose(t, o, func(s *Store) { keys = kept(t, s, 1) })
			if damaged {
				meddle(t, filepath.Dir(o.KeyFile), "UPDATE grants SET body = body || ' '")
			}
			whole := func(o Options) *Store {
				t.Helper()
				s, err := Open(ctx, o)
				if damaged {
					require.ErrorContains(t, err, keys["grants"])
					return nil
				}
				require.NoError(t, err)
				t.Cleanup(func() { s.Close() })
				for _, m := range marked {
					require.True(t, s.keys.rows != nil, m.name)
				}
				require.Empty(t, named(t, s))
				return s
			}
			backup := filepath.Join(t.TempDir(), "backup.db")
			_, err := Backup(ctx, o.URL, backup)
			require.NoError(t, err)
			if s := whole(Options{URL: "sqlite:" + backup, KeyFile: o.KeyFile}); s != nil {
				require.True(t, putBack(t, s))
				further := fileOptions(t.TempDir())
				openAndClose(t, further, func(to *Store) {
					_, err := Copy(ctx, s, to)
					require.NoError(t, err)
				})
				openAndClose(t, further, func(to *Store) { require.True(t, putBack(t, to), "a copy of it is one too") })
				require.NoError(t, start(t, s).Settled(context.Background()))
			}

			from, err := Open(ctx, o)
			require.NoError(t, err)
			require.False(t, putBack(t, from))
			to := fileOptions(t.TempDir())
			target, err := Open(ctx, to)
			require.NoError(t, err)
			_, err = Copy(ctx, from, start(t, target))
			if damaged {
				require.ErrorContains(t, err, keys["grants"])
			} else {
				require.NoError(t, err)
				require.Empty(t, named(t, target))
				require.True(t, believed(t, target, keys, "absences"))
			}
			require.NoError(t, from.Close())

			var seeds [][keySize]byte
			_, err = RotateKey(ctx, o, false, retiring(&seeds))
			if damaged {
				require.ErrorContains(t, err, keys["grants"])
			} else {
				require.NoError(t, err)
				whole(o)
			}
		})
	}
}
