package router

import (
	"errors"
	"syscall"
	"testing"

	"ulnet/lnd/lndtest/spec"
)

// TestPool: buffers are reused, their sum is limited, and unneeded ones are freed.
func TestPool(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-11")
	var p Pool
	p.SetLimit(4 * maxPayload)
	if p.Get(0) != nil {
		t.Error("a buffer for nothing")
	}
	for _, size := range []int{1, Page, Page + 1, 100_000, maxPayload} {
		b := p.Get(size)
		if len(b) < size || len(b) != memoryOf(size) {
			t.Errorf("%d bytes in a buffer of %d", size, len(b))
		}
		p.Put(b)
		if again := p.Get(size); &again[0] != &b[0] {
			t.Errorf("a buffer of %d bytes was not used again", size)
		} else {
			p.Put(again)
		}
	}
	var all [][]byte
	for range 4 {
		all = append(all, p.Get(maxPayload))
	}
	if got := p.Bytes(); got != 4*maxPayload {
		t.Errorf("%d bytes with a limit of %d", got, 4*maxPayload)
	}
	for _, b := range all {
		p.Put(b)
	}
	p.Put(p.Get(maxPayload))
	if !p.Trim() || p.Bytes() != 4*maxPayload {
		t.Errorf("buffers that were in use since the last look are gone: %d bytes", p.Bytes())
	}
	p.Put(p.Get(maxPayload))
	p.Trim()
	if got := p.Bytes(); got != maxPayload {
		t.Errorf("%d bytes after a time in which one buffer was needed", got)
	}
	if p.Trim() {
		t.Errorf("%d bytes after a time in which none was needed", p.Bytes())
	}
}

// TestConfig checks that invalid numbers are refused.
func TestConfig(t *testing.T) {
	t.Parallel()
	for _, c := range []Config{{Tiny: -1}, {Small: -1}, {Large: -1}, {Tiny: 1<<20 + 1}, {Small: 1 << 60}, {Large: 1<<20 + 1}, {Memory: -1}, {Memory: maxPayload}} {
		if err := c.Validate(); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if err := (Config{}).Validate(); err != nil {
		t.Error(err)
	}
}
