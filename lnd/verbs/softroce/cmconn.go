package softroce

import (
	"errors"
	"net/netip"
	"time"

	"ulnet/lnd/verbs/ibta"
	"ulnet/lnd/verbs/softroce/wire"
	"ulnet/lnet/machine"
)

var errPortTaken = errors.New("somebody listens on this port")

// cmState is the state of a connection in the connection manager.
type cmState uint8

const (
	closed cmState = iota
	reqSent
	reqReceived // the connection waits for the consumer's decision
	repSent
	established
	dreqSent
	timeWait
)

var cmStateNames = [...]string{"closed", "REQ sent", "REQ received", "REP sent", "established", "DREQ sent", "time wait"}

// String returns the state's name, such as "REQ sent" or "established".
func (s cmState) String() string { return cmStateNames[s] }

// The timeouts that this side names in a REQ, as Linux does, and those that it uses.
const (
	responseTimeout = 20 // CMTimeout code: 4 s to answer a message
	cmRetries       = 15
	lifetime        = 16 // as code of AckTimeout and of CMTimeout: how long a packet may be in flight
	ackTimeout      = lifetime + 1
	serviceTimeout  = 24 // CMTimeout code: 65 s for a consumer to decide
	maxAckTimeout   = 20 // AckTimeout code: the longest that a peer's REQ can make us wait

	// Local policy: the first repetitions come sooner than they must.
	firstResend = 100 * time.Millisecond
)

// cmConn is a connection in the connection manager.
type cmConn struct {
	id, remote     ibta.CommID
	state          cmState
	asking         bool // this side has requested the connection
	claimed        bool // this side has requested it because of packets whose source may be forged
	heard          bool // the peer has answered a message with a number that this side chose, or has used the connection: its address is not forged
	peer           netip.Addr
	guid           ibta.GUID // GUID of the peer's adapter
	qpn, remoteQPN ibta.QPN
	tid            uint64 // transaction id of the exchange in progress
	end            cmEnd  // parameters in the REQ
	peerTimeout    uint8  // CMTimeout code: how long the peer takes to answer

	timer    machine.Deadline[*cmConn]
	giveUp   time.Duration // time at which the request is given up
	absences extension     // by how much absences of this device move giveUp
	sent     int           // how often the message in the field message was sent
	message  []byte        // the latest message that this side has sent, while it waits for an answer; else nil
	listed   listed        // places of the connection in the list of its state, if there is one: see listOf
}

// resendAfter returns the timeout after which a message is repeated (IBTA vol. 1 §12.7.10, as
// Linux computes it).
func (n *cmConn) resendAfter() time.Duration {
	most := 2*ibta.CMTimeout(lifetime) + ibta.CMTimeout(n.peerTimeout)
	return min(firstResend<<min(n.sent-1, 8), most)
}

// doubt says why the peer may not exist. It returns Claimed until the peer was heard, if this side writes to the peer
// only because of packets whose source may be forged. Such messages must take no room from the requests that this side
// makes by itself, for which doubt returns Asked.
func (n *cmConn) doubt() wire.Doubt {
	if n.asking && !n.claimed || n.heard {
		return wire.Asked
	}
	return wire.Claimed
}

// remember indexes a connection by the numbers of its peer.
func (c *cm) remember(n *cmConn) {
	c.remotes[cmRemote{n.peer, n.guid, n.remote}] = n
	c.qps[cmRemoteQP{n.peer, n.guid, n.remoteQPN}] = n
}

// open adds the connection n under a new id. hasRoom has reported true for its peer.
func (c *cm) open(n cmConn) *cmConn {
	c.evict(n.peer)
	for n.id == 0 || c.conns[n.id] != nil {
		n.id = ibta.CommID(c.shuffle.number(uint32(c.nextID)))
		c.nextID++
	}
	n.timer.Of = &n
	c.conns[n.id] = &n
	c.count(n.peer, 1)
	return &n
}

// become changes the state of n to s.
func (c *cm) become(n *cmConn, s cmState) {
	if n.state == reqReceived {
		c.pending--
	}
	if s == reqReceived {
		c.pending++
	}
	if old, list := c.listOf(n.state), c.listOf(s); old != list {
		if old != nil {
			old.remove(n)
		}
		if list != nil {
			list.put(n)
		}
	}
	n.state, n.message, n.sent = s, nil, 0
	c.timers.Clear(&n.timer)
}

// forget removes n and its ids.
func (c *cm) forget(n *cmConn) {
	c.become(n, closed)
	delete(c.conns, n.id)
	c.count(n.peer, -1)
	if k := (cmRemote{n.peer, n.guid, n.remote}); c.remotes[k] == n {
		delete(c.remotes, k)
	}
	if k := (cmRemoteQP{n.peer, n.guid, n.remoteQPN}); c.qps[k] == n {
		delete(c.qps, k)
	}
}

// wait ends a connection. It stays in the state timeWait for a while, in which its numbers are not
// used for another one.
func (c *cm) wait(now time.Duration, n *cmConn) {
	c.become(n, timeWait)
	c.timers.Set(&n.timer, now+ibta.CMTimeout(min(n.end.AckTimeout, maxAckTimeout)+1))
}
