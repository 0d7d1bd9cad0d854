package portals_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

func TestPutWithAck(t *testing.T) {
	h := newHarness(t)
	var target, initiator log
	sink := make([]byte, 16)
	h.post(5, portals.Match{Bits: 0x99}, portals.MD{
		Segments: []lnd.Segment{sink[:4], sink[4:]}, Threshold: 1, Options: portals.OpPut, Handler: target.handle, UserPtr: "sink",
	})
	md := h.bind(portals.MD{Segments: []lnd.Segment{[]byte("payload!")}, Threshold: 2, Handler: initiator.handle, UserPtr: "source"})
	err := h.Put(portals.PutRequest{MD: md, Ack: true, Target: h.self, Portal: 5, MatchBits: 0x99, HdrData: 0xABCD})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(sink, []byte("payload!")) {
		t.Errorf("sink holds %q", sink)
	}
	if len(target.events) != 1 {
		t.Fatalf("target saw %v", target.take())
	}
	put := target.events[0]
	if got, want := string(put.Bytes()), "payload!"; got != want {
		t.Errorf("event bytes %q, want %q", got, want)
	}
	if now := h.Node().Clock().Now(); put.ReceivedAt <= 0 || put.ReceivedAt > now {
		t.Errorf("received at %v, which is %v now", put.ReceivedAt, now)
	}
	put.Segments, put.ReceivedAt = nil, 0
	want := portals.Event{
		Kind: portals.EventPut, Target: h.self, Initiator: h.self, Source: h.self, Sender: h.self.NID, Incarnation: h.Node().Incarnation(), MsgType: wire.Put,
		Portal: 5, MatchBits: 0x99, RLength: 8, MLength: 8, HdrData: 0xABCD,
		MD: put.MD, Options: portals.OpPut, UserPtr: "sink", Unlinked: true,
	}
	if diff := cmp.Diff(want, put, cmp.Comparer(sameNID)); diff != "" {
		t.Errorf("PUT event (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"SEND", "ACK!"}, initiator.take()); diff != "" {
		t.Errorf("initiator's events (-want +got):\n%s", diff)
	}
}
