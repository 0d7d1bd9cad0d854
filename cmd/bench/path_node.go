package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"ulnet/cmd/bench/worker"
	"ulnet/lnd"
	"ulnet/lnd/socklnd"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/route"
	"ulnet/portals"
	localnode "ulnet/portals/node"
)

// railSetup describes a node with any number of NIs, which may be a router.
type railSetup struct {
	Networks string
	Routes   string // routes in the syntax of LNet's tunable routes
	Forward  bool
	Port     uint16
	Timeout  time.Duration // transaction timeout; 0 means LNet's default
}

// railNode is a node with several rails in a process of its own. It answers small PUTs and
// discards large ones. When it gets an order, it streams PUTs to other nodes, exchanges PUTs
// with them, or puts load on them.
type railNode struct {
	*node
	ctx context.Context
	to  map[nid.NID]*initiator
}

// serveRail starts the node of a worker, and registers its orders.
func serveRail(w *worker.Worker, setup railSetup) (ready struct{}) {
	n := newRailNode(setup)
	w.Defer(n.close)
	r := &railNode{node: n, ctx: w.Context(), to: make(map[nid.NID]*initiator)}
	r.timed(w, "stream", func(i *initiator, count int) (time.Duration, error) { return i.putStream(r.ctx, count, 2*window) })
	r.timed(w, "halves", func(i *initiator, count int) (time.Duration, error) { return i.pingPong(r.ctx, bitsHandler, count) })
	worker.Order(w, "load", returning(r.load))
	worker.Order(w, "usage", ownUsage)
	worker.Order(w, "resident", func(struct{}) (int64, error) { return residentMemory(), nil })
	worker.Order(w, "router", func(struct{}) (lnet.RouterSnapshot, error) { return n.whole.LNet().Router(), nil })
	answers := &responder{node: r.free()}
	answers.open()
	go answers.echoFromEQ(w.Context())
	return ready
}

// free returns a copy of the node without a NID of its own, which lets LNet choose the NI for each message.
func (r *railNode) free() *node {
	free := *r.node
	free.id.NID = nid.NID{}
	return &free
}

// newRailNode starts the node that a setup describes.
func newRailNode(setup railSetup) *node {
	whole := must(localnode.Start(localnode.Config{
		Networks: setup.Networks, LNet: lnet.Config{TransactionTimeout: setup.Timeout},
		TCP: socklnd.Config{AcceptPort: setup.Port},
	}))
	n := &node{clock: whole.LNet().Clock(), whole: whole, table: whole.Table()}
	for _, id := range whole.LNet().IDs() {
		if !id.NID.IsLo() {
			n.id = id
			break
		}
	}
	must(whole.LNet().ApplyRoutes(must(route.Parse(setup.Routes))))
	if setup.Forward {
		succeed(whole.LNet().StartAsRouter())
	}
	return n
}

// railOrder tells a node what traffic to exchange with another one.
type railOrder struct {
	Target nid.NID
	Count  int           // number of messages
	For    time.Duration // how long a load lasts
}

// initiator returns the initiator of the node's traffic with a target.
func (r *railNode) initiator(target nid.NID) *initiator {
	if r.to[target] == nil {
		r.to[target] = r.free().initiate(r.ctx, nid.ProcessID{NID: target, PID: nid.LustrePID})
	}
	return r.to[target]
}

// timed registers an order whose result is how long it took.
func (r *railNode) timed(w *worker.Worker, name string, do func(i *initiator, count int) (time.Duration, error)) {
	worker.Order(w, name, returning(func(o railOrder) time.Duration { return must(do(r.initiator(o.Target), o.Count)) }))
}

// ordered returns a contender. In each of its rounds, a worker is ordered to exchange count
// messages with a target.
func ordered(name, do string, at *worker.Process, target nid.NID, count int) *contender {
	return &contender{name: name, run: func(*contender) (latencies, error) {
		took, err := worker.Ask[time.Duration](at, do, railOrder{Target: target, Count: count})
		return latencies{float64(took) / float64(count)}, err
	}}
}

// loadReport is the outcome of a load.
type loadReport struct {
	Begun, Answered int
	Failed          []loadFailure
	Twice           int // number of events that came twice
	Open            int // number of operations whose last event never came
	Longest         time.Duration
}

// loadFailure is an operation that failed.
type loadFailure struct {
	Began, Ended time.Time
	Why          string
}

// load sends PUTs of 64 KiB with ACK for a time that the order sets, and waits for their last
// events. It keeps as many PUTs in flight as the constant window says.
func (r *railNode) load(o railOrder) loadReport {
	r.initiator(o.Target) // which connects this node to the target
	l := &loader{r: r, order: o, until: time.Now().Add(o.For), done: make(chan struct{})}
	l.mu.Lock()
	for range window {
		l.next()
	}
	l.mu.Unlock()
	select {
	case <-l.done:
	case <-time.After(o.For + time.Minute):
	case <-r.ctx.Done():
		succeed(context.Cause(r.ctx))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.report.Open = l.open
	return must(l.report, l.err)
}

// loader sends several sequences of PUTs, the lanes, at the same time. In each lane, a PUT begins
// when the previous one has ended.
type loader struct {
	r     *railNode
	order railOrder
	until time.Time
	done  chan struct{}

	mu     sync.Mutex
	open   int // number of operations in flight; mu guards it and all fields below
	report loadReport
	err    error
}

// loadSize is the payload of each PUT of a load.
const loadSize = 64 << 10

// next begins the next PUT of a lane, or none if the load is over or has failed. The caller holds l.mu.
func (l *loader) next() {
	if time.Now().After(l.until) || l.err != nil {
		if l.open == 0 {
			close(l.done)
		}
		return
	}
	began := time.Now()
	l.open++
	l.report.Begun++
	// The last event may come before Put has returned, while this goroutine still holds l.mu. So ended, which
	// locks l.mu, runs in a goroutine of its own.
	end := func(why error, sends int) { go l.ended(began, why, sends) }
	if err := putAcked(l.r.table, l.order.Target, loadSize, end); err != nil {
		l.err = err
		if l.open--; l.open == 0 {
			close(l.done)
		}
	}
}

// ended records the end of an operation, and begins the next one of its lane.
func (l *loader) ended(began time.Time, why error, sends int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if sends != 1 {
		l.report.Twice++
	}
	l.open--
	l.report.Longest = max(l.report.Longest, time.Since(began))
	if why == nil {
		l.report.Answered++
	} else {
		l.report.Failed = append(l.report.Failed, loadFailure{began, time.Now(), why.Error()})
	}
	l.next()
}

var errNoAnswer = errors.New("no answer in time")

// putAcked begins a PUT with ACK from memory of its own. At its last event, it calls end with
// the number of SEND events that there were.
func putAcked(table *portals.Table, target nid.NID, size int, end func(why error, sends int)) error {
	var md portals.MDHandle
	var why error = errNoAnswer
	sends := 0
	handler := func(e *portals.Event) {
		switch {
		case e.Kind == portals.EventSend && e.Err == nil:
			sends++
		case e.Kind == portals.EventSend:
			sends++
			why = e.Err
			if !e.Unlinked {
				_ = table.MDUnlink(md)
			}
		case e.Kind == portals.EventAck:
			why = e.Err
		}
		if e.Unlinked {
			end(why, sends)
		}
	}
	md, err := table.MDBind(portals.MD{Segments: []lnd.Segment{make([]byte, size)}, Threshold: 2, Handler: handler}, portals.Unlink)
	if err != nil {
		return err
	}
	return table.Put(portals.PutRequest{
		MD: md, Ack: true, Target: nid.ProcessID{NID: target, PID: nid.LustrePID}, Portal: portalSink,
	})
}
