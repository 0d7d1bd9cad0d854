package rmcast

import (
	"context"
	"slices"
	"sync"
	"time"

	"ulnet/cmd/internal/config"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/scoll/rmcast"
)

// Heard is a message that was delivered, or a change of the group.
type Heard struct {
	Origin nid.NID `json:"origin,omitzero"`
	Number uint32  `json:"number,omitempty"` // communication number of the origin
	Seq    uint64  `json:"seq"`
	Length int     `json:"length"`
	// Event is "changed", with the version of the list of members, when this node has
	// become one or others have, or "gone", with the reason; "" is a message.
	Event   string `json:"event,omitempty"`
	Version string `json:"version,omitempty"`
	Error   string `json:"error,omitempty"`

	data []byte
}

// batchSize is how many messages are told at a time.
const batchSize = 256

// listener keeps what was delivered for one who listens.
type listener struct {
	limit int
	news  chan struct{} // has room for one: there is something

	mu     sync.Mutex
	queue  []Heard // guarded by mu, like all below
	bytes  int     // of queue
	missed int     // messages for which there was no room
}

// heardSize is what a message takes besides its data.
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

// take returns the oldest messages, of which it has some, and how many were missed
// after all that are kept.
func (l *listener) take() (batch []Heard, missed int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, size := 0, 0
	for n < len(l.queue) && n < batchSize && (n == 0 || size+len(l.queue[n].data) <= wire.MaxPayload) {
		size += len(l.queue[n].data)
		l.bytes -= heardSize + len(l.queue[n].data)
		n++
	}
	batch, l.queue = l.queue[:n:n], l.queue[n:]
	if len(l.queue) == 0 {
		l.queue = nil
		missed, l.missed = l.missed, 0
	}
	return batch, missed
}

// heard keeps a message for all who listen, in memory that they share, unless
// another module takes it.
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

// changed tells all who listen what became of this node.
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

// listen has l told from now on, until stop.
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

// A Step is something that happened during an operation. Exactly one of its fields but
// Payload is set.
type Step struct {
	Ready  bool         `json:"ready,omitempty"`  // messages are taken from now on
	Missed int          `json:"missed,omitempty"` // messages that came faster than they were taken
	Mcast  []Heard      `json:"mcast,omitempty"`  // of Receive
	Counts *BenchResult `json:"counts,omitempty"` // of Bench, the last of them final

	// Payload is what came with Mcast, one message after the other, MaxMcast bytes of each
	// at most. It is valid until the callback returns.
	Payload []byte `json:"-"`
}

// Attached returns the payload of a step.
func (s Step) Attached() []byte { return s.Payload }

// Attach returns the step with a payload.
func (s Step) Attach(payload []byte) Step {
	s.Payload = payload
	return s
}

// ReceiveRequest says what to report.
type ReceiveRequest struct {
	Group string `json:"group"`
	Count int    `json:"count"` // messages until it ends; 0: none ends it
}

// Receive reports the messages that are delivered from now on. The group needs
// not be joined, and may be left and joined meanwhile. Messages for which a slow report
// leaves no room are counted. ESRCH, ENOENT as all.
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
	for got := 0; ; {
		batch, missed := l.take()
		if r.Count > 0 {
			batch = upTo(batch, r.Count-got)
		}
		for i := range batch {
			if batch[i].Event == "" {
				got++
			}
		}
		if err := reportHeard(batch, missed, report); err != nil {
			return err
		}
		switch {
		case r.Count > 0 && got >= r.Count:
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

// upTo cuts a batch behind so many messages.
func upTo(batch []Heard, messages int) []Heard {
	for i := range batch {
		if batch[i].Event != "" {
			continue
		}
		if messages--; messages == 0 {
			return batch[:i+1]
		}
	}
	return batch
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

// JoinRequest says which group to join, and how long to wait for being a member.
type JoinRequest struct {
	Group     string `json:"group"`
	TimeoutMS int64  `json:"timeout_ms"`
}

// Join joins a group and waits until this node is a member. EALREADY: it takes
// part. ETIMEDOUT: no manager answers; it goes on asking.
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

// Leave leaves a group: what is under way is finished first. ESRCH: this node
// takes no part.
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
