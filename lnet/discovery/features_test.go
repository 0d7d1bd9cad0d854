package discovery_test

import (
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/discovery"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// TestFeatures (PD-1): the feature bits and the length of ping infos are those of kernel
// nodes with the same NIs.
func TestFeatures(t *testing.T) {
	spec.Covers(t, "PD-1")
	for name, c := range map[string]struct {
		ids  []string
		off  bool
		want wire.Features
		size int
	}{
		"IPv4":              {[]string{nidA}, false, 0x1E, 48},
		"IPv4, off":         {[]string{nidA}, true, 0x0E, 48},
		"IPv6":              {[]string{"fd88::2@tcp"}, false, 0x7E, 56},
		"IPv4, then IPv6":   {[]string{nidA, "fd88::2@tcp"}, false, 0x3E, 72},
		"three nets":        {[]string{nidA, "10.99.7.1@tcp5", "10.0.0.1@tcp6"}, false, 0x1E, 80},
		"loopback and more": {nil, false, 0x1E, 32},
	} {
		t.Run(name, func(t *testing.T) {
			n := newCable(t).node(discovery.Config{Off: c.off}, c.ids...)
			b, err := n.agent.Info().AppendBinary(nil)
			if err != nil {
				t.Fatal(err)
			}
			info, _, err := wire.ParsePingInfo(b)
			if err != nil || info.Features != c.want || len(b) != c.size || info.Sequence != uint32(1+len(c.ids)) {
				t.Errorf("%d bytes, features %#x, sequence %d, %v; want %d bytes, %#x, %d",
					len(b), uint32(info.Features), info.Sequence, err, c.size, uint32(c.want), 1+len(c.ids))
			}
		})
	}
}

// TestExchangeIPv6: nodes with large NIDs exchange the same messages as nodes with small NIDs, and the
// primary NID is the large one. A has no NI that reaches B's other NID.
func TestExchangeIPv6(t *testing.T) {
	w := newCable(t)
	a := w.node(discovery.Config{}, "fd88::2@tcp")
	w.node(discovery.Config{}, "fd88::3@tcp", "10.5.0.3@tcp5")
	a.put("fd88::3@tcp", 10)
	w.settle()
	w.want("exchange", "fd88::2@tcp GET 0 272", "fd88::3@tcp REPLY 72", "fd88::2@tcp PUT 0 56",
		"fd88::3@tcp PUT 0 72", "fd88::3@tcp ACK", "fd88::2@tcp ACK", "fd88::2@tcp PUT 5 10")
	if p := a.table.Node().Peer(nid.MustParse("fd88::3@tcp")); p.Primary.String() != "fd88::3@tcp" || len(p.NIs) != 1 || len(p.Claimed) != 1 {
		t.Errorf("A knows %+v", p)
	}
}
