package softroce

import (
	"net/netip"
	"testing"
	"time"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/softroce/emulator"
	"ulnet/lnd/verbs/softroce/wire"
)

// TestNoRoom: when the system has no room for a burst the device does not try the bursts
// behind it, each of which would wait for room. These are counted, too, and retransmitted.
func TestNoRoom(t *testing.T) {
	v := newVirtual(t, 1, emulator.Faults{Delay: 10 * time.Microsecond})
	n := &narrow{Network: v.net, room: 1000, refuse: wire.ErrFull}
	var nodes [2]*testNode
	for i, a := range []string{"10.0.0.1", "10.0.0.2"} {
		nodes[i] = openNode(t, NewOpener(Options{Network: n}), verbs.OpenConfig{Addr: netip.MustParseAddr(a), Clock: v.clock})
	}
	nodes[1].listen()
	c, err := nodes[0].device.Connect(addrPort(nodes[1].device), nodes[0].config(), nodes[0].event)
	if err != nil {
		t.Fatal(err)
	}
	v.clock.Run(time.Second)
	memory := make([]byte, 60_000)
	target, err := nodes[1].pd.Register([][]byte{memory}, both)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Deregister()
	n.room = 0
	if err := c.PostSend([]verbs.SendWR{
		{Op: verbs.Write, RKey: target.RKey(), Remote: target.Frags(nil)[0], Pieces: []verbs.SGE{{Bytes: make([]byte, 60_000)}}}, send(1, nil),
	}); err != nil {
		t.Fatal(err)
	}
	if s := nodes[0].device.(*device).hub.stats(); n.refused != 1 || s.Full < 2 || s.Full != s.Unsent {
		t.Errorf("the system was asked %d times, %+v", n.refused, s)
	}
	n.room = 1000
	v.clock.Run(2 * time.Second)
	if len(nodes[1].got) != 1 || len(nodes[0].done) != 1 {
		t.Error("it did not arrive")
	}
}
