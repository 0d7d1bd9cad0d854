package fault

import (
	"fmt"
	"net"
	"net/netip"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest"
	"ulnet/lnd/socklnd"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// TestMulticastContract runs the suite for drivers with multicast on wrapped NIs,
// each on a node of its own.
func TestMulticastContract(t *testing.T) {
	for name, rules := range plans {
		t.Run(name, func(t *testing.T) {
			lndtest.RunMulticast(t, lndtest.MulticastHarness{Start: func(t *testing.T, ups []lnd.Upcalls) (nis []lnd.NI) {
				port := freeUDPPort(t)
				for i, up := range ups {
					d, err := socklnd.New(socklnd.Config{Accept: socklnd.AcceptNone, MulticastPort: port})
					if err != nil {
						t.Fatal(err)
					}
					cfg := lnd.Config{
						Net: nid.MakeNet(nid.TCP, 0), Interface: fmt.Sprintf("127.0.0.%d", i+1), Clock: machine.RealClock(),
					}
					nis = append(nis, startUp(t, d, planOf(t, rules), cfg, up))
				}
				return nis
			}})
		})
	}
}

func freeUDPPort(t testing.TB) uint16 {
	t.Helper()
	c, err := net.ListenUDP("udp4", &net.UDPAddr{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return netip.MustParseAddrPort(c.LocalAddr().String()).Port()
}
