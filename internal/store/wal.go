package store

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Damage says what of a write-ahead log SQLite drops without a word: it reads up to the
// first frame whose checksum does not fit, and ignores what follows.
type Damage struct {
	Frame   int // the first that is not as it was written, from 1; 0: the header is not
	Frames  int // that belong to the log from there on
	Commits int // that end in them
	// LastOnly reports whether that is the last commit alone: then a power cut may have
	// interrupted it, before any caller was told of it.
	LastOnly bool
}

// String says it for people.
func (d Damage) String() string {
	at := fmt.Sprintf("in frame %d", d.Frame)
	if d.Frame == 0 {
		at = "in its header"
	}
	text := fmt.Sprintf("the write-ahead log is damaged %s: the %d frames from there on, with %d commits, are lost",
		at, d.Frames, d.Commits)
	if d.LastOnly {
		text += " (only the last commit: if power failed, its caller was never told that it was stored)"
	}
	return text
}

// Damaged looks through the write-ahead log of a SQLite store that no process has open.
// Nil: the log is whole, or the store is open, or there is no such log. It does not
// change the files.
func Damaged(url string) (*Damage, error) { return damagedFor(url, lookersTime) }

// damagedFor is Damaged with how long others may look through the log meanwhile.
func damagedFor(url string, lookers time.Duration) (*Damage, error) {
	path, ok := strings.CutPrefix(url, "sqlite:")
	if !ok || path == memory {
		return nil, nil
	}
	path, err := realPath(path)
	if err != nil {
		return nil, err
	}
	found, err := walDamage(path)
	if found == nil || err != nil {
		return nil, err
	}
	lock, err := lockFile(path + ".lock")
	for end := time.Now().Add(lookers); err != nil && time.Now().Before(end); lock, err = lockFile(path + ".lock") {
		time.Sleep(lookersTime / 100)
	}
	if err != nil { // a desk has it, and may have written while this was read
		return nil, nil
	}
	defer lock.Close()
	return walDamage(path)
}

// lookersTime is how long others who look through a damaged log may hold its lock, at
// most. A program that took them for a desk would open the store, and the log with what
// it has lost would be gone without a word.
const lookersTime = time.Second

// The write-ahead log (SQLite, "WAL-mode File Format"). Its numbers are big-endian; those
// that are summed up have the order that the magic number's lowest bit names.
const (
	walMagic       = 0x377f0682
	walHeader      = 32
	walFrameHeader = 24
)

// walDamage looks through the write-ahead log of a database. What belongs to it has the
// salts of its header; what an earlier log left behind has others.
func walDamage(path string) (*Damage, error) {
	f, err := os.Open(path + "-wal")
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("store %s: its write-ahead log cannot be read: %w", path, err)
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<20)
	w, whole, err := readWAL(in, path)
	if err != nil || w == nil {
		return nil, err
	}
	found := Damage{}
	for n := 1; ; n++ {
		frame, err := w.next(in)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("store %s: its write-ahead log cannot be read: %w", path, err)
		}
		if whole && !frame.fits {
			whole, found.Frame = false, n
		}
		if whole || !frame.ours {
			continue
		}
		if found.Frames++; frame.commits {
			found.Commits++
		}
	}
	if found.Commits == 0 {
		return nil, nil
	}
	found.LastOnly = found.Commits == 1 && found.Frame > 0
	return &found, nil
}

// wal reads a write-ahead log.
type wal struct {
	order binary.ByteOrder
	salts []byte
	sum   [2]uint32 // that the next frame's begins with
	frame []byte    // the header and the page
}

// readWAL reads the header, and reports whether it is whole; nil: the log has no frame.
// If the header is damaged, its frames are recognized by the page size of the database
// and the salts of the first frame.
func readWAL(in *bufio.Reader, path string) (w *wal, whole bool, err error) {
	head := make([]byte, walHeader)
	if _, err := io.ReadFull(in, head); err != nil {
		return nil, false, nil
	}
	word := func(at int) uint32 { return binary.BigEndian.Uint32(head[at:]) }
	w = &wal{order: binary.LittleEndian, salts: bytes.Clone(head[16:24])}
	if word(0)&1 == 1 {
		w.order = binary.BigEndian
	}
	w.sum = w.add([2]uint32{}, head[:24])
	whole = word(0)&^1 == walMagic && w.sum == [2]uint32{word(24), word(28)}
	page := int(word(8))
	if !whole {
		first, err := in.Peek(walFrameHeader)
		if err != nil {
			return nil, false, nil
		}
		w.salts = bytes.Clone(first[8:16])
		if page, err = pageSize(path); err != nil {
			return nil, false, err
		}
	}
	w.frame = make([]byte, walFrameHeader+page)
	return w, whole, nil
}

// pageSize reads the size of a database's pages from its file.
func pageSize(path string) (int, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	head := make([]byte, 18)
	if _, err := io.ReadFull(f, head); err != nil {
		return 4096, nil // it is all in the log
	}
	if size := int(binary.BigEndian.Uint16(head[16:])); size != 1 {
		return size, nil
	}
	return 65536, nil
}

// walFrame is what a frame says.
type walFrame struct {
	ours    bool // it belongs to this log
	fits    bool // and follows the one before
	commits bool
}

func (w *wal) next(in io.Reader) (walFrame, error) {
	if _, err := io.ReadFull(in, w.frame); err != nil {
		return walFrame{}, err
	}
	word := func(at int) uint32 { return binary.BigEndian.Uint32(w.frame[at:]) }
	salts := w.frame[8:16] // every new log has two new ones
	ours := bytes.Equal(salts[:4], w.salts[:4]) || bytes.Equal(salts[4:], w.salts[4:])
	f := walFrame{ours: ours, commits: word(4) != 0}
	sum := w.add(w.add(w.sum, w.frame[:8]), w.frame[walFrameHeader:])
	w.sum = [2]uint32{word(16), word(20)}
	f.fits = bytes.Equal(salts, w.salts) && word(0) != 0 && sum == w.sum
	return f, nil
}

// add continues a checksum.
func (w *wal) add(s [2]uint32, data []byte) [2]uint32 {
	for i := 0; i+8 <= len(data); i += 8 {
		s[0] += w.order.Uint32(data[i:]) + s[1]
		s[1] += w.order.Uint32(data[i+4:]) + s[0]
	}
	return s
}

// memory is the path of a store that has no file.
const memory = ":memory:"

// realPath gives the one name of a database file, so that two ways to write it
// meet at the same lock.
func realPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real, nil
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", fmt.Errorf("store %s: its folder cannot be found; make it with: mkdir -p %s", path, filepath.Dir(path))
	}
	return filepath.Join(dir, filepath.Base(path)), nil
}
