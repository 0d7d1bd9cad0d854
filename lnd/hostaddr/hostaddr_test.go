package hostaddr

import (
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// TestOrder: temporary IPv6 addresses are left out, as in kernels; deprecated and tentative ones come last, and all
// others stay in the order of the system, IPv4 addresses among them. If two interfaces have the same address, its flags
// are those that it has at the interface in question.
func TestOrder(t *testing.T) {
	const file = `fd00000000000000a1b2c3d4e5f60718 02 40 00 01     eth0
fd0000000000000002163efffe000001 02 40 00 20     eth0
fd000000000000000000000000000007 02 40 00 40     eth0
fd000000000000000000000000000009 02 40 00 80     eth0
fd000000000000000000000000000009 03 40 00 01     eth1
fe8000000000000002163efffe000001 02 40 20 80     eth0
not a line of the file
fd00 02 40 00 01 eth0
fd00000000000000000000000000000g 02 40 00 01 eth0
00000000000000000000000000000001 01 80 10 80       lo
`
	var addrs []netip.Addr
	for _, a := range []string{"10.0.0.7", "fd00::a1b2:c3d4:e5f6:718", "fd00::216:3eff:fe00:1", "fd00::7", "fd00::9", "fe80::216:3eff:fe00:1", "10.0.0.8"} {
		addrs = append(addrs, netip.MustParseAddr(a))
	}
	want := []netip.Addr{addrs[0], addrs[4], addrs[5], addrs[6], addrs[2], addrs[3]}
	if got := order(slices.Clone(addrs), flags(strings.NewReader(file), 2)); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := order(slices.Clone(addrs), flags(strings.NewReader(""), 2)); !slices.Equal(got, addrs) {
		t.Errorf("without flags %v, want %v", got, addrs)
	}
}

// TestOf: the loopback has the address 127.0.0.1, and an interface that does not exist has none.
func TestOf(t *testing.T) {
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		if addrs := Of(&all[i]); all[i].Flags&net.FlagLoopback != 0 && !slices.Contains(addrs, netip.MustParseAddr("127.0.0.1")) {
			t.Errorf("%s: %v", all[i].Name, addrs)
		}
	}
	if addrs := Of(&net.Interface{Index: 1 << 30, Name: "no-such"}); len(addrs) > 0 {
		t.Error(addrs)
	}
}
