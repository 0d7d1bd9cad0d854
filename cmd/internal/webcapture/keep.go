package webcapture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"sync"
)

// errFull ends a capture that has as many bytes as it may have.
var errFull = errors.New("the capture has as many bytes as it may have")

// keeper keeps the bytes of a capture, up to a limit, for downloads and for one reader, which may be
// slower than the capture. It is safe for concurrent use.
type keeper struct {
	limit int // most bytes to keep

	mu      sync.Mutex
	more    sync.Cond // uses mu; signalled when the reader can go on
	chunks  [][]byte  // whole blocks of pcapng; guarded by mu, like the fields below
	size    int       // number of bytes in chunks
	dropped uint64    // packets that the tap has left out
	whole   bool      // set by finish: no more bytes will come
	left    bool      // set by leave: Read returns io.EOF at once
	read    int       // chunks that the reader has read whole
	offset  int       // bytes that the reader has read of the next chunk
}

func newKeeper(limit int) *keeper {
	k := &keeper{limit: limit}
	k.more.L = &k.mu
	return k
}

// Read implements io.Reader. It waits for more bytes until finish or leave is called.
func (k *keeper) Read(b []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for k.read == len(k.chunks) && !k.whole && !k.left {
		k.more.Wait()
	}
	if k.read == len(k.chunks) || k.left {
		return 0, io.EOF
	}
	chunk := k.chunks[k.read]
	n := copy(b, chunk[k.offset:])
	if k.offset += n; k.offset == len(chunk) {
		k.read, k.offset = k.read+1, 0
	}
	return n, nil
}

// finish has Read return io.EOF after the last byte.
func (k *keeper) finish() { k.tell(&k.whole) }

// leave has Read return io.EOF at once.
func (k *keeper) leave() { k.tell(&k.left) }

func (k *keeper) tell(what *bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	*what = true
	k.more.Broadcast()
}

// Dropped is called by the tap with the number of packets that it has left out so far.
func (k *keeper) Dropped(packets uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dropped = packets
}

// lacks returns the number of packets that the tap has left out.
func (k *keeper) lacks() uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.dropped
}

// Write keeps whole blocks of pcapng. If not all of them fit the limit, it keeps the first ones that fit,
// and the error is errFull.
func (k *keeper) Write(blocks []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := fitting(blocks, k.limit-k.size)
	if n > 0 {
		k.chunks, k.size = append(k.chunks, bytes.Clone(blocks[:n])), k.size+n
		k.more.Broadcast()
	}
	if n < len(blocks) {
		return n, errFull
	}
	return n, nil
}

// fitting returns how many bytes the first blocks have together: as many whole blocks as fit into room bytes.
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
