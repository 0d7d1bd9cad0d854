// Package analyze says of a capture what was slow and what is missing: it pairs PUTs with ACKs, GETs
// with REPLYs, and requests of protocols above LNet with their replies, and follows connections.
//
// An [Analyzer] takes the records of a [capture.Dissector] and makes a [Report], at the end of the
// capture or before. It is a machine: no clock, no I/O, no goroutine; equal records give equal reports.
// Its memory is bounded whatever a capture has in it, and the report counts what the Analyzer forgot.
//
//	a := analyze.New(analyze.Config{Services: []analyze.Service{analyze.Ptlrpc()}})
//	d := capture.NewDissector(capture.Options{KeepPayload: 256}, a.Record)
//	...                       // d.Packet for each packet, then d.Close
//	r := a.Report(time.Time{})
//
// # Operations
//
// An operation is a message that asks for an answer, and that answer. Which ones belong together:
//
//	kind            asks                     answers                      equal in both
//	PutAck          PUT with a handle        ACK                          handle, match bits
//	GetReply        GET                      REPLY, or o2iblnd's GET_DONE handle
//	RequestReply    PUT to a request portal  PUT to a reply portal        what [Service] says, NID of the requester
//
// The latency is the time from the frame that completes the message to the one that completes its
// answer, at the point of capture.
//
// A message with the same handle, portal, match bits and length as an earlier one was seen before. On
// another connection, or between other NIDs, it is a resend of the same operation. On the same connection
// it is a copy; a copy that gets an answer of its own counts as an operation, because a program may send
// several messages from one MD. A resent request of a service has a new handle: it is recognized by its
// number. If the reply was seen already, the resend is also an operation, which waits for another reply.
//
// Where a capture has both sides of a router, each routed message is in it twice. The report counts
// the second as forwarded. An operation is measured where its first message was seen: on the
// requester's side of the router, if the capture has that.
package analyze

import (
	"time"

	"ulnet/lnd/capture"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// Config of an Analyzer. The zero value pairs no requests of protocols above LNet.
type Config struct {
	// Services say how requests are paired with replies. A PUT belongs to the first service that takes
	// it for a request or a reply.
	Services []Service
	// Listed is the number of entries of each list in a report, such as the slowest operations; 0
	// means 10.
	Listed int
	// PeerCredits is how many messages the nodes in the capture may have under way to one peer
	// (peer_credits); 0 means 8, the default of socklnd.
	PeerCredits int
}

// limits are the largest numbers of entries that an Analyzer keeps, so that its memory is bounded. They are
// local policy.
type limits struct {
	open     int // operations without an answer
	answered int // operations with an answer that are remembered to recognize copies
	kinds    int // rows of operations by kind, service and portal
	pairs    int // rows of operations by requester and target
	links    int // pairs of nodes with connections
	conns    int // open connections
	cookies  int // zero-copy cookies that wait for their acknowledgement, of one side of a link
}

var usualLimits = limits{open: 1 << 16, answered: 1 << 14, kinds: 256, pairs: 1024, links: 1024, conns: 1 << 15, cookies: 1024}

// Analyzer takes the records of a capture. Not safe for concurrent use.
type Analyzer struct {
	cfg    Config
	limits limits

	begun    bool
	start    time.Time     // time of the first record
	last     time.Duration // time of the latest record, since start
	sum      Totals
	table    table
	kinds    rows[kindKey]
	pairs    rows[pairKey]
	slowest  slowest
	links    links
	timeline timeline
}

// New returns an Analyzer.
func New(cfg Config) *Analyzer { return newAnalyzer(cfg, usualLimits) }

func newAnalyzer(cfg Config, l limits) *Analyzer {
	if cfg.Listed <= 0 {
		cfg.Listed = 10
	}
	if cfg.PeerCredits <= 0 {
		cfg.PeerCredits = 8
	}
	a := &Analyzer{cfg: cfg, limits: l, slowest: slowest{most: cfg.Listed}}
	a.table.byKey = map[key]waiting{}
	a.kinds, a.pairs = newRows[kindKey](l.kinds), newRows[pairKey](l.pairs)
	a.links = newLinks(a)
	return a
}

// Record processes the next record of the capture. The Analyzer keeps no reference to r, but one to
// r.Conn until that is closed.
func (a *Analyzer) Record(r *capture.Record) {
	now := a.time(r.Time)
	switch r.Kind {
	case capture.RocePacket:
		return
	case capture.Lost:
		a.lost(r)
	case capture.Unknown:
		a.sum.Unknown++
	case capture.Message:
		a.sum.Messages++
		a.sum.Bytes += uint64(r.Header.PayloadLength)
		a.message(now, r, &r.Header, r.Payload)
	case capture.Exchange:
		a.exchange(now, r)
	}
	if !r.Datagram {
		a.links.record(now, r)
	}
}

// time returns the time of a record since the first one.
func (a *Analyzer) time(t time.Time) time.Duration {
	if !a.begun {
		a.begun, a.start = true, t
	}
	now := max(0, t.Sub(a.start)) // packets captured at several interfaces may be out of order, so a time can precede the start
	a.last = max(a.last, now)
	return now
}

func (a *Analyzer) lost(r *capture.Record) {
	if r.Conn.RoCE {
		a.sum.LostPackets += r.Length
	} else {
		a.sum.LostBytes += r.Length
	}
}

// exchange processes a message of o2iblnd that has no LNet header. A GET_DONE counts as the REPLY
// that it stands for. A message with an error status ends the operation whose payload was to be
// moved.
func (a *Analyzer) exchange(now time.Duration, r *capture.Record) {
	if m, ok := r.Moved(); ok {
		if m.Header.Type == wire.Reply {
			a.sum.Bytes += uint64(m.Header.PayloadLength)
			a.message(now, m, &m.Header, m.Payload)
		}
		return
	}
	if t := r.RoCE.Transfer; t != nil && r.RoCE.Msg.Status < 0 {
		a.fail(now, r, &t.Header)
	}
}

// message processes an LNet message.
func (a *Analyzer) message(now time.Duration, r *capture.Record, h *wire.Header, payload []byte) {
	s := sighting{now: now, r: r, from: h.SrcNID, to: h.DestNID}
	switch h.Type {
	case wire.Ack:
		ack := h.Ack()
		a.answer(&s, key{kind: PutAck, handle: ack.DstMD, number: ack.MatchBits})
	case wire.Reply:
		a.answer(&s, key{kind: GetReply, handle: h.Reply().DstMD})
	case wire.Get:
		get := h.Get()
		s.portal, s.bits, s.length = get.Portal, get.MatchBits, get.SinkLength
		a.ask(&s, key{kind: GetReply, handle: get.ReturnMD}, "")
	case wire.Put:
		put := h.Put()
		s.portal, s.bits, s.length = put.Portal, put.MatchBits, h.PayloadLength
		if !put.AckMD.IsNone() {
			a.ask(&s, key{kind: PutAck, handle: put.AckMD, number: put.MatchBits}, "")
		}
		a.put(&s, put, payload)
	}
}

// put handles a PUT that is a request or a reply of a service, and ignores all other PUTs.
func (a *Analyzer) put(s *sighting, put wire.PutCmd, payload []byte) {
	for i := range a.cfg.Services {
		service := &a.cfg.Services[i]
		if n, ok := service.Request(put, payload); ok {
			a.ask(s, key{kind: RequestReply, service: uint16(i), requester: s.from, number: n}, service.Name)
			return
		}
		if n, ok := service.Reply(put, payload); ok {
			a.answer(s, key{kind: RequestReply, service: uint16(i), requester: s.to, number: n})
			return
		}
	}
}

// sighting is one capture of an LNet message. A routed message can be captured more than once.
type sighting struct {
	now      time.Duration
	r        *capture.Record
	from, to nid.NID
	portal   uint32
	bits     uint64
	length   uint32 // bytes of payload; of a GET, bytes that it asks for
}
