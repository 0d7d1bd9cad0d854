package socklnd

import (
	"net"
	"net/netip"
	"testing"
)

func TestLocalAddr(t *testing.T) {
	for _, text := range []string{"127.0.0.2", "fd88::1", "::1", "::ffff:10.0.0.1"} {
		if a, err := localAddr(text); err != nil || a != netip.MustParseAddr(text).Unmap() {
			t.Errorf("%s: %v, %v", text, a, err)
		}
	}
	if lo, err := net.InterfaceByIndex(1); err == nil && lo.Flags&net.FlagLoopback != 0 {
		if a, err := localAddr(lo.Name); err != nil || !a.IsLoopback() {
			t.Errorf("%s: %v, %v", lo.Name, a, err)
		}
	}
	for _, name := range []string{"fe80::1", "fe80::1%lo", "fd88::1%lo", "no-such-interface"} {
		if a, err := localAddr(name); err == nil {
			t.Errorf("%s: %v", name, a)
		}
	}
}

func TestPickAddr(t *testing.T) {
	for _, tt := range []struct {
		name  string
		addrs []string
		want  string // none if empty
	}{
		{"none", nil, ""},
		{"IPv4", []string{"10.0.0.1/24", "10.0.0.2/24"}, "10.0.0.1"},
		{"IPv6", []string{"fd88::1/64", "fd88::2/64"}, "fd88::1"},
		{"of the link", []string{"fe80::1/64"}, ""},
		{"of the link first", []string{"fe80::1/64", "fd88::1/64"}, "fd88::1"},
		{"IPv4 after IPv6", []string{"fe80::1/64", "fd88::1/64", "10.0.0.1/24"}, "10.0.0.1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var addrs []net.Addr
			for _, a := range tt.addrs {
				ip, ipNet, err := net.ParseCIDR(a)
				if err != nil {
					t.Fatal(err)
				}
				addrs = append(addrs, &net.IPNet{IP: ip, Mask: ipNet.Mask})
			}
			var want netip.Addr
			if tt.want != "" {
				want = netip.MustParseAddr(tt.want)
			}
			if got := pickAddr(addrs); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}
