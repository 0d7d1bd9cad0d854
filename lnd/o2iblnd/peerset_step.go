package o2iblnd

import "ulnet/lnd/o2iblnd/kib"

// peerInKind says what happened.
type peerInKind uint8

const (
	peerTimer        peerInKind = iota // the wake is due
	peerSend                           // a message waits for a connection
	peerRequest                        // the peer requests a connection; answered by why
	peerAccepted                       // a connection that the peer requested is established
	peerAcceptFailed                   // a connection that the peer requested has failed
	peerConnected                      // the peer accepted this side's request; answered by refused
	peerRejected                       // the peer rejected this side's request
	peerFailed                         // this side's request had no answer, or could not be made
	peerClosed                         // an established connection has ended
	peerStale                          // the peer uses a connection of an earlier incarnation of this NI
)

// peerIn is one input; the fields that its kind needs are set.
type peerIn struct {
	kind    peerInKind
	queued  bool // messages wait for a connection
	stamp   uint64
	version kib.Version
	ask     ask    // peerConnected, peerRejected: the parameters of the request
	private []byte // peerConnected, peerRejected: the private data of the answer
	reason  uint16 // peerRejected: the CM's
	err     *Error // of a failure
}

// ask has the parameters of a request of this side.
type ask struct {
	version  kib.Version
	stamp    uint64 // incarnation of the peer as far as it is known
	depth    int    // of the queue
	maxFrags int
	mtu      int  // of the path in bytes; 0: as configured
	redial   bool // no message waits for it: see redials
}

// peerOut is what the peer has to do after a step, in this order.
type peerOut struct {
	why     kib.Why // peerRequest: refuse for this reason; 0: accept
	reason  Reason  // to count: of that refusal, or of a request that is repeated
	refused *Error  // peerConnected: end the connection
	ack     kib.ConnParams

	counting kib.Counting // peerConnected: how the peer counts, as its answer shows

	withdraw    bool // give up requests without an answer
	closeStale  bool // close connections to other incarnations than stamp of the set
	failPending bool // fail the messages that wait for a connection with err
	up          bool // first connection
	down        bool // the last connection ended, or none could be made; see err
	err         *Error
	connect     int // request so many connections
}
