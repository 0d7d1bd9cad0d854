package portals_test

import (
	"errors"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// TestFailedPut: FailNID makes one Put or Get return EIO. That call causes no event, and does not
// count against the MD's threshold of 1: the next call with the same MD succeeds.
func TestFailedPut(t *testing.T) {
	for name, c := range map[string]struct {
		call func(h *harness, md portals.MDHandle) error
		want []string // expected events of a call that does not fail
	}{
		"Put": {func(h *harness, md portals.MDHandle) error {
			return h.Put(portals.PutRequest{MD: md, Target: h.self, Portal: 5})
		}, []string{"SEND!"}},
		"Get": {func(h *harness, md portals.MDHandle) error {
			return h.Get(portals.GetRequest{MD: md, Target: h.self, Portal: 5})
		}, []string{"SEND!"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			var events log
			md := h.bind(portals.MD{Threshold: 1, Handler: events.handle})
			if err := h.Node().FailNID(h.self.NID, 1); err != nil {
				t.Fatal(err)
			}
			if err := c.call(h, md); !errors.Is(err, syscall.EIO) {
				t.Errorf("error %v, want EIO", err)
			}
			if s := h.Node().Stats(); len(events.events) != 0 || s.MsgsMax != 0 || s.Errors != 0 {
				t.Errorf("events %v, counters %+v", events.take(), s)
			}
			if err := c.call(h, md); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(c.want, events.take()); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFailedSource: FailNID makes a NID fail for two messages. These are dropped: a PUT from that NID, and an ACK. The
// dropped ACK does not end this node's PUT: the ACK that comes after the failure is taken.
func TestFailedSource(t *testing.T) {
	table, net := newWire(t)
	h := &harness{Table: table, t: t}
	var target, initiator log
	h.post(5, portals.Match{Bits: 1}, portals.MD{
		Segments: []lnd.Segment{make([]byte, 8)}, Threshold: 1, Options: portals.OpPut, Handler: target.handle,
	})
	md := h.bind(portals.MD{Threshold: 2, Handler: initiator.handle})
	if err := h.Put(portals.PutRequest{MD: md, Ack: true, Target: there, Portal: 1}); err != nil {
		t.Fatal(err)
	}
	net.finalize(net.next(), nil)
	if err := h.Node().FailNID(there.NID, 2); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, err := range []error{
			net.arrive(putHeader(8, wire.PutCmd{AckMD: wire.NoHandle(), Portal: 5, MatchBits: 1}), nil),
			net.arrive(ackHeader(handle(md), 0), nil),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if drops := h.drops()["simulated failure"]; drops != 2 {
			t.Errorf("%d drops, want 2", drops)
		}
	}
	if diff := cmp.Diff([][]string{{"PUT!"}, {"SEND", "ACK!"}}, [][]string{target.take(), initiator.take()}); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
