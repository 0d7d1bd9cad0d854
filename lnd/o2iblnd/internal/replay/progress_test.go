package replay_test

import (
	"context"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/o2iblnd"
	"ulnet/lnd/verbs/softroce"
	"ulnet/lnd/verbs/softroce/emulator"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// TestProgress: nodes PUT and GET all at once, more than their credits allow and of all sizes, over a
// network that loses packets, in virtual time. Every operation ends, none by a time-out: whatever
// waits is woken.
func TestProgress(t *testing.T) {
	spec.Covers(t, "LN-23")
	effort.OneGoroutine(t)
	seeds := uint64(2)
	if effort.Long() {
		seeds = 100
	}
	for seed := range seeds {
		newCluster(t, seed).run()
	}
}

const (
	progressPortal = 22
	progressSize   = 256 << 10 // bytes of the longest operation
	progressOpen   = 48        // operations of a node that are in flight
	progressOps    = 150       // operations of each node
)

// cluster is some nodes on an emulated network, in virtual time.
type cluster struct {
	t      *testing.T
	seed   uint64
	random *rand.Rand
	clock  *emulator.Clock
	tables []*portals.Table
	left   []int // operations that each node has still to start
	open   int   // operations in flight, of all nodes
	failed error
}

func newCluster(t *testing.T, seed uint64) *cluster {
	c := &cluster{t: t, seed: seed, random: rand.New(rand.NewPCG(seed, 11)), clock: emulator.NewClock()}
	net := emulator.New(emulator.Config{Clock: c.clock, Seed: seed, Faults: emulator.Faults{
		Delay: 20 * time.Microsecond, Jitter: 10 * time.Microsecond, Loss: []float64{0, 0.001, 0.01}[seed%3],
	}})
	open := softroce.NewOpener(softroce.Options{Network: net})
	for i := range 2 + c.random.IntN(2) {
		driver, err := o2iblnd.New(o2iblnd.Config{
			Open: open, NoMulticast: true, ConnsPerPeer: 1 + c.random.IntN(3), RxBuffers: []int{2, 16, 1024}[c.random.IntN(3)],
		})
		if err != nil {
			t.Fatal(err)
		}
		node := lnet.New(lnet.Config{Incarnation: uint64(i + 1), Clock: c.clock})
		c.tables, c.left = append(c.tables, portals.New(node)), append(c.left, progressOps)
		if _, err := node.AddNI(driver, lnd.Config{
			Net: nid.MakeNet(nid.O2IB, 0), Interface: c.addr(i).String(), Tunables: lnd.Tunables{Credits: 1 << c.random.IntN(9)},
		}); err != nil {
			t.Fatal(err)
		}
		c.offer(i)
	}
	return c
}

func (*cluster) addr(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 1, 1, byte(i + 1)}) }

// offer makes node i attach memory for the PUTs and GETs of all other nodes.
func (c *cluster) offer(i int) {
	me, err := c.tables[i].MEAttach(progressPortal, portals.Match{}, portals.Retain, portals.After)
	if err == nil {
		_, err = c.tables[i].MDAttach(me, portals.MD{
			Segments: []lnd.Segment{make([]byte, progressSize)}, Threshold: portals.ThresholdInfinite,
			Options: portals.OpGet | portals.OpPut | portals.ManageRemote,
		}, portals.Retain)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// run starts all operations and lets time pass until they have ended.
func (c *cluster) run() {
	for i := range c.tables {
		for range progressOpen {
			c.start(i)
		}
	}
	const limit = 30 * time.Second // less than any time-out; the data takes some seconds at most
	for c.open > 0 && c.failed == nil && c.clock.Step(limit) {
	}
	if c.open > 0 || c.failed != nil {
		c.t.Fatalf("seed %d: at %v %d operations are in flight, error %v", c.seed, c.clock.Now(), c.open, c.failed)
	}
	for _, table := range c.tables {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // nothing is in flight, so there is nothing to wait for
		_ = table.Node().Shutdown(ctx)
	}
}

// start starts an operation of node i, whose end starts the next one.
func (c *cluster) start(i int) {
	if c.left[i] == 0 {
		return
	}
	c.left[i]--
	c.open++
	to := (i + 1 + c.random.IntN(len(c.tables)-1)) % len(c.tables)
	size := []int{0, 100, 3976, 3977, 64 << 10, progressSize}[c.random.IntN(6)]
	md := portals.MD{Segments: []lnd.Segment{make([]byte, size)}, Threshold: 2, Handler: func(e *portals.Event) {
		if e.Err != nil {
			c.failed = e.Err
		}
		if e.Unlinked {
			c.open--
			c.start(i)
		}
	}}
	if c.random.IntN(4) == 0 {
		md.Options |= portals.Priority
	}
	kind := c.random.IntN(3)
	if kind == 0 {
		md.Threshold = 1
	}
	handle, err := c.tables[i].MDBind(md, portals.Unlink)
	target := nid.ProcessID{NID: nid.FromAddr(nid.MakeNet(nid.O2IB, 0), c.addr(to)), PID: nid.LustrePID}
	switch {
	case err != nil:
	case kind == 2:
		err = c.tables[i].Get(portals.GetRequest{MD: handle, Target: target, Portal: progressPortal})
	default:
		err = c.tables[i].Put(portals.PutRequest{MD: handle, Ack: kind == 1, Target: target, Portal: progressPortal})
	}
	if err != nil {
		c.failed = err
	}
}
