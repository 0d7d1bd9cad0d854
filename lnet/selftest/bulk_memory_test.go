package selftest

import (
	"bytes"
	"testing"

	"ulnet/lnet/selftest/engine"
	"ulnet/lnet/selftest/wire"
)

// TestSource: data to send have the pattern of their check, and all RPCs share the memory of these data. The
// capacity of each slice ends with its data, so that an append cannot change what follows them in the memory.
func TestSource(t *testing.T) {
	m := newBulkMemory()
	for _, check := range []wire.Check{wire.CheckNone, wire.CheckSimple, wire.CheckFull} {
		for _, size := range []int{8, 4096, 12288, engine.MaxLength} {
			a, b := m.source(size, check), m.source(size, check)
			if len(a) != size || cap(a) != size || &a[0] != &b[0] || !engine.Verify(a, check, false) {
				t.Errorf("check %v, %d bytes: %d of %d", check, size, len(a), cap(a))
			}
		}
	}
}

// TestSink: sink returns as many bytes as it is asked for, up to the most that an RPC needs.
// They are zero even if an earlier RPC used the memory, so that old data pass no check.
func TestSink(t *testing.T) {
	m := newBulkMemory()
	for _, size := range []int{1, 8, 4095, 4096, 4097, 65536, engine.MaxLength, mostBulk} {
		for range 3 {
			b := m.sink(size, wire.CheckFull)
			if len(b) != size || class(cap(b)) >= classes || bytes.Count(b, []byte{0}) != size {
				t.Fatalf("%d bytes: %d of %d", size, len(b), cap(b))
			}
			engine.Fill(b, wire.CheckFull)
			m.recycle(b)
		}
	}
}

// TestSinkKept: RPCs one after the other receive into the same memory.
func TestSinkKept(t *testing.T) {
	m := newBulkMemory()
	if n := testing.AllocsPerRun(100, func() { m.recycle(m.sink(engine.MaxLength, wire.CheckNone)) }); n > 1.5 {
		t.Errorf("%.1f allocations, want that of the slice's header", n)
	}
}
