// Package lnd is the contract between lnet and the network drivers (LNDs).
//
// A driver moves whole LNet messages between this node and the peers of one
// net. It knows nothing of portals, match bits or routes; it is told where the
// payload of each arriving message goes and reads it there directly.
//
// # The path of a message
//
// Down: lnet calls [NI.Send]; the driver owns the [Message] until it calls
// [Upcalls.Finalize], exactly once, perhaps before Send returns.
// A message to a peer without a connection stays with the driver while the driver dials,
// unless dialling is hopeless; the driver calls [Upcalls.Waits] first. Such a message returns
// its credit of the NI (Tunables.Credits), so that unreachable peers take no credits from
// others. Tunables.PeerCredits bounds how many such messages each peer has.
//
// A driver may copy a small message instead and report the ends of many at once: see [Inliner].
//
// Up: the driver reads a header into a [Delivery] and calls [Upcalls.Parse].
//
//	Parse returns   driver
//	Accept          reads Sink.Length payload bytes to Sink, discards the rest
//	                of Header.PayloadLength, calls Delivered
//	Hold            keeps the payload (unread, or buffered if it can) until
//	                lnet has set Sink and calls NI.Recv; then as Accept.
//	                Recv may come before Parse has returned. If the connection
//	                ends meanwhile, the driver asks Abandon what to do
//	Taken           skips the payload, which lnet has copied from Data, and does not
//	                call Delivered
//	an error        the peer broke the protocol: closes every connection of
//	                that peer and reports it; does not call Delivered
//
// A driver that reads several messages at once can tell lnet that they came together, which
// saves most of the work of all but the first, see [Batcher].
//
// # Threads and locks
//
// All calls in both directions are direct: no queue stands between driver and
// lnet. Every method is safe for concurrent use. A driver holds none of its
// locks while it calls up, because a handler may send from inside the upcall;
// lnet holds none while it calls down, except in [Inliner]. Neither side blocks the other: Send
// and Recv never wait for the network, and upcalls wait only while [Driver.Startup] runs.
//
// Upcalls for an arriving message come from a goroutine of the driver, or from
// a follower that runs the read loop of the connection, see [ReadLoop].
//
// A Delivery belongs to the driver, which may reuse it when Delivered has returned. A stream
// connection has one Delivery at a time; an RDMA connection may have several that wait for
// their payload.
//
// # Failures
//
// The error of a message that did not leave wraps an errno, and has the class of its failure
// ([Failure], [Failed]). The class says which NI is to blame, and whether the message may be
// sent again. Each driver lists its errors with their classes. An error without a class blames
// no NI and ends the message. The errors of an NI that is shut down, of a message that cannot
// be encoded or is late ([ErrLate]), and of multicast have no class.
//
// # Multicast
// An NI may be a [Multicaster] as well: it sends datagrams to groups of nodes, unreliably.
//
// # New drivers
//
// Package lo is the smallest driver. The suite of package lndtest checks what a driver has to
// promise, and every driver passes it. CONTRIBUTING.md lists what else a new driver needs.
package lnd

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"syscall"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// MaxPayload is the largest payload of one message in bytes (LNET_MTU).
const MaxPayload = 1 << 20

// Driver makes network interfaces of one type (struct lnet_lnd).
type Driver interface {
	// Type is the net type whose NIs this driver makes.
	Type() nid.NetType
	// Startup brings one NI up. Other goroutines may make upcalls before it has
	// returned; lnet makes these calls wait until then.
	Startup(cfg Config, up Upcalls) (NI, error)
}

// NI is a driver's half of a network interface (struct lnet_ni).
type NI interface {
	// NID is the NI's own NID, fixed for its incarnation.
	NID() nid.NID
	// Send takes m for delivery to m.Target. It never blocks and reports
	// every failure through Upcalls.Finalize.
	Send(m *Message)
	// Recv continues a Delivery that was answered with Hold; d.Sink says
	// where the payload goes. It may be called from any goroutine, also
	// from inside an upcall, and does not wait for the payload.
	Recv(d *Delivery)
	// Shutdown stops the NI: it accepts nothing new, lets queued messages leave until ctx
	// ends, finalizes the others with ESHUTDOWN, and returns when all its goroutines have
	// ended. No upcall follows, except for the ESHUTDOWN of a Send that comes too late.
	// Further calls do nothing. The error is ctx's if messages were lost.
	Shutdown(ctx context.Context) error
}

// PeerCloser is an NI with connections that can be ended.
type PeerCloser interface {
	// ClosePeer ends connections to the processes at a NID. If incarnation is not 0, it ends only those to
	// that incarnation (see [Delivery]), because the node has started again. If it is 0, it ends all of
	// them, because lnet has found out that the node is down. Messages on these connections fail, and the
	// next message opens a new connection. ClosePeer may be called inside an upcall.
	ClosePeer(peer nid.NID, incarnation uint64, cause error)
}

// ConnsSetter is an NI that can change how many connections it makes to a peer while it runs.
type ConnsSetter interface {
	// SetConnsPerPeer changes how many connections of each kind (conns_per_peer) the NI makes to
	// peers to which it has none yet; 0 leaves the number to the driver.
	SetConnsPerPeer(n int)
}

// Withdrawer is an NI with queues of its own.
type Withdrawer interface {
	// Withdraw finalizes with [ErrWithdrawn] the messages for which want returns true and of which nothing
	// has left. lnet calls it when the link of the NI is down, and then sends these messages by another NI.
	// want is called while locks of the driver are held, and takes none itself.
	Withdraw(want func(*Message) bool)
}

// ErrWithdrawn ends a message that was withdrawn. No NI is blamed for it.
var ErrWithdrawn = fmt.Errorf("nothing of the message had left when its link went down: %w", syscall.ENETDOWN)

// TimeoutSetter is an NI whose Tunables.Timeout can be changed while it runs.
type TimeoutSetter interface {
	// SetTimeout changes how long the driver tries to send a message, also for messages under
	// way. It does nothing if this time is set by a tunable of the driver.
	SetTimeout(d time.Duration)
}

// Upcalls is what a driver tells lnet about one NI. lnet implements it.
type Upcalls interface {
	// Parse asks what to do with the message whose Header, From, Incarnation
	// and ReceivedAt are set in d. See the package text for the answers.
	Parse(d *Delivery) (Answer, error)
	// Delivered reports that the payload of d is in its Sink (err nil) or
	// will never be complete. It ends the Delivery.
	Delivered(d *Delivery, err error)
	// Abandon asks lnet to give up a delivery that it answered with Hold and whose connection is gone.
	// True: lnet drops the delivery and counts the drop, and the driver does not call Delivered. False:
	// lnet has called Recv, or is about to: the driver waits for that call and then calls Delivered with
	// the error.
	Abandon(d *Delivery) bool
	// Finalize reports that m has left (err nil) or failed. It ends the
	// driver's ownership of m.
	Finalize(m *Message, err error)
	// Waits reports that m cannot leave before a connection was dialled. The
	// driver calls it between Send and Finalize, and not for a message that a
	// connection takes at once. A second call for m changes nothing.
	Waits(m *Message)
	// PeerUp reports that a peer became reachable: the first connection to it
	// was established. The calls for one peer follow the order of what happened,
	// one at a time; they may come after the first message. A driver whose only
	// peer is the node itself reports none.
	PeerUp(peer nid.ProcessID)
	// PeerDown reports that the last connection to a peer ended, also because
	// the NI is shut down, or that it could not be reached; cause says why.
	PeerDown(peer nid.ProcessID, cause error)
}

// Answer is lnet's answer to an arriving header.
type Answer uint8

// The answers of [Upcalls.Parse].
const (
	Accept Answer = iota // lnet has set the sink; the driver goes on
	Hold                 // the driver waits until lnet calls NI.Recv
	Taken                // lnet has the payload, which was in Delivery.Data: the message has ended
)

// Config is what every driver needs to start an NI. The zero value of a field
// means its default; drivers keep their own tunables in their Driver value.
type Config struct {
	Net nid.Net // net of the NI
	// Interface is an interface name or a local address, as it stands in the
	// brackets of a networks string; empty lets the driver choose.
	Interface string
	// PID is this node's process id; 0 means nid.LustrePID.
	PID nid.PID
	// Incarnation is constant for the incarnation of the NI and differs after a
	// restart: wall-clock nanoseconds at its start.
	Incarnation uint64
	Tunables    Tunables // tunables of the NI; zero values take the defaults
	// LND has the tunables of the driver that are set for this NI alone, by their names (Tunable); nil: it
	// has the values of the driver.
	LND   map[string]int
	Clock machine.Clock // clock of all time-outs; required
	Log   *slog.Logger  // log of the driver; nil discards records
	Tap   Tap           // capture of the traffic; nil captures nothing
}

// Tunables are the tunables that all LNDs share, with Lustre's names and
// defaults. Zero means default.
type Tunables struct {
	PeerTimeout       time.Duration // peer_timeout, default 180 s
	PeerCredits       int           // peer_credits, default 8: concurrent sends per peer; small ones may share a buffer, which counts as one
	PeerBufferCredits int           // peer_buffer_credits; 0: as many as PeerCredits
	Credits           int           // credits, default 256: concurrent sends per NI
	// Timeout is how long a driver tries to send a message (lnet_lnd_timeout). lnet
	// fills it in, see the function Timeout.
	Timeout time.Duration
}

// DefaultRetryCount is the default of LNet's lnet_retry_count.
const DefaultRetryCount = 2

// Timeout returns how long a driver may try to send a message, if the transaction timeout has to
// suffice for the given number of retries: (transaction-1s)/(retries+1) in whole seconds, at
// least one (lnet_set_lnd_timeout).
func Timeout(transaction time.Duration, retries int) time.Duration {
	return max((transaction-time.Second)/time.Duration(retries+1), time.Second).Truncate(time.Second)
}

// WithDefaults returns t with defaults for PeerTimeout, PeerCredits and Credits where these are
// zero, and PeerCredits capped to Credits.
func (t Tunables) WithDefaults() Tunables {
	t.PeerTimeout = cmp.Or(t.PeerTimeout, 180*time.Second)
	t.PeerCredits = cmp.Or(t.PeerCredits, 8)
	t.Credits = cmp.Or(t.Credits, 256)
	t.PeerCredits = min(t.PeerCredits, t.Credits)
	return t
}

// Message is one outgoing LNet message (struct lnet_msg, the part that a
// driver sees). lnet makes it, and the driver has it until Finalize.
type Message struct {
	Header  wire.Header   // complete header; the driver encodes it without changes
	Target  nid.ProcessID // next hop, whose connection is used; not always Header.DestNID
	Payload Payload       // Header.PayloadLength bytes; the driver only reads them
	// Sink of a GET is the memory for its REPLY, if it is known. A driver may let the peer write there
	// until the driver finalizes the message. Then too the driver delivers the REPLY, but it copies no
	// data if lnet gives the REPLY this Sink.
	Sink Payload
	// RDMAReply says that the message is the REPLY to a Delivery with RDMAGet. It holds no credits. The
	// driver fails it if the peer does not wait for it any more.
	RDMAReply bool
	Priority  bool // the message overtakes all messages without priority
	// Flow is the same for messages that depend on each other, such as those of one MD. If a peer
	// has several connections that suit a message and are idle, messages of one flow take the same
	// one. So the goroutine that waits for these messages can run the read loop of that connection.
	// 0: no flow.
	Flow  uint64
	Group Group // the group to which Multicast sends the message; 0: the message is for Send
	// LeaveBy is the time on Config.Clock by which the message must leave; 0: there is none. A message that has waited
	// longer for a connection fails with [ErrLate] when the connection is made. Afterwards the message is not checked again.
	LeaveBy time.Duration

	// SentAt is the time on Config.Clock at which the message left. lnet sets it to 0 before Send,
	// and the driver sets it before it finalizes the message. If SentAt is still 0 at that time, lnet
	// reads the clock. Messages that left with one write have the same SentAt.
	SentAt time.Duration

	// Owner is lnet's: the structure this Message is part of.
	Owner any
	// Link is for the Queue that holds the message.
	Link *Message
}

// ErrLate ends a message that has waited longer than Message.LeaveBy allows. No NI is blamed for it.
var ErrLate = fmt.Errorf("the message waited longer than its sender allows: %w", syscall.ETIMEDOUT)

// Late reports whether the time by which the message must leave has passed.
func (m *Message) Late(now time.Duration) bool { return m.LeaveBy != 0 && now > m.LeaveBy }

// Delivery is one arriving message. The driver owns it, fills Header, From,
// Incarnation and ReceivedAt, and lnet has it from Parse until Delivered.
type Delivery struct {
	Header wire.Header   // header as received
	From   nid.ProcessID // peer at the other end of the connection (previous hop)
	Sink   Payload       // set by lnet: where the payload goes; Length may be 0
	Group  Group         // the group to which the message was sent, see Multicaster; 0: it was sent to this node

	// RDMAGet says that the message is a GET whose sender waits until the driver has written the data
	// to its memory: lnet gives the REPLY, with RDMAReply set, to the driver without credits
	// (rdma_req of lnet_parse). Nothing in lnet bounds these REPLYs: the driver has to bound how many GETs
	// a peer can have sent whose REPLYs have not been finalized.
	RDMAGet bool

	// ReceivedAt is the time on Config.Clock at which the driver received the end of the
	// header, which may be earlier than the time at which it parsed the header. All messages that came
	// with one read have the same ReceivedAt.
	ReceivedAt time.Duration

	// Incarnation is the incarnation of the peer's NI at the other end of the connection. The
	// peer gave it when the connection was opened (in socklnd's HELLO, or as o2iblnd's stamp);
	// a peer that runs ulnet gives its Config.Incarnation. It is the same for all connections
	// of a peer that are open at one time, and different after the peer has restarted.
	// Incarnations are only compared for equality. The driver sets it with From. 0: unknown, as
	// for datagrams, which no connection brings.
	Incarnation uint64

	// Data, More and Repeats are set by a driver whose Upcalls is a Batcher, for one call of Parse.
	Data []byte // the whole payload, if the driver has it; not nil if it is empty
	More bool   // the driver has the beginning of another message, and will call EndBatch
	// Repeats says that From, Incarnation, ReceivedAt and all fields of Header but PayloadLength and
	// Body are those of the message before. Unless the message is certain to pass the same checks,
	// lnet clears Repeats and makes all checks again.
	Repeats bool

	// Primary is set by lnet: the primary NID of the peer that Header.SrcNID
	// belongs to, SrcNID itself for a peer with one NID.
	Primary nid.NID

	// Dropped is set by lnet if it dropped the message in Parse or Abandon: the sender of
	// a GET gets no answer.
	Dropped bool

	// Cache and Owner are lnet's and its upper layer's; a driver clears
	// neither. Cache survives from one message to the next of a Delivery.
	Cache any
	Owner any // lnet's own data of this delivery; see Cache
	// Batch and Upper are lnet's and its upper layer's data of a batch. They are nil after EndBatch.
	Batch, Upper any
	// Driver is the driver's own, to find its connection again in Recv.
	Driver any
	// the read loop that received the message, or nil if that loop cannot be handed over
	ReadLoop ReadLoop
}
