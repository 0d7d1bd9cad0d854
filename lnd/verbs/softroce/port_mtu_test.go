package softroce

import (
	"net/netip"
	"testing"
)

// TestPortMTU: a port finds its interface again after the address has moved to another one, and does not guess the MTU
// while no interface has the address.
func TestPortMTU(t *testing.T) {
	p := new(udpPort)
	p.attr.Local = netip.MustParseAddrPort("127.0.0.7:4791")
	want := p.MTU()
	lo := p.by.Load()
	for _, before := range []int64{lo, 1 << 30, 0} {
		p.by.Store(before)
		if got := p.MTU(); got != want || got == 0 || p.by.Load() != lo {
			t.Errorf("from interface %d: an MTU of %d by interface %d, want %d by %d", before, got, p.by.Load(), want, lo)
		}
	}
	p.attr.Local = netip.MustParseAddrPort("192.0.2.1:4791") // reserved for documentation (RFC 5737)
	if got := p.MTU(); got != 0 {
		t.Errorf("an MTU of %d without an interface", got)
	}
}
