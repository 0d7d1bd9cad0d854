package socklnd

import "ulnet/lnd/socklnd/ksock"

// setInputKind says what happened.
type setInputKind uint8

const (
	setTimer        setInputKind = iota // the wake is due
	setSend                             // a message needs connections
	setHello                            // the peer's HELLO arrived; answered by an outcome
	setAccepted                         // our answer to it is written
	setAcceptFailed                     // or could not be
	setDialled                          // a dial was answered by a matching HELLO; answered by an outcome
	setRefused                          // a dial was answered by NONE in the same version
	setOtherVersion                     // a dial was answered by NONE in another version
	setDialFailed                       // a dial failed in another way
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
	generation  uint64 // setAccepted: of the output that accepted the HELLO
	err         error  // setRefused, setOtherVersion, setDialFailed, setClosed: why
}

// setOutcome answers setSend, setHello and setDialled.
type setOutcome uint8

const (
	outcomeNone        setOutcome = iota
	outcomeQueue                  // setSend: keep the message for the first connection
	outcomeUnreachable            // setSend: nothing to wait for; see err, which may be nil
	outcomeAccept                 // setHello, setDialled: use the connection
	outcomeRace                   // setHello: refuse, our own dial wins
	outcomeDuplicate              // setHello: refuse, there are enough of this type
	outcomeRestarted              // setHello, setDialled: the peer is another incarnation
	outcomeVersion                // setHello: refuse, the other connections have another version
	outcomeOutlived               // setAccepted: close it too, the peer's connections were closed meanwhile
)

// setOutput is what the peer has to do after a step, in this order.
type setOutput struct {
	outcome     setOutcome
	generation  uint64 // setHello: for setAccepted
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
