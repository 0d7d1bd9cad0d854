package socklnd

import (
	"net"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// TestContract runs the suite of all drivers over each version of the protocol. Cases marked more,
// whose properties other cases have as well, run only in a long run, or with -race without -short.
func TestContract(t *testing.T) {
	for _, tt := range []struct {
		name string
		cfg  Config
		ipv6 bool
		want ksock.Version
		more bool // each of its properties is in another case as well: see TestContract
	}{
		{name: "v1", cfg: Config{Protocol: 1}, want: ksock.V1, more: true},
		{name: "v1 untyped", cfg: Config{Protocol: 1, Untyped: true}, want: ksock.V1},
		{name: "v2", cfg: Config{Protocol: 2}, want: ksock.V2, more: true},
		{name: "v2 with checksums", cfg: Config{Protocol: 2, Checksum: true}, want: ksock.V2},
		{name: "v2 untyped", cfg: Config{Untyped: true}, want: ksock.V2, more: true},
		{name: "v3", want: ksock.V3},
		{name: "v3 with checksums", cfg: Config{Checksum: true}, want: ksock.V3, more: true},
		{name: "v3 with polling", cfg: Config{BusyPoll: time.Millisecond}, want: ksock.V3},
		{name: "v4", ipv6: true, want: ksock.V4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.more && !effort.Variants() {
				t.Skip("takes a second: set ULNET_LONG=1, or use -race without -short")
			}
			if tt.ipv6 {
				needIPv6(t)
			}
			run := contract{cfg: tt.cfg, ipv6: tt.ipv6, want: tt.want}
			t.Run("version", run.testVersion)
			lndtest.Run(t, lndtest.Harness{
				Start:       func(t *testing.T, a, b lnd.Upcalls) (lnd.NI, lnd.NI) { return run.start(t, a, b) },
				Unreachable: run.unreachable(),
				Incarnation: func(ni lnd.NI) uint64 { return ni.(*NI).incarnation },
			})
		})
	}
}

// needIPv6 skips the test where the system has no IPv6.
func needIPv6(t testing.TB) {
	t.Helper()
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skipf("no IPv6: %v", err)
	}
	_ = l.Close()
}

// contract is one run of the suite lndtest.
type contract struct {
	cfg  Config
	ipv6 bool
	want ksock.Version
}

func (c contract) unreachable() nid.NID {
	if c.ipv6 {
		return nid.MustParse("fd88::9@tcp")
	}
	return nid.MustParse("127.0.0.9@tcp")
}

// config returns the configuration of the run over f. In runs with IPv6 all addresses are names for ::1,
// from which every NI dials, so source addresses cannot be checked.
func (c contract) config(f *tcpFabric) Config {
	if c.ipv6 {
		c.cfg.SourceAddress = SourceAddressOff
	}
	return f.config(c.cfg)
}

// start brings up two NIs, with two addresses of loopback or with two names for its only IPv6
// address: see tcpFabric.
func (c contract) start(t testing.TB, a, b lnd.Upcalls) (lnd.NI, lnd.NI) {
	t.Helper()
	f := newTCPFabric()
	d, err := New(c.config(f))
	if err != nil {
		t.Fatal(err)
	}
	var nis [2]lnd.NI
	for i, up := range []lnd.Upcalls{a, b} {
		cfg := lnd.Config{
			Net: nid.MakeNet(nid.TCP, 0), Interface: []string{"127.0.0.1", "127.0.0.2"}[i],
			Incarnation: uint64(i + 1), Clock: machine.RealClock(),
		}
		if c.ipv6 {
			cfg.Interface = []string{"fd88::1", "fd88::2"}[i]
		}
		if nis[i], err = d.Startup(cfg, up); err != nil {
			t.Fatal(err)
		}
	}
	return nis[0], nis[1]
}

// testVersion checks that two NIs speak the version that the run is for.
func (c contract) testVersion(t *testing.T) {
	a, b := newEcho(8), newEcho(8)
	x, y := c.start(t, a, b)
	defer x.Shutdown(t.Context())
	defer y.Shutdown(t.Context())
	id := func(ni lnd.NI) nid.ProcessID { return nid.ProcessID{NID: ni.NID(), PID: nid.LustrePID} }
	x.Send(newPut(id(x), id(y), pattern(8)))
	<-b.arrived
	for _, ni := range []lnd.NI{x, y} {
		for _, conn := range ni.(*NI).Snapshot().Peers[0].Conns {
			if conn.Version != c.want {
				t.Errorf("%v: a connection of %v, want %v", ni.NID(), conn.Version, c.want)
			}
		}
	}
}
