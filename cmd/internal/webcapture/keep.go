package webcapture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"sync"
)

// errFull ends a capture that has as many bytes as it may have.
var errFull = errors.New("the capture has as many bytes as it may have")

// keeper keeps the bytes of a capture, up to a limit. It is safe for concurrent use.
type keeper struct {
	limit int // in bytes

	mu     sync.Mutex
	chunks [][]byte // whole blocks of pcapng; guarded by mu
	size   int      // bytes in chunks; guarded by mu
}

// Write keeps whole blocks of pcapng. The error is errFull if some of them are more than may be kept;
// the blocks before these are kept.
func (k *keeper) Write(blocks []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := fitting(blocks, k.limit-k.size)
	if n > 0 {
		k.chunks, k.size = append(k.chunks, bytes.Clone(blocks[:n])), k.size+n
	}
	if n < len(blocks) {
		return n, errFull
	}
	return n, nil
}

// fitting returns the length of those first blocks that together have at most room bytes.
func fitting(blocks []byte, room int) (n int) {
	const lengthOffset, shortest = 4, 12 // pcapng, section 3.1: type, total length
	for len(blocks)-n >= shortest {
		length := int(binary.LittleEndian.Uint32(blocks[n+lengthOffset:]))
		if length < shortest || length > min(room, len(blocks))-n {
			break
		}
		n += length
	}
	return n
}

// len returns the number of bytes.
func (k *keeper) len() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.size
}

// all returns the bytes so far, in pieces that never change.
func (k *keeper) all() (chunks [][]byte, size int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.chunks[:len(k.chunks):len(k.chunks)], k.size
}
