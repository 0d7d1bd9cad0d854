package o2iblnd

import "ulnet/lnd/o2iblnd/kib"

// peerInKind says what happened.
type peerInKind uint8

const (
	peerTimer        peerInKind = iota // the wake is due
	peerSend                           // a message waits for a connection
	peerRequest                        // the peer asks for a connection; answered by why
	peerAccepted                       // and has got it
	peerAcceptFailed                   // or has not
	peerConnected                      // it answers ours with private; answered by refused
	peerRejected                       // or with a reject
	peerFailed                         // or not at all, or could not be asked
	peerClosed                         // an established connection has ended
	peerStale                          // the peer uses a connection of an earlier incarnation of this NI
)

// peerIn is one input; the fields that its kind needs are set.
type peerIn struct {
	kind    peerInKind
	queued  bool // messages wait for a connection
	stamp   uint64
	version kib.Version
	ask     ask    // peerConnected, peerRejected: what was asked for
	private []byte // likewise: what the peer says
	reason  uint16 // peerRejected: the CM's
	err     *Error // of a failure
}

// ask are the parameters of a request.
type ask struct {
	version  kib.Version
	stamp    uint64 // of the peer as it is known
	depth    int
	maxFrags int
	mtu      int  // of the path in bytes; 0: what is configured
	redial   bool // no message waits for it: see redials
}

// peerOut is what the peer has to do after a step, in this order.
type peerOut struct {
	why     kib.Why // peerRequest: refuse because of that; 0: accept
	reason  Reason  // likewise, for the counter; or of an attempt that is repeated
	refused *Error  // peerConnected: end the connection
	ack     kib.ConnParams

	counting kib.Counting // peerConnected: how the peer counts, as its answer shows

	withdraw    bool // give up attempts that are not answered
	closeStale  bool // close connections to other lives than stamp of the set
	failPending bool // fail the messages that wait for a connection with err
	up          bool // first connection
	down        bool // connections gone, or none could be had; see err
	err         *Error
	connect     int // ask for so many connections
}
