package softroce

import (
	"bytes"
	"net/netip"
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/netlab"
	"ulnet/lnd/verbs"
	"ulnet/lnet/machine"
)

// TestCable moves data between two hosts with a cable between them: over IPv4 and IPv6, with
// the MTUs of Ethernet and of jumbo frames, and over a slow link, at whose interface packets
// wait. The system cuts bursts into frames and joins them, and every ICRC is good at the
// other end.
func TestCable(t *testing.T) {
	for _, tt := range []struct {
		name   string
		nets   [2]string
		mtu    int
		path   int   // path MTU in bytes
		rate   int64 // bit rate of the cable; 0: no limit
		amount int   // megabytes to move in each direction
	}{
		{"IPv4", [2]string{"10.7.0.1/24", "10.7.0.2/24"}, 1500, 1024, 0, 32},
		{"jumbo frames", [2]string{"10.7.0.1/24", "10.7.0.2/24"}, 9000, 4096, 0, 32},
		{"IPv6", [2]string{"fd07::1/64", "fd07::2/64"}, 1500, 1024, 0, 8},
		{"slow", [2]string{"10.7.0.1/24", "10.7.0.2/24"}, 1500, 1024, 100e6, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if effort.Race {
				tt.amount = min(tt.amount, 8) // in a longer round the process is likely to be paused
			}
			lab := netlab.New(t)
			hosts := [2]*netlab.Host{lab.Host("a"), lab.Host("b")}
			cable := lab.Cable(hosts[0], tt.nets[0], hosts[1], tt.nets[1])
			cable.SetMTU(tt.mtu)
			var nodes [2]*testNode
			for i, h := range hosts {
				if tt.rate > 0 {
					cable.SetRate(h, tt.rate)
				}
				cfg := verbs.OpenConfig{Addr: netip.MustParsePrefix(tt.nets[i]).Addr(), Clock: machine.RealClock(), ReceiveBuffer: 4 << 20}
				nodes[i] = openNode(t, func(cfg verbs.OpenConfig) (d verbs.Device, err error) {
					err = h.Do(func() (err error) { d, err = Open(cfg); return err })
					return d, err
				}, cfg)
				if mtu := nodes[i].device.Attr().MTU; mtu != tt.path {
					t.Errorf("path MTU %d, want %d", mtu, tt.path)
				}
			}
			nodes[1].listen()
			conns := connect(t, nodes[0], nodes[1])
			start := time.Now()
			resent := moveInTime(t, nodes, conns, tt.amount)
			took := time.Since(start)
			for i, n := range nodes {
				s := n.device.(*device).hub.stats()
				t.Logf("node %d: %v, %+v", i, took, s)
				if s.BadICRC > 0 || s.Malformed > 0 || s.Unsent > s.Full {
					t.Errorf("%+v", s)
				}
				// A full interface makes the sender wait; it does not lose packets.
				if packets := uint64(tt.amount) << 20 / uint64(tt.path); resent[i] > packets/10 {
					t.Errorf("%d of %d packets were sent again", resent[i], packets)
				}
			}
		})
	}
}

// moveInTime repeats moveBoth until no ACK is late, and returns how many packets each node sent again
// in the last round. An ACK may be late once because the machine is busy; if ACKs are lost, they are
// late in each round.
func moveInTime(t *testing.T, nodes [2]*testNode, conns [2]verbs.Conn, amount int) (resent [2]uint64) {
	t.Helper()
	const rounds = 5
	for range rounds {
		var before, after [2]TransportStats
		for i, n := range nodes {
			before[i] = n.device.(*device).hub.stats().Transport
		}
		moveBoth(t, nodes, conns, amount)
		late := uint64(0)
		for i, n := range nodes {
			after[i] = n.device.(*device).hub.stats().Transport
			late += after[i].Timeouts - before[i].Timeouts
			resent[i] = after[i].Resent - before[i].Resent
		}
		if late == 0 {
			return resent
		}
		t.Logf("%d timeouts", late)
	}
	t.Errorf("timeouts in each of %d rounds", rounds)
	return resent
}

// moveBoth makes two nodes write amount megabytes into each other's memory, a megabyte at a time.
func moveBoth(t *testing.T, nodes [2]*testNode, conns [2]verbs.Conn, amount int) {
	var memory, bulk [2][]byte
	var regions, source [2]verbs.MR
	for i, n := range nodes {
		memory[i], bulk[i] = make([]byte, 1<<20), bytes.Repeat([]byte{1, 2, 3, byte(i)}, 1<<18)
		var err error
		if regions[i], err = n.pd.Register([][]byte{memory[i][:777], memory[i][777:]}, both); err != nil {
			t.Fatal(err)
		}
		if source[i], err = n.pd.Register([][]byte{bulk[i]}, 0); err != nil {
			t.Fatal(err)
		}
	}
	for round := range amount {
		for i := range nodes {
			bulk[i][round] = 0xAA
			if err := conns[i].PostSend([]verbs.SendWR{
				{Op: verbs.Write, Remote: regions[1-i].Frags(nil)[0], RKey: regions[1-i].RKey(), Pieces: []verbs.SGE{{Bytes: bulk[i], MR: source[i]}}},
				send(uint64(round), []byte{byte(round)}),
			}); err != nil {
				t.Fatal(err)
			}
		}
		for i, n := range nodes {
			if m := take(t, n.got); len(m) != 1 || m[0] != byte(round) || !regionHolds(regions[i], memory[i], bulk[1-i]) {
				t.Fatalf("round %d: node %d has something else", round, i)
			}
			if c := take(t, n.done); c.Status != verbs.Success {
				t.Fatalf("%+v", c)
			}
		}
	}
	for i := range nodes {
		regions[i].Deregister()
		source[i].Deregister()
	}
}
