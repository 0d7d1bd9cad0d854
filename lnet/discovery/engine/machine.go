package engine

import (
	"cmp"
	"slices"
	"syscall"
	"time"

	"ulnet/lnet"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// Limits are the limits of a [Machine]. Zero means default.
type Limits struct {
	Timeout       time.Duration // time limit of a ping or push with its repetitions, if something waits for it; default 150 s (lnet_transaction_timeout)
	MaxInterfaces int           // limit of a peer's NIs, 0@lo included; default 200 (lnet_interfaces_max)
	MaxNIDs       int           // limit of the NIDs of all peers together; default 262144. Peers that nothing waits for are removed to make room
	// MaxInFlight is the limit of the peers that are being pinged or pushed to; default 1024. Further peers wait. Peers for
	// which messages wait come first, and a quarter of the slots is for these alone; see class. A peer
	// that something waits for, and that does not answer the first message, leaves its slot to another
	// peer while it is pinged or pushed to again; at most four times MaxInFlight peers do so at a time.
	MaxInFlight int
	MaxProbes   int // limit of the probes in progress; default 256. Further ones wait
	// MaxClaims bounds the claimed NIDs of all peers together that wait for a probe or were
	// probed without an answer. Default 65536, not counting the first 8 of each peer. Further
	// ones are forgotten.
	MaxClaims int
}

func (l Limits) withDefaults() Limits {
	l.Timeout = cmp.Or(l.Timeout, 150*time.Second)
	l.MaxInterfaces = cmp.Or(l.MaxInterfaces, 200)
	l.MaxNIDs = cmp.Or(l.MaxNIDs, 1<<18)
	l.MaxInFlight = cmp.Or(l.MaxInFlight, 1024)
	l.MaxProbes = cmp.Or(l.MaxProbes, 256)
	l.MaxClaims = cmp.Or(l.MaxClaims, 1<<16)
	return l
}

// Kind says what an Input is.
type Kind uint8

// The kinds of inputs, with the fields of [Input] that they use.
const (
	Timer       Kind = iota // the wake time has come
	SelfIs                  // what this node tells about itself has changed; uses Self
	Discover                // a message waits for the peer to be up to date; uses NID
	Refresh                 // a call asks for the state of the peer; uses NID, Force
	Replied                 // the REPLY to a ping arrived; uses Exchange, Local, Remote, User, Incarnation, Info, Need, Err
	Acked                   // the ACK of a push arrived; uses Exchange, Local, Remote, Sequence
	Failed                  // a ping or push was not sent or not answered; uses Exchange, Err
	Forget                  // lnet has forgotten the peer, which was idle for long; uses NID
	RoutesAre               // this node's routes have changed; uses Gateways, Beyond
	Configure               // an administrator adds a peer, or NIDs to it; uses NID, NIDs, Plain, Edit
	Deconfigure             // an administrator removes a peer, or NIDs of it; uses NID, NIDs, Edit
	LimitIs                 // a limit has changed: Limits.MaxInterfaces, how many NIs a peer may have, or Limits.Timeout, which also ends exchanges under way earlier if it is shorter than before; uses Interfaces, Timeout
	Pushed                  // a push arrived; uses Local, Remote, User, Incarnation, Known, Info, Need, Err
)

// Input is one input of a [Machine]. The zero value says that its timer is due.
type Input struct {
	Kind     Kind    // says which of the other fields are set
	Self     Self    // what this node tells about itself from now on
	NID      nid.NID // NID of the peer
	Force    bool    // ping just this NID, and push, even if nothing seems to need it
	Exchange uint64  // ID of the Send that the input answers
	Local    nid.NID // NID of this node to which the answer or push came
	Remote   nid.NID // NID at the other end of the connection
	User     bool    // the process at the other end of the connection has a user-flagged PID
	// Incarnation is that of the NI at the other end (portals.Event), 0 if it is unknown.
	Incarnation uint64
	Known       bool          // whether this node has heard from Remote before
	Info        wire.PingInfo // ping info, which the machine keeps
	Need        int           // if the info was cut off: its whole length in bytes, else 0
	Sequence    uint32        // sequence number of our info that was pushed
	Gateways    []nid.NID     // gateways of this node's routes; the machine keeps the slice
	Beyond      []nid.Net     // nets to which there are routes; the machine keeps the slice
	NIDs        []nid.NID     // NIDs of a configured peer besides NID, its primary one
	Plain       bool          // the configured peer is not multi-rail
	Edit        uint64        // ID that the answer to this input, an Edited, will have
	Interfaces  int           // new value of Limits.MaxInterfaces, or 0
	Timeout     time.Duration // new value of Limits.Timeout, or 0
	Err         error         // why the ping or push failed; with Replied and Pushed: why the info is invalid
}

// Self is what this node tells others about itself.
type Self struct {
	Sequence  uint32    // sequence of the ping info, from 1; older ones are ignored
	NIDs      []nid.NID // NIDs of this node, without 0@lo
	Down      []nid.NID // the NIDs whose link is down
	Discovery bool      // whether discovery is on
}

// Output is what a [Machine] wants done, in the order of the fields.
type Output struct {
	Cancelled []uint64    // IDs of exchanges to give up
	Gone      []nid.NID   // NIDs that were forgotten
	Peers     []lnet.Peer // peers that have changed, with their new state
	Done      []Done      // discoveries that have ended
	Sends     []Send      // pings and pushes to send
	Edited    []Edited    // answers to Configure and Deconfigure
}

// Reset empties o, but keeps its memory for reuse.
func (o *Output) Reset() {
	o.Cancelled, o.Gone, o.Peers = o.Cancelled[:0], o.Gone[:0], o.Peers[:0]
	o.Done, o.Sends, o.Edited = o.Done[:0], o.Sends[:0], o.Edited[:0]
}

// Done reports the end of a discovery to every Discover and Refresh of a NID so far.
type Done struct {
	NID nid.NID // NID in the Discover or Refresh
	Err error   // error of the discovery; nil: the peer is up to date
}

// Send is a ping or a push to send. One of Replied, Acked and Failed answers
// it, unless Output.Cancelled names it before.
type Send struct {
	Exchange uint64  // ID of the exchange, which the answer has, too
	Push     bool    // true: a push; false: a ping
	Probe    bool    // the ping is a probe: it has to go to just the NID To, and its failure shows nothing about any NI
	From     nid.NID // local NID; the zero NID leaves the choice to LNet
	To       nid.NID // NID of the peer
	Room     int     // for a ping: bytes of memory for the answer
}

var _ machine.Machine[Input, Output] = (*Machine)(nil)

// Machine discovers peers (the discovery part of LNet's peer.c): which NIDs are one
// node's, what it can do, and whether it has this node's latest info. It is a
// machine.Machine for all peers of a node. The state of a peer is a set of flags. The
// first row that applies says what happens next; while a ping or push to the peer is under
// way, only the first two rows do:
//
//	MARK_DELETION      forget the peer, see recreate
//	DATA_PRESENT       merge the ping info, set NIDS_UPTODATE
//	PING_FAILED        set FORCE_PING; end with the error, or go on if the
//	                   ping was answered with an invalid info, and fewer
//	                   than maxBadInfos answers in a row were invalid
//	PUSH_FAILED        end with the error
//	FORCE_PING         ping
//	FORCE_PUSH         push, if the peer is multi-rail
//	no NIDS_UPTODATE   ping
//	needs our push     push
//	claims unprobed    wait for the probes, see probe
//	else               DISCOVERED; end
type Machine struct {
	limits   Limits
	self     Self
	peers    table
	gateways []nid.NID
	beyond   []nid.Net                    // nets to which gateways lead
	last     uint64                       // ID of the latest ping or push; IDs increase
	tries    map[uint64]*exchange         // the exchanges under way by the IDs of their tries
	due      machine.Deadlines[*exchange] // when exchanges are repeated or end
	unacked  map[uint64]*peer             // the peers whose field unacked is set, by the ID of that push
	lapses   machine.Deadlines[*peer]     // times at which these pushes are cancelled
	retries  machine.Deadlines[*peer]     // times at which failed pushes are sent again
	inFlight [numClasses]int              // number of the exchanges under way by class
	ready    [numClasses][]*peer          // peers that wait for a slot of MaxInFlight, by class; see next
	probes   []*probe                     // probes in progress, ordered by deadline
	agenda   machine.Deadlines[*peer]     // times of the next probes, of peers with claims
	patient  machine.Deadlines[*peer]     // times until which the discoveries of peers wait for probes
	claims   int                          // number of claims of all peers, without the first ownClaims of each
	dirty    []*peer                      // peers that have changed in this step
	stats    Stats
}

// Stats counts what a [Machine] has done and refused.
type Stats struct {
	Pings          uint64 `json:"pings"`           // pings sent, probes not included
	Pushes         uint64 `json:"pushes"`          // pushes sent
	PushesReceived uint64 `json:"pushes_received"` // pushes received, valid or not
	Timeouts       uint64 `json:"timeouts"`        // pings and pushes that got no answer
	BadReplies     uint64 `json:"bad_replies"`     // REPLYs without a valid ping info
	BadPushes      uint64 `json:"bad_pushes"`      // pushes without a valid ping info
	CutInfos       uint64 `json:"cut_infos"`       // ping infos that were larger than the buffer
	UnknownPushes  uint64 `json:"unknown_pushes"`  // pushes from nodes never heard of before
	PlainPushes    uint64 `json:"plain_pushes"`    // pushes of nodes that say they are not multi-rail
	Late           uint64 `json:"late"`            // answers to an exchange that had ended
	TableFull      uint64 `json:"table_full"`      // NIDs for which the table had no room
	OwnNIDs        uint64 `json:"own_nids"`        // NIDs of this node that a peer claimed
	UserPushes     uint64 `json:"user_pushes"`     // pushes from user-flagged PIDs
	OldInfos       uint64 `json:"old_infos"`       // infos older than the latest of the same incarnation
	Probes         uint64 `json:"probes"`          // pings sent to NIDs that a peer claims
	Confirmed      uint64 `json:"confirmed"`       // NIDs that a peer claimed, and for which a probe showed that they are NIDs of that peer
	Denied         uint64 `json:"denied"`          // NIDs that a peer claimed, and that are not its own by the answer to a probe or by configuration
	Unconfirmed    uint64 `json:"unconfirmed"`     // NIDs that a peer claimed, and that were given up after several probes without an answer
	ClaimsFull     uint64 `json:"claims_full"`     // NIDs that a peer claimed, and that were not stored because the bound was reached
}

// NewMachine returns a machine that knows no peer. The first input must be SelfIs.
func NewMachine(limits Limits) *Machine {
	m := &Machine{limits: limits.withDefaults(), tries: make(map[uint64]*exchange), unacked: make(map[uint64]*peer)}
	m.peers.init()
	return m
}

// MaxInfoSize returns the bytes of the largest ping info that the machine takes: that of
// Limits.MaxInterfaces NIs, 0@lo included.
func (m *Machine) MaxInfoSize() int { return InfoSize(m.limits.MaxInterfaces) }

// InfoSize returns the bytes of the largest ping info of the given number of NIs.
func InfoSize(interfaces int) int { return wire.PingInfoSize(1) + 24*(interfaces-1) }

// Stats returns the counters so far.
func (m *Machine) Stats() Stats { return m.stats }

// Step implements machine.Machine.
func (m *Machine) Step(now time.Duration, in Input, out *Output) (wake time.Duration) {
	switch in.Kind {
	case SelfIs:
		m.selfIs(now, in.Self, out)
	case Discover, Refresh:
		m.ask(now, in, out)
	case Replied, Acked, Failed:
		m.answered(now, in, out)
	case RoutesAre:
		m.routesAre(in)
	case Configure:
		m.configure(in, out)
	case Deconfigure:
		m.deconfigure(in, out)
	case LimitIs:
		m.limits.MaxInterfaces = cmp.Or(in.Interfaces, m.limits.MaxInterfaces)
		if m.limits.Timeout = cmp.Or(in.Timeout, m.limits.Timeout); in.Timeout != 0 {
			m.shorten(now)
			m.shortenProbes(now)
		}
	case Forget:
		m.forgets(in.NID, out)
	case Pushed:
		m.pushed(now, in, out)
	}
	m.expire(now, out)
	m.probeDue(now, out)
	m.publish(out)
	return m.wake()
}

// wake returns the next instant at which something is due.
func (m *Machine) wake() time.Duration {
	return min(m.due.Next(), m.lapses.Next(), m.retries.Next(), m.patient.Next(), m.nextProbe())
}

// selfIs stores the new ping info of this node, and makes the machine push it to the peers that
// should have it (lnet_push_update_to_peers).
func (m *Machine) selfIs(now time.Duration, self Self, out *Output) {
	if self.Sequence <= m.self.Sequence {
		return
	}
	turnedOff := m.self.Discovery && !self.Discovery
	m.self = self
	for _, p := range m.peers.inOrder() {
		if m.disown(p, out); p.dropped {
			continue
		}
		if !m.isOwn(p.from) || slices.Contains(self.Down, p.from) {
			p.from, p.to = nid.NID{}, nid.NID{}
		}
		switch {
		case self.Discovery:
			p.owed = 0
		case turnedOff && p.flags.Has(lnet.PeerMultiRail):
			p.owed = self.Sequence
		}
		if m.needsPush(p) || p.flags.Has(lnet.PeerForcePush) {
			m.forgo(p) // a push of the new info replaces the planned push of the old one
			m.start(now, p, out)
			m.hasten(now, p)
		}
		m.plan(p) // this node may now reach other NIDs of p
	}
}

// ask begins the discovery of a peer, or joins the one under way.
func (m *Machine) ask(now time.Duration, in Input, out *Output) {
	p := m.meet(in.NID, out)
	if p == nil {
		out.Done = append(out.Done, Done{in.NID, syscall.ENOBUFS})
		return
	}
	if in.Kind == Discover && m.answersNow(p, in.NID) {
		out.Done = append(out.Done, Done{NID: in.NID})
		if m.untold(p) {
			m.start(now, p, out)
		}
		return
	}
	p.await(in.NID)
	if x := p.exchange; x != nil {
		m.due.Set(&x.due, min(x.due.At(), max(now, x.sentAt+waitFor(m.firstWait(p), x.repeats)))) // nothing may have waited for it so far
	}
	if in.Kind == Refresh && !(in.Force && p.isForced(now, in.NID)) {
		p.refresh = true
		p.flags &^= lnet.PeerNIDsUpToDate
		if in.Force {
			p.flags |= lnet.PeerForcePing | lnet.PeerForcePush
			p.askAt = in.NID
			if x := p.exchange; x != nil && now-x.sentAt >= repeatAfter {
				m.repeat(now, p, out)
			}
		}
	}
	m.start(now, p, out)
}

// answersNow reports whether the discovery that a message requests ends at once: a message need not wait for the ACK
// of a push. Messages to a peer that is untold (see there) request a discovery for each of its NIDs, and for each NI
// of this node. The first discovery begins the push. If a later one waited for the push, the machine would repeat the
// push until the time-out, and the message would fail then. A discovery of a NID joins one that a call has requested
// for the same NID.
func (m *Machine) answersNow(p *peer, id nid.NID) bool {
	pushing := (p.exchange != nil || p.queued) && m.shown(p).UpToDate()
	return m.untold(p) || pushing && !slices.Contains(p.waiting, id)
}

// isForced reports whether an earlier call has forced the discovery of p a moment ago, for the same NID. The ping of
// that discovery serves the present call, too. If each call began another ping, calls that come faster than the answers
// of the peer would put off the end for ever.
func (p *peer) isForced(now time.Duration, at nid.NID) bool {
	return p.exchange != nil && p.askAt == at && now-p.exchange.sentAt < repeatAfter
}

func (m *Machine) isOwn(id nid.NID) bool { return slices.Contains(m.self.NIDs, id) }
