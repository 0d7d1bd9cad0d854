package engine

import (
	"slices"
	"syscall"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/selftest/wire"
)

type deadline = machine.Deadline[func()]

// after calls f after a time.
func (c *Console) after(d *deadline, wait time.Duration, f func()) {
	d.Of = f
	c.deadlines.Set(d, c.now+wait)
}

// transaction sends one request to each of several nodes. Its RPCs run at the same time, as far as
// Config.MaxCalls allows, and have the same time-out.
type transaction struct {
	of      *operation
	service wire.Service
	nodes   []*node
	wait    time.Duration
	brief   bool     // nodes that are not active get the time leastWait instead of wait
	answers []Answer // answers of the nodes, in the order of nodes
	// request returns the request to a node, and the list of destinations that the node gets.
	request func(i int) (body wire.Body, list []byte)
	// take takes a reply of the right type. It returns true to send the request once more.
	take func(a *Answer, n *node, m *wire.Message) (again bool)
	then func() // called when all RPCs have ended

	next int // index of the first node without a request
	left int // number of nodes without an answer
}

// call is an RPC to one node.
type call struct {
	id  uint64
	of  *transaction
	i   int // index of the node in the field nodes of the transaction
	at  time.Duration
	due deadline
}

// ask begins a transaction. It ends in this step if there is no node to ask.
func (c *Console) ask(t *transaction) {
	t.wait = min(max(t.wait, leastWait), mostWait)
	t.left, t.answers = len(t.nodes), make([]Answer, len(t.nodes))
	for i, n := range t.nodes {
		t.answers[i] = Answer{ID: n.id, Session: wire.NoSession()}
	}
	t.of.hold(t.nodes...)
	switch {
	case len(t.nodes) == 0:
		t.then()
	case t.of.stopped != 0:
		c.abandon(t, t.of.stopped)
	default:
		c.queue = append(c.queue, t)
	}
}

// callWaiting sends requests as far as Config.MaxCalls allows, one of each transaction in turn.
func (c *Console) callWaiting() {
	for len(c.queue) > 0 && len(c.calls) < c.cfg.MaxCalls {
		t := c.queue[0]
		c.queue = slices.Delete(c.queue, 0, 1)
		c.call(t, t.next)
		if t.next++; t.next < len(t.nodes) {
			c.queue = append(c.queue, t)
		}
	}
}

// call sends the request of a transaction to one node.
func (c *Console) call(t *transaction, i int) {
	n := t.nodes[i]
	body, list := t.request(i)
	r := &call{id: c.nextID(), of: t, i: i, at: c.now}
	e := Effect{Kind: DoCall, ID: r.id, Peer: n.id, Service: t.service, List: list}
	if list != nil {
		e.Bits = c.nextID()
		body.(*wire.Test).BulkID = e.Bits
	}
	features := c.session.features
	if n.differs && t.service != wire.MakeSessionService {
		features = n.features
	}
	m := wire.Message{Header: wire.Header{Features: features}, ReplyID: r.id, Body: body}
	data, err := m.AppendBinary(make([]byte, 0, wire.MessageSize))
	if err != nil { // does not happen: names and NIDs were checked when the command gave them
		c.answered(t, i, syscall.EINVAL)
		return
	}
	e.Data, c.calls[r.id] = data, r
	wait := t.wait
	if t.brief && n.state != Active {
		wait = leastWait
	}
	c.after(&r.due, wait, func() { c.over(r, syscall.ETIMEDOUT) })
	c.do(e)
}

// nextID returns a number that no other RPC or list has.
func (c *Console) nextID() uint64 {
	c.lastID++
	return c.lastID
}

// progress ends an RPC: its reply has arrived, or the shell reports that the request or the reply failed.
func (c *Console) progress(in *Input) {
	r := c.calls[in.ID]
	if r == nil {
		return
	}
	if in.Kind == Sent {
		c.over(r, in.Errno)
		return
	}
	m, err := wire.ParseMessage(in.Data)
	if request, _ := r.of.service.Request(); err != nil || m.Type != request.Reply() {
		c.over(r, syscall.EBADMSG)
		return
	}
	t, i := r.of, r.i
	n, a := t.nodes[i], &t.answers[i]
	c.free(r)
	a.Status, a.Latency = syscall.Errno(m.Status), c.now-r.at
	c.learn(a, n, &m)
	if t.take != nil && t.take(a, n, &m) && t.of.stopped == 0 {
		c.call(t, i)
		return
	}
	c.answered(t, i, 0)
}

// free forgets an RPC, and makes the shell free the memory of the RPC.
func (c *Console) free(r *call) {
	if delete(c.calls, r.id); r.of.service == wire.MakeSessionService {
		r.of.nodes[r.i].making--
	}
	c.deadlines.Clear(&r.due)
	c.do(Effect{Kind: DoFree, ID: r.id})
}

// over ends an RPC that has no reply.
func (c *Console) over(r *call, errno syscall.Errno) {
	t, n := r.of, r.of.nodes[r.i]
	c.free(r)
	t.answers[r.i].Latency = c.now - r.at
	// The node did not get the request, so it cannot have made the session.
	if errno == syscall.EHOSTUNREACH && t.service == wire.MakeSessionService {
		n.made = max(n.made-1, n.making)
	}
	if errno == syscall.ETIMEDOUT || n.state == Active && errno != syscall.EINTR && errno != syscall.ESHUTDOWN {
		n.state = Down
	}
	c.answered(t, r.i, errno)
}

// answered notes that a node of a transaction has answered or was given up.
func (c *Console) answered(t *transaction, i int, errno syscall.Errno) {
	t.answers[i].Failed, t.answers[i].State = errno, t.nodes[i].state
	if t.left--; t.left == 0 {
		t.of.result.Answers = append(t.of.result.Answers, t.answers...)
		t.then()
	}
}

// stop gives up all RPCs of an operation.
func (c *Console) stop(o *operation, errno syscall.Errno) {
	o.stopped = errno
	var under []*call
	for _, r := range c.calls { // any order: they are sorted below
		if r.of.of == o {
			under = append(under, r)
		}
	}
	slices.SortFunc(under, func(a, b *call) int { return int(int64(a.id - b.id)) })
	var waiting *transaction
	c.queue = slices.DeleteFunc(c.queue, func(t *transaction) bool {
		if t.of == o {
			waiting = t
		}
		return t.of == o
	})
	for _, r := range under {
		c.over(r, errno)
	}
	if waiting != nil {
		c.abandon(waiting, errno)
	}
}

// abandon ends the RPCs of a transaction whose requests are not sent yet.
func (c *Console) abandon(t *transaction, errno syscall.Errno) {
	for first := t.next; first < len(t.nodes); first++ {
		t.next = first + 1
		c.answered(t, first, errno)
	}
}
