package engine

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
)

// ClientConfig configures a [Client]. The zero value of a field means its
// default.
type ClientConfig struct {
	// ID names the client, in all its incarnations. Required.
	ID wire.ClientID
	// Incarnation is the number of this incarnation, higher than those of earlier ones. Required.
	Incarnation uint64
	// Name is a name for people to read: at most MaxName bytes, printable.
	Name string
	// Servers are all servers of the cluster. They are not modified. Required.
	Servers []nid.NID
	// PID is the PID of all servers. Default nid.LustrePID.
	PID nid.PID
	Timing
	// Seed, together with ID, seeds the random choice of masters and the jitter.
	Seed uint64
	// Keys, if there are any, sign connect requests: servers with keys accept no unsigned ones.
	// Servers of versions before 2026-11-25 do not understand signed ones.
	Keys keyring.Keys
	// From is the process from which the client sends. Required with Keys, and for a client whose
	// ID is derived from its process.
	From nid.ProcessID
	// MaxBackoff bounds the pause between rounds in which the client tries all servers. Default
	// 2·Ping.
	MaxBackoff time.Duration
}

// ClientInputKind tells inputs apart.
type ClientInputKind uint8

// The kinds of inputs, with the fields of [ClientInput] that they use.
const (
	ClientTimer   ClientInputKind = iota
	ClientStart                   // starts the search for a master
	ClientLeave                   // disconnects from all servers; ends with the effect AllTold
	ClientArrived                 // uses From, Primary, PeerIncarnation, At, Data: a message arrived
	Traffic                       // uses Server, Sent, Heard: the caller's answer to the effect LookAt
	Attach                        // uses Server: connect to this server, too; only with a master (CH-58)
	Detach                        // uses Server: disconnect from this server
	Doubt                         // uses Server: ask whether the server has forgotten this client, for instance after a request or a connection failed
	ClientServers                 // uses Servers: all servers from now on
)

// ClientInput is an input to a step of a [Client]; the zero value is the timer. Data need only
// be valid during Step.
type ClientInput struct {
	Kind            ClientInputKind // which of the other fields are used
	From            nid.ProcessID   // the process that sent the message, with the NID from which it came
	Primary         nid.NID         // primary NID of the sender's node, if the transport has confirmed it; may be equal to the NID of From, or invalid
	Server          nid.NID         // the server that the input is about
	At              time.Duration   // when the message was received, in the caller's time; 0: now
	PeerIncarnation uint64          // incarnation of the NI that sent the message
	Sent, Heard     time.Duration   // when the last message to the server's node was sent, and the last one from it was received, in the caller's time; 0: there was none
	Data            []byte          // the message
	Servers         []nid.NID       // all servers
}

// ClientEffectKind tells effects apart.
type ClientEffectKind uint8

// The kinds of effects, with the fields of [ClientEffect] that they use.
const (
	SendTo  ClientEffectKind = iota // uses To, Data: send a message to a server
	LookAt                          // uses To, PeerIncarnation: the caller answers with Traffic, which says when that incarnation last sent and received
	Tell                            // uses Event: report the event to the program
	Lonely                          // there is no master, for the reasons in ClientOutput.Answers
	AllTold                         // all servers have acknowledged that this client leaves, or T_evict has passed; Client.Unaware lists those that have not
)

// ClientEffect is one thing that a step asks its caller to do.
type ClientEffect struct {
	Kind            ClientEffectKind // which of the other fields are used
	Begin, End      int              // Data is Buf[Begin:End]
	PeerIncarnation uint64           // incarnation of the NI of the receiver
	To              nid.ProcessID    // the receiver, or the process about which LookAt asks
	Event           ClientEvent      // the event to report to the program
}

// ClientEventKind tells events of a client apart.
type ClientEventKind uint8

// The kinds of events, with the fields of [ClientEvent] that they use.
const (
	MasterChosen ClientEventKind = iota // sets Server, Epoch: the server is the master now
	MasterLost                          // sets Server, Code: the server is no longer the master; the client looks for another one
	Attached                            // sets Server: the client is connected to the server
	Dropped                             // sets Server, Code: the client is no longer connected to the server
	Refused                             // sets Server, Code (with OtherTimes also Evict): the server refuses the connection, or the client does, with Code NotConnected, because it has no master
	Evicted                             // sets Server, Code, Incarnation: all servers have evicted the client, whose next incarnation begins
	Superseded                          // sets Server, Incarnation, Peer: a later incarnation runs elsewhere; this one tries again after some minutes
	clientEvents
)

var clientEventNames = [clientEvents]string{
	"master-chosen", "master-lost", "attached", "dropped", "refused", "evicted", "superseded",
}

// ClientEventNames returns the names of all events of clients.
func ClientEventNames() []string { return slices.Clone(clientEventNames[:]) }

// String returns the name of the kind.
func (k ClientEventKind) String() string { return name(clientEventNames[:], uint64(k)) }

// MarshalText implements encoding.TextMarshaler.
func (k ClientEventKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// ClientEvent is an event that is reported to the program of a client.
type ClientEvent struct {
	Kind        ClientEventKind `json:"event"`           // what happened
	Code        wire.Code       `json:"code"`            // the reason of the event
	Epoch       uint32          `json:"epoch,omitempty"` // number of the latest choice of a master
	Incarnation uint64          `json:"incarnation"`     // incarnation of this client; with Superseded: the later one
	Server      nid.NID         `json:"server,omitzero"` // the server that the event is about
	// Peer is the NID at which the later incarnation runs, set with Superseded if Server has
	// reported it; servers of versions before 2026-11-24 do not.
	Peer nid.NID `json:"peer,omitzero"`
	// Evict is T_evict of Server, which is too short for this client.
	Evict time.Duration `json:"evict_ns,omitempty"`
}

// ClientOutput has what a step of a [Client] asks its caller to do, in order.
type ClientOutput struct {
	Effects []ClientEffect // to be applied in their order
	Answers []Answer       // answers of the servers that were asked to be the master, set with the effect Lonely
	Buf     []byte         // the caller owns it after Step
	// PingTime is set by a step that handles the master's answer to a ping. It is the active time from
	// the first ping that the master had not answered to this answer. 0: the step has handled no answer.
	PingTime time.Duration
}

// Reset empties o and keeps its memory.
func (o *ClientOutput) Reset() { o.Effects, o.Buf, o.PingTime = o.Effects[:0], o.Buf[:0], 0 }

// Data returns the data of an effect, part of o.Buf.
func (o *ClientOutput) Data(e *ClientEffect) []byte { return o.Buf[e.Begin:e.End] }

// phase is the state of a client. Transitions:
//
//	resting  -- ClientStart --> electing
//	electing -- a server agrees --> settled
//	settled  -- master silent, dead, or not willing --> electing
//	any      -- evicted --> electing, in the next incarnation
//	any      -- ClientLeave --> resting
//	any      -- superseded --> resting --> electing, in a later incarnation, after a long wait
type phase uint8

const (
	resting phase = iota
	electing
	settled
)

var phaseNames = [...]string{"resting", "electing", "settled"}

// Client is the machine of one client. See machine.Machine.
type Client struct {
	cfg         ClientConfig
	incarnation uint64 // number of the client's present incarnation
	own         uint64 // number that the client would have if no server had reported a later incarnation
	phase       phase
	epoch       uint32
	agreed      uint32 // epoch in which a server last agreed to be this client's master
	master      nid.NID
	settledAt   time.Duration
	token       []byte // signature of the master's claim
	peers       []peer // servers, in the order in which they were first used
	farewells   []farewell
	leaving     bool      // this client leaves, and AllTold has not been emitted yet
	unaware     []nid.NID // servers that have not answered a farewell within T_evict
	election    election
	pinging     pinging
	pauses      pauses
	rng         *rand.Rand
	sequence    uint64
	stats       ClientStats
	ring        *keyring.Ring // nil without keys

	superseded superseded

	out *ClientOutput // output of the current step
	now time.Duration // active time of the current step
	via uint64        // incarnation of the NI that sent the current message

	keepAt   time.Duration // active time of the next ping to the old master
	lonelyAt time.Duration // active time of the next effect Lonely
}

var _ machine.Machine[ClientInput, ClientOutput] = (*Client)(nil)

// NewClient returns a machine. The error is an *[Error], [wire.ErrClientID], [wire.ErrName], or
// one that says that the list of servers is empty.
func NewClient(cfg ClientConfig) (*Client, error) {
	var err error
	if cfg.Timing, err = cfg.Timing.Filled(); err != nil {
		return nil, err
	}
	switch {
	case !cfg.ID.IsValid():
		return nil, wire.ErrClientID
	case !wire.ValidName([]byte(cfg.Name)):
		return nil, wire.ErrName
	case len(cfg.Servers) == 0:
		return nil, &Error{Why: "a client needs servers: list at least one"}
	}
	if cfg.PID == 0 {
		cfg.PID = nid.LustrePID
	}
	cfg.MaxBackoff = cmp.Or(cfg.MaxBackoff, 2*cfg.Ping)
	c := &Client{cfg: cfg, incarnation: cfg.Incarnation, own: cfg.Incarnation, ring: cfg.Keys.Ring(keyLabel)}
	seed := cfg.Seed
	for _, b := range cfg.ID {
		seed = seed*0x100000001B3 ^ uint64(b)
	}
	c.rng = rand.New(rand.NewPCG(cfg.Seed, seed))
	c.pauses.init(cfg.Ping / 5)
	return c, nil
}

// Step implements machine.Machine.
func (c *Client) Step(now time.Duration, in ClientInput, out *ClientOutput) (wake time.Duration) {
	c.out = out
	var missed time.Duration
	if c.now, missed = c.pauses.enter(now); missed > 0 {
		c.resumed()
	}
	c.apply(&in)
	c.expire()
	c.out = nil
	return c.pauses.leave(now, c.next())
}

func (c *Client) apply(in *ClientInput) {
	switch in.Kind {
	case ClientTimer:
	case ClientStart:
		if c.phase == resting {
			c.farewells, c.unaware = nil, nil
			// The first sequence number is higher than those of an earlier client of this node and
			// incarnation, whose messages may still arrive.
			c.sequence = max(c.sequence, uint64(c.now))
			c.elect(election{})
		}
	case ClientLeave:
		c.leave()
	case ClientArrived:
		c.arrived(in)
	case Traffic:
		c.traffic(in)
	case Attach:
		c.attach(in.Server)
	case Detach:
		c.detach(in.Server)
	case Doubt:
		c.doubt(in.Server)
	case ClientServers:
		if len(in.Servers) > 0 { // an empty list is ignored
			c.cfg.Servers = slices.Clone(in.Servers)
		}
	}
}

// expire handles all deadlines that have passed.
func (c *Client) expire() {
	c.repeatFarewells()
	c.comeBack()
	if c.phase == electing && c.now >= c.election.at {
		c.campaign()
	}
	c.keep()
	if c.phase == settled {
		c.ping()
	}
	if c.phase == settled {
		c.repeat()
	}
}

// next returns when the next deadline is due, in active time (see pauses).
func (c *Client) next() time.Duration {
	at := c.farewellAt()
	switch c.phase {
	case electing:
		if c.old() != nil {
			at = min(at, c.keepAt)
		}
		return min(at, c.election.at)
	case settled:
		at = min(at, c.pinging.at, c.pinging.silentAt(c))
		for i := range c.peers {
			if c.peers[i].asking {
				at = min(at, c.peers[i].at)
			}
		}
		return at
	}
	if c.superseded.at > 0 {
		at = min(at, c.superseded.at)
	}
	return at
}

// ask sends a server a message that the server is to answer, and returns its sequence number.
func (c *Client) ask(to nid.NID, m wire.Message) uint64 {
	c.sequence++
	m.Sequence = c.sequence
	c.send(to, &m)
	return c.sequence
}

// send sends a message.
func (c *Client) send(to nid.NID, m *wire.Message) {
	m.Client, m.Incarnation = c.cfg.ID, cmp.Or(m.Incarnation, c.incarnation)
	begin := len(c.out.Buf)
	if m.Kind == wire.Connect && c.ring.On() {
		m.Proof = noProof[:]
		c.out.Buf = sign(c.ring, m.AppendTo(c.out.Buf), begin, c.cfg.From, to)
	} else {
		c.out.Buf = m.AppendTo(c.out.Buf)
	}
	c.stats.Sent++
	if to == c.master && c.phase == settled {
		c.pinging.sentNow(c)
	}
	c.out.Effects = append(c.out.Effects, ClientEffect{Kind: SendTo, To: nid.ProcessID{NID: to, PID: c.cfg.PID}, Begin: begin, End: len(c.out.Buf)})
}

// tell reports an event to the program.
func (c *Client) tell(kind ClientEventKind, server nid.NID, code wire.Code) {
	c.out.Effects = append(c.out.Effects, ClientEffect{Kind: Tell, Event: ClientEvent{
		Kind: kind, Code: code, Epoch: c.epoch, Incarnation: c.incarnation, Server: server,
	}})
}

// jitter returns a random time between d/2 and 3d/2.
func (c *Client) jitter(d time.Duration) time.Duration {
	return d/2 + time.Duration(c.rng.Int64N(int64(max(d, 1))))
}
