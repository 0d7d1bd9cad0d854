package engine_test

import (
	"testing"

	"ulnet/lnd/capture"
	"ulnet/lnd/capture/capturetest"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/selftest/engine"
	"ulnet/lnet/selftest/wire"
	lnetwire "ulnet/lnet/wire"
)

// TestPattern: data that Fill wrote are good for each check; a changed byte is found where the
// check looks, and nowhere else.
func TestPattern(t *testing.T) {
	spec.Covers(t, "ST-15")
	for _, length := range []int{8, 4088, 4096, 4104, 3 * 4096, 12280} {
		for _, check := range []wire.Check{wire.CheckSimple, wire.CheckFull} {
			b := make([]byte, length)
			engine.Fill(b, check)
			if !engine.Verify(b, wire.CheckSimple, false) || !engine.Verify(b, wire.CheckFull, false) {
				t.Errorf("%d bytes of %v are damaged", length, check)
			}
			if engine.Verify(b, check, true) {
				t.Errorf("%d bytes of %v are good in the other byte order", length, check)
			}
			for at := range b {
				b[at] ^= 0x10
				page := min(at/4096*4096+4096, length)
				edge := at%4096 < 8 || at >= page-8
				if good := engine.Verify(b, check, false); good != (check == wire.CheckSimple && !edge) || !engine.Verify(b, wire.CheckNone, false) {
					t.Errorf("%d bytes, check %v: the change at %d gives %t", length, check, at, good)
				}
				b[at] ^= 0x10
			}
		}
	}
	none := make([]byte, 16)
	if engine.Fill(none, wire.CheckDiscard); none[0] != 0 || engine.Verify(none, wire.CheckFull, false) || !engine.Verify(none[:7], wire.CheckFull, false) {
		t.Errorf("% x", none)
	}
}

// TestSwappedPattern: a sender of the other byte order writes the magic in its own.
func TestSwappedPattern(t *testing.T) {
	spec.Covers(t, "ST-15")
	b := []byte{0xee, 0xb0, 0xee, 0xb1, 0xee, 0xb2, 0xee, 0xb3}
	if !engine.Verify(b, wire.CheckFull, true) || engine.Verify(b, wire.CheckFull, false) {
		t.Error("the magic of a big-endian sender")
	}
}

// TestRecordedPattern: the bulk data of kernel nodes pass the check that their request names.
func TestRecordedPattern(t *testing.T) {
	spec.Covers(t, "ST-15")
	checked := 0
	for _, file := range []string{"captures2/tcp-lst-console.pcap.gz", "captures2/tcp-mr-two-rails.pcap.gz", "captures2/tcp-route-basic-near.pcap.gz"} {
		checks := map[uint64]wire.Check{}
		sinks := map[lnetwire.MDHandle]wire.Check{}
		capturetest.Decode(t, recordings+file, func(r *capture.Record) {
			if r.Kind != capture.Message {
				return
			}
			check, data := wire.Check(0), false
			switch r.Header.Type {
			case lnetwire.Put:
				if m, err := wire.ParseMessage(r.Payload); err == nil {
					if b, ok := m.Body.(*wire.BRW); ok {
						checks[b.BulkID] = b.Check
					}
					return
				}
				check, data = checks[r.Header.Put().MatchBits]
			case lnetwire.Get:
				if c, ok := checks[r.Header.Get().MatchBits]; ok {
					sinks[r.Header.Get().ReturnMD] = c
				}
			case lnetwire.Reply:
				check, data = sinks[r.Header.Reply().DstMD]
			}
			if data {
				checked++
				if !engine.Verify(r.Payload, check, false) {
					t.Errorf("%s, frame %d: %d bytes do not pass check %v", file, r.Frame, len(r.Payload), check)
				}
			}
		})
	}
	if checked < 10 {
		t.Errorf("%d bulk data", checked)
	}
}
