package store

import (
	"encoding/binary"
	"strings"
)

// pieces are all runs of four and of three bytes within the words of some texts. A word that is in one of the texts has
// no other ones.
type pieces map[uint32]struct{}

const (
	mostPieces   = 1 << 20 // of one filter; with more it says nothing
	bitsPerPiece = 12
	probes       = 5 // bits of a piece: one of 200 that are not there seems to be
)

// add adds the pieces of a text.
func (p pieces) add(text string) {
	for i := range len(text) {
		if i >= 2 && strings.IndexByte(text[i-2:i+1], ' ') < 0 {
			p[piece(text[i-2:i+1])] = struct{}{}
		}
		if i >= 3 && strings.IndexByte(text[i-3:i+1], ' ') < 0 {
			p[piece(text[i-3:i+1])] = struct{}{}
		}
	}
}

// piece is a run of three or four bytes, none of them 0, as a number.
func piece(s string) uint32 {
	var four [4]byte
	copy(four[:], s)
	return binary.LittleEndian.Uint32(four[:])
}

// filter is the Bloom filter of the pieces.
func (p pieces) filter() []byte {
	if len(p) > mostPieces {
		return []byte{}
	}
	bits := make([]byte, max(1, (len(p)*bitsPerPiece+7)/8))
	for x := range p {
		eachBit(x, len(bits), func(at int, bit byte) bool { bits[at] |= bit; return true })
	}
	return bits
}

// piecesOf are those that a filter can be asked for of a search: of a word of three letters the one, of longer ones those of four.
func piecesOf(search string) (all []uint32) {
	for _, word := range strings.Fields(strings.ToLower(search)) {
		n := min(4, len(word))
		if n < 3 {
			continue
		}
		for i := n; i <= len(word); i++ {
			all = append(all, piece(word[i-n:i]))
		}
	}
	return all
}

// mayHave reports whether all the pieces may be in what a filter is of.
func mayHave(bits string, all []uint32) bool {
	if len(bits) == 0 {
		return true
	}
	for _, x := range all {
		if !eachBit(x, len(bits), func(at int, bit byte) bool { return bits[at]&bit != 0 }) {
			return false
		}
	}
	return true
}

// eachBit calls fn with the bits of a piece, until that says false.
func eachBit(x uint32, size int, fn func(at int, bit byte) bool) bool {
	h := (uint64(x) + 1) * 0x9e3779b97f4a7c15
	h ^= h >> 29
	h *= 0xbf58476d1ce4e5b9
	h ^= h >> 32
	first, step := uint32(h), uint32(h>>32)|1
	for i := range uint32(probes) {
		at := int(uint64(first+i*step) * uint64(size*8) >> 32)
		if !fn(at/8, 1<<(at%8)) {
			return false
		}
	}
	return true
}
