package portals_test

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// gated is a handler that blocks at some of its events.
type gated struct {
	gates map[int]chan struct{} // by number of a PUT event, from 1: channel for which the handler waits at this event, until open closes it
	bits  []uint64              // header data of the PUT events, in order
}

func gate(at ...int) *gated {
	g := &gated{gates: make(map[int]chan struct{})}
	for _, n := range at {
		g.gates[n] = make(chan struct{})
	}
	return g
}

func (g *gated) handle(e *portals.Event) {
	if e.Kind != portals.EventPut {
		return
	}
	g.bits = append(g.bits, e.HdrData)
	if c := g.gates[len(g.bits)]; c != nil {
		<-c
	}
}

// open lets the handler continue after its n-th event.
func (g *gated) open(n int) {
	c := g.gates[n]
	delete(g.gates, n)
	close(c)
	synctest.Wait()
}

// bubbled runs f in a bubble of package synctest, on a node with the network of newWire.
func bubbled(t *testing.T, f func(t *testing.T, h *harness, net *network)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		table, net := newWire(t)
		f(t, &harness{Table: table, t: t, self: here}, net)
	})
}

func (h *harness) postGated(bits uint64, g *gated) (portals.MEHandle, portals.MDHandle) {
	h.t.Helper()
	return h.post(5, portals.Match{Bits: bits}, portals.MD{
		Segments: []lnd.Segment{make([]byte, 8)}, Threshold: inf, Options: portals.OpPut | portals.OpGet, Handler: g.handle,
	})
}

// comes makes n PUTs without payload arrive. A goroutine of its own delivers the first one, because the
// handler may block at it.
func (h *harness) comes(net *network, bits uint64, n int) {
	h.t.Helper()
	put := func(i int) {
		c := wire.PutCmd{AckMD: wire.NoHandle(), Portal: 5, MatchBits: bits, HdrData: uint64(i)}
		if err := net.arrive(putHeader(0, c), nil); err != nil {
			h.t.Error(err)
		}
	}
	go put(0)
	synctest.Wait()
	for i := 1; i < n; i++ {
		put(i)
	}
}

func wantHeld(t *testing.T, net *network, want int) {
	t.Helper()
	if n := net.holding(); n != want {
		t.Errorf("%d messages are held, want %d", n, want)
	}
}

// TestBackPressureAgain: a handler falls behind three times. Each time the messages above MaxPending are held, and
// are delivered when the handler has caught up, although another goroutine delivers their payload.
func TestBackPressureAgain(t *testing.T) {
	bubbled(t, func(t *testing.T, h *harness, net *network) {
		net.later = true
		g := gate(1)
		h.postGated(1, g)
		for n := range 3 {
			h.comes(net, 1, portals.MaxPending+4)
			wantHeld(t, net, 3)
			g.open(len(g.bits))
			wantHeld(t, net, 0)
			if want := (n + 1) * (portals.MaxPending + 4); len(g.bits) != want {
				t.Errorf("%d events, want %d", len(g.bits), want)
			}
			g.gates[len(g.bits)+1] = make(chan struct{})
		}
	})
}

// TestBackPressureReleased: messages that are released while the handler is slow again count towards
// MaxPending as well. If they did not, a connection whose messages are released one after another could fill
// the memory.
func TestBackPressureReleased(t *testing.T) {
	spec.Covers(t, "PT-33")
	synctest.Test(t, func(t *testing.T) {
		h, net := newLazy(t)
		const first, all = portals.MaxPending + 1, 4 * portals.MaxPending
		var gates [2]chan struct{}
		gates[0], gates[1] = make(chan struct{}), make(chan struct{})
		handled, sent := 0, 0
		h.post(5, portals.Match{Ignore: ^uint64(0)}, portals.MD{
			Segments: []lnd.Segment{make([]byte, 64)}, Threshold: inf, Options: portals.OpPut | portals.ManageRemote | portals.MayBlock,
			Handler: func(*portals.Event) {
				if handled++; handled == 1 || handled == first+1 {
					<-gates[handled/first]
				}
			},
		})
		arrive := func() {
			if sent < all {
				sent++
				h.arrivePut(net, 1, 4)
			}
		}
		for range first + 1 {
			arrive()
			synctest.Wait()
		}
		net.onRecv = arrive // when a payload has been read, the connection brings its next message
		close(gates[0])
		synctest.Wait()
		if most := 2*portals.MaxPending + 4; sent > most || net.holding() != 1 {
			t.Errorf("%d messages came and %d are held, want %d at most, and 1", sent, net.holding(), most)
		}
		close(gates[1])
		synctest.Wait()
		if handled != all || net.holding() != 0 {
			t.Errorf("%d events and %d messages are held, want %d and 0", handled, net.holding(), all)
		}
	})
}

// TestBackPressureTwo: messages that wait for one MD are not affected by the handler of
// another MD at the same portal.
func TestBackPressureTwo(t *testing.T) {
	bubbled(t, func(t *testing.T, h *harness, net *network) {
		var g [2]*gated
		for i := range g {
			g[i] = gate(1)
			h.postGated(uint64(i), g[i])
			h.comes(net, uint64(i), portals.MaxPending+4)
		}
		wantHeld(t, net, 6)
		g[0].open(1)
		wantHeld(t, net, 3)
		if len(g[1].bits) != 1 {
			t.Errorf("%d events of the other MD", len(g[1].bits))
		}
		g[1].open(1)
		wantHeld(t, net, 0)
	})
}

// TestBackPressureMoves: messages wait for an MD that is then unlinked. They go on waiting for
// the MD of the next entry, if its handler is behind too.
func TestBackPressureMoves(t *testing.T) {
	bubbled(t, func(t *testing.T, h *harness, net *network) {
		next, g := gate(1), gate(1)
		h.postGated(1, next)
		h.comes(net, 1, portals.MaxPending+2)
		_, md := h.insertGated(1, g)
		h.comes(net, 1, portals.MaxPending+4)
		wantHeld(t, net, 4)
		if err := h.MDUnlink(md); err != nil {
			t.Error(err)
		}
		g.open(1)
		wantHeld(t, net, 4)
		next.open(1)
		wantHeld(t, net, 0)
		if len(next.bits) != portals.MaxPending+2+3 {
			t.Errorf("%d events at the next entry", len(next.bits))
		}
	})
}

// insertGated does what postGated does, with an entry that is tried before all others.
func (h *harness) insertGated(bits uint64, g *gated) (portals.MEHandle, portals.MDHandle) {
	h.t.Helper()
	me, err := h.MEAttach(5, portals.Match{Bits: bits}, portals.Unlink, portals.Before)
	if err != nil {
		h.t.Fatal(err)
	}
	md, err := h.MDAttach(me, portals.MD{
		Segments: []lnd.Segment{make([]byte, 8)}, Threshold: inf, Options: portals.OpPut, Handler: g.handle,
	}, portals.Unlink)
	if err != nil {
		h.t.Fatal(err)
	}
	return me, md
}

// TestBackPressureNewEntry: an MD that is attached later does not get messages that wait for
// another MD.
func TestBackPressureNewEntry(t *testing.T) {
	bubbled(t, func(t *testing.T, h *harness, net *network) {
		g, other := gate(1), gate()
		h.postGated(1, g)
		h.comes(net, 1, portals.MaxPending+4)
		h.insertGated(1, other)
		if len(other.bits) > 0 {
			t.Errorf("the new MD got %v", other.bits)
		}
		wantHeld(t, net, 3)
		g.open(1)
		wantHeld(t, net, 0)
	})
}

// TestBackPressureTooLong: a message that waited is matched again, and dropped if it does not
// fit any more. A GET is not held at a lazy portal.
func TestBackPressureTooLong(t *testing.T) {
	bubbled(t, func(t *testing.T, h *harness, net *network) {
		if err := h.SetLazy(5); err != nil {
			t.Fatal(err)
		}
		g := gate(1)
		_, md := h.postGated(1, g)
		h.comes(net, 1, 1+portals.MaxPending)
		for range 2 { // PUTs of 5 bytes for an MD of 8 bytes
			if err := net.arrive(putHeader(5, wire.PutCmd{AckMD: wire.NoHandle(), Portal: 5, MatchBits: 1}), nil); err != nil {
				t.Error(err)
			}
		}
		wantHeld(t, net, 2)
		g.open(1)
		if diff := cmp.Diff(map[string]uint64{"too long": 1}, h.drops()); diff != "" {
			t.Errorf("drops (-want +got):\n%s", diff)
		}
		g.gates[len(g.bits)+1] = make(chan struct{})
		h.comes(net, 1, 1+portals.MaxPending)
		if err := net.arrive(getHeader(wire.GetCmd{Portal: 5, MatchBits: 1}), nil); err != nil {
			t.Error(err)
		}
		wantHeld(t, net, 1)
		if err := h.MDUnlink(md); err != nil {
			t.Error(err)
		}
		g.open(2 + portals.MaxPending + 1)
		wantHeld(t, net, 0)
		if n := h.drops()["no match"]; n != 1 {
			t.Errorf("%d dropped because nothing matches, want the GET", n)
		}
	})
}

// TestBackPressureFrees: an MD that ends while messages wait for it releases its slot.
func TestBackPressureFrees(t *testing.T) {
	bubbled(t, func(t *testing.T, h *harness, net *network) {
		g := gate(1)
		_, md := h.postGated(1, g)
		h.comes(net, 1, portals.MaxPending+4)
		if err := h.MDUnlink(md); err != nil {
			t.Error(err)
		}
		g.open(1)
		slot := func(h portals.MDHandle) uint64 { return uint64(h) >> 2 & (1<<24 - 1) }
		if again := h.bind(portals.MD{}); slot(again) != slot(md) {
			t.Errorf("the slot of MD %#x is lost: the next is %#x", md, again)
		}
	})
}

// TestHeldAfterDetach: a message that arrives after its NI has been detached is not held.
func TestHeldAfterDetach(t *testing.T) {
	h, net := newLazy(t)
	net.onStop = func() { h.arrivePut(net, 1, 4) }
	if err := h.Node().RemoveNI(t.Context(), h.Node().NIs()[0]); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]uint64{"NI shutdown": 1}, h.drops()); diff != "" || net.holding() != 0 {
		t.Errorf("%d held, drops (-want +got):\n%s", net.holding(), diff)
	}
}
