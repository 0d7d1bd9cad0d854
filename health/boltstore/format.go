package boltstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"time"

	"ulnet/health"
	"ulnet/lnet/nid"
)

// maxExport is the largest size of a record's export data in bytes.
const maxExport = 64 << 10

const (
	magic         = "ulnet connections"
	version       = 1
	fixedSize     = 32 // size of the part of a record before the NIDs
	crcSize       = 4
	tombstoneKey  = 8 + 16
	tombstoneSize = 8 + crcSize
	epochSize     = 4 + crcSize
	countsSize    = 3*8 + crcSize
	epochsSize    = 2*8 + crcSize
)

var (
	// ErrRecord means that a record or tombstone is invalid.
	ErrRecord = errors.New("boltstore: a record needs a client, a master and a peer, a name of at most 255 bytes and at most 64 KiB of export data")

	errDamaged  = errors.New("damaged")
	errChecksum = fmt.Errorf("%w: wrong checksum", errDamaged)
	errShort    = fmt.Errorf("%w: cut short", errDamaged)

	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// appendRecord appends a record. The error is [ErrRecord].
func appendRecord(b []byte, r *health.Record) ([]byte, error) {
	if !r.Client.IsValid() || !r.Master.IsValid() || !r.Peer.NID.IsValid() || len(r.Name) > math.MaxUint8 || len(r.Export) > maxExport {
		return b, ErrRecord
	}
	start := len(b)
	b = append(b, r.Client[:]...)                               // client
	b = binary.LittleEndian.AppendUint64(b, r.Incarnation)      // incarnation
	b = binary.LittleEndian.AppendUint32(b, r.Epoch)            // epoch
	b = binary.LittleEndian.AppendUint32(b, uint32(r.Peer.PID)) // pid
	b = r.Master.AppendExtended(b)                              // NID of the master
	b = r.Peer.NID.AppendExtended(b)                            // NID of the client
	b = append(b, uint8(len(r.Name)))                           // length of the name
	b = append(b, r.Name...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(r.Export))) // length of the export data
	b = append(b, r.Export...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[start:], castagnoli)), nil
}

// parseRecord parses a record. The result does not refer to b.
func parseRecord(b []byte) (r health.Record, err error) {
	body, err := checked(b, nil)
	if err != nil {
		return r, err
	}
	if len(body) < fixedSize {
		return r, errShort
	}
	r.Client = health.ClientID(body)                            // client
	r.Incarnation = binary.LittleEndian.Uint64(body[16:])       // incarnation
	r.Epoch = binary.LittleEndian.Uint32(body[24:])             // epoch
	r.Peer.PID = nid.PID(binary.LittleEndian.Uint32(body[28:])) // pid
	rest := body[fixedSize:]
	if r.Master, rest, err = nid.ParseExtended(rest); err != nil { // NID of the master
		return r, fmt.Errorf("%w: master: %w", errDamaged, err)
	}
	if r.Peer.NID, rest, err = nid.ParseExtended(rest); err != nil { // NID of the client
		return r, fmt.Errorf("%w: peer: %w", errDamaged, err)
	}
	if len(rest) < 1 || len(rest)-1 < int(rest[0]) { // length of the name
		return r, errShort
	}
	name := int(rest[0])
	r.Name, rest = string(rest[1:1+name]), rest[1+name:]
	if len(rest) < 4 || uint64(len(rest)-4) != uint64(binary.LittleEndian.Uint32(rest)) { // length of the export data
		return r, errShort
	}
	if len(rest) > 4 {
		r.Export = append([]byte(nil), rest[4:]...)
	}
	if !r.Client.IsValid() || !r.Master.IsValid() || !r.Peer.NID.IsValid() || len(r.Export) > maxExport {
		return r, fmt.Errorf("%w: %w", errDamaged, ErrRecord)
	}
	return r, nil
}

// checked verifies the checksum at the end of b, which covers the bytes of ahead and then those
// of b. It returns b without the checksum.
func checked(b, ahead []byte) ([]byte, error) {
	if len(b) < crcSize {
		return nil, errShort
	}
	body := b[:len(b)-crcSize]
	sum := crc32.Update(crc32.Checksum(ahead, castagnoli), castagnoli, body)
	if sum != binary.LittleEndian.Uint32(b[len(body):]) {
		return nil, errChecksum
	}
	return body, nil
}

// tombstone encodes a tombstone, without its epoch, as key and value. The error is [ErrRecord].
func tombstone(t *health.Tombstone) (key, value []byte, err error) {
	until := t.Until.UnixNano()
	if !t.Client.IsValid() || until <= 0 {
		return nil, nil, ErrRecord
	}
	key = append(binary.BigEndian.AppendUint64(make([]byte, 0, tombstoneKey), uint64(until)), t.Client[:]...)
	value = binary.LittleEndian.AppendUint64(make([]byte, 0, tombstoneSize), t.Incarnation)
	sum := crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, value)
	return key, binary.LittleEndian.AppendUint32(value, sum), nil
}

// parseTombstone is the reverse of tombstone, without the epoch.
func parseTombstone(key, value []byte) (t health.Tombstone, err error) {
	if len(key) != tombstoneKey || len(value) != tombstoneSize {
		return t, errShort
	}
	body, err := checked(value, key)
	if err != nil {
		return t, err
	}
	until := binary.BigEndian.Uint64(key)
	if until == 0 || until > math.MaxInt64 {
		return t, fmt.Errorf("%w: until %#x", errDamaged, until)
	}
	t.Until = time.Unix(0, int64(until))
	t.Client = health.ClientID(key[8:])
	t.Incarnation = binary.LittleEndian.Uint64(body)
	if !t.Client.IsValid() {
		return t, fmt.Errorf("%w: %w", errDamaged, ErrRecord)
	}
	return t, nil
}

// counts are the numbers of entries in the buckets after a commit. They show that entries are
// missing: a page of bbolt records only how many entries the page itself has.
type counts struct {
	commit              uint64 // number of the commit that wrote the counts
	clients, tombstones uint64
	epochs              uint64
}

func appendCounts(b []byte, c counts) []byte {
	start := len(b)
	b = binary.LittleEndian.AppendUint64(b, c.commit)
	b = binary.LittleEndian.AppendUint64(b, c.clients)
	b = binary.LittleEndian.AppendUint64(b, c.tombstones)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[start:], castagnoli))
}

// compare compares the counts that were found with the stored ones. It skips that if the latest
// commit was made by an older version, which does not store them.
func (c counts) compare(written []byte) error {
	if written == nil {
		return nil
	}
	body, err := checked(written, nil)
	if err == nil && len(written) != countsSize {
		err = errShort
	}
	if err != nil {
		return fmt.Errorf("counts: %w", err)
	}
	want := counts{commit: binary.LittleEndian.Uint64(body), clients: binary.LittleEndian.Uint64(body[8:]), tombstones: binary.LittleEndian.Uint64(body[16:]), epochs: c.epochs}
	if want.commit == c.commit && want != c {
		return fmt.Errorf("%w: %d clients and %d tombstones are there, and %d and %d were saved", errDamaged, c.clients, c.tombstones, want.clients, want.tombstones)
	}
	return nil
}
