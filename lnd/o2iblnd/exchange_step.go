package o2iblnd

import (
	"time"

	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs"
)

// exchangeInKind says what happened.
type exchangeInKind uint8

const (
	exchangeTimer      exchangeInKind = iota // the time that Step returned has come
	exchangeSend                             // tx is to be sent: IMMEDIATE, PUT_REQ or GET_REQ
	exchangeArrived                          // bytes arrived; the field arrival of the output says what to do with them
	exchangeConsumed                         // lnet has consumed messages, see the field consumed, or holds one
	exchangeSink                             // tx has the memory for the data of the PUT_REQ with the cookie of tx
	exchangeNak                              // refuse the PUT_REQ with the cookie of tx; the status of tx says why
	exchangeAwaitReply                       // lnet has been given the GET_REQ of tx and will reply
	exchangeReply                            // lnet answers the GET_REQ of tx, with msg or status
	exchangeSent                             // a signaled work request has ended, with or without an error
	exchangeClose                            // the connection ends because of err
	exchangePatience                         // the timeout has changed to the one in the field timeout
	exchangeAbsent                           // this node was kept from handling what arrives, for the time in the field absent
)

// exchangeIn is one input; the fields that its kind needs are set.
type exchangeIn struct {
	kind  exchangeInKind
	tx    *tx
	bytes []byte
	id    uint32
	err   *Error

	timeout time.Duration
	absent  time.Duration

	// consumed is how many messages with arrivalDeliver lnet has consumed since the last input.
	// Inputs of every kind may have it. Accepted PUT_REQs and GET_REQs do not count.
	consumed int
}

// arrival says what to do with bytes that arrived.
type arrival uint8

const (
	arrivalNone    arrival = iota
	arrivalDeliver         // the message in the field Message is to be given to lnet; a later input says what lnet does with it
	arrivalGet             // the field Message is a GET_REQ for lnet; later inputs for its answer have the tx in the field Tx
)

// exchangeOut has the effects that the shell has to carry out: post the work requests, in the order of the
// steps; close the connection; and end the transfers in Done, of which no work request is posted or will
// be. A refused message had no effect on the exchange.
type exchangeOut struct {
	Bytes  []byte      // bytes of the messages to send; WRs refer to them
	Pieces []verbs.SGE // pieces of memory of the WRs, in order
	WRs    []workRequest
	Done   txQueue
	Closed *Error // the reason if the connection is to be ended, else nil

	Counted []Reason // reasons to count that do not end the connection

	posts []verbs.SendWR // memory in which the shell makes work requests for the device
	sges  []verbs.SGE    // memory in which the shell lists the pieces of these work requests

	refused bool
	arrival arrival
	Message kib.Msg // the parsed message, which refers to the bytes that arrived
	Tx      *tx
}

// workRequest is a work request to post. Its pieces are Bytes[bytes[0]:bytes[1]], if there
// are any, and Pieces[pieces[0]:pieces[1]].
type workRequest struct {
	id            uint32
	op            verbs.Op
	signaled      bool
	bytes, pieces [2]int
	remote        verbs.Frag
	rkey          uint32
}

// Reset empties out for the next step and keeps its memory.
func (o *exchangeOut) Reset() {
	clear(o.Pieces)
	clear(o.posts)
	clear(o.sges)
	*o = exchangeOut{
		Bytes: o.Bytes[:0], Pieces: o.Pieces[:0], WRs: o.WRs[:0], Counted: o.Counted[:0],
		posts: o.posts[:0], sges: o.sges[:0],
	}
}

// empty reports whether the output asks for nothing.
func (o *exchangeOut) empty() bool { return len(o.WRs) == 0 && !o.tells() }

// tells reports whether the output has something besides work requests.
func (o *exchangeOut) tells() bool { return o.Done.n > 0 || o.Closed != nil || len(o.Counted) > 0 }

// The ID of a work request is the slot of its tx. The ID of the last WRITE of a turn has turnMark set, too.
const (
	noopID   uint32 = 1<<32 - 1
	turnMark uint32 = 1 << 31
	// silentID is the ID of WRITEs within a turn: they have a completion only if they fail.
	silentID uint32 = noopID - 1
)
