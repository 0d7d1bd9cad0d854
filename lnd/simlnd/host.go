package simlnd

import (
	"sync"
	"sync/atomic"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/sim"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// Host is one incarnation of a simulated host.
type Host struct {
	// Data belongs to the program that uses the host; it is the stack on the host.
	Data any

	fabric      *Fabric
	incarnation sim.Incarnation
	kept        *Host // the earlier incarnation, for Boot; nil: the restart keeps no state
	now         atomic.Int64

	mu       sync.Mutex
	quiet    sync.Cond // signaled when stepping becomes false
	stepping bool      // a step or a Shutdown owns the connections; guarded by mu, like all fields below
	calling  bool      // a step is calling a function of Do, or handling a command
	marked   bool      // the host is in Fabric.dirty
	timers   machine.Deadlines[func()]
	nis      []*ni
	calls    []func()

	// Used only by the step or by Shutdown:
	out       *sim.Output[*packet] // output of the step in progress; nil outside of a step
	late      []sim.Send[*packet]  // packets sent outside of a step
	said      []sim.Event          // events reported outside of a step
	opened    uint64               // number of connections opened so far
	onCommand func(string)
}

func newHost(f *Fabric, incarnation sim.Incarnation) *Host {
	h := &Host{fabric: f, incarnation: incarnation}
	h.quiet.L = &h.mu
	h.now.Store(int64(incarnation.Now))
	return h
}

// ID is the host's number.
func (h *Host) ID() sim.NodeID { return h.incarnation.Node }

// Incarnation says which incarnation of the host this is, and has its seed.
func (h *Host) Incarnation() sim.Incarnation { return h.incarnation }

// NID is the host's NID on Net.
func (h *Host) NID() nid.NID { return NID(h.incarnation.Node) }

// LNetIncarnation returns a value for lnet.Config.Incarnation that no other incarnation of any host
// has.
func (h *Host) LNetIncarnation() uint64 {
	return lnetIncarnation(h.incarnation.Number+1, h.incarnation.Node)
}

// lnetIncarnation returns the value of lnet.Config.Incarnation for an incarnation of a host, of
// which the first is 1.
func lnetIncarnation(incarnation uint64, id sim.NodeID) uint64 { return incarnation<<32 | uint64(id) }

// Clock is the host's clock, which may drift. Its timers call their functions as steps of the host,
// as Do does.
func (h *Host) Clock() machine.Clock { return (*clock)(h) }

// Driver makes the host's NIs, one for each net of type TCP and rail.
func (h *Host) Driver() lnd.Driver { return driver{h} }

// OnCommand sets the function that is called with the commands of a scenario. Call it in Boot.
func (h *Host) OnCommand(f func(text string)) { h.onCommand = f }

// Emit reports an event to users of the simulation (Config.OnEvent). Call it in a
// handler, timer, command or Do.
func (h *Host) Emit(ev sim.Event) {
	if h.out != nil {
		h.out.Events = append(h.out.Events, ev)
	} else {
		h.said = append(h.said, ev)
	}
}

// Do makes the host's next step call f. If the fabric is running, that step follows at the present
// virtual time. Safe for concurrent use.
func (h *Host) Do(f func()) {
	h.mu.Lock()
	h.calls = append(h.calls, f)
	h.wake()
	h.mu.Unlock()
}

// wake makes sure that a step follows. The caller holds h.mu.
func (h *Host) wake() {
	if !h.stepping && !h.marked {
		h.marked = true
		h.fabric.mark(h)
	}
}

// Step implements sim.Program.
func (h *Host) Step(now time.Duration, in sim.Input[*packet], out *sim.Output[*packet]) time.Duration {
	h.now.Store(int64(now))
	h.begin(out)
	switch in.Kind {
	case sim.Start:
		kept := h.kept
		h.kept = nil
		h.call(func() { h.fabric.cfg.Boot(h, kept) })
	case sim.Message:
		h.receive(in.From, in.Msg)
	case sim.Refused:
		h.refused(in.From, in.Msg)
	case sim.Reset:
		h.died(in.From)
	case sim.Command:
		if in.Text != nudge && h.onCommand != nil {
			h.call(func() { h.onCommand(in.Text) })
		}
	}
	h.fire(now)
	h.drain()
	wake := h.end()
	h.fabric.schedule()
	return wake
}

// begin starts a step: it waits until no other goroutine uses the host's connections, and then
// reserves them for the step, until end.
func (h *Host) begin(out *sim.Output[*packet]) {
	h.mu.Lock()
	for h.stepping {
		h.quiet.Wait()
	}
	h.stepping = true
	h.mu.Unlock()
	h.out = out
	out.Sends = append(out.Sends, h.late...)
	out.Events = append(out.Events, h.said...)
	clear(h.late)
	h.late, h.said = h.late[:0], h.said[:0]
}

// end finishes the step that begin started, and returns the time at which the host wants its next step.
func (h *Host) end() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.out = nil
	h.stepping, h.marked = false, false
	h.quiet.Broadcast()
	if h.idle() {
		return h.timers.Next()
	}
	h.wake() // another goroutine has queued work meanwhile
	return h.timers.Next()
}

// idle reports whether nothing was left for a step to do. The caller holds h.mu.
func (h *Host) idle() bool {
	for _, ni := range h.nis {
		if ni.outbox.Len() > 0 || len(ni.resumed) > 0 {
			return false
		}
	}
	return len(h.calls) == 0
}

// call runs f, which may call the Shutdown of an NI of this host.
func (h *Host) call(f func()) {
	h.setCalling(true)
	f()
	h.setCalling(false)
}

func (h *Host) setCalling(calling bool) {
	h.mu.Lock()
	h.calling = calling
	h.mu.Unlock()
}

// drain runs the functions given to Do and sends the messages given to NIs.
func (h *Host) drain() {
	for more := true; more; {
		more = false
		h.mu.Lock()
		nis, calls := h.nis, h.calls
		h.calls = nil
		h.mu.Unlock()
		for _, f := range calls {
			h.call(f)
			more = true
		}
		for _, ni := range nis {
			more = ni.drain() || more
		}
	}
}

// emit sends the packet p to the host with the ID to.
func (h *Host) emit(to sim.NodeID, p *packet, urgent bool) {
	if h.fabric.severed(peerKey{h.incarnation.Node, p.from}, peerKey{to, p.to}) {
		return
	}
	p.digest = p.hash()
	h.put(sim.Send[*packet]{To: to, Msg: p, Size: p.size(), Priority: urgent})
}

func (h *Host) put(s sim.Send[*packet]) {
	if h.out != nil {
		h.out.Sends = append(h.out.Sends, s)
	} else {
		h.late = append(h.late, s)
	}
}
