package socklnd

import (
	"fmt"
	"net"
	"net/netip"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest"
	"ulnet/lnd/lndtest/netlab"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// freeUDPPort returns a free port. Several sockets may be bound to it then.
func freeUDPPort(t testing.TB) uint16 {
	t.Helper()
	c, err := net.ListenUDP("udp4", &net.UDPAddr{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return addrPort(c.LocalAddr()).Port()
}

// TestMulticastContract runs the suite for drivers with multicast (RM-25), on addresses of
// the loopback, which receive each other's datagrams as daemons of one host do.
func TestMulticastContract(t *testing.T) {
	spec.Covers(t, "RM-25")
	lndtest.RunMulticast(t, lndtest.MulticastHarness{
		Start: func(t *testing.T, ups []lnd.Upcalls) (nis []lnd.NI) {
			port := freeUDPPort(t)
			for i, up := range ups {
				nis = append(nis, startCaster(t, fmt.Sprintf("127.0.0.%d", i+1), up, Config{MulticastPort: port}))
			}
			return nis
		},
	})
}

// startCaster starts an NI without a listener.
func startCaster(t testing.TB, addr string, up lnd.Upcalls, cfg Config) *NI {
	t.Helper()
	cfg.Accept = AcceptNone
	d, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ni, err := d.Startup(lnd.Config{Net: nid.MakeNet(nid.TCP, 0), Interface: addr, Clock: machine.RealClock()}, up)
	if err != nil {
		t.Fatal(err)
	}
	return ni.(*NI)
}

// inHost is an NI in a namespace, where it opens its sockets.
type inHost struct {
	*NI
	host *netlab.Host
}

func (n inHost) Join(g lnd.Group) (err error) {
	_ = n.host.Do(func() error {
		err = n.NI.Join(g)
		return nil
	})
	return err
}

func (n inHost) Multicast(m *lnd.Message) {
	_ = n.host.Do(func() error {
		n.NI.Multicast(m)
		return nil
	})
}

// TestMulticastOverBridge runs the suite for drivers with multicast (RM-25) between hosts at a switch,
// over IPv4 and IPv6.
func TestMulticastOverBridge(t *testing.T) {
	spec.Covers(t, "RM-25")
	for name, format := range map[string]string{"IPv4": "10.9.0.%d/24", "IPv6": "fd09::%d/64"} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name == "IPv4" {
				t.Skip("IPv4 runs on the loopback, too")
			}
			lndtest.RunMulticast(t, lndtest.MulticastHarness{
				Start: func(t *testing.T, ups []lnd.Upcalls) (nis []lnd.NI) {
					lab := netlab.New(t)
					bridge := lab.Switch("bridge")
					for i, up := range ups {
						host := lab.Host(fmt.Sprint(i))
						addr := netip.MustParsePrefix(fmt.Sprintf(format, i+1))
						lab.Cable(bridge, "", host, addr.String())
						var ni *NI
						_ = host.Do(func() error {
							ni = startCaster(t, addr.Addr().String(), up, Config{})
							return nil
						})
						nis = append(nis, inHost{ni, host})
					}
					return nis
				},
			})
		})
	}
}
