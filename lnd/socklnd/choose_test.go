package socklnd

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"
	"testing/synctest"

	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/wire"
)

// TestChoice: small messages and priority on CONTROL, from min_bulk on bulk.
func TestChoice(t *testing.T) {
	const headers = ksock.MsgHeaderSize + wire.HeaderSize
	for _, tt := range []struct {
		name     string
		size     int
		priority bool
		control  bool
	}{
		{"header only", 0, false, true},
		{"1023 bytes", 1023 - headers, false, true},
		{"1024 bytes", 1024 - headers, false, false},
		{"1 MiB", 1 << 20, false, false},
		{"1 MiB priority", 1 << 20, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h, k := established(t, Config{})
				m := newPut(h.id(), probeID, pattern(tt.size))
				m.Priority = tt.priority
				h.ni.Send(m)
				p := k.bulkIn // their BULK_IN is our BULK_OUT
				if tt.control {
					p = k.control
				}
				if got := p.read(headers + tt.size); len(got) != headers+tt.size || !bytes.HasSuffix(got, pattern(tt.size)) {
					t.Errorf("read %d bytes", len(got))
				}
				if err := h.wantFinalized(1)[0]; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestPriorityPasses: in a queue priority messages go first.
func TestPriorityPasses(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, k := established(t, Config{})
		var order []uint64
		for i := range uint64(4) {
			m := newPut(h.id(), probeID, pattern(8))
			m.Header.SetPut(wire.PutCmd{AckMD: wire.NoHandle(), MatchBits: i})
			m.Priority = i == 3
			h.ni.Send(m)
			synctest.Wait() // the first is being written
		}
		for range 4 {
			b := k.control.read(24 + 72 + 8)
			order = append(order, binary.LittleEndian.Uint64(b[24+48:]))
		}
		if fmt.Sprint(order) != "[0 3 1 2]" {
			t.Errorf("order %v", order)
		}
	})
}
