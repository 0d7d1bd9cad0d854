//go:build ibverbs && cgo && linux

package ibv

import (
	"net"
	"net/netip"
	"os"
	"testing"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/verbstest"
	"ulnet/lnet/machine"
)

// TestOnFakeContract runs the contract of verbs on the fake.
func TestOnFakeContract(t *testing.T) {
	fake(t)
	contract(t, netip.MustParseAddr("127.0.0.2"), netip.MustParseAddr("127.0.0.3"))
}

// TestContract runs the contract of verbs on the RDMA devices of this machine, including
// those of rdma_rxe.
func TestContract(t *testing.T) {
	if os.Getenv(fakeEnv) != "" {
		t.Skip("this is the fake")
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	var found []netip.Addr
	for _, a := range all {
		prefix, err := netip.ParsePrefix(a.String())
		if err != nil || prefix.Addr().IsLoopback() || len(found) == 1 && found[0].Is4() != prefix.Addr().Is4() {
			continue
		}
		d, err := Open(verbs.OpenConfig{Addr: prefix.Addr(), Clock: machine.RealClock()})
		if err != nil {
			t.Log(err)
			continue
		}
		_ = d.Close()
		found = append(found, prefix.Addr())
	}
	if len(found) < 2 {
		t.Skipf("%d addresses of this machine are at an RDMA device, the contract needs 2 (any kernel with rdma_rxe has them: "+
			"rdma link add rxe0 type rxe netdev eth0; ip address add ... dev eth0)", len(found))
	}
	contract(t, found[0], found[1])
}

func contract(t *testing.T, addrs ...netip.Addr) {
	verbstest.Run(t, verbstest.Harness{Open: func(t testing.TB) (devices [2]verbs.Device) {
		for i := range devices {
			d, err := Open(verbs.OpenConfig{Addr: addrs[i], Clock: machine.RealClock()})
			if err != nil {
				t.Fatal(err)
			}
			devices[i] = d
		}
		return devices
	}})
}
