package softroce_test

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/softroce"
	"ulnet/lnd/verbs/softroce/emulator"
	"ulnet/lnd/verbs/verbstest"
	"ulnet/lnet/machine"
)

// loopback returns an address that other programs on this machine are not likely to use.
func loopback(int) netip.Addr {
	var a [4]byte
	binary.BigEndian.PutUint32(a[:], 127<<24|rand.Uint32()&0xFFFFFF)
	a[3] = a[3]%253 + 1
	return netip.AddrFrom4(a)
}

// openTwo opens two devices with different addresses.
func openTwo(t testing.TB, open verbs.Opener, cfg verbs.OpenConfig, addr func(i int) netip.Addr) (list [2]verbs.Device) {
	for i := range list {
		cfg.Addr = addr(i)
		d, err := open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		list[i] = d
	}
	return list
}

// TestContract runs the contract of package verbs over sockets of the operating system.
func TestContract(t *testing.T) {
	verbstest.Run(t, verbstest.Harness{Open: func(t testing.TB) [2]verbs.Device {
		return openTwo(t, softroce.Open, verbs.OpenConfig{Clock: machine.RealClock()}, loopback)
	}})
}

// TestContractBadWire runs the contract over a wire that loses, repeats, reorders and damages
// packets.
func TestContractBadWire(t *testing.T) {
	verbstest.Run(t, verbstest.Harness{Lossy: true, Open: func(t testing.TB) [2]verbs.Device {
		clock := machine.RealClock()
		net := emulator.New(emulator.Config{Clock: clock, Seed: 1, MTU: 1500, Faults: emulator.Faults{
			Delay: 10 * time.Microsecond, Loss: 0.01, Duplicate: 0.01, Corrupt: 0.01, Reorder: 0.01, Hold: 100 * time.Microsecond,
		}})
		list := openTwo(t, softroce.NewOpener(softroce.Options{Network: net}), verbs.OpenConfig{Clock: clock}, loopback)
		t.Cleanup(func() {
			for _, d := range list {
				t.Logf("%+v", d.(interface{ Stats() softroce.Stats }).Stats())
			}
		})
		return list
	}})
}

// TestContractIPv6 runs the contract over IPv6.
func TestContractIPv6(t *testing.T) {
	verbstest.Run(t, verbstest.Harness{Open: func(t testing.TB) [2]verbs.Device {
		clock := machine.RealClock()
		open := softroce.NewOpener(softroce.Options{Network: emulator.New(emulator.Config{Clock: clock})})
		return openTwo(t, open, verbs.OpenConfig{Clock: clock}, func(i int) netip.Addr {
			return [...]netip.Addr{netip.MustParseAddr("fd00::1"), netip.MustParseAddr("fd00::2")}[i]
		})
	}})
}
