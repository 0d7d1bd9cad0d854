package scenario

import (
	"fmt"
	"time"

	"ulnet/lnd/sim"
)

// world is the state of the nodes as far as the faults of the file determine it.
type world struct {
	nodes     int
	state     []nodeState
	until     map[sim.NodeID]time.Duration // by node: when its pause ends; only for pauses that have an end
	starts    func(sim.NodeID) time.Duration
	separated bool // a partition or cut separates nodes
	changed   bool // some links are changed
}

type nodeState uint8

const (
	nodeDown    nodeState = 1 << iota // no process runs on the node
	nodeCrashed                       // the host of the node is down, too
	nodePaused
)

func newWorld(f *File, nodes int) *world {
	return &world{
		nodes: nodes, state: make([]nodeState, nodes), until: make(map[sim.NodeID]time.Duration),
		starts: f.settings.startAt(nodes), changed: len(f.settings.links) > 0,
	}
}

// paused reports whether a node is paused at an instant.
func (w *world) paused(id sim.NodeID, now time.Duration) bool {
	until, ends := w.until[id]
	return w.state[id]&nodePaused != 0 && (!ends || until > now)
}

// refuse returns the reason why the action verb is not possible at a node now, or "" if it is.
func (w *world) refuse(verb string, id sim.NodeID, now time.Duration) string {
	down := w.state[id]&nodeDown != 0
	switch verb {
	case "skew", "slow", "access", "link", "cut", "stall", "partition":
		return ""
	}
	if w.starts != nil && w.starts(id) > now {
		return fmt.Sprintf("node %v starts at %s only", id, formatTime(w.starts(id)))
	}
	switch verb {
	case "restart":
		if !down {
			return fmt.Sprintf("node %v is up: want a kill or crash before", id)
		}
		return ""
	case "crash":
		if w.state[id]&nodeCrashed != 0 {
			return fmt.Sprintf("node %v has crashed already: want a restart before", id)
		}
		return ""
	}
	switch {
	case down:
		return fmt.Sprintf("node %v is down: want a restart before", id)
	case verb == "pause" && w.paused(id, now):
		return fmt.Sprintf("node %v is paused already: want a resume before", id)
	case verb == "resume" && !w.paused(id, now):
		return fmt.Sprintf("node %v is not paused: want a pause before", id)
	}
	return ""
}

// do records that action a was done to node id.
func (w *world) do(a *action, id sim.NodeID, now time.Duration) {
	s := &w.state[id]
	switch a.verb {
	case "kill":
		*s = nodeDown
	case "crash":
		*s = nodeDown | nodeCrashed
	case "restart", "resume":
		*s = 0
	case "pause":
		*s |= nodePaused
	}
	switch {
	case a.verb == "pause" && a.time > 0:
		w.until[id] = now + a.time
	case a.verb == "pause" || *s&nodePaused == 0: // the pause has no end, or the node is not paused any more
		delete(w.until, id)
	}
}

// doAll does an action to the network as a whole. It returns "", or the reason why the action is
// not possible.
func (w *world) doAll(a *action) string {
	switch a.verb {
	case "partition", "cut":
		w.separated = true
	case "link":
		w.changed = true
	case "heal":
		if !w.separated {
			return "nothing is separated: want a partition or cut before"
		}
		w.separated = false
	case "links":
		if !w.changed {
			return "no link was changed: want a link NODES -> NODES before"
		}
		w.changed = false
	}
	return ""
}
