package simlnd

import (
	"errors"
	"slices"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/link"
	"ulnet/lnd/lndtest"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnet/nid"
)

// TestMulticastContract runs the suite for drivers with multicast.
func TestMulticastContract(t *testing.T) {
	var fabric *Fabric
	lndtest.RunMulticast(t, lndtest.MulticastHarness{
		Start: func(t *testing.T, ups []lnd.Upcalls) []lnd.NI {
			nis := make([]lnd.NI, len(ups))
			var err error
			fabric, err = New(Config{Nodes: len(ups), Boot: func(h, _ *Host) {
				var err error
				nis[h.ID()], err = h.Driver().Startup(lnd.Config{Net: Net, Clock: h.Clock()}, ups[h.ID()])
				if err != nil {
					t.Error(err)
				}
			}})
			if err != nil {
				t.Fatal(err)
			}
			if err := fabric.Run(0); err != nil {
				t.Fatal(err)
			}
			return nis
		},
		Await: func(cond func() bool) bool {
			for i := 0; i < 2000 && !cond(); i++ {
				if err := fabric.Run(fabric.Now() + time.Millisecond); err != nil {
					t.Error(err)
				}
			}
			return cond()
		},
	})
}

// datagram makes a PUT to the group g.
func datagram(from sim.NodeID, g lnd.Group, bits uint64, size int) *lnd.Message {
	m := message(from, 0, bits, size)
	m.Group, m.Header.DestNID = g, nid.FromNumber(Net, groupBase|uint32(g))
	m.Target.NID = m.Header.DestNID
	return m
}

// cast sends count datagrams to group 1, numbered from first.
func (n *net) cast(from sim.NodeID, first, count, size int) {
	n.Do(from, func(*Host) {
		for i := range count {
			n.ends[from].ni.(lnd.Multicaster).Multicast(datagram(from, 1, uint64(first+i), size))
		}
	})
}

func (n *net) join(members ...sim.NodeID) {
	n.t.Helper()
	for _, id := range members {
		if err := n.ends[id].ni.(lnd.Multicaster).Join(1); err != nil {
			n.t.Fatal(err)
		}
	}
}

// TestMulticastLoss: receivers lose datagrams independently of each other (RM-1). The sender's link
// carries each datagram once, not once for each receiver.
func TestMulticastLoss(t *testing.T) {
	spec.Covers(t, "RM-1")
	q := millisecond()
	q.Loss = 0.2
	n := newNet(t, 9, q, 0)
	n.join(0, 1, 2, 3, 4, 5, 6, 7, 8)
	n.SetAccessRate(sim.Nodes(0), 8_000_000) // at this rate a byte takes a microsecond
	begin := n.Now()
	n.cast(0, 0, 500, 1000-headerSize)
	n.run(time.Second) // 500 datagrams of 1000 bytes take half a second
	if took := n.Now() - begin; took != time.Second {
		t.Fatalf("took %v", took)
	}
	whole := 0
	for _, e := range n.ends[1:] {
		if len(e.got) < 350 || len(e.got) > 450 {
			t.Errorf("%d of 500 came at a loss of 20%%", len(e.got))
		}
		if slices.Equal(e.got, n.ends[1].got) {
			whole++
		}
	}
	if whole != 1 {
		t.Errorf("%d receivers lost the same datagrams as the first", whole)
	}
	if n.ends[0].got != nil || len(n.ends[0].ended) != 500 {
		t.Errorf("the sender got %d, and was told of %d", len(n.ends[0].got), len(n.ends[0].ended))
	}
	if s := n.Stats(); s.Sent != 500 || s.Copies != 7*500 {
		t.Errorf("%d were sent, with %d copies, want 500 and %d", s.Sent, s.Copies, 7*500)
	}
}

// TestMulticastIncarnations: a process that has died is no member any more when it is started
// again. The sender of datagrams gets no PeerDown for members that have died.
func TestMulticastIncarnations(t *testing.T) {
	n := newNet(t, 4, millisecond(), 0)
	n.join(1, 2, 3)
	n.Kill(1)
	n.Crash(2)
	n.cast(0, 1, 1, 100)
	n.run(time.Second)
	n.Start(1, false)
	n.run(time.Second)
	n.cast(0, 2, 1, 100)
	n.run(time.Second)
	if got := n.ends[1].got; len(got) != 0 {
		t.Errorf("a new life that has not joined got %v", got)
	}
	n.join(1)
	n.cast(0, 3, 1, 100)
	n.run(time.Second)
	if got := n.ends[1].got; !slices.Equal(got, []uint64{3}) {
		t.Errorf("a new life that has joined got %v, want [3]", got)
	}
	if got := n.ends[3].got; !slices.Equal(got, []uint64{1, 2, 3}) {
		t.Errorf("a member got %v, want all three", got)
	}
	if causes := n.ends[0].causes; len(causes) != 0 {
		t.Errorf("the sender was told of %v", causes)
	}
}

// TestMulticastDuplicates: a datagram may come twice, with the same content.
func TestMulticastDuplicates(t *testing.T) {
	n := newNet(t, 3, millisecond(), 0)
	n.SetLink(sim.AllNodes, sim.Nodes(1), link.Change{Fields: link.FieldDuplicate, To: link.Quality{Duplicate: 1}})
	n.join(1, 2)
	n.cast(0, 1, 1, 300)
	n.run(time.Second)
	if a, b := n.ends[1].got, n.ends[2].got; !slices.Equal(a, []uint64{1, 1}) || !slices.Equal(b, []uint64{1}) {
		t.Errorf("got %v and %v", a, b)
	}
}

// TestNoMulticast: with a negative Config.Datagram the hosts have no multicast.
func TestNoMulticast(t *testing.T) {
	var host lnd.NI
	f, err := New(Config{Nodes: 1, Datagram: -1, Boot: func(h, _ *Host) {
		host, _ = h.Driver().Startup(lnd.Config{Net: Net, Clock: h.Clock()}, &end{h: h})
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Run(0); err != nil {
		t.Fatal(err)
	}
	if _, ok := lnd.AsMulticaster(host); ok {
		t.Error("a fabric without multicast has it")
	}
	if err := host.(lnd.Multicaster).Join(1); !errors.Is(err, syscall.EOPNOTSUPP) || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("join: %v", err)
	}
}
