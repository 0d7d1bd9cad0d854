package nid_test

import (
	"fmt"
	"testing"

	"ulnet/lnet/nid"
)

// TestNetTypes goes through the whole table of network types: number, name,
// and how an address is written.
func TestNetTypes(t *testing.T) {
	tests := []struct {
		typ    nid.NetType
		number uint8
		name   string
		text   string // text of the NID with address 0x0A000001 in network 3
	}{
		{nid.Elan, 1, "elan", "167772161@elan3"},
		{nid.TCP, 2, "tcp", "10.0.0.1@tcp3"},
		{nid.GM, 3, "gm", "0xa000001@gm3"},
		{nid.PTL, 4, "ptl", "167772161@ptl3"},
		{nid.O2IB, 5, "o2ib", "10.0.0.1@o2ib3"},
		{nid.CIB, 6, "cib", "10.0.0.1@cib3"},
		{nid.OpenIB, 7, "openib", "10.0.0.1@openib3"},
		{nid.IIB, 8, "iib", "10.0.0.1@iib3"},
		{nid.RA, 10, "ra", "10.0.0.1@ra3"},
		{nid.VIB, 11, "vib", "10.0.0.1@vib3"},
		{nid.MX, 12, "mx", "10.0.0.1@mx3"},
		{nid.GNI, 13, "gni", "167772161@gni3"},
		{nid.GIP, 14, "gip", "10.0.0.1@gip3"},
		{nid.PTLF, 15, "ptlf", "167772161@ptlf3"},
		{nid.KFI, 16, "kfi", "167772161@kfi3"},
		{nid.EFA, 18, "efa", "10.0.0.1@efa3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if uint8(tt.typ) != tt.number || tt.typ.String() != tt.name {
				t.Errorf("type %d %q, want %d %q", tt.typ, tt.typ, tt.number, tt.name)
			}
			n := nid.From4(uint64(tt.number)<<48 | 3<<32 | 0x0A000001)
			if got := n.String(); got != tt.text {
				t.Errorf("String = %q, want %q", got, tt.text)
			}
			back, err := nid.Parse(tt.text)
			if err != nil || back != n {
				t.Errorf("Parse(%q) = %v, %v, want %v", tt.text, back, err, n)
			}
			for _, num := range []uint16{0, 1, 65535} {
				text := tt.name
				if num != 0 {
					text = fmt.Sprint(tt.name, num)
				}
				net, err := nid.ParseNet(text)
				if err != nil || net != nid.MakeNet(tt.typ, num) || net.String() != text {
					t.Errorf("ParseNet(%q) = %v, %v", text, net, err)
				}
			}
		})
	}
}

func TestTypesWithoutText(t *testing.T) {
	tests := []struct {
		typ       nid.NetType
		name, net string
	}{
		{0, "?0?", "<0:7>"},
		{nid.Tofu, "?17?", "<17:7>"},
		{nid.BXI3, "?19?", "<19:7>"},
		{20, "?20?", "<20:7>"},
		{254, "?254?", "<254:7>"},
	}
	for _, tt := range tests {
		net := nid.MakeNet(tt.typ, 7)
		if tt.typ.String() != tt.name || net.String() != tt.net {
			t.Errorf("type %d: %q, net %q, want %q, %q", uint8(tt.typ), tt.typ, net, tt.name, tt.net)
		}
		if back, err := nid.ParseNet(tt.net); err != nil || back != net {
			t.Errorf("ParseNet(%q) = %v, %v", tt.net, back, err)
		}
	}
}
