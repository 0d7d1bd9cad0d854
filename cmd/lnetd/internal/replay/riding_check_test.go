package replay

import (
	"testing"

	"ulnet/lnd/capture"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/wire"
)

// TestTakeAck: a zero-copy ACK that comes in a message replaces the recorded NOOP with the same
// cookie, and no other NOOP.
func TestTakeAck(t *testing.T) {
	message := func(cookie uint64) *capture.Record {
		r := &capture.Record{Kind: capture.Message, Framed: true, Ksock: ksock.MsgHeader{Type: ksock.LNet, Cookies: [2]uint64{0, cookie}}}
		r.Header.SetPut(wire.PutCmd{Portal: 52})
		r.Raw, _ = r.AppendBinary(nil)
		return r
	}
	noop := &capture.Record{Kind: capture.Noop, Framed: true, Ksock: ksock.NewNoop(7)}
	for _, tt := range []struct {
		name     string
		recorded *capture.Record // the message in the recording
		cookie   uint64          // cookie of the zero-copy ACK in the node's message
		left     uint64
		early    bool
	}{
		{"rides", message(0), 7, 0, true},
		{"another", message(0), 8, 8, false},
		{"none", message(0), 0, 0, false},
		{"as recorded", message(7), 7, 7, false},
	} {
		events := []Event{{Kind: Data, Record: noop}, {Kind: Data, Record: tt.recorded}}
		if tt.recorded.Ksock.Cookies[1] != 0 {
			events[0], events[1] = events[1], events[0]
		}
		p := &Player{events: events, early: map[int]bool{}}
		got := p.takeAck(0, message(tt.cookie))
		if got.Ksock.Cookies[1] != tt.left || p.early[0] != tt.early {
			t.Errorf("%s: cookie %d is left, early %v", tt.name, got.Ksock.Cookies[1], p.early)
		}
		if again, _ := got.AppendBinary(nil); string(again) != string(got.Raw) {
			t.Errorf("%s: the bytes are others than the fields", tt.name)
		}
	}
}
