package o2iblnd

import (
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnet/nid"
)

// TestMulticastFollowsMTU: the limit for datagrams to a group follows the present MTU of the sender, but never exceeds the
// limit at the start. A node that joins a group while its own MTU is small gets the longest datagrams when it is large again.
func TestMulticastFollowsMTU(t *testing.T) {
	v, mtus := narrowingPair(t)
	ni := v.nis[0]
	most := ni.MulticastLimits().MaxPayload
	follow := func(mtu int) int {
		mtus[0] = mtu
		ni.LinkUp()
		return ni.MulticastLimits().MaxPayload
	}
	if got := follow(1500); got != 1024-kib.DatagramOverhead {
		t.Errorf("%d bytes in packets of 1024", got)
	}
	if err := ni.Join(5); err != nil {
		t.Fatal(err)
	}
	if got := follow(12000); got != most {
		t.Errorf("%d bytes with a large MTU, %d at the start", got, most)
	}
	v.nis[1].Multicast(castMessage(v.nis[1], 5, make([]byte, most)))
	v.until("a long datagram", time.Second, func(s *sink) bool { return s.arrived == 1 }, v.ups[0])
	for i := range v.nis {
		v.shut(i)
	}
}

// TestMulticastOfLaterNet: a net is added while the interface, which another net uses already, has a small MTU. When the
// interface has its former MTU again, the limit of the later net is the same as that of the first, and it gets the longest datagrams.
func TestMulticastOfLaterNet(t *testing.T) {
	v, mtus := narrowingPair(t)
	most := v.nis[0].MulticastLimits().MaxPayload
	mtus[0] = 1500
	v.nis[0].LinkUp()
	net := nid.MakeNet(nid.O2IB, 1)
	var later [2]*NI
	ups := [2]*sink{new(sink), new(sink)}
	for i, ni := range v.nis {
		l, err := ni.acceptor.driver.Startup(lnd.Config{Net: net, Interface: ni.addr.String(), Incarnation: uint64(i + 1), Clock: v.clock}, ups[i])
		if err != nil {
			t.Fatal(err)
		}
		later[i] = l.(*NI)
	}
	if got := later[0].MulticastLimits().MaxPayload; got != 1024-kib.DatagramOverhead {
		t.Errorf("%d bytes in packets of 1024", got)
	}
	if err := later[0].Join(5); err != nil {
		t.Fatal(err)
	}
	mtus[0] = 9000
	for _, ni := range []*NI{v.nis[0], later[0]} {
		ni.LinkUp()
		if got := ni.MulticastLimits().MaxPayload; got != most {
			t.Errorf("%v: %d bytes with the MTU of the start, %d then", ni.nid, got, most)
		}
	}
	later[1].Multicast(castMessage(later[1], 5, make([]byte, most)))
	v.until("a long datagram", time.Second, func(s *sink) bool { return s.arrived == 1 }, ups[0])
	for i := range v.nis {
		shut(later[i])
		v.shut(i)
	}
}
