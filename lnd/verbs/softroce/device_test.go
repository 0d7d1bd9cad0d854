package softroce

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"ulnet/lnd/verbs"
	"ulnet/lnet/machine"
)

// testNode is a device with a consumer.
type testNode struct {
	t      testing.TB
	device verbs.Device
	pd     verbs.PD
	cq     verbs.CQ
	pool   verbs.Pool
	done   chan verbs.Completion // completions of work requests
	got    chan []byte
	events chan verbs.Event
	conns  chan verbs.Conn // connections that were accepted
}

// loopbackAddr returns an address of 127.0.0.0/8 that other tests on this machine
// are not likely to use.
func loopbackAddr() netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], 127<<24|rand.Uint32()&0xFFFFFF)
	b[3] = b[3]%253 + 1
	return netip.AddrFrom4(b)
}

const wait = 60 * time.Second

func take[T any](t testing.TB, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(wait):
		t.Fatal("nothing came")
	}
	return v
}

// openNode opens a device with the objects that a consumer needs. The consumer copies each
// message and returns its buffer at once.
func openNode(t testing.TB, open verbs.Opener, cfg verbs.OpenConfig) *testNode {
	n := &testNode{
		t: t, done: make(chan verbs.Completion, 1000), got: make(chan []byte, 1000), events: make(chan verbs.Event, 100),
		conns: make(chan verbs.Conn, 100),
	}
	var err error
	if n.device, err = open(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.device.Close(); err != nil {
			t.Error(err)
		}
	})
	if n.pd, err = n.device.NewPD(); err != nil {
		t.Fatal(err)
	}
	if n.pool, err = n.pd.NewPool(verbs.PoolConfig{Buffers: 64, Size: 4096}); err != nil {
		t.Fatal(err)
	}
	n.cq, err = n.device.NewCQ(1000, func(batch []verbs.Completion) {
		for i := range batch {
			if c := batch[i]; c.Op == verbs.Receive {
				n.got <- bytes.Clone(c.Buffer.Bytes)
				n.pool.Return(c.Buffer)
			} else {
				n.done <- c
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (n *testNode) config() verbs.ConnConfig {
	return verbs.ConnConfig{
		QP:         verbs.QPConfig{ID: 7, PD: n.pd, Sends: n.cq, Recvs: n.cq, Pool: n.pool, MaxSends: 32},
		RetryCount: 5, RNRRetryCount: 6, Private: []byte("hello"),
	}
}

func (n *testNode) event(_ verbs.Conn, e verbs.Event) {
	e.Private = bytes.Clone(e.Private)
	n.events <- e
}

// listen accepts all requests on the node.
func (n *testNode) listen() {
	_, err := n.device.Listen(987, func(r verbs.Request) {
		cfg := n.config()
		cfg.Private = append([]byte("welcome "), r.Private()[:5]...)
		c, err := r.Accept(cfg, n.event)
		if err != nil {
			n.t.Error(err)
		}
		n.conns <- c
	})
	if err != nil {
		n.t.Fatal(err)
	}
}

// connect connects a to b, and returns both ends.
func connect(t testing.TB, a, b *testNode) [2]verbs.Conn {
	t.Helper()
	c, err := a.device.Connect(addrPort(b.device), a.config(), a.event)
	if err != nil {
		t.Fatal(err)
	}
	if e := take(t, a.events); e.Kind != verbs.Established || !bytes.HasPrefix(e.Private, []byte("welcome hello")) {
		t.Fatalf("%+v", e)
	}
	if e := take(t, b.events); e.Kind != verbs.Established {
		t.Fatalf("%+v", e)
	}
	return [2]verbs.Conn{c, take(t, b.conns)}
}

// TestDevice connects two devices over sockets of the operating system: ten times, they exchange
// messages and write a megabyte into each other's memory. Then they disconnect.
func TestDevice(t *testing.T) {
	var nodes [2]*testNode
	for i := range nodes {
		nodes[i] = openNode(t, Open, verbs.OpenConfig{Addr: loopbackAddr(), Clock: machine.RealClock(), ReceiveBuffer: 1 << 20})
	}
	nodes[1].listen()
	conns := connect(t, nodes[0], nodes[1])
	var memory [2][]byte
	var regions [2]verbs.MR
	for i, n := range nodes {
		memory[i] = make([]byte, 1<<20)
		var err error
		if regions[i], err = n.pd.Register([][]byte{memory[i][:1000], memory[i][1000:]}, both); err != nil {
			t.Fatal(err)
		}
	}
	for round := range byte(10) {
		var bulk [2][]byte
		var source [2]verbs.MR
		for i, n := range nodes {
			bulk[i] = bytes.Repeat([]byte{round, byte(i), 7, 8, 9}, 1<<20/5)
			f := regions[1-i].Frags(nil)[0]
			f.Length = uint32(len(bulk[i]))
			var err error
			if source[i], err = n.pd.Register([][]byte{bulk[i]}, 0); err != nil {
				t.Fatal(err)
			}
			err = conns[i].PostSend([]verbs.SendWR{
				{Op: verbs.Write, Remote: f, RKey: regions[1-i].RKey(), Pieces: []verbs.SGE{{Bytes: bulk[i], MR: source[i]}}},
				send(uint64(round), bulk[i][:3000]),
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		for i, n := range nodes {
			if m := take(t, n.got); !bytes.Equal(m, bulk[1-i][:3000]) || !regionHolds(regions[i], memory[i], bulk[1-i]) {
				t.Fatalf("round %d: node %d has something else", round, i)
			}
			if c := take(t, n.done); c.ID != uint64(round) || c.Status != verbs.Success {
				t.Fatalf("%+v", c)
			}
			source[i].Deregister()
		}
	}
	conns[0].Disconnect()
	for i, n := range nodes {
		if e := take(t, n.events); e.Kind != verbs.Disconnected || e.Status != verbs.Success {
			t.Errorf("%+v", e)
		}
		regions[i].Deregister()
		conns[i].Close()
		if err := n.pd.Close(); err != nil {
			t.Error(err)
		}
	}
}

// regionHolds reports whether the memory of a region begins with b. It takes the region's
// lock because the race detector does not know that packets come one after another.
func regionHolds(r verbs.MR, memory, b []byte) bool {
	x := r.(*region)
	x.mu.Lock()
	defer x.mu.Unlock()
	return bytes.HasPrefix(memory, b)
}

func addrPort(d verbs.Device) netip.AddrPort { return netip.AddrPortFrom(d.Attr().Addr, 987) }
