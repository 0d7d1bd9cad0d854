package o2iblnd

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/netip"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest"
	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/softroce"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// caster is the multicast half of an NI, with a device of its own.
type caster struct {
	*NI
	dev verbs.Device
}

// Shutdown implements lnd.NI.
func (c caster) Shutdown(ctx context.Context) error {
	return errors.Join(c.cast.shutdown(ctx), c.dev.Close())
}

func startCaster(t testing.TB, addr netip.Addr, net nid.Net, up lnd.Upcalls, cfg Config) caster {
	t.Helper()
	cfg.Open = softroce.Open
	d, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	dev, err := cfg.Open(verbs.OpenConfig{Addr: addr, Clock: machine.RealClock(), ReceiveBuffer: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	c := caster{&NI{cfg: d.cfg, nid: nid.FromAddr(net, addr), up: up}, dev}
	c.cast.init(c.NI, dev, machine.RealClock())
	return c
}

// loopbackAddrs returns addresses of the loopback that other tests on this machine
// are not likely to use: one after the other.
func loopbackAddrs(n int) (list []netip.Addr) {
	a := netip.AddrFrom4([4]byte{127, byte(1 + rand.IntN(250)), byte(rand.Uint32()), byte(1 + rand.IntN(200))})
	for ; len(list) < n; a = a.Next() {
		list = append(list, a)
	}
	return list
}

// randomBase returns where groups are that other tests are not likely to use.
func randomBase() netip.Addr { return netip.AddrFrom4([4]byte{239, byte(1 + rand.IntN(250)), 0, 0}) }

// TestMulticastContract runs the suite of those who have multicast (RM-A22) over
// software RoCE, on addresses of the loopback.
func TestMulticastContract(t *testing.T) {
	lndtest.RunMulticast(t, lndtest.MulticastHarness{
		Start: func(t *testing.T, ups []lnd.Upcalls) (nis []lnd.NI) {
			base := randomBase()
			for i, addr := range loopbackAddrs(len(ups)) {
				nis = append(nis, startCaster(t, addr, nid.MakeNet(nid.O2IB, 0), ups[i], Config{MulticastBase: base}))
			}
			return nis
		},
	})
}
