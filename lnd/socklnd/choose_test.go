package socklnd

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"
	"testing/synctest"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/wire"
)

// TestChoice (SK-15): messages smaller than min_bulk leave on CONTROL, larger ones on BULK_OUT,
// priority messages on BULK_IN.
func TestChoice(t *testing.T) {
	spec.Covers(t, "SK-15")
	const headers = ksock.MsgHeaderSize + wire.HeaderSize
	for _, tt := range []struct {
		name     string
		size     int
		priority bool
		want     func(k *kernel) *probe // BULK_IN on the peer's side is BULK_OUT on ours
	}{
		{"header only", 0, false, func(k *kernel) *probe { return k.control }},
		{"1023 bytes", 1023 - headers, false, func(k *kernel) *probe { return k.control }},
		{"1024 bytes", 1024 - headers, false, func(k *kernel) *probe { return k.bulkIn }},
		{"1 MiB", 1 << 20, false, func(k *kernel) *probe { return k.bulkIn }},
		{"priority", 0, true, func(k *kernel) *probe { return k.bulkOut }},
		{"1 MiB priority", 1 << 20, true, func(k *kernel) *probe { return k.bulkOut }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h, k := established(t, Config{})
				m := newPut(h.id(), probeID, pattern(tt.size))
				m.Priority = tt.priority
				h.ni.Send(m)
				p := tt.want(k)
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

// TestPriorityPasses: priority messages go ahead of small ones that the peer does not read.
func TestPriorityPasses(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, k := established(t, Config{})
		var order []uint64
		for i := range uint64(4) {
			m := newPut(h.id(), probeID, pattern(8))
			m.Header.SetPut(wire.PutCmd{AckMD: wire.NoHandle(), MatchBits: i})
			m.Priority = i == 3
			h.ni.Send(m)
			synctest.Wait() // after the first message: wait until it is being written
		}
		for _, p := range []*probe{k.bulkOut, k.control, k.control, k.control} {
			b := p.read(24 + 72 + 8)
			order = append(order, binary.LittleEndian.Uint64(b[24+48:]))
		}
		if fmt.Sprint(order) != "[3 0 1 2]" {
			t.Errorf("order %v", order)
		}
	})
}
