package node

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// defaultTimeout bounds the wait for an ACK or a REPLY.
const defaultTimeout = 10 * time.Second

// pieceSize is how many bytes one message carries at most.
const pieceSize = wire.MaxPayload

// exchange is one Put or Get: it binds an MD for the buffer with the given threshold, calls the
// function start, and reports the events until the MD is unlinked. The field answer is the kind
// of event that completes the exchange.
type exchange struct {
	node      *Node
	buffer    []byte
	threshold int
	timeout   time.Duration
	answer    portals.EventKind
	start     func(portals.MDHandle) error
	report    func(*portals.Event) error
}

// exchangeEvents is the largest number of events of an exchange: SEND, the answer and UNLINK.
const exchangeEvents = 3

// run performs the exchange, and returns the event of the answer.
func (x exchange) run(ctx context.Context) (answer portals.Event, err error) {
	if x.timeout <= 0 {
		x.timeout = defaultTimeout
	}
	events := make(chan portals.Event, exchangeEvents)
	md, err := x.node.table.MDBind(portals.MD{
		Segments: [][]byte{x.buffer}, Threshold: x.threshold,
		Handler: func(e *portals.Event) { events <- *e },
	}, portals.Unlink)
	if err != nil {
		return answer, err
	}
	// An error means that the MD has been unlinked already.
	defer x.node.table.MDUnlink(md)
	if err := x.start(md); err != nil {
		return answer, explainSimulated(err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, x.timeout, x.late())
	defer cancel()
	return x.follow(ctx, events)
}

// follow reports events until the MD is unlinked.
func (x exchange) follow(ctx context.Context, events <-chan portals.Event) (answer portals.Event, err error) {
	for {
		select {
		case e := <-events:
			if err := x.report(&e); err != nil {
				return answer, err
			}
			if e.Err != nil {
				return answer, fmt.Errorf("%v: %w", e.Kind, e.Err)
			}
			if e.Kind == x.answer {
				answer = e
			}
			if e.Kind == portals.EventUnlink { // LNet has given up the MD: this program calls MDUnlink only after this loop
				return answer, fmt.Errorf("no %v within lnet_transaction_timeout: %w", x.answer, syscall.ETIMEDOUT)
			}
			if e.Unlinked && answer.Kind != x.answer {
				return answer, fmt.Errorf("ended without %v: %w", x.answer, syscall.ECANCELED)
			}
			if e.Unlinked {
				return answer, nil
			}
		case <-ctx.Done():
			return answer, context.Cause(ctx)
		}
	}
}

// late returns the error for an answer that did not come in time.
func (x exchange) late() error {
	err := fmt.Errorf("no %v within %v: %w", x.answer, x.timeout, syscall.ETIMEDOUT)
	hint := "a node drops what no match entry takes and tells nobody but its own counters: check portal, match bits and length there"
	if x.answer == portals.EventSend {
		err = fmt.Errorf("not sent within %v: %w", x.timeout, syscall.ETIMEDOUT)
		hint = "can the node be reached? try 'lnetctl ping'"
	}
	if x.node.isSpoiled() {
		hint = spoiledHint
	}
	return cli.Hint(err, "%s", hint)
}
