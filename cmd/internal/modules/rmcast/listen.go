package rmcast

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"ulnet/cmd/internal/config"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/scoll/rmcast"
)

// Heard is a delivered message, or a change of the group.
type Heard struct {
	Origin nid.NID `json:"origin,omitzero"`  // node that sent the message
	Number uint32  `json:"number,omitempty"` // communication number of the origin, assigned by a manager
	Seq    uint64  `json:"seq"`              // number that rises with each message of an origin
	Length int     `json:"length"`           // bytes of the message
	// Event is "" for a message. It is "changed" for a new roster, whose version is set, and "gone"
	// when this node is no longer a member, with the reason.
	Event   string `json:"event,omitempty"`
	Version string `json:"version,omitempty"` // with "changed": version of the new roster
	Error   string `json:"error,omitempty"`   // with "gone": the reason

	data []byte
}

// batchSize is how many messages one report has at most.
const batchSize = 256

// listener queues delivered messages for one client that receives them.
type listener struct {
	limit int
	news  chan struct{} // has a token while the queue is not empty; capacity 1

	mu     sync.Mutex
	queue  []Heard // messages that wait for the client; guarded by mu, as all below
	bytes  int     // bytes of all queued messages
	missed int     // messages dropped because the queue was full
}

// heardSize is the memory of a queued message, without its data, in bytes.
const heardSize = 128

func (l *listener) put(h Heard) {
	l.mu.Lock()
	if size := heardSize + len(h.data); l.bytes+size <= l.limit {
		l.bytes += size
		l.queue = append(l.queue, h)
	} else {
		l.missed++
	}
	l.mu.Unlock()
	select {
	case l.news <- struct{}{}:
	default:
	}
}

// take removes and returns the oldest entries, with at most the given number of messages. If it
// empties the queue, it also returns how many messages were dropped since the last entry.
func (l *listener) take(most int) (batch []Heard, messages, missed int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, size := 0, 0
	for n < len(l.queue) && n < batchSize && messages < most && (n == 0 || size+len(l.queue[n].data) <= wire.MaxPayload) {
		h := &l.queue[n]
		n, size, l.bytes = n+1, size+len(h.data), l.bytes-heardSize-len(h.data)
		if h.Event == "" {
			messages++
		}
	}
	batch, l.queue = l.queue[:n:n], l.queue[n:]
	if len(l.queue) == 0 {
		l.queue = nil
		missed, l.missed = l.missed, 0
	}
	return batch, messages, missed
}

// heard offers a message to the other module that HearFirst has registered. If that does not take
// the message, heard queues it for all listeners, which share one copy of the data.
func (g *group) heard(m *rmcast.Message) {
	if g.m.first(g.cfg.Name, m) {
		return
	}
	g.mu.Lock()
	listeners := g.listeners
	g.mu.Unlock()
	if len(listeners) == 0 {
		return
	}
	h := Heard{Origin: m.Origin.NID, Number: m.Number, Seq: m.Seq, Length: len(m.Data)}
	h.data = slices.Clone(m.Data[:min(len(m.Data), config.MaxMcast)])
	for _, l := range listeners {
		l.put(h)
	}
}

// changed queues a change of membership for all listeners.
func (g *group) changed(v rmcast.Version, err error) {
	h := Heard{Event: "changed", Version: v.String()}
	if err != nil {
		h.Event, h.Version, h.Error = "gone", "", err.Error()
	}
	g.mu.Lock()
	listeners := g.listeners
	g.mu.Unlock()
	for _, l := range listeners {
		l.put(h)
	}
}

// listen adds a listener, which gets messages until stop is called.
func (g *group) listen(l *listener) (stop func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.listeners = append(slices.Clone(g.listeners), l)
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.listeners = slices.DeleteFunc(slices.Clone(g.listeners), func(other *listener) bool { return other == l })
	}
}

// Step is something that happened during an operation. Exactly one of its fields other than
// Payload is set.
type Step struct {
	Ready  bool         `json:"ready,omitempty"`  // messages are received from now on
	Missed int          `json:"missed,omitempty"` // messages dropped because the client was too slow
	Mcast  []Heard      `json:"mcast,omitempty"`  // messages, in a step of Receive
	Counts *BenchResult `json:"counts,omitempty"` // progress, in a step of Bench; the last one is final

	// Payload is the data of the messages in Mcast, one after the other, at most MaxMcast
	// bytes of each. It is valid until the callback returns.
	Payload []byte `json:"-"`
}

// Attached returns the payload of a step.
func (s Step) Attached() []byte { return s.Payload }

// Attach returns the step with a payload.
func (s Step) Attach(payload []byte) Step {
	s.Payload = payload
	return s
}

// ReceiveRequest selects what Receive reports.
type ReceiveRequest struct {
	Group string `json:"group"` // name of the group
	Count int    `json:"count"` // number of messages after which Receive ends; 0: it does not end
}

// Receive reports messages that are delivered from now on. This node need not be a member of the
// group, and may leave and join while Receive runs. Messages that come faster than report takes
// them are dropped and counted. Errors: ESRCH, ENOENT as for all operations.
func (m *Module) Receive(ctx context.Context, r ReceiveRequest, report func(Step) error) error {
	g, err := m.group(r.Group)
	if err != nil {
		return err
	}
	l := &listener{limit: g.m.cfg.Backlog, news: make(chan struct{}, 1)}
	defer g.listen(l)()
	if err := report(Step{Ready: true}); err != nil {
		return err
	}
	left := math.MaxInt
	if r.Count > 0 {
		left = r.Count
	}
	for {
		batch, messages, missed := l.take(left)
		if err := reportHeard(batch, missed, report); err != nil {
			return err
		}
		switch left -= messages; {
		case left == 0:
			return nil
		case len(batch) > 0 || missed > 0:
			continue
		}
		select {
		case <-l.news:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func reportHeard(batch []Heard, missed int, report func(Step) error) error {
	if len(batch) > 0 {
		var data []byte
		for i := range batch {
			data = append(data, batch[i].data...)
		}
		if err := report(Step{Mcast: batch, Payload: data}); err != nil {
			return err
		}
	}
	if missed > 0 {
		return report(Step{Missed: missed})
	}
	return nil
}

// JoinRequest names a group to join or leave.
type JoinRequest struct {
	Group     string `json:"group"`      // name of the group
	TimeoutMS int64  `json:"timeout_ms"` // time limit for becoming a member, or for leaving; 0: default
}

// Join joins a group and waits until this node is a member. EALREADY: it has joined.
// ETIMEDOUT: no manager answers; the node keeps trying.
func (m *Module) Join(ctx context.Context, r JoinRequest) error {
	g, err := m.group(r.Group)
	if err != nil {
		return err
	}
	if err := g.change(ctx, g.join); err != nil {
		return err
	}
	_, err = m.ready(ctx, r.Group, r.TimeoutMS)
	return err
}

// Leave leaves a group, after messages in flight are finished. ESRCH: this node has not joined
// it.
func (m *Module) Leave(ctx context.Context, r JoinRequest) error {
	g, err := m.group(r.Group)
	if err != nil {
		return err
	}
	timeout := time.Duration(r.TimeoutMS) * time.Millisecond
	if timeout <= 0 {
		timeout = 2 * joinTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return g.change(ctx, func() error { return g.leave(ctx) })
}
