package lnetsim

import (
	"time"

	"ulnet/lnd"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/history"
	"ulnet/lnet/discovery"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// kind says what an operation does.
type kind uint8

// Kinds of operations.
const (
	put  kind = iota // a PUT with an ACK
	get              // a GET with its REPLY
	ping             // a ping of LNet
)

// parseKind parses "put", "get" or "ping"; anything else is a put.
func parseKind(text string) kind {
	switch text {
	case "get":
		return get
	case "ping":
		return ping
	}
	return put
}

// Events of members, besides history.Delivery (a PUT or GET of Subject with number Value
// arrived) and history.Completion (an own operation on Subject was answered). Numbers of
// operations are unique in all incarnations of their initiator.
const (
	toldBegun  = history.Own     // an operation on Subject was begun
	toldFailed = history.Own + 1 // an operation failed; Text is the error
)

// testPortal is the portal that all operations use.
const testPortal = 10

// operation is one PUT, GET or ping. When it has ended, its memory is used for another one.
type operation struct {
	member   *member
	kind     kind
	urgent   bool
	busy     bool // the operation has neither been answered nor failed yet
	sends    int  // number of SEND events so far
	answers  int  // number of ACK and REPLY events so far
	probe    int  // round of the verb "probe"; 0: not a probe
	number   uint64
	to       sim.NodeID
	began    time.Duration
	md       portals.MDHandle
	segments [1]lnd.Segment
	handler  func(*portals.Event)
	next     *operation // next operation in the list of free ones
}

// incarnationShift is the position of the incarnation in an operation's number.
const incarnationShift = 40

// begin starts an operation of the given kind.
func (m *member) begin(of kind, to sim.NodeID, urgent bool) {
	o := m.take()
	m.ops++
	m.marks = append(m.marks, uint8(to)<<markTarget)
	o.kind, o.to, o.urgent, o.busy, o.sends, o.answers, o.probe = of, to, urgent, true, 0, 0, m.probing
	o.number = m.stack.Host.Incarnation().Number<<incarnationShift | m.ops
	o.began = m.now()
	m.busy++
	m.net.stats.Begun++
	m.tell(toldBegun, to, o.number, "")
	if err := o.start(); err != nil {
		o.end(err)
		if o.md == 0 {
			m.give(o)
		}
	}
}

func (o *operation) start() error {
	table, target := o.member.stack.Table, nid.ProcessID{NID: o.member.net.layout.name(o.member.stack.Host.ID(), o.to), PID: nid.LustrePID}
	if o.kind == ping {
		o.md = 0
		discovery.StartPing(table, target, discovery.PingOptions{Timeout: o.member.net.cfg.Timeout}, o.pinged)
		return nil
	}
	options := portals.TrackResponse
	if o.urgent {
		options |= portals.Priority
	}
	md, err := table.MDBind(portals.MD{
		Segments: o.segments[:], Threshold: 2, Options: options, Handler: o.handler,
	}, portals.Unlink)
	if err != nil {
		return err
	}
	o.md = md
	if o.kind == get {
		return table.Get(portals.GetRequest{MD: md, Target: target, Portal: testPortal, MatchBits: o.number})
	}
	return table.Put(portals.PutRequest{MD: md, Ack: true, Target: target, Portal: testPortal, MatchBits: o.number})
}

// event handles the events of the operation's MD.
func (o *operation) event(e *portals.Event) {
	o.account(e)
	switch {
	case e.Kind == portals.EventSend && e.Err == nil:
	case e.Kind == portals.EventUnlink && e.Err == nil:
		o.end(errUnanswered)
	default:
		o.end(e.Err)
	}
	switch {
	case e.Unlinked:
		o.md = 0
		o.member.give(o)
		o.member.goOn()
	case e.Err != nil:
		_ = o.member.stack.Table.MDUnlink(o.md) // ENOENT means that the operation has just ended
	}
}

// account counts the events: each operation has exactly one SEND event, even if its message was sent several times,
// and at most one ACK or REPLY. After an ACK or REPLY there is no UNLINK event. No event comes with the MD of another
// operation.
func (o *operation) account(e *portals.Event) {
	switch {
	case e.MD != o.md:
		o.member.net.stats.Surplus++
	case e.Kind == portals.EventSend:
		if o.sends++; o.sends > 1 {
			o.member.net.stats.Resent++
		}
	case e.Kind == portals.EventAck || e.Kind == portals.EventReply:
		if o.answers++; o.answers > 1 {
			o.member.net.stats.Surplus++
		}
	case o.answers > 0:
		o.member.net.stats.Surplus++
	}
	if e.Unlinked && o.sends == 0 {
		o.member.net.stats.Unsent++
	}
}

// pinged ends a ping with its result.
func (o *operation) pinged(_ wire.PingInfo, err error) {
	o.end(err)
	o.member.give(o)
	o.member.goOn()
}

// end records the outcome of the operation.
func (o *operation) end(err error) {
	if !o.busy {
		return
	}
	o.busy = false
	m := o.member
	m.busy--
	if err != nil {
		m.net.failed(o, err)
		m.tell(toldFailed, o.to, o.number, err.Error())
		return
	}
	if o.probe > 0 && o.probe == m.net.probes.round {
		m.net.probes.answered++
	}
	m.net.answered(m, o)
	m.tell(history.Completion, o.to, o.number, "")
}
