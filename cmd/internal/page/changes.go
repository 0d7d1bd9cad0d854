package page

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"ulnet/lnet/nid"
)

// maxChanges bounds the events of one look at the node, see changes. If there are more changes, one more event
// says how many are left out.
const maxChanges = 20

// kind is what a subject is, and the first part of the names of its events.
type kind string

const (
	anNI   kind = "ni"
	aPeer  kind = "peer"
	aRoute kind = "route"
)

// subject is an NI, a route or a peer of the node.
type subject struct {
	kind kind
	nid  nid.NID // NID of the NI or of the peer, or the gateway of a route
	via  nid.NID // for a peer: the NI of this node that reaches it
	net  string  // for a route: the net to which it leads
}

// String returns the subject as events name it.
func (s subject) String() string {
	switch s.kind {
	case aPeer:
		return fmt.Sprintf("%v via %v", s.nid, s.via)
	case aRoute:
		return fmt.Sprintf("%s by %v", s.net, s.nid)
	}
	return s.nid.String()
}

// condition is the state of a subject.
type condition struct {
	down   bool
	unwell bool   // the health is below 1000
	cause  string // cause of the state down
}

// changes finds out what has changed at the node since it looked at the node's state before. LNet does not
// report these changes, so they are found by comparison. A look at the node is a call of begin, one of see for
// each NI, route and peer, and one of end.
type changes struct {
	known  map[subject]*known
	looked map[kind]bool // kinds of subjects that the previous look included; only for these does a look yield events
	round  uint64        // number of the present look
	at     time.Time     // time of the present look
	events []Event       // events of the present look, in their order
	left   int           // number of changes in the present look beyond maxChanges, which have no event
}

type known struct {
	condition
	round uint64 // number of the latest look that found the subject
}

// begin begins a look at the node.
func (c *changes) begin(at time.Time) {
	if c.known == nil {
		c.known, c.looked = map[subject]*known{}, map[kind]bool{}
	}
	c.round, c.at, c.events, c.left = c.round+1, at, nil, 0
}

// see compares the condition of a subject with that in the previous look, and adds an event for each change.
func (c *changes) see(s subject, is condition) {
	was, ok := c.known[s]
	if !ok {
		was = &known{}
		c.known[s] = was
		c.tell(s, "new", "")
	}
	if is.down != was.down {
		c.tell(s, oneOf(is.down, "down", "up"), is.cause)
	}
	if is.unwell != was.unwell {
		c.tell(s, oneOf(is.unwell, "unwell", "well"), "")
	}
	was.condition, was.round = is, c.round
}

// end ends a look that included all subjects of these kinds. It adds an event for each subject that is gone, and
// returns the events of the look in their order.
func (c *changes) end(kinds ...kind) []Event {
	var gone []subject
	for s, k := range c.known {
		if k.round == c.round {
			continue
		}
		delete(c.known, s)
		if slices.Contains(kinds, s.kind) {
			gone = append(gone, s)
		}
	}
	slices.SortFunc(gone, func(a, b subject) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.String(), b.String()))
	})
	for _, s := range gone {
		c.tell(s, "gone", "")
	}
	clear(c.looked)
	for _, k := range kinds {
		c.looked[k] = true
	}
	if c.left > 0 {
		c.events = append(c.events, Event{Time: c.at, Event: "changes.more", About: fmt.Sprintf("%d further changes of NIs, routes and peers", c.left)})
	}
	return c.events
}

// tell adds an event, if the previous look included subjects of this kind.
func (c *changes) tell(s subject, what, cause string) {
	if !c.looked[s.kind] {
		return
	}
	if len(c.events) == maxChanges {
		c.left++
		return
	}
	about := s.String()
	if cause != "" {
		about += ": " + cause
	}
	c.events = append(c.events, Event{Time: c.at, Event: string(s.kind) + "." + what, About: shortened(about)})
}

// oneOf returns one of two texts.
func oneOf(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}
