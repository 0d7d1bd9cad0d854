package o2iblnd

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest"
	"ulnet/lnd/lndtest/netlab"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/softroce"
	"ulnet/lnd/verbs/softroce/emulator"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// loopbackAddrs returns consecutive addresses of the loopback that other tests on this machine are
// not likely to use.
func loopbackAddrs(n int) (list []netip.Addr) {
	a := netip.AddrFrom4([4]byte{127, byte(1 + rand.IntN(250)), byte(rand.Uint32()), byte(1 + rand.IntN(200))})
	for ; len(list) < n; a = a.Next() {
		list = append(list, a)
	}
	return list
}

// randomBase returns a base address for groups that other tests are not likely to use.
func randomBase() netip.Addr { return netip.AddrFrom4([4]byte{239, byte(1 + rand.IntN(250)), 0, 0}) }

// TestMulticastContract runs the suite for drivers with multicast (RM-A22) over software
// RoCE: on addresses of the loopback, and over the emulator of a wire.
func TestMulticastContract(t *testing.T) {
	spec.Covers(t, "RM-A22")
	for name, opener := range map[string]func() verbs.Opener{
		"sockets": func() verbs.Opener { return softroce.Open },
		"emulator": func() verbs.Opener {
			return softroce.NewOpener(softroce.Options{Network: emulator.New(emulator.Config{
				Clock: machine.RealClock(), MTU: 1500, Faults: emulator.Faults{Delay: 20 * time.Microsecond},
			})})
		},
	} {
		t.Run(name, func(t *testing.T) {
			lndtest.RunMulticast(t, lndtest.MulticastHarness{
				Start: func(t *testing.T, ups []lnd.Upcalls) (nis []lnd.NI) {
					open, base := opener(), randomBase()
					for i, addr := range loopbackAddrs(len(ups)) {
						nis = append(nis, start(t, addr, open, Config{MulticastBase: base}, ups[i]))
					}
					return nis
				},
			})
		})
	}
}

// TestMulticastTwoNets: NIs of two nets on one address share a device, and each receives the
// datagrams of its own net alone.
func TestMulticastTwoNets(t *testing.T) {
	at, base := loopbackAddrs(2), randomBase()
	var nis [2][2]*NI
	var ups [2][2]*counter
	for i, addr := range at {
		d, err := New(Config{MulticastBase: base, Open: softroce.Open})
		if err != nil {
			t.Fatal(err)
		}
		for k := range nis[i] {
			ups[i][k] = &counter{got: make(chan nid.NID, 10)}
			ni, err := d.Startup(lnd.Config{
				Net: nid.MakeNet(nid.O2IB, uint16(k)), Interface: addr.String(), Incarnation: 1, Clock: machine.RealClock(),
			}, ups[i][k])
			if err != nil {
				t.Fatal(err)
			}
			nis[i][k] = ni.(*NI)
			defer nis[i][k].Shutdown(t.Context())
			if err := nis[i][k].Join(5); err != nil {
				t.Fatal(err)
			}
		}
	}
	for k := range 2 {
		nis[0][k].Multicast(castMessage(nis[0][k], 1, []byte("hello")))
		select {
		case from := <-ups[1][k].got:
			if from != nis[0][k].NID() {
				t.Errorf("net %d: from %v", k, from)
			}
		case <-time.After(60 * time.Second):
			t.Fatalf("net %d: nothing came; %+v", k, nis[1][k].Snapshot().Multicast)
		}
	}
	for i := range nis {
		for k, ni := range nis[i] {
			for begin := time.Now(); ni.counts[DatagramNet].Load() < 1 && time.Since(begin) < 60*time.Second; {
				runtime.Gosched()
			}
			if s := ni.Snapshot(); s.Counters.Of(DatagramNet) != 1 || s.Multicast.RxMessages != uint64(i) || len(ups[i][k].got) > 0 {
				t.Errorf("node %d, net %d: %d of another net, %+v", i, k, s.Counters.Of(DatagramNet), s.Multicast)
			}
		}
	}
}

// counter is an lnet that sends the NID of each message's sender to got, and reads no payload.
type counter struct {
	lnd.Upcalls
	got chan nid.NID
}

func (*counter) Parse(*lnd.Delivery) (lnd.Answer, error) { return lnd.Accept, nil }
func (c *counter) Delivered(d *lnd.Delivery, _ error)    { c.got <- d.From.NID }
func (*counter) Finalize(*lnd.Message, error)            {}

// inHost is an NI in a namespace, where it opens its sockets.
type inHost struct {
	*NI
	host *netlab.Host
}

func (n inHost) Join(g lnd.Group) (err error) {
	return errors.Join(n.host.Do(func() error {
		err = n.NI.Join(g)
		return nil
	}), err)
}

// TestMulticastOverBridge runs the suite for drivers with multicast between hosts at a switch, where
// packets are no longer than those of Ethernet.
func TestMulticastOverBridge(t *testing.T) {
	if testing.Short() {
		t.Skip("the loopback will do")
	}
	lndtest.RunMulticast(t, lndtest.MulticastHarness{
		Start: func(t *testing.T, ups []lnd.Upcalls) (nis []lnd.NI) {
			lab := netlab.New(t)
			bridge := lab.Switch("bridge")
			open := softroce.NewOpener(softroce.Options{}) // an opener of its own: other tests use these addresses, too
			for i, up := range ups {
				host, addr := lab.Host(fmt.Sprint(i)), netip.MustParsePrefix(fmt.Sprintf("10.9.0.%d/24", i+1))
				lab.Cable(bridge, "", host, addr.String())
				_ = host.Do(func() error {
					ni := start(t, addr.Addr(), open, Config{}, up)
					if limit := ni.MulticastLimits().MaxPayload; limit != 1024-80 {
						t.Errorf("%d bytes fit into a datagram", limit)
					}
					nis = append(nis, inHost{ni, host})
					return nil
				})
			}
			return nis
		},
	})
}
