package shell

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
)

var errRefused = errors.New("refused")

// refuse returns a Chooser that refuses the addresses for which wrong returns true.
func refuse(wrong func(netip.Addr) bool) Chooser {
	return Chooser{Driver: "lnd", None: errors.New("none"), Refuse: func(a netip.Addr) error {
		if wrong(a) {
			return errRefused
		}
		return nil
	}}
}

var (
	beyondLink = refuse(netip.Addr.IsLinkLocalUnicast)
	only4      = refuse(netip.Addr.Is6)
	nothing    = refuse(netip.Addr.IsValid)
)

func TestChoose(t *testing.T) {
	if a, err := only4.Choose("::ffff:10.0.0.1"); err != nil || a != netip.MustParseAddr("10.0.0.1") {
		t.Errorf("an IPv4 address as IPv6: %v, %v", a, err)
	}
	if a, err := only4.Choose("fd88::1"); !errors.Is(err, errRefused) || a.IsValid() {
		t.Errorf("an address that is refused: %v, %v", a, err)
	}
	if a, err := beyondLink.Choose("no-such-interface"); err == nil || errors.Is(err, beyondLink.None) || !strings.HasPrefix(err.Error(), "lnd: interface no-such-interface: ") {
		t.Errorf("an interface that does not exist: %v, %v", a, err)
	}
	for _, name := range []string{"", loopback(t)} {
		if a, err := nothing.Choose(name); !errors.Is(err, nothing.None) {
			t.Errorf("%q without an address that makes a NID: %v, %v", name, a, err)
		}
	}
	if a, err := only4.Choose(loopback(t)); err != nil || !a.IsLoopback() {
		t.Errorf("the loopback by name: %v, %v", a, err)
	}
	if a, err := only4.Choose(""); err == nil && a.IsLoopback() {
		t.Errorf("the loopback without a name: %v", a)
	}
}

func loopback(t *testing.T) string {
	t.Helper()
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		if all[i].Flags&net.FlagLoopback != 0 {
			return all[i].Name
		}
	}
	t.Fatal("no loopback")
	return ""
}

func TestPick(t *testing.T) {
	for _, tt := range []struct {
		name    string
		chooser Chooser
		addrs   []string
		want    string // address wanted; empty: none is found
	}{
		{"none", beyondLink, nil, ""},
		{"IPv4", beyondLink, []string{"10.0.0.1/24", "10.0.0.2/24"}, "10.0.0.1"},
		{"IPv6", beyondLink, []string{"fd88::1/64", "fd88::2/64"}, "fd88::1"},
		{"of the link", beyondLink, []string{"fe80::1/64"}, ""},
		{"of the link first", beyondLink, []string{"fe80::1/64", "fd88::1/64"}, "fd88::1"},
		{"IPv4 after IPv6", beyondLink, []string{"fe80::1/64", "fd88::1/64", "10.0.0.1/24"}, "10.0.0.1"},
		{"IPv4 alone", only4, []string{"fd88::1/64", "10.0.0.1/24", "10.0.0.2/24"}, "10.0.0.1"},
		{"no IPv4", only4, []string{"fd88::1/64"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var addrs []netip.Addr
			for _, a := range tt.addrs {
				addrs = append(addrs, netip.MustParsePrefix(a).Addr())
			}
			var want netip.Addr
			if tt.want != "" {
				want = netip.MustParseAddr(tt.want)
			}
			if got := tt.chooser.pick(addrs); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}
