package socklnd

import (
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

func TestContract(t *testing.T) {
	lndtest.Run(t, lndtest.Harness{
		Start: func(t *testing.T, a, b lnd.Upcalls) (lnd.NI, lnd.NI) {
			f := newTCPFabric()
			return startNI(t, f, "127.0.0.1", a), startNI(t, f, "127.0.0.2", b)
		},
		Unreachable: nid.MustParse("127.0.0.9@tcp"),
	})
}

func startNI(t *testing.T, f *tcpFabric, addr string, up lnd.Upcalls) lnd.NI {
	t.Helper()
	d, err := New(f.config(Config{}))
	if err != nil {
		t.Fatal(err)
	}
	ni, err := d.Startup(lnd.Config{
		Net: nid.MakeNet(nid.TCP, 0), Interface: addr, Incarnation: 1, Clock: machine.RealClock(),
	}, up)
	if err != nil {
		t.Fatal(err)
	}
	return ni
}
