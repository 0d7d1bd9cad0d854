package softroce

import (
	"math/rand/v2"
	"net/netip"
	"time"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnd/verbs/softroce/wire"
	"ulnet/lnet/machine"
)

// cmConfig is what a connection manager knows of its device.
type cmConfig struct {
	Addr netip.Addr
	GUID ibta.GUID
	MTU  ibta.MTU // largest MTU of new connections
	Rand *rand.Rand
	// MaxConns and MaxConnsEach bound the connections in all states: MaxConns those of all peers together,
	// MaxConnsEach those of one peer. At a limit the one that has been ending for longest is evicted; if none is ending,
	// further requests are refused. MaxPending bounds the connection requests that
	// the consumer has not answered yet. At that limit further requests are refused.
	MaxConns, MaxConnsEach, MaxPending int
	// MaxGranted and MaxGrantedEach bound the connections that were granted, and whose peer has
	// not shown yet that it knows of them: MaxGranted those of all peers together,
	// MaxGrantedEach those of one peer. At a limit the oldest is evicted.
	MaxGranted, MaxGrantedEach int
}

// cmEnd has the parameters of one end of a connection, as it sends them to the other.
type cmEnd struct {
	QPN           ibta.QPN
	PSN           ibta.PSN // first PSN of the other end's requests
	MTU           ibta.MTU // sent only in a REQ, like all fields below except RNRRetryCount
	RetryCount    uint8
	RNRRetryCount uint8
	AckTimeout    uint8 // AckTimeout code of ACKs
	TrafficClass  uint8
}

// callKind is the kind of a call to the connection manager.
type callKind uint8

const (
	noCall         callKind = iota
	callListen              // listen; uses Port
	callUnlisten            // end a listener; uses Port
	callConnect             // connect; uses To, End, Port (of the source), Private, Timeout
	callAccept              // accept a request; uses ID, End, Private
	callReject              // reject a request; uses ID, Reason, Private
	callDisconnect          // disconnect, in any state; uses ID
	callHeard               // a packet of the peer has shown that it uses the connection, and so has the REP; uses ID
	callClosing             // the device closes: repeat the unanswered DREQs now, because the timer will not run any more
)

// cmCall is a call that the consumer makes.
type cmCall struct {
	Kind    callKind
	ID      ibta.CommID
	To      netip.AddrPort
	Port    uint16
	End     cmEnd
	Reason  ibta.RejectReason
	Private []byte
	Timeout time.Duration // time limit of the whole connection request; 0: as long as the CM tries
	Claimed bool          // see verbs.ConnConfig
}

// cmInput is the input of a step of a cm; the zero value means that the timer is due.
type cmInput struct {
	From     netip.Addr // address that sent Datagram, to QP 1 and with its Q_Key
	Datagram []byte
	Call     cmCall
	Away     away // absences of the device until now
}

// cmEventKind is the kind of an event of the connection manager.
type cmEventKind uint8

const (
	cmRequested    cmEventKind = iota + 1 // a peer requests a connection
	cmEstablished                         // the connection is established; Peer is set for the asking side
	cmRejected                            // the peer rejected the request, or one side rejected what the other granted
	cmUnreachable                         // no answer came to the request
	cmDisconnected                        // the connection has ended by either side
)

// cmEvent is an event of a connection. After the last three kinds its id is no longer valid.
type cmEvent struct {
	Kind     cmEventKind
	ID       ibta.CommID
	From     netip.AddrPort // in cmRequested: address of the peer, and the source port that it claims to have
	Port     uint16         // in cmRequested: the port that the peer asks for
	Peer     cmEnd          // in cmRequested, and in cmEstablished at the asking side
	Reason   ibta.RejectReason
	from, to int // the private data are bytes[from:to] of the output
}

// cmSend is a message to the QP 1 of a peer.
type cmSend struct {
	To           netip.Addr
	TrafficClass uint8
	Doubt        wire.Doubt // why the peer may not exist
	from, to     int
}

// cmOutput has the effects of a step of a cm.
type cmOutput struct {
	Sends  []cmSend
	Events []cmEvent
	ID     ibta.CommID // communication id of the connection that callConnect made
	Err    error       // error of the input's Call
	bytes  []byte
}

// Message returns the MAD of s, and Private the private data of e.
func (o *cmOutput) Message(s *cmSend) []byte  { return o.bytes[s.from:s.to:s.to] }
func (o *cmOutput) Private(e *cmEvent) []byte { return o.bytes[e.from:e.to:e.to] }

// Reset empties o, but keeps its memory for reuse.
func (o *cmOutput) Reset() {
	*o = cmOutput{Sends: o.Sends[:0], Events: o.Events[:0], bytes: o.bytes[:0]}
}

// CMStats count irregular messages and events of the connection manager.
type CMStats struct {
	Malformed  uint64 // datagrams that are not CM messages
	Ignored    uint64 // CM messages of a kind that we do not take (SIDR, LAP)
	Unknown    uint64 // messages for a connection that does not exist
	Forged     uint64 // messages from another host than the peer, or with a wrong communication id or queue pair number
	OutOfState uint64 // messages that do not fit the connection's state
	Duplicates uint64 // messages that the peer repeated
	Resent     uint64 // messages that this side repeated
	Refused    uint64 // requests refused without asking the consumer
	Stale      uint64 // refused requests with numbers of a connection that still exists
	TimedOut   uint64 // messages given up because no answer came
	Crowded    uint64 // connections that were given up early, because there were too many
}

// cm is the connection manager of a device: a machine. It sends and receives the messages of
// QP 1. The states of a connection (IBTA vol. 1 §12.9; in brackets what the cm sends):
//
//	asking:    callConnect [REQ] → reqSent → REP [RTU] → established
//	asked:     REQ → reqReceived → callAccept [REP] → repSent → RTU → established
//	closing:   callDisconnect [DREQ] → dreqSent → DREP → timeWait
//	closed:    DREQ [DREP] → timeWait
//	refused:   REJ, from reqSent, reqReceived, repSent or established
//
// Messages without an answer are repeated. In timeWait the cm keeps the numbers of the peer,
// so that it recognizes late messages.
type cm struct {
	cfg      cmConfig
	counters CMStats
	nextID   ibta.CommID // index of the next id in the sequence
	shuffle  shuffle     // sequence of the ids
	tid      uint64      // upper 32 bits of all our transaction ids
	away     away        // absences of the device until the present step

	ports    map[uint16]bool
	conns    map[ibta.CommID]*cmConn // connections by our communication id
	remotes  map[cmRemote]*cmConn    // connections by the peer's communication id
	qps      map[cmRemoteQP]*cmConn  // connections by the peer's queue pair
	timers   machine.Deadlines[*cmConn]
	pending  int                // number of connections in state reqReceived
	peers    map[netip.Addr]int // number of connections with each peer; none is 0
	grants   byAge              // connections in state repSent
	ending   byAge              // connections in states dreqSent and timeWait
	building []byte
}

// cmRemote and cmRemoteQP are the numbers of a peer, which it must not use twice. The
// address is part of them so that no host can use up the numbers of another.
type cmRemote struct {
	addr netip.Addr
	guid ibta.GUID
	id   ibta.CommID
}

type cmRemoteQP struct {
	addr netip.Addr
	guid ibta.GUID
	qpn  ibta.QPN
}

var _ machine.Machine[cmInput, cmOutput] = (*cm)(nil)

func newCM(cfg cmConfig) *cm {
	return &cm{
		cfg: cfg, nextID: ibta.CommID(cfg.Rand.Uint32()), tid: uint64(cfg.Rand.Uint32()) << 32, ports: make(map[uint16]bool),
		conns: make(map[ibta.CommID]*cmConn), remotes: make(map[cmRemote]*cmConn), qps: make(map[cmRemoteQP]*cmConn),
		peers: make(map[netip.Addr]int),
	}
}

// Step handles the input in (machine.Machine).
func (c *cm) Step(now time.Duration, in cmInput, out *cmOutput) time.Duration {
	c.away = in.Away
	if in.Datagram != nil {
		c.receive(now, in.From.Unmap(), in.Datagram, out)
	}
	if in.Call.Kind != noCall {
		out.Err = c.call(now, &in.Call, out)
	}
	for due := c.timers.Pop(now); due != nil; due = c.timers.Pop(now) {
		c.expire(now, due.Of, out)
	}
	return c.timers.Next()
}

// call handles one call of the consumer.
func (c *cm) call(now time.Duration, call *cmCall, out *cmOutput) error {
	switch call.Kind {
	case callListen:
		if c.ports[call.Port] {
			return errPortTaken
		}
		c.ports[call.Port] = true
		return nil
	case callUnlisten:
		delete(c.ports, call.Port)
		return nil
	case callConnect:
		return c.connect(now, call, out)
	case callClosing:
		c.closing(out)
		return nil
	}
	n := c.conns[call.ID]
	if n == nil {
		return verbs.ErrClosed
	}
	switch call.Kind {
	case callAccept:
		return c.accept(now, n, call, out)
	case callReject:
		return c.refuse(n, call, out)
	case callHeard:
		if n.state == repSent {
			c.establish(n, out)
		}
	case callDisconnect:
		c.disconnect(now, n, out)
	}
	return nil
}
