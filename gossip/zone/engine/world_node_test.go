package engine

import (
	"maps"
	"slices"

	"ulnet/gossip/zone/wire"
	"ulnet/lnet/machine"
)

// start begins an incarnation. Its number is above the stored ones.
func (n *node) start() {
	n.inc++
	n.startAs(n.inc)
}

func (n *node) startAs(inc uint64) {
	w := n.w
	n.up, n.hostDown, n.paused, n.inbox, n.inc = true, false, false, nil, inc
	n.incarnation++
	n.watched, n.view, n.keys, n.events = make(map[int]bool), map[wire.ID]wire.Version{}, make(map[wire.ID]map[string]string), nil
	cfg := w.cfg
	cfg.Self, cfg.Bootstrap, cfg.Table, cfg.Wire = n.id, n.boot, w.shared, w.shared == nil
	if n.change != nil {
		n.change(&cfg)
	}
	m, err := New(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	n.m = m
	n.view[n.id] = wire.Version{Inc: inc, Minor: 1}
	w.log("%v starts as %d", n.id.Name(), inc)
	n.step(Input{Kind: Join, Inc: inc})
}

// kill ends the process; its host refuses messages to it.
func (n *node) kill() {
	n.w.log("%v is killed", n.id.Name())
	n.up = false
	for _, o := range n.w.nodes {
		if o.up && o.watched[n.i] {
			n.w.after(n.w.latency, func() { o.input(o.incarnation, Input{Kind: Down}, n.id) })
		}
	}
}

// crash ends the process and its host: messages to it get no answer.
func (n *node) crash() {
	n.w.log("%v crashes", n.id.Name())
	n.up, n.hostDown = false, true
}

func (n *node) pause() { n.w.log("%v stops", n.id.Name()); n.paused = true }

func (n *node) resume() {
	n.w.log("%v goes on", n.id.Name())
	n.paused = false
	inbox := n.inbox
	n.inbox = nil
	for _, f := range inbox {
		f()
	}
}

// exec calls f in this process as soon as the process is not paused, if it still runs then.
func (n *node) exec(incarnation uint64, f func()) {
	switch {
	case !n.up || n.incarnation != incarnation:
	case n.paused:
		n.inbox = append(n.inbox, func() { n.exec(incarnation, f) })
	case n.slow > 0:
		n.busy = max(n.busy, n.w.now) + n.slow
		n.w.at(n.busy, func() {
			if n.up && n.incarnation == incarnation {
				f()
			}
		})
	default:
		f()
	}
}

// input steps the process on an input about another node.
func (n *node) input(incarnation uint64, in Input, about wire.ID) {
	n.exec(incarnation, func() {
		in.Node = n.m.Table().Lookup(about)
		n.step(in)
	})
}

func (n *node) step(in Input) {
	w := n.w
	out := &w.out
	out.Reset()
	wake := n.m.Step(w.now, in, out)
	if wake <= w.now {
		w.fail("%v wants to be woken at %v, now is %v", n.id, wake, w.now)
	}
	n.timer++
	timer, incarnation := n.timer, n.incarnation
	if wake != machine.Never {
		w.at(wake, func() {
			n.exec(incarnation, func() {
				if n.timer == timer {
					n.step(Input{})
				}
			})
		})
	}
	if out.Incarnation > 0 {
		n.keep(out.Incarnation)
	}
	for i := range out.Events {
		n.event(&out.Events[i])
	}
	if w.strict {
		if err := n.m.invariants(); err != nil {
			w.fail("%v: %v", n.id, err)
		}
		n.replayed(len(out.Events))
	}
	for _, r := range out.Watch {
		if to := w.nodeOf(n, r); to != nil {
			n.watched[to.i] = true
		}
	}
	for _, r := range out.Ignore {
		if to := w.nodeOf(n, r); to != nil {
			delete(n.watched, to.i)
		}
	}
	for i := range out.Sends {
		w.send(n, &out.Sends[i], out.Buf)
	}
	for i := range out.Dispatches {
		w.dispatch(n, &out.Dispatches[i], out.Buf)
	}
}

// keep stores the number of an incarnation that the step raised, after the delay of the disk. If the process ends
// before that, its next incarnation begins below the number that other nodes know (MS-A2).
func (n *node) keep(inc uint64) {
	if n.w.disk == 0 {
		n.inc = max(n.inc, inc)
		return
	}
	incarnation := n.incarnation
	n.w.after(n.w.disk, func() { n.exec(incarnation, func() { n.inc = max(n.inc, inc) }) })
}

// dispatch carries a message to another zone, always as bytes.
func (w *world) dispatch(from *node, s *DispatchSend, buf []byte) {
	to, id := w.byNID[s.To.Endpoints()[0]], s.To
	data := slices.Clone(buf[s.Begin:s.End])
	if s.Dispatch != nil {
		data = from.m.codec.AppendDispatch(nil, s.Dispatch, s.To)
	}
	if len(data) != s.Size {
		w.fail("%d bytes are %d", len(data), s.Size)
	}
	w.dispatches++
	sender := from.incarnation
	w.after(w.latency, func() {
		switch {
		case w.cut != nil && w.cut(from.i, to.i):
		case to.up:
			to.exec(to.incarnation, func() { to.step(Input{Kind: Arrived, Data: data, Peer: from.id.Endpoints()[0]}) })
		case !to.hostDown:
			w.after(w.latency, func() { from.exec(sender, func() { from.step(Input{Kind: DispatchFailed, To: id}) }) })
		}
	})
}

// event applies an event to what a listener knows, and checks that the event is possible (MS-9,
// MS-10).
func (n *node) event(e *Event) {
	w := n.w
	switch v, ok := n.view[e.ID]; {
	case !w.strict && e.Kind != Left && e.Kind != Refuted: // skipped: to fill a map for each node would take too much memory
	case e.Kind == Joined:
		if ok {
			w.fail("%v: %v joins as %v, but is there as %v", n.id.Name(), e.ID.Name(), e.Version, v)
		}
		n.view[e.ID] = e.Version
		w.log("%v: %v %v joined", n.id.Name(), e.ID.Name(), e.Version)
	case e.Kind == Left:
		if v != e.Version && w.strict {
			w.fail("%v: %v leaves as %v, but is there as %v", n.id.Name(), e.ID.Name(), e.Version, v)
		}
		delete(n.view, e.ID)
		delete(n.keys, e.ID)
		w.log("%v: %v %v left: %v %d", n.id.Name(), e.ID.Name(), e.Version, e.Cause, e.Code)
		if o := w.byNID[e.ID.Endpoints()[0]]; o != nil && o.up && o.m.ver.Inc == e.Version.Inc && o.m.phase == joined {
			w.wrongly++
		}
	case e.Kind == AttributesChanged:
		n.keys[e.ID] = make(map[string]string)
		for _, a := range e.Attributes {
			n.keys[e.ID][a.Key] = string(a.Value)
		}
	case e.Kind == Refuted:
		n.view[n.id] = e.Version
		w.log("%v refutes as %v", n.id.Name(), e.Version)
	case e.Kind == Suspected:
		w.log("%v suspects %v %v", n.id.Name(), e.ID.Name(), e.Version)
	}
	if w.strict {
		n.events = append(n.events, *e)
	}
	if w.told != nil {
		w.told(n, e)
	}
}

// replayed checks that replaying all events gives the view (MS-10). If the node is a member, and the step had no
// event and left the view's hash as it was, replayed does nothing: the view has not changed either, because the
// method invariants has compared it with its hash.
func (n *node) replayed(events int) {
	state := viewState{n.m, n.m.view.members, n.m.view.hash}
	if events == 0 && state == n.replay && n.m.phase == joined {
		return
	}
	n.replay = state
	count := 0
	n.m.Each(func(p wire.Ref, v wire.Version) {
		count++
		if was, ok := n.view[n.m.Table().ID(p)]; !ok || was.Inc != v.Inc {
			n.w.fail("%v has %v as %v, events say %v", n.id, n.m.Table().ID(p), v, was)
		}
	})
	if count != len(n.view) && n.m.phase == joined {
		n.w.fail("%v has %d members, events say %v", n.id, count, slices.Collect(maps.Keys(n.view)))
	}
}
