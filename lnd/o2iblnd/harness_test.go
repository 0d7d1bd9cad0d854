package o2iblnd

import (
	"net/netip"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/softroce"
	"ulnet/lnd/verbs/softroce/emulator"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// start brings up an NI at an address of the loopback, over software RoCE.
func start(t testing.TB, addr netip.Addr, open verbs.Opener, cfg Config, up lnd.Upcalls, tweaks ...func(*lnd.Config)) *NI {
	t.Helper()
	cfg.Open = open
	d, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	c := lnd.Config{
		Net: nid.MakeNet(nid.O2IB, 0), Interface: addr.String(), Incarnation: uint64(addr.As4()[3]),
		Clock: machine.RealClock(),
	}
	for _, tweak := range tweaks {
		tweak(&c)
	}
	ni, err := d.Startup(c, up)
	if err != nil {
		t.Fatal(err)
	}
	return ni.(*NI)
}

// TestContractBadWire runs the suite of all drivers (lndtest) over a wire that loses, repeats and
// reorders one percent of the packets each.
func TestContractBadWire(t *testing.T) {
	if effort.Race && testing.Short() {
		t.Skip("left out by -race -short: the suite on a good wire, and that of softroce on a bad one, race as much")
	}
	t.Parallel()
	lndtest.Run(t, lndtest.Harness{
		Start: func(t *testing.T, a, b lnd.Upcalls) (lnd.NI, lnd.NI) {
			open := softroce.NewOpener(softroce.Options{Network: emulator.New(emulator.Config{
				Clock: machine.RealClock(), Seed: 5, Faults: emulator.Faults{Loss: 0.01, Duplicate: 0.01, Reorder: 0.01, Hold: 100 * time.Microsecond},
			})})
			at := loopbackAddrs(2)
			cfg := Config{Timeout: 20 * time.Second}
			return start(t, at[0], open, cfg, a), start(t, at[1], open, cfg, b)
		},
		Unreachable: nid.MustParse("127.255.255.253@o2ib"),
		Incarnation: stampOf,
		Await:       patient,
	})
}

func stampOf(ni lnd.NI) uint64 { return ni.(*NI).stamp }

// patient waits for cond up to twice as long as lndtest.Poll. The suite sends 32 MiB at once, which
// takes more than ten seconds on a loaded machine under the race detector.
func patient(cond func() bool) bool {
	for range 2 {
		if lndtest.Poll(cond) {
			return true
		}
	}
	return false
}

// TestContract runs the suite of all drivers (lndtest) over software RoCE on the loopback.
func TestContract(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		cfg  Config
	}{
		{"defaults", Config{}},
		{"checksums", Config{Cksum: true}},
		{"kernel's pieces", Config{WrqSGE: 2, MTU: 1024}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // each of these tests waits 5 s for a node that is not there
			// With a longer timeout a request to a missing node would fail later, too: see
			// patience.connect.
			tt.cfg.Timeout = 20 * time.Second
			lndtest.Run(t, lndtest.Harness{
				Start: func(t *testing.T, a, b lnd.Upcalls) (lnd.NI, lnd.NI) {
					at := loopbackAddrs(2)
					return start(t, at[0], softroce.Open, tt.cfg, a), start(t, at[1], softroce.Open, tt.cfg, b)
				},
				Unreachable: nid.MustParse("127.255.255.253@o2ib"),
				Incarnation: stampOf,
				Await:       patient,
			})
		})
	}
}
