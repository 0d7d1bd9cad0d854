package o2iblnd

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"sync"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/verbs/softroce"
	"ulnet/lnd/verbs/softroce/emulator"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// desk is an lnet with a goroutine that waits for messages, as in an EQ, and is a follower of the device's
// read loop. Messages to send are taken from a ring, and are used again.
type desk struct {
	*echo
	ni   *NI
	ring []*lnd.Message
	next int
	bell chan struct{}

	followed int // messages received by the goroutine in wait

	mu    sync.Mutex // guards all fields below
	came  int
	seen  int
	waits bool
	loop  lnd.ReadLoop
}

func newDesk(size int) *desk { return &desk{echo: newEcho(size), bell: make(chan struct{}, 1)} }

// open makes the NI of a desk at addr. Its messages go to the NI at the address to.
func (k *desk) open(t testing.TB, d *Driver, net nid.Net, addr, to netip.Addr) {
	t.Helper()
	ni, err := d.Startup(lnd.Config{Net: net, Interface: addr.String(), Incarnation: 1, Clock: machine.RealClock()}, k)
	if err != nil {
		t.Fatal(err)
	}
	k.ni = ni.(*NI)
	t.Cleanup(func() { shut(k.ni) })
	size := len(k.sink[0])
	for range 4 {
		m := newMessage(k.ni, nid.FromAddr(net, to), size)
		m.Payload.Segments = []lnd.Segment{slices.Clone(noise[:size])}
		k.ring = append(k.ring, m)
		k.left <- struct{}{}
	}
}

func (k *desk) Delivered(d *lnd.Delivery, _ error) {
	k.mu.Lock()
	k.came++
	k.loop = d.ReadLoop
	wake := k.waits
	k.waits = false
	k.mu.Unlock()
	if wake {
		d.ReadLoop.Interrupt(k)
	}
	select {
	case k.bell <- struct{}{}:
	default:
	}
}

func (k *desk) Waiting() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.waits = k.came == k.seen
	return k.waits
}

// wait waits until the next message has arrived.
func (k *desk) wait() {
	for followed := false; ; {
		k.mu.Lock()
		l, came := k.loop, k.came > k.seen
		if came {
			k.seen++
		}
		k.mu.Unlock()
		switch {
		case came:
			if followed {
				k.followed++
			}
			return
		case l != nil && l.Receive(k):
			followed = true
			continue
		case l != nil:
			l.Request(k)
		}
		<-k.bell
	}
}

// send waits until a message of the ring is free, and sends it with the number n.
func (k *desk) send(n uint64) {
	<-k.left
	m := k.ring[k.next%len(k.ring)]
	k.next++
	binary.LittleEndian.PutUint64(m.Payload.Segments[0], n)
	k.ni.Send(m)
}

// deskPair returns two desks in a net, each with its own driver.
func deskPair(t testing.TB, net nid.Net, drivers [2]*Driver, at []netip.Addr, size int) [2]*desk {
	t.Helper()
	pair := [2]*desk{newDesk(size), newDesk(size)}
	for i, k := range pair {
		k.open(t, drivers[i], net, at[i], at[1-i])
	}
	return pair
}

func newDrivers(t testing.TB) (drivers [2]*Driver) {
	t.Helper()
	for i := range drivers {
		var err error
		if drivers[i], err = New(Config{Open: softroce.Open}); err != nil {
			t.Fatal(err)
		}
	}
	return drivers
}

// answer answers each message with its number, until over is closed.
func (k *desk) answer(over <-chan struct{}) {
	for {
		k.wait()
		select {
		case <-over:
			return
		default:
			k.send(binary.LittleEndian.Uint64(k.sink[0]))
		}
	}
}

// TestReadLoopRoundTrip: round trips between goroutines that wait allocate nothing, and the
// goroutine that waits reads messages itself.
func TestReadLoopRoundTrip(t *testing.T) {
	if effort.Race {
		t.Skip("the race detector drops pooled memory at random")
	}
	pair := deskPair(t, nid.MakeNet(nid.O2IB, 0), newDrivers(t), loopbackAddrs(2), 8)
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		pair[1].answer(over)
	}()
	n := uint64(0)
	trip := func() {
		n++
		pair[0].send(n)
		pair[0].wait()
		if got := binary.LittleEndian.Uint64(pair[0].sink[0]); got != n {
			t.Fatalf("%d comes back, want %d", got, n)
		}
	}
	for range 1000 {
		trip()
	}
	if allocs := testing.AllocsPerRun(500, trip); allocs > 0 {
		t.Errorf("%v allocations per round trip", allocs)
	}
	if pair[0].followed == 0 {
		t.Error("the goroutine that waits has read nothing")
	}
	close(over)
	pair[0].send(0)
	<-ended
}

// TestReadLoopBesideTransfers: while a goroutine waits for small messages in one net,
// transfers of 1 MiB go back and forth in another one over the same sockets.
func TestReadLoopBesideTransfers(t *testing.T) {
	const transfers, trips = 40, 400
	drivers, at := newDrivers(t), loopbackAddrs(2)
	small := deskPair(t, nid.MakeNet(nid.O2IB, 0), drivers, at, 8)
	large := deskPair(t, nid.MakeNet(nid.O2IB, 1), drivers, at, 1<<20)
	over := make(chan struct{})
	var answers, all sync.WaitGroup
	for _, pair := range [][2]*desk{small, large} {
		answers.Go(func() { pair[1].answer(over) })
	}
	for pair, n := range map[[2]*desk]uint64{small: trips, large: transfers} {
		all.Go(func() {
			for i := range n {
				pair[0].send(i)
				pair[0].wait()
				if got := binary.LittleEndian.Uint64(pair[0].sink[0]); got != i {
					t.Errorf("%d comes back, want %d", got, i)
				}
			}
		})
	}
	all.Wait()
	close(over)
	small[0].send(0)
	large[0].send(0)
	answers.Wait()
	t.Logf("the goroutine that waits has read %d of %d small messages, %d of %d transfers", small[0].followed, trips, large[0].followed, transfers)
}

// TestNoReadLoop: a device on an emulated network, which has no socket of the operating system, has no
// read loop to hand over.
func TestNoReadLoop(t *testing.T) {
	open := softroce.NewOpener(softroce.Options{Network: emulator.New(emulator.Config{Clock: machine.RealClock()})})
	at := loopbackAddrs(2)
	loops := make(chan lnd.ReadLoop, 1)
	x, y := start(t, at[0], open, Config{}, newEcho(8)), start(t, at[1], open, Config{}, loopTeller{newEcho(8), loops})
	x.Send(newMessage(x, y.nid, 8))
	if l := <-loops; l != nil {
		t.Errorf("%T", l)
	}
	shut(x)
	shut(y)
}

// loopTeller is an lnet that sends the ReadLoop of each delivery to the channel loops.
type loopTeller struct {
	*echo
	loops chan lnd.ReadLoop
}

func (l loopTeller) Delivered(d *lnd.Delivery, _ error) { l.loops <- d.ReadLoop }
