package sim

import (
	"slices"
	"testing"
	"time"
)

const megabit = 1_000_000

// At 10 Mbit/s 1250 bytes take 1 ms.
const (
	tenMegabit = 10 * megabit
	oneMS      = 1250
)

func mustGroups(t *testing.T, nodes, size int, inside, between string, uplink int64) *Groups {
	t.Helper()
	g, err := NewGroups(nodes, size, quality(inside), quality(between), uplink)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestLatencySum: a message arrives after the sum of all delays on its path: latencies, transmission on
// each link, and CPU time of the sender.
func TestLatencySum(t *testing.T) {
	groups := mustGroups(t, 8, 4, "latency 2ms", "latency 20ms", tenMegabit)
	for _, c := range []struct {
		name   string
		top    Topology
		access int64
		cpu    CPU
		to     NodeID
		size   int
		want   time.Duration
	}{
		{"latency", flat("latency 5ms"), 0, CPU{}, 7, oneMS, 5 * time.Millisecond},
		{"access links", flat("latency 5ms"), tenMegabit, CPU{}, 7, oneMS, 7 * time.Millisecond},
		{"inside of a group", groups, 0, CPU{}, 3, oneMS, 2 * time.Millisecond},
		{"between groups", groups, 0, CPU{}, 4, oneMS, 22 * time.Millisecond},
		{"all links", groups, 2 * tenMegabit, CPU{}, 4, 2 * oneMS, 26 * time.Millisecond},
		{"CPU of the sender", flat("latency 5ms"), 0, CPU{PerStep: time.Second}, 7, oneMS, 1005 * time.Millisecond},
		{"nothing", flat("loss 0"), 0, CPU{}, 7, oneMS, 0},
		{"to itself", groups, 0, CPU{}, 0, oneMS, 2 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, Config[int]{Nodes: 8, Topology: c.top, AccessRate: c.access, CPU: c.cpu})
			b.run(10 * time.Second) // the first steps take CPU time, too, so let them end
			begin := b.Now()
			b.send(0, c.to, c.size, 1)
			b.run(begin + time.Minute)
			if len(b.got) != 1 || b.got[0].at-begin != c.want || b.got[0].node != c.to {
				t.Errorf("got %v, want after %v", b.texts(), c.want)
			}
		})
	}
}

// Ten senders begin at once and share a link, which transmits their messages one after the other, in the
// order of sending. Each message must arrive 1 ms after the one before, and the last of them at the time
// last.
func TestBandwidthSharing(t *testing.T) {
	const senders = 10
	for _, c := range []struct {
		name   string
		top    Topology
		access int64
		to     func(k int) NodeID
		last   time.Duration
	}{
		// The senders' links are used at the same time, the receiver's link by one message after the
		// other.
		{
			"receiver", flat("latency 3ms"), tenMegabit,
			func(int) NodeID { return 15 },
			(3 + 1 + senders) * time.Millisecond,
		},
		// The uplink has one message after the other, and the downlink follows as in a pipeline.
		{
			"uplink", mustGroups(t, 20, 10, "loss 0", "latency 3ms", tenMegabit), 0,
			func(k int) NodeID { return NodeID(10 + k) },
			(3 + senders + 1) * time.Millisecond,
		},
		// Each node is a group of its own: the senders share only the downlink of the receiver's group.
		{
			"downlink", mustGroups(t, 20, 1, "loss 0", "latency 3ms", tenMegabit), 0,
			func(int) NodeID { return 15 },
			(3 + 1 + senders) * time.Millisecond,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, Config[int]{Nodes: 20, Topology: c.top, AccessRate: c.access})
			for k := range senders {
				b.send(NodeID(k), c.to(k), oneMS, k)
			}
			b.run(time.Second)
			if len(b.got) != senders {
				t.Fatalf("%d messages came, want %d", len(b.got), senders)
			}
			for i, a := range b.got {
				want := c.last - time.Duration(senders-1-i)*time.Millisecond
				if a.at != want || a.in.Msg != i {
					t.Errorf("message %d came at %v as number %d, want at %v", a.in.Msg, a.at, i, want)
				}
			}
		})
	}
}

// Each of four nodes has as much bandwidth as the uplink that they share: the uplink is the
// bottleneck, and it is never idle once it has the first message.
func TestOversubscription(t *testing.T) {
	const each = 50
	b := newBench(t, Config[int]{
		Nodes: 8, AccessRate: tenMegabit,
		Topology: mustGroups(t, 8, 4, "loss 0", "latency 7ms", tenMegabit),
	})
	for k := range NodeID(4) {
		b.send(k, k+4, oneMS, make([]int, each)...)
	}
	b.run(time.Second)
	// 1 ms on a sender's link, 4*each ms on the uplink, 1 ms each on the downlink and the
	// receiver's link, and 7 ms of latency.
	want := (1 + 4*each + 1 + 1 + 7) * time.Millisecond
	if last := b.got[len(b.got)-1].at; last != want || len(b.got) != 4*each {
		t.Errorf("%d messages, the last at %v, want %d at %v", len(b.got), last, 4*each, want)
	}
	var perSender [4]int
	for _, a := range b.got[:2*each] {
		perSender[a.in.From]++
	}
	if perSender != [4]int{each / 2, each / 2, each / 2, each / 2} {
		t.Errorf("of the first half, senders got through %v, want equal shares", perSender)
	}
}

func TestPriorityPasses(t *testing.T) {
	b := newBench(t, Config[int]{Nodes: 2, AccessRate: tenMegabit})
	for i := range 10 {
		b.todo[0] = append(b.todo[0], Send[int]{To: 1, Msg: i, Size: oneMS})
	}
	for i := 10; i < 12; i++ {
		b.todo[0] = append(b.todo[0], Send[int]{To: 1, Msg: i, Size: oneMS, Priority: true})
	}
	b.poke(0)
	b.run(time.Second)
	at := map[int]time.Duration{}
	var order []int
	for _, a := range b.got {
		at[a.in.Msg] = a.at
		order = append(order, a.in.Msg)
	}
	// On both links a priority message waits for earlier priority messages only.
	if at[10] != 2*time.Millisecond || at[11] != 3*time.Millisecond {
		t.Errorf("priority messages came at %v and %v, want 2ms and 3ms", at[10], at[11])
	}
	if i := slices.Index(order, 11); i > 3 {
		t.Errorf("order %v, want the priority messages 10 and 11 before most", order)
	}
}

// A bandwidth that is changed applies to messages that are sent from then on.
func TestSetAccessRate(t *testing.T) {
	b := newBench(t, Config[int]{Nodes: 3})
	b.SetAccessRate(Nodes(0), tenMegabit)
	b.send(0, 1, oneMS, 1, 2)
	b.send(2, 1, oneMS, 3)
	b.SetAccessRate(AllNodes, 0)
	b.run(time.Second)
	want := []string{"0s 2 message d 3", "1ms 2 message b 1", "2ms 2 message c 1"}
	if got := b.texts(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestEndOfTime: even with a slow link and huge messages times do not overflow, so they never go back.
func TestEndOfTime(t *testing.T) {
	b := newBench(t, Config[int]{Nodes: 2, AccessRate: 1})
	b.send(0, 1, 1<<31-1, make([]int, 1000)...)
	b.send(0, 1, -5, 7)
	b.run(never - 1)
	last := time.Duration(0)
	for _, a := range b.got {
		if a.at < last {
			t.Fatalf("%v after %v", a.at, last)
		}
		last = a.at
	}
	if len(b.got) != 1001 {
		t.Errorf("%d messages came, want 1001", len(b.got))
	}
}
