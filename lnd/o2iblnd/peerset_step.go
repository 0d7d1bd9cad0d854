package o2iblnd

import "ulnet/lnd/o2iblnd/kib"

// peerInKind says what happened at a peer.
type peerInKind uint8

const (
	peerTimer        peerInKind = iota // the time that Step returned has come
	peerSend                           // a message waits for a connection
	peerRequest                        // the peer requests a connection; the field why of the output is the answer
	peerAccepted                       // a connection that the peer requested is established
	peerAcceptFailed                   // a connection that the peer requested has failed
	peerConnected                      // the peer accepted this side's request; the field refused of the output says whether to use the connection
	peerRejected                       // the peer rejected this side's request
	peerFailed                         // this side's request had no answer, or could not be made
	peerClosed                         // an established connection has ended
	peerStale                          // the peer uses a connection of an earlier incarnation of this NI
)

// peerIn is one input; the fields that its kind needs are set.
type peerIn struct {
	kind    peerInKind
	queued  bool // whether messages wait for a connection
	stamp   uint64
	version kib.Version
	ask     ask    // for peerConnected, peerRejected: parameters of the request
	private []byte // for peerConnected, peerRejected: private data of the answer
	reason  uint16 // for peerRejected: reason code of the connection manager
	mtu     int    // for peerRejected: present path MTU of the device
	err     *Error // error of a failed or closed connection
}

// ask has the parameters of a request of this side.
type ask struct {
	version  kib.Version
	stamp    uint64 // incarnation of the peer as far as it is known
	depth    int    // queue depth
	maxFrags int
	mtu      int  // path MTU in bytes; 0, before the request was sent: as configured, or that of the device
	redial   bool // no message waits for the connection: see redials
}

// peerOut is what the peer has to do after a step, in this order.
type peerOut struct {
	why     kib.Why // for peerRequest: why to reject it; 0: accept
	reason  Reason  // reason to count: why one side has rejected a request of the other
	refused *Error  // for peerConnected: why to end the connection; nil: use it
	ack     kib.ConnParams

	counting kib.Counting // for peerConnected: how the peer computes checksums, as its answer shows

	withdraw    bool // withdraw the requests that have no answer
	closeStale  bool // close connections to incarnations other than the stamp of the set
	failPending bool // fail the messages that wait for a connection with err
	up          bool // the first connection with the peer was established
	down        bool // the last connection ended, or none could be made; see err
	err         *Error
	connect     int // number of connections to request
}
