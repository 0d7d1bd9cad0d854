package socklnd

import (
	"bytes"
	"fmt"
	"testing"
)

func TestExchange(t *testing.T) {
	for _, size := range []int{0, 1, 8, 900, 1024, 4096, 65536, 1 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			f := newTCPFabric()
			a := start(t, "127.0.0.1", f.config(Config{}))
			b := start(t, "127.0.0.2", f.config(Config{}))
			payload := pattern(size)
			for i := range 20 {
				a.put(b.id(), payload[:size/2], payload[size/2:])
				got := b.wantArrivals(i + 1)[i]
				if got.from != a.id() || !bytes.Equal(got.payload, payload) {
					t.Fatalf("arrival %d from %v: payload differs", i, got.from)
				}
				b.put(a.id(), payload)
				a.wantArrivals(i + 1)
			}
			for _, err := range append(a.wantFinalized(20), b.wantFinalized(20)...) {
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// pattern returns n bytes that differ from their neighbours.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return b
}

// TestBothDial lets two nodes begin at the same moment: the connections of the
// higher NID win, and every message arrives.
func TestBothDial(t *testing.T) {
	for range 20 {
		f := newTCPFabric()
		a := start(t, "127.0.0.1", f.config(Config{}))
		b := start(t, "127.0.0.2", f.config(Config{}))
		go a.put(b.id(), pattern(8))
		go b.put(a.id(), pattern(8))
		a.wantArrivals(1)
		b.wantArrivals(1)
		a.wantFinalized(1)
		b.wantFinalized(1)
		a.stop()
		b.stop()
	}
}
