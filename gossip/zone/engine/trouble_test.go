package engine

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"ulnet/gossip/zone/wire"
)

// parcel is a message with its sender, recorded so that it can be sent again much later.
type parcel struct {
	from *node
	data []byte
}

// keep stores a message, to be replayed later.
func (w *world) keep(p parcel) {
	if len(w.recorded) < w.record {
		w.recorded = append(w.recorded, p)
		return
	}
	w.recorded[w.rng.IntN(w.record)] = p // replaces one at random, so some messages stay for very long
}

// moreTrouble injects faults beyond failing nodes and cut networks.
func (w *world) moreTrouble(x *node, k int) {
	switch k {
	case 7: // the node restarts before any node has noticed that its process ended
		x.up = false
		x.start()
	case 8: // the same, and the node does not know its earlier incarnations
		if x.inc > 1 {
			x.up = false
			x.startAs(x.inc / 2)
		}
	case 9:
		x.slow = time.Duration(w.rng.Int64N(int64(300 * time.Millisecond)))
		w.log("%v needs %v", x.id.Name(), x.slow)
		w.after(time.Duration(w.rng.Int64N(int64(20*time.Second))), func() { x.slow = 0 })
	case 10, 11:
		for range 1 + w.rng.IntN(4) {
			w.write(x)
		}
	case 12: // an earlier message is sent again, to any node
		w.log("replay")
		for range 30 {
			if to := w.nodes[w.rng.IntN(len(w.nodes))]; to.up && len(w.recorded) > 0 {
				p := w.recorded[w.rng.IntN(len(w.recorded))]
				to.exec(to.incarnation, func() {
					to.step(Input{Kind: Arrived, Data: slices.Clone(p.data), Peer: p.from.id.Endpoints()[0]})
				})
			}
		}
	case 13: // a forged goodbye, or report of a failure, about any node
		y := w.nodes[w.rng.IntN(len(w.nodes))]
		if x.up && !x.paused && y.up {
			w.log("%v is told of %v", x.id.Name(), y.id.Name())
			w.forge(x, y)
		}
	}
}

// write makes a node write or delete an attribute.
func (w *world) write(x *node) {
	in := Input{Kind: Set, Key: fmt.Sprint("k", w.rng.IntN(5)), Value: fmt.Append(nil, w.now)}
	if w.rng.IntN(3) == 0 {
		in = Input{Kind: Delete, Key: in.Key}
	}
	if x.up {
		x.exec(x.incarnation, func() { x.step(in) })
	}
}

// forge delivers a message to x in the name of one of x's neighbours. It says that y has left, or that all
// neighbours of x suspect y.
func (w *world) forge(x, y *node) {
	about, neighbours := x.m.Table().Lookup(y.id), x.m.Neighbours(nil)
	v, there := x.m.Has(about)
	if about == x.m.self || !there || len(neighbours) == 0 {
		return
	}
	from := neighbours[w.rng.IntN(len(neighbours))]
	fv, _ := x.m.Has(from)
	lists := &wire.Lists{}
	v.Minor += uint32(w.rng.IntN(3))
	v.Inc += uint64(w.rng.IntN(2))
	if w.rng.IntN(2) == 0 {
		lists.Leaves = []wire.Departure{{Node: about, Version: v, Code: 1}}
	} else {
		for _, p := range neighbours {
			lists.Suspicions = append(lists.Suspicions, wire.Suspicion{Reporter: p, Suspect: about, Version: v})
		}
	}
	x.step(Input{Kind: Delivered, Message: &wire.Message{Kind: wire.Update, From: from, Version: fv, Lists: lists}})
}

// sameAttributes reports whether the events at each node that is up have given its listener the
// attributes of all other nodes that are up (MS-71, MS-72).
func (w *world) sameAttributes() bool {
	for _, x := range w.nodes {
		if !x.up {
			continue
		}
		own := map[string]string{}
		list, _ := x.m.Attributes(x.m.self)
		for _, a := range list {
			own[a.Key] = string(a.Value)
		}
		for _, y := range w.nodes {
			if y != x && y.up && !maps.Equal(own, y.keys[x.id]) {
				return false
			}
		}
	}
	return true
}
