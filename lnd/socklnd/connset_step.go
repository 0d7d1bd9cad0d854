package socklnd

import "ulnet/lnd/socklnd/ksock"

// setInputKind says what happened at a connSet.
type setInputKind uint8

const (
	setTimer    setInputKind = iota // the time that Step returned has come
	setSend                         // a message needs connections; the output has an outcome
	setHello                        // the peer's HELLO arrived; the output has an outcome
	setAccepted                     // our answer to the peer's HELLO was written; the output may have an outcome
	// a HELLO that the set had accepted led to no connection: our answer could not be written, or the
	// handshake was evicted
	setAcceptFailed
	setDialled      // a dial was answered by a matching HELLO; the output has an outcome
	setRefused      // a dial was answered by NONE in the same version
	setOtherVersion // a dial was answered by NONE in another version
	setDialFailed   // a dial failed without an answer of the peer
	setClosed       // a connection failed, and all others are closed with it
)

// setInput is one input; the fields that its kind needs are set.
type setInput struct {
	kind        setInputKind
	ctype       ksock.ConnType // connection type as this side sees it
	version     ksock.Version
	incarnation uint64
	usable      bool   // for setSend: a connection for the message exists
	sameHost    bool   // for setHello: both ends have the same address
	generation  uint64 // for setAccepted: the generation that the output of setHello had
	err         error  // for setRefused, setOtherVersion, setDialFailed, setClosed: the cause
}

// setOutcome is the answer to setSend, setHello, setAccepted and setDialled.
type setOutcome uint8

const (
	outcomeNone  setOutcome = iota
	outcomeQueue            // for setSend: keep the message for the first connection
	// for setSend: no connection is to be expected, so fail the message; err says why, if a dial has
	// failed
	outcomeUnreachable
	outcomeAccept    // for setHello, setDialled: use the connection
	outcomeRace      // for setHello: refuse, because our own dial wins
	outcomeDuplicate // for setHello: refuse, because this type has enough connections
	outcomeRestarted // for setHello, setDialled: the peer has a new incarnation
	outcomeVersion   // for setHello: refuse, because the version differs
	// for setAccepted: close the new connection too, as all others of the peer were closed during the
	// handshake
	outcomeOutlived
)

// setOutput is what the peer has to do after a step, in this order.
type setOutput struct {
	outcome     setOutcome
	generation  uint64 // for setHello: generation to give to setAccepted
	closeAll    bool   // close all established connections
	failPending bool   // fail the messages that wait for a connection with err
	up          bool   // the first connection with the peer exists
	down        bool   // all connections were closed, or none could be made; see err
	err         error
	dial        bool // dial a connection of dialType in dialVersion
	dialType    ksock.ConnType
	dialVersion ksock.Version
}

func (o *setOutput) reset() { *o = setOutput{} }
