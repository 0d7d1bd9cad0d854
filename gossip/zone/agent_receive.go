package zone

import (
	"slices"
	"sync"
	"time"

	"ulnet/lnet/nid"
	"ulnet/portals"
)

// buffers is how many wait for messages at any time. Each takes one message of any
// size.
const buffers = 4

// receiver takes what arrives. The portal is lazy: what finds no buffer waits.
type receiver struct {
	a     *Agent
	event func(*portals.Event) // made once

	mu      sync.Mutex
	posted  []*buffer // guarded by mu, like all below
	spare   []*buffer
	filling bool // somebody is in fill
	closed  bool
}

// buffer is memory for a message.
type buffer struct {
	segments [1]portals.Segment
	entry    portals.MEHandle
}

// anybody may send anything: the message says what it is.
var anybody = portals.Match{ID: nid.ProcessID{NID: nid.Any(), PID: nid.PIDAny}, Ignore: ^uint64(0)}

func (r *receiver) start(a *Agent) error {
	r.a, r.event = a, r.arrived
	if err := a.table.SetLazy(Portal); err != nil {
		return err
	}
	if err := r.fill(); err != nil {
		r.close()
		return err
	}
	return nil
}

// fill posts as many buffers as there should be. Whoever is at it posts those, too,
// that messages take meanwhile.
func (r *receiver) fill() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.filling {
		return nil
	}
	r.filling = true
	defer func() { r.filling = false }()
	for !r.closed && len(r.posted) < buffers {
		b := r.take()
		entry, err := r.a.table.MEAttach(Portal, anybody, portals.Unlink, portals.After)
		if err == nil {
			b.entry = entry
			r.posted = append(r.posted, b)
			r.mu.Unlock()
			err = r.attach(entry, b)
			r.mu.Lock()
		}
		if err != nil {
			r.withdraw(b)
			r.spare = append(r.spare, b)
			return err
		}
	}
	return nil
}

// attach makes a buffer ready for a message.
func (r *receiver) attach(entry portals.MEHandle, b *buffer) error {
	_, err := r.a.table.MDAttach(entry, portals.MD{
		Segments: b.segments[:], Threshold: 1, Options: portals.OpPut | portals.AckDisable, UserPtr: b, Handler: r.event,
	}, portals.Unlink)
	if err != nil {
		_ = r.a.table.MEUnlink(entry) // ENOENT: close was faster
	}
	return err
}

// take returns a spare buffer. The caller holds r.mu.
func (r *receiver) take() *buffer {
	if n := len(r.spare); n > 0 {
		b := r.spare[n-1]
		r.spare = r.spare[:n-1]
		return b
	}
	return &buffer{segments: [1]portals.Segment{make([]byte, portals.MaxPayload)}}
}

// withdraw notes that a buffer is not posted any more. The caller holds r.mu.
func (r *receiver) withdraw(b *buffer) {
	if i := slices.Index(r.posted, b); i >= 0 {
		r.posted = slices.Delete(r.posted, i, i+1)
	}
}

// arrived handles the event of a buffer. The next one is posted before the message
// is looked at.
func (r *receiver) arrived(e *portals.Event) {
	b := e.UserPtr.(*buffer)
	r.mu.Lock()
	r.withdraw(b)
	r.mu.Unlock()
	if e.Kind == portals.EventPut {
		if err := r.fill(); err != nil {
			r.a.notPosted.Add(1) // the next message tries again, and so does the next step
		}
		switch {
		case e.Err != nil:
		case e.MatchBits != Bits:
			r.a.strayBits.Add(1)
		default:
			r.a.runner.Do(stepInput{Input: Input{
				Kind: Arrived, Peer: e.Source.NID, At: r.a.stamp(e.ReceivedAt), Data: b.segments[0][e.Offset:][:e.MLength],
			}})
		}
	}
	r.mu.Lock()
	r.spare = append(r.spare, b)
	r.mu.Unlock()
}

// stamp turns an instant on the node's clock into one on the agent's: they differ
// where the agent's goes on while the system is suspended. It is never 0.
func (a *Agent) stamp(at time.Duration) time.Duration {
	if node := a.table.Node().Clock(); a.cfg.Clock != node {
		at = a.cfg.Clock.Now() - (node.Now() - at)
	}
	return max(at, 1)
}

// close takes the buffers back. The portal stops being lazy first: what waits there
// would keep the connections of others from being read.
func (r *receiver) close() {
	_ = r.a.table.ClearLazy(Portal) // it exists
	r.mu.Lock()
	r.closed = true
	list := slices.Clone(r.posted)
	r.mu.Unlock()
	for _, b := range list {
		_ = r.a.table.MEUnlink(b.entry) // ENOENT: a message has just taken it
	}
}
