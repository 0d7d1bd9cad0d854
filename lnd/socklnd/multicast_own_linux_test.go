package socklnd

import (
	"context"
	"testing"

	"ulnet/lnet/nid"
)

// TestOwnDatagrams: an NI does not receive its own datagrams to a group that it has joined, and
// does not count them as missed. Other NIs of the host receive them, and it receives the
// datagrams of those NIs.
func TestOwnDatagrams(t *testing.T) {
	a, b := newEcho(8), newEcho(8)
	port := freeUDPPort(t)
	x := startCaster(t, "127.0.0.1", a, Config{MulticastPort: port})
	y := startCaster(t, "127.0.0.2", b, Config{MulticastPort: port})
	defer func() {
		_ = x.Shutdown(context.Background())
		_ = y.Shutdown(context.Background())
	}()
	for _, ni := range []*NI{x, y} {
		if err := ni.Join(1); err != nil {
			t.Fatal(err)
		}
	}
	cast := func(from *NI, sender, receiver *echo) {
		m := newPut(nid.ProcessID{NID: from.NID(), PID: nid.LustrePID}, nid.ProcessID{NID: from.GroupNID(1), PID: nid.LustrePID}, pattern(8))
		m.Group = 1
		from.Multicast(m)
		<-sender.left
		<-receiver.arrived
	}
	for range 10 {
		cast(x, a, b)
	}
	cast(y, b, a) // if x received its own datagrams, they would have come before this one
	if n := x.counts[DatagramOwn].Load(); n != 0 {
		t.Errorf("%d datagrams came back", n)
	}
	if n := x.cast.missed.Load(); n != 0 {
		t.Errorf("%d datagrams count as missed", n)
	}
}
