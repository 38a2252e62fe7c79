package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// killedStore is the files of a store whose process was killed after so many commits. Its
// log begins after the schema, which stands in the database.
func killedStore(t *testing.T, commits int) (dir string) {
	from := t.TempDir()
	openAndClose(t, fileOptions(from), func(*Store) {})
	s := openDisk(t, from)
	for n := range commits {
		require.NoError(t, s.Append(ctx, nil, approval.Event{Type: approval.EventRefused, Key: fmt.Sprint(n)}))
	}
	return copyFiles(t, s, from, 0)
}

// damagedCopy is a copy with another write-ahead log.
func damagedCopy(t *testing.T, dir string, log []byte) (to string) {
	to = t.TempDir()
	for _, name := range []string{"desk.db", "desk.key"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(to, name), b, 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(to, "desk.db-wal"), log, 0o600))
	return to
}

// Whatever is damaged in a write-ahead log, what is said to be dropped is what SQLite
// drops, it is said before anything else is done, and once.
func TestAWriteAheadLogThatWasDamaged(t *testing.T) {
	t.Parallel()
	const commits = 6
	dir := killedStore(t, commits)
	log, err := os.ReadFile(filepath.Join(dir, "desk.db-wal"))
	require.NoError(t, err)
	page := int(binary.BigEndian.Uint32(log[8:]))
	frames := (len(log) - walHeader) / (walFrameHeader + page)
	require.GreaterOrEqual(t, frames, commits)

	places := map[string]int{"the header's salt": 17, "the header's sum": 25, "the magic number": 0}
	for n := range frames {
		at := walHeader + n*(walFrameHeader+page)
		for what, offset := range map[string]int{"page": walFrameHeader + page/2, "sum": 16, "salt": 9, "number": 3} {
			places[fmt.Sprintf("frame %d, %s", n+1, what)] = at + offset
		}
	}
	for name, at := range places {
		t.Run(name, func(t *testing.T) {
			damaged := bytes.Clone(log)
			damaged[at] ^= 0x55
			copied := damagedCopy(t, dir, damaged)
			told, err := Damaged("sqlite:" + copied + "/desk.db")
			require.NoError(t, err)
			require.NotNil(t, told)

			said := &bytes.Buffer{}
			o := fileOptions(copied)
			o.Log = slog.New(slog.NewTextHandler(said, nil))
			if told.LastOnly {
				read, err := OpenToRead(ctx, o)
				require.NoError(t, err)
				require.NoError(t, read.Close())
				copied = damagedCopy(t, dir, damaged)
				o.URL = fileOptions(copied).URL
			} else {
				_, err = OpenToRead(ctx, o)
				require.ErrorContains(t, err, told.String())
			}
			openAndClose(t, o, func(s *Store) {
				head, _, err := s.Head(ctx)
				require.NoError(t, err)
				require.EqualValues(t, commits-told.Commits, head)
				require.Equal(t, told, s.Lost())
				require.Equal(t, 1, bytes.Count(said.Bytes(), []byte("write-ahead log is damaged")), said)
				require.NoError(t, s.Append(ctx, nil, approval.Event{Type: approval.EventRefused}))
				again := copyFiles(t, s, copied, 0)
				found, err := walDamage(filepath.Join(again, "desk.db"))
				require.NoError(t, err)
				require.Nil(t, found, "the next start finds nothing of it")
			})
		})
	}
}

// A log that is whole, cut short, or with remains of an earlier one behind it, is not
// damaged.
func TestAWriteAheadLogThatIsWhole(t *testing.T) {
	t.Parallel()
	dir := killedStore(t, 5)
	log, err := os.ReadFile(filepath.Join(dir, "desk.db-wal"))
	require.NoError(t, err)
	earlier := bytes.Clone(log[walHeader:])
	for at, frame := 8, walFrameHeader+int(binary.BigEndian.Uint32(log[8:])); at < len(earlier); at += frame {
		earlier[at]++ // both salts
		earlier[at+4]++
	}
	for name, log := range map[string][]byte{
		"whole": log, "cut short": log[:len(log)-100], "a header alone": log[:walHeader], "empty": nil,
		"an earlier one's remains": append(bytes.Clone(log), earlier...),
	} {
		found, err := Damaged("sqlite:" + damagedCopy(t, dir, log) + "/desk.db")
		require.NoError(t, err, name)
		require.Nil(t, found, name)
	}
	found, err := Damaged("sqlite:" + t.TempDir() + "/none.db")
	require.NoError(t, err)
	require.Nil(t, found)
}

// Several who look at once all see the damage: none takes another one for a desk, and opens
// what would be lost by that.
func TestADamagedLogIsSeenByAllWhoLook(t *testing.T) {
	t.Parallel()
	dir := killedStore(t, 5)
	log, err := os.ReadFile(filepath.Join(dir, "desk.db-wal"))
	require.NoError(t, err)
	log[len(log)/2] ^= 0xff
	at := "sqlite:" + damagedCopy(t, dir, log) + "/desk.db"
	var looking sync.WaitGroup
	for range 16 {
		looking.Go(func() {
			found, err := damagedFor(at, patient)
			assert.NoError(t, err)
			assert.NotNil(t, found)
		})
	}
	looking.Wait()
}
