package selftest

import (
	"math/bits"
	"sync"

	"ulnet/lnet/selftest/engine"
	"ulnet/lnet/selftest/wire"
)

// mostBulk is the largest memory of one RPC, in bytes: the largest data, at an offset in the first page.
const mostBulk = engine.MaxLength + 4096

// bulkMemory has the memory that bulk data are sent from and received into. All data that are sent
// have one pattern, so that all RPCs send from the same memory, which is not written to any more.
// Memory to receive into is kept between RPCs.
type bulkMemory struct {
	empty, pattern func() []byte      // return mostBulk bytes to send, without and with the pattern
	sinks          [classes]sync.Pool // free memory, of type *[]byte, by its size, a power of two
}

// There is a pool for each buffer size that is a power of two, from 4 KiB (1<<leastClass) to 2 MiB.
const (
	leastClass = 12
	classes    = 10
)

func newBulkMemory() *bulkMemory {
	return &bulkMemory{
		empty: sync.OnceValue(func() []byte { return make([]byte, mostBulk) }),
		pattern: sync.OnceValue(func() []byte {
			b := make([]byte, mostBulk)
			engine.Fill(b, wire.CheckFull)
			return b
		}),
	}
}

// source returns length bytes to send, which must not be changed.
func (m *bulkMemory) source(length int, check wire.Check) []byte {
	if check == wire.CheckSimple || check == wire.CheckFull {
		return m.pattern()[:length:length]
	}
	return m.empty()[:length:length]
}

// class returns the index in sinks of the pool whose memory has room for size bytes.
func class(size int) int { return max(bits.Len(uint(max(size, 1)-1))-leastClass, 0) }

// sink returns memory to receive size bytes into. If the data are to be checked, the memory has only
// zeros, so that the pattern of earlier data is not taken for data that have arrived.
func (m *bulkMemory) sink(size int, check wire.Check) []byte {
	c := class(size)
	b, ok := m.sinks[c].Get().(*[]byte)
	if !ok {
		return make([]byte, size, 1<<(c+leastClass))
	}
	if check == wire.CheckSimple || check == wire.CheckFull {
		clear((*b)[:size])
	}
	return (*b)[:size]
}

// recycle takes back memory that sink has returned. Nothing uses it any more.
func (m *bulkMemory) recycle(b []byte) {
	b = b[:cap(b)]
	m.sinks[class(len(b))].Put(&b)
}
