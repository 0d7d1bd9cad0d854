package scoll

import (
	"encoding/binary"
	"iter"

	"ulnet/lnet/nid"
	"ulnet/scoll/wire"
)

// A concatenation of replies consists of pieces, each with its NID and length, so that two
// concatenations in a row are a concatenation. Little-endian:
//
//	 0 20  NID, LNet's extended form
//	20  4  length
//	24     data

// Encoded lengths in bytes.
const (
	PieceSize    = nid.ExtendedSize + 4 // length of a piece without its data
	StatusSize   = nid.ExtendedSize + 4 // an entry of a StatusMap: NID in LNet's extended form, status, two bytes reserved
	VersionsSize = 8                    // length of encoded Versions: Lowest and Count
)

// AppendPiece appends a piece with the data of a node to a concatenation.
func AppendPiece(b []byte, id nid.NID, data []byte) []byte {
	b = id.AppendExtended(b)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(data)))
	return append(b, data...)
}

// Pieces yields the pieces of a concatenation in order. The data are parts of b. It stops at
// the first piece that is cut or invalid; see CheckPieces.
func Pieces(b []byte) iter.Seq2[nid.NID, []byte] {
	return func(yield func(nid.NID, []byte) bool) {
		for len(b) > 0 {
			id, data, rest, err := parsePiece(b)
			if err != nil || !yield(id, data) {
				return
			}
			b = rest
		}
	}
}

// CheckPieces returns nil if b is a concatenation, otherwise wire.ErrShort or wire.ErrMember.
func CheckPieces(b []byte) error {
	for len(b) > 0 {
		_, _, rest, err := parsePiece(b)
		if err != nil {
			return err
		}
		b = rest
	}
	return nil
}

func parsePiece(b []byte) (id nid.NID, data, rest []byte, err error) {
	if len(b) < PieceSize {
		return id, nil, nil, wire.ErrShort
	}
	if id, rest, err = nid.ParseExtended(b); err != nil {
		return id, nil, nil, wire.ErrMember
	}
	size := binary.LittleEndian.Uint32(rest)
	if rest = rest[4:]; uint64(size) > uint64(len(rest)) {
		return id, nil, nil, wire.ErrShort
	}
	return id, rest[:size:size], rest[size:], nil
}
