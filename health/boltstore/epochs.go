package boltstore

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"go.etcd.io/bbolt"
)

// Versions before 2026-11-29 do not store the epochs of tombstones, and would take a longer tombstone for a damaged one.
// So epochs have a bucket of their own, which these versions neither read nor change.

// appendEpoch encodes the epoch of the tombstone with a key.
func appendEpoch(b, key []byte, epoch uint32) []byte {
	start := len(b)
	b = binary.LittleEndian.AppendUint32(b, epoch)
	sum := crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, b[start:])
	return binary.LittleEndian.AppendUint32(b, sum)
}

// parseEpoch is the reverse of appendEpoch.
func parseEpoch(key, value []byte) (epoch uint32, err error) {
	if len(key) != tombstoneKey || len(value) != epochSize {
		return 0, errShort
	}
	body, err := checked(value, key)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(body), nil
}

// appendEpochs encodes the number of epochs after a commit.
func appendEpochs(b []byte, c counts) []byte {
	start := len(b)
	b = binary.LittleEndian.AppendUint64(b, c.commit)
	b = binary.LittleEndian.AppendUint64(b, c.epochs)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[start:], castagnoli))
}

// compareEpochs is compare for the number of epochs, which versions before 2026-11-29 do not store.
func (c counts) compareEpochs(written []byte) error {
	if written == nil {
		return nil
	}
	body, err := checked(written, nil)
	if err == nil && len(written) != epochsSize {
		err = errShort
	}
	if err != nil {
		return fmt.Errorf("number of epochs: %w", err)
	}
	if commit, epochs := binary.LittleEndian.Uint64(body), binary.LittleEndian.Uint64(body[8:]); commit == c.commit && epochs != c.epochs {
		return fmt.Errorf("%w: %d epochs of tombstones are there, and %d were saved", errDamaged, c.epochs, epochs)
	}
	return nil
}

// countEpochs returns the number of epochs of tombstones, which it verifies. Some may be of tombstones that an
// earlier version has removed.
func countEpochs(tx *bbolt.Tx) (n uint64, err error) {
	epochs := tx.Bucket(epochsBucket)
	if epochs == nil { // no tombstone has had an epoch yet
		return 0, nil
	}
	err = epochs.ForEach(func(key, value []byte) error {
		n++
		if _, err := parseEpoch(key, value); err != nil {
			return fmt.Errorf("epoch of tombstone %x: %w", key, err)
		}
		return nil
	})
	return n, err
}
