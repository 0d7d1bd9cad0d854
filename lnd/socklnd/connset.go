package socklnd

import (
	"time"

	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// connSet decides which connections a peer gets: what this side dials next and when, which
// HELLOs of the peer it accepts, and which state it resets when connections end (socklnd
// ksocknal_create_conn, ksocknal_connect). It is a machine in the sense of lnet/machine; the
// peer steps it under its lock.
//
//	state        entered by                   left by
//	idle         start, connections closed    setSend: dials
//	dialling     a dial was asked for         its result: setDialled, setRefused, setOtherVersion, setDialFailed
//	waiting      refused by the peer          min_reconnectms, or a connection that the peer opened
//	backing off  a dial failed                the doubling interval, or a connection that the peer opened
//	complete     every type is there          setClosed
//
// A dial-only node, which no peer can dial, leaves idle and backing off by itself too: it
// opens again the connections that it had, until maxRedials attempts have failed.
type connSet struct {
	cfg setConfig

	have       [4]int // established connections, by the type as this side sees it
	accepting  [4]int // connections whose HELLO was accepted but not answered yet, by type
	generation uint64 // counts how often all connections were closed
	dialling   bool
	wanted     bool // whether missing connections are to be dialled
	queued     bool // messages wait for a connection that can carry them
	satisfied  bool // the peer refuses to have more connections
	routed     bool // whether this side has had a reason to dial

	version     ksock.Version // version that both sides use; 0 while unknown
	incarnation uint64        // incarnation of the peer; valid while there are connections

	redials  int           // on dial-only nodes: how many more dials may fail; after that the set dials only if a message is to be sent
	redialAt time.Duration // on dial-only nodes: earliest time of the next dial without a message to send

	retryAt       time.Duration // earliest time of the next dial
	retryInterval time.Duration // present interval of the back-off
	refusals      int           // number of refusals in a row
	renegotiated  int           // number of times in a row that this side has adopted the peer's version
	failure       error         // error of the last dial; nil after a connection
}

var _ machine.Machine[setInput, setOutput] = (*connSet)(nil)

// setConfig has the parameters of a connSet: of the NI and the peer.
type setConfig struct {
	self         nid.NID
	peer         nid.ProcessID
	versions     versions
	untyped      bool
	dialOnly     bool // no peer can dial this node, so it keeps connections open even if no message waits
	connsPerPeer int
	minReconnect time.Duration
	maxReconnect time.Duration
}

// Limits of connection attempts. maxRefusals is the kernel's, the others are our own choice.
const (
	maxRefusals      = 3 // SOCKNAL_MAX_BUSY_RETRIES
	maxRenegotiation = 2
	maxRedials       = 64 // failures in a row, an hour with the default back-off
)

// Step implements machine.Machine.
func (s *connSet) Step(now time.Duration, in setInput, out *setOutput) time.Duration {
	switch in.kind {
	case setTimer:
	case setSend:
		s.send(now, in, out)
	case setHello:
		s.hello(now, in, out)
	case setAccepted:
		s.accepted(in, out)
	case setAcceptFailed:
		s.accepting[in.ctype]--
		s.forget()
	case setDialled:
		s.dialled(now, in, out)
	case setRefused:
		s.refused(now, in, out)
	case setOtherVersion:
		s.otherVersion(now, in, out)
	case setDialFailed:
		s.dialFailed(now, in, out)
	case setClosed:
		s.close(now, in.err, out)
	}
	s.act(now, out)
	return s.wake(now)
}

func sum(n [4]int) int { return n[0] + n[1] + n[2] + n[3] }

// count is the number of connections of a type, those being accepted included.
func (s *connSet) count(t ksock.ConnType) int { return s.have[t] + s.accepting[t] }

// known reports whether version and incarnation of the peer are known.
func (s *connSet) known() bool { return sum(s.have)+sum(s.accepting) > 0 }

// complete reports whether a message can be sent without a step of the set: no connection is missing,
// or this side has had no reason to dial.
func (s *connSet) complete() bool {
	_, missing := s.missing()
	return !missing || !s.routed
}

// idle reports whether the set has no state that must be kept. The state of a back-off is
// kept for one more interval after it ends.
func (s *connSet) idle(now time.Duration) bool {
	return !s.known() && !s.dialling && !s.wanted && s.redials == 0 && now >= s.retryAt+s.retryInterval
}

// close ends all established connections. A dial-only node opens new ones after a pause. If
// the peer shuts down, it refuses them or is not reached.
func (s *connSet) close(now time.Duration, err error, out *setOutput) {
	out.closeAll, out.err = true, err
	out.down = sum(s.have) > 0
	s.generation++
	s.redialAt = now + s.cfg.minReconnect
	s.have = [4]int{}
	s.satisfied = false
	s.forget()
}

// forget resets the protocol version and the incarnation of the peer if no connection is left.
func (s *connSet) forget() {
	if !s.known() {
		s.version, s.incarnation = 0, 0
	}
}
