package softroce

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/softroce/emulator"
	"ulnet/lnd/verbs/softroce/wire"
)

// joining is a network that joins datagrams of one size that arrive together, as the kernel does
// (UDP_GRO), and lets a test spoil them before they are joined.
type joining struct {
	wire.Network
	spoil func(joined []wire.Datagrams) []wire.Datagrams
}

// Open implements wire.Network.
func (n *joining) Open(cfg wire.Config) (wire.Conn, error) {
	receive := cfg.Receive
	cfg.Receive = func(list []wire.Datagrams) {
		if n.spoil != nil {
			list = n.spoil(list)
		}
		var joined []wire.Datagrams
		for _, d := range list {
			if last := len(joined) - 1; last >= 0 && joined[last].From == d.From && joined[last].Size == d.Size {
				joined[last].Bytes = append(joined[last].Bytes[:len(joined[last].Bytes):len(joined[last].Bytes)], d.Bytes...)
				continue
			}
			joined = append(joined, d)
		}
		receive(joined)
	}
	return n.Network.Open(cfg)
}

// TestSpoiledInBatch: of 16 messages that arrive in one datagram joined by the kernel, some are
// damaged, repeated, or in another order. Each is delivered once, and in order, and what follows a
// damaged packet is sent again, once.
func TestSpoiledInBatch(t *testing.T) {
	const n = 16
	swap := func(list []wire.Datagrams, i, k int) { list[i], list[k] = list[k], list[i] }
	for _, tt := range []struct {
		name                      string
		spoil                     func(list []wire.Datagrams) []wire.Datagrams
		badICRC, resent, repeated uint64
	}{
		{"a bad ICRC", func(l []wire.Datagrams) []wire.Datagrams { l[5].Bytes[30] ^= 1; return l }, 1, n - 5, 0},
		{"two bad ICRCs", func(l []wire.Datagrams) []wire.Datagrams { l[3].Bytes[30] ^= 1; l[9].Bytes[31] ^= 1; return l }, 2, n - 3, 0},
		{"the last one damaged", func(l []wire.Datagrams) []wire.Datagrams { l[n-1].Bytes[30] ^= 1; return l }, 1, 0, 0}, // a probe sends the last packet again
		{"all twice", func(l []wire.Datagrams) []wire.Datagrams { return append(l[:n:n], l...) }, 0, 0, n},
		{"an old one at the end", func(l []wire.Datagrams) []wire.Datagrams { return append(l[:n:n], l[2]) }, 0, 0, 1},
		{"the last two swapped", func(l []wire.Datagrams) []wire.Datagrams { swap(l, n-2, n-1); return l }, 0, 1, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := newVirtual(t, 1, emulator.Faults{})
			net := &joining{Network: v.net}
			v.open = NewOpener(Options{Network: net})
			ends, events := v.pair(nil, nil)
			var got []uint32
			to := ends[1].conn.(*conn)
			to.recvs.done = func(batch []verbs.Completion) {
				for i := range batch {
					if batch[i].Op == verbs.Receive {
						got = append(got, binary.LittleEndian.Uint32(batch[i].Buffer.Bytes))
						ends[1].pool.Return(batch[i].Buffer)
					}
				}
			}
			var wrs []verbs.SendWR
			for i := range uint32(n) {
				b := binary.LittleEndian.AppendUint32(nil, i)
				wrs = append(wrs, verbs.SendWR{Op: verbs.Send, Pieces: []verbs.SGE{{Bytes: append(b, make([]byte, 60)...)}}})
			}
			net.spoil = func(l []wire.Datagrams) []wire.Datagrams {
				net.spoil = nil
				if len(l) != n {
					t.Errorf("%d datagrams came together", len(l))
				}
				return tt.spoil(l)
			}
			if err := ends[0].conn.PostSend(wrs); err != nil {
				t.Fatal(err)
			}
			v.clock.Run(v.clock.Now() + 100*time.Millisecond)
			for i := range uint32(n) {
				if len(got) != n || got[i] != i {
					t.Fatalf("delivered %v", got)
				}
			}
			a, b := ends[0].conn.(*conn).hub.stats(), to.hub.stats()
			if b.BadICRC != tt.badICRC || a.Transport.Resent != tt.resent || b.Transport.Duplicates != tt.repeated || len(*events) != 2 {
				t.Errorf("%+v\n%+v", a.Transport, b)
			}
		})
	}
}

// TestGatherOverBadWire posts small messages one after the other, over a wire that loses, repeats
// and reorders packets. Although the messages wait for each other, each of them is delivered once
// and in order, and completes.
func TestGatherOverBadWire(t *testing.T) {
	const n = 600
	for seed := range uint64(effort.Of(4, 10, 100)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			l := weather{delay: 20 * time.Microsecond, jitter: time.Duration(seed%3) * 10 * time.Microsecond, loss: 0.01, duplicate: 0.02}
			p := newPair(t, seed, l, nil)
			p.ends[0].req.window, p.ends[0].req.srtt = 64, 2*l.delay // as if messages had been sent for a while without losses
			gathered := 0
			for i := range uint32(n) {
				for p.ends[0].sends.len() == p.ends[0].cfg.MaxSends {
					p.run(p.now + time.Microsecond)
					p.now += time.Microsecond
				}
				p.post(0, send(uint64(i), binary.LittleEndian.AppendUint32(nil, i)))
				if p.ends[0].gathers() && p.ends[0].sends.count > p.ends[0].sends.cursor {
					gathered++
				}
			}
			p.run(p.now + time.Minute)
			if len(p.got[1]) != n || len(p.done[0]) != n || p.failed != [2]verbs.Status{} {
				t.Fatalf("%d delivered, %d completed, %v", len(p.got[1]), len(p.done[0]), p.failed)
			}
			for i := range uint32(n) {
				if p.done[0][i].ID != uint64(i) || p.done[0][i].Status != verbs.Success || binary.LittleEndian.Uint32(p.got[1][i]) != i {
					t.Fatalf("message %d: %+v, %v", i, p.done[0][i], p.got[1][i])
				}
			}
			if gathered == 0 {
				t.Error("no message waited for others")
			}
		})
	}
}
