package socklnd

import (
	"time"

	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// connSet decides which connections a peer gets: what is dialled next and
// when, which HELLOs of the peer are accepted, and what is forgotten when
// connections end (socklnd ksocknal_create_conn, ksocknal_connect). It is a
// machine in the sense of lnet/machine; the peer steps it under its lock.
//
//	state        entered by                   left by
//	idle         start, connections closed    setSend: dials
//	dialling     a dial was asked for         its result: setDialled, setRefused, setOtherVersion, setDialFailed
//	waiting      refused by the peer          min_reconnectms, or a connection that the peer opened
//	backing off  a dial failed                the doubling interval, or a connection that the peer opened
//	complete     every type is there          setClosed
type connSet struct {
	cfg setConfig

	have      [4]int // established connections by own type
	accepting [4]int // those whose HELLO we have accepted but not answered yet
	life      uint64 // counts the times that all connections were closed
	dialling  bool
	wanted    bool // missing connections are to be dialled
	queued    bool // messages wait for a connection that can carry them
	satisfied bool // the peer gives no more connections than there are
	routed    bool // this side has had a reason to dial

	version     ksock.Version // agreed, 0 while unknown
	incarnation uint64        // of the peer, valid with connections

	retryAt       time.Duration // no dial before
	retryInterval time.Duration // of the back-off
	refusals      int           // in a row
	renegotiated  int           // versions adopted in a row
}

var _ machine.Machine[setInput, setOutput] = (*connSet)(nil)

// setConfig is what a connSet knows of its surroundings.
type setConfig struct {
	self         nid.NID
	peer         nid.ProcessID
	preferred    ksock.Version // of the first try
	untyped      bool
	connsPerPeer int
	minReconnect time.Duration
	maxReconnect time.Duration
}

// Local limits of one connection attempt.
const (
	maxRefusals      = 3 // SOCKNAL_MAX_BUSY_RETRIES
	maxRenegotiation = 2
)

// setInputKind says what happened.
type setInputKind uint8

const (
	setTimer        setInputKind = iota // the wake is due
	setSend                             // a message needs connections
	setHello                            // the peer's HELLO arrived; answered by a verdict
	setAccepted                         // our answer to it is written
	setAcceptFailed                     // or could not be
	setDialled                          // a dial got a matching HELLO; answered by a verdict
	setRefused                          // or NONE in the same version
	setOtherVersion                     // or NONE in another version
	setDialFailed                       // or none of these
	setClosed                           // a connection failed, and all others with it
)

// setInput is one input; the fields that its kind needs are set.
type setInput struct {
	kind        setInputKind
	ctype       ksock.ConnType // own view
	version     ksock.Version
	incarnation uint64
	usable      bool   // setSend: there is a connection for the message
	sameHost    bool   // setHello: both ends have the same address
	life        uint64 // setAccepted: of the output that accepted the HELLO
	err         error  // setRefused, setOtherVersion, setDialFailed, setClosed: why
}

// setVerdict answers setSend, setHello and setDialled.
type setVerdict uint8

const (
	verdictNone        setVerdict = iota
	verdictQueue                  // setSend: keep the message for the first connection
	verdictUnreachable            // setSend: nothing to wait for
	verdictAccept                 // setHello, setDialled: use the connection
	verdictRace                   // setHello: refuse, our own dial wins
	verdictDuplicate              // setHello: refuse, there are enough of this type
	verdictRestarted              // setHello, setDialled: the peer is another incarnation
	verdictVersion                // setHello: refuse, the other connections have another version
	verdictOutlived               // setAccepted: close it too, the peer's connections were closed meanwhile
)

// setOutput is what the peer has to do after a step, in this order.
type setOutput struct {
	verdict     setVerdict
	life        uint64 // setHello: for setAccepted
	closeAll    bool   // close all established connections
	failPending bool   // fail the messages that wait for a connection with err
	up          bool   // first connection
	down        bool   // connections gone, or none could be had; see err
	err         error
	dial        bool // open a connection of dialType in dialVersion
	dialType    ksock.ConnType
	dialVersion ksock.Version
}

func (o *setOutput) reset() { *o = setOutput{} }

// Step implements machine.Machine.
func (s *connSet) Step(now time.Duration, in setInput, out *setOutput) time.Duration {
	switch in.kind {
	case setTimer:
	case setSend:
		s.send(now, in, out)
	case setHello:
		s.hello(in, out)
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
		s.close(in.err, out)
	}
	s.act(now, out)
	return s.wake(now)
}

func sum(n [4]int) int { return n[0] + n[1] + n[2] + n[3] }

// count is the number of connections of a type, those being accepted included.
func (s *connSet) count(t ksock.ConnType) int { return s.have[t] + s.accepting[t] }

// known reports whether version and incarnation of the peer are known.
func (s *connSet) known() bool { return sum(s.have)+sum(s.accepting) > 0 }

// complete reports whether sending need not step the set.
func (s *connSet) complete() bool {
	_, missing := s.missing()
	return !missing || !s.routed
}

// idle reports whether nothing is lost when the set is forgotten. Its back-off
// is worth something for as long again as it lasted.
func (s *connSet) idle(now time.Duration) bool {
	return !s.known() && !s.dialling && !s.wanted && now >= s.retryAt+s.retryInterval
}

// missing returns the next type to open: CONTROL, then BULK_IN and BULK_OUT
// in turn.
func (s *connSet) missing() (ksock.ConnType, bool) {
	n := s.cfg.connsPerPeer
	in, out := s.count(ksock.BulkIn), s.count(ksock.BulkOut)
	switch {
	case s.satisfied:
		return 0, false
	case s.cfg.untyped:
		return ksock.Any, s.count(ksock.Any) < n
	case s.count(ksock.Control) == 0:
		return ksock.Control, true
	case in < n && in <= out:
		return ksock.BulkIn, true
	}
	return ksock.BulkOut, out < n
}

// limit is how many connections of a type a peer may open.
func (s *connSet) limit(in setInput) int {
	switch {
	case in.sameHost: // kernels have no limit here
		return maxConnsPerPeer
	case in.ctype == ksock.Control:
		return 1
	}
	return s.cfg.connsPerPeer
}

func (s *connSet) send(now time.Duration, in setInput, out *setOutput) {
	s.routed = true
	busy := s.wanted || s.dialling || sum(s.accepting) > 0
	if _, missing := s.missing(); !busy && (!missing || now < s.retryAt) {
		out.verdict = verdictUnreachable
		return
	}
	out.verdict = verdictQueue
	s.wanted = true
	s.queued = s.queued || !in.usable
}

// hello decides about a connection that the peer opens, in the order of
// ksocknal_create_conn.
func (s *connSet) hello(in setInput, out *setOutput) {
	switch {
	case s.dialling && s.cfg.peer.NID.Compare(s.cfg.self) < 0:
		out.verdict = verdictRace
	case s.known() && s.incarnation != in.incarnation:
		out.verdict = verdictRestarted
		s.close(newError(PeerRestarted, s.cfg.peer, nil), out)
	case s.known() && s.version != in.version:
		out.verdict = verdictVersion
		s.close(newError(ProtocolChanged, s.cfg.peer, nil), out)
	case s.count(in.ctype) >= s.limit(in):
		out.verdict = verdictDuplicate
	default:
		out.verdict = verdictAccept
		out.life = s.life
		s.accepting[in.ctype]++
		s.version, s.incarnation = in.version, in.incarnation
	}
}

// accepted handles a connection that the peer opened and has our answer for.
// When the peer lost its connections in the meantime it loses this one too: it
// has known it for as long as the others.
func (s *connSet) accepted(in setInput, out *setOutput) {
	s.accepting[in.ctype]--
	if in.life != s.life {
		out.verdict = verdictOutlived
		s.forget()
		return
	}
	s.register(in, out)
}

// dialled takes a dialled connection, unless it does not go with those that
// the peer has opened meanwhile. Kernels then dial again at once; the pause is
// local policy, against a peer that is never the same.
func (s *connSet) dialled(now time.Duration, in setInput, out *setOutput) {
	s.dialling = false
	switch {
	case s.known() && s.incarnation != in.incarnation:
		out.verdict = verdictRestarted
		s.close(newError(PeerRestarted, s.cfg.peer, nil), out)
	case s.known() && s.version != in.version:
		out.verdict = verdictVersion
		s.close(newError(ProtocolChanged, s.cfg.peer, nil), out)
	default:
		out.verdict = verdictAccept
		s.version, s.incarnation = in.version, in.incarnation
		s.register(in, out)
		return
	}
	s.wanted = true
	s.retryAt = now + s.cfg.minReconnect
}

// register adds a connection. It ends every wait: the peer is there.
func (s *connSet) register(in setInput, out *setOutput) {
	out.up = sum(s.have) == 0
	s.have[in.ctype]++
	if carriesLNet(in.version, in.ctype) {
		s.queued = false
	}
	s.refusals, s.renegotiated = 0, 0
	s.retryAt, s.retryInterval = 0, 0
}

// refused handles an answer of type NONE: a lost race or one connection too
// many for the peer.
func (s *connSet) refused(now time.Duration, in setInput, out *setOutput) {
	s.refusals++
	if s.refusals < maxRefusals {
		s.dialling, s.wanted = false, true
		s.retryAt = now + s.cfg.minReconnect
		return
	}
	s.refusals = 0
	if s.have[ksock.Control] > 0 && s.have[ksock.BulkIn] > 0 && s.have[ksock.BulkOut] > 0 {
		s.dialling, s.wanted, s.satisfied = false, false, true
		return
	}
	s.dialFailed(now, in, out)
}

// otherVersion adopts the version of an answer of type NONE.
func (s *connSet) otherVersion(now time.Duration, in setInput, out *setOutput) {
	s.renegotiated++
	if !spoken(in.version) || s.renegotiated > maxRenegotiation || s.known() {
		s.dialFailed(now, in, out)
		return
	}
	s.dialling, s.wanted = false, true
	s.version = in.version
}

func (s *connSet) dialFailed(now time.Duration, in setInput, out *setOutput) {
	s.dialling, s.wanted = false, false
	s.renegotiated = 0
	s.retryInterval = min(max(2*s.retryInterval, s.cfg.minReconnect), s.cfg.maxReconnect)
	s.retryAt = now + s.retryInterval
	out.err = in.err
	out.down = !s.known()
	s.forget()
}

// close ends all established connections.
func (s *connSet) close(err error, out *setOutput) {
	out.closeAll, out.err = true, err
	out.down = sum(s.have) > 0
	s.life++
	s.have = [4]int{}
	s.satisfied = false
	s.forget()
}

// forget forgets what was agreed when no connection is left.
func (s *connSet) forget() {
	if !s.known() {
		s.version, s.incarnation = 0, 0
	}
}

// act asks for the next dial, and fails messages that wait for nothing.
func (s *connSet) act(now time.Duration, out *setOutput) {
	if s.dialling || sum(s.accepting) > 0 {
		return
	}
	if s.wanted && now >= s.retryAt {
		ctype, missing := s.missing()
		s.wanted, s.dialling = missing, missing
		if missing {
			out.dial, out.dialType, out.dialVersion = true, ctype, s.dialVersion()
		}
	}
	if s.queued && !s.dialling && !s.wanted {
		s.queued = false
		out.failPending = true
	}
}

func (s *connSet) dialVersion() ksock.Version { return or(s.version, s.cfg.preferred) }

// wake is the next instant at which a dial is due without further input.
func (s *connSet) wake(now time.Duration) time.Duration {
	if s.wanted && !s.dialling && sum(s.accepting) == 0 && now < s.retryAt {
		return s.retryAt
	}
	return machine.Never
}
