package sim

import (
	"time"

	"ulnet/lnet/machine"
)

// Run processes all events up to and including the instant until, and sets the virtual time to it.
// With [machine.Never] it runs until there are no events. The error is a [*ContractError] if a
// program broke the contract of machines or panicked, or it is the argument of Stop. Once there is
// an error, every further call returns the same one.
func (n *Network[M]) Run(until time.Duration) (err error) {
	defer n.caught(&err)
	for n.err == nil {
		e, ok := n.queue.pop(int64(until))
		if !ok {
			if until != machine.Never {
				n.now = max(n.now, int64(until))
			}
			break
		}
		n.process(e)
	}
	return n.err
}

// RunEvents processes at most limit events, and reports how many there were.
func (n *Network[M]) RunEvents(limit int) (done int, err error) {
	defer n.caught(&err)
	for done < limit && n.err == nil {
		e, ok := n.queue.pop(never)
		if !ok {
			break
		}
		done++
		n.process(e)
	}
	return done, n.err
}

// Stop ends the simulation after the current step: Run then returns err, which must not be nil. If
// the simulation has an error already, that one stays.
func (n *Network[M]) Stop(err error) {
	if n.err == nil {
		n.err = err
	}
}

// touch reads the nodes and messages of a batch of events, so that they are in the processor's
// caches when the events are handled. The processor serves the cache misses of these independent
// reads in parallel; without touch, each event would wait for its own misses, one after the other.
func (n *Network[M]) touch(batch []event) {
	var sum int64
	for i := range batch {
		e := &batch[i]
		sum += n.nodes[e.node].wake
		if k := e.kind(); k == evArrive || k == evHop {
			f := n.flights.at(e.ref())
			// these two fields lie at the two ends of the flight's memory, so that both ends come
			// into the cache
			sum += f.delay + int64(f.size)
		}
	}
	n.touched += sum // the sum is kept, so that the compiler does not remove the reads
}

// process handles one event.
func (n *Network[M]) process(e event) {
	if batch := n.queue.batch(); batch != nil {
		n.touch(batch)
	}
	n.now = e.at
	n.stats.Events++
	switch e.kind() {
	case evTimer:
		n.timer(NodeID(e.node), e.at)
	case evArrive:
		n.arrive(NodeID(e.node), e.ref())
	case evHop:
		n.hop(e.ref())
	case evReady:
		n.ready(NodeID(e.node), e.ref())
	case evAction:
		n.actions.call(e.ref())
	case evStart:
		n.firstStart(NodeID(e.node))
	}
}

// At calls f at a virtual instant, or at the present one if the instant is past. Events for the
// same instant that are added later come after f.
func (n *Network[M]) At(at time.Duration, f func()) {
	n.queue.push(newEvent(max(int64(at), n.now), evAction, 0, n.actions.add(f)))
}

// actions are the user's functions that are still to be called.
type actions struct {
	funcs []func()
	free  []int32
}

func (a *actions) add(f func()) int32 {
	if k := len(a.free) - 1; k >= 0 {
		i := a.free[k]
		a.free = a.free[:k]
		a.funcs[i] = f
		return i
	}
	a.funcs = append(a.funcs, f)
	return int32(len(a.funcs) - 1)
}

func (a *actions) call(i int32) {
	f := a.funcs[i]
	a.funcs[i] = nil
	a.free = append(a.free, i)
	f()
}
