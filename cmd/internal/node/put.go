package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"ulnet/lnet/nid"
	"ulnet/portals"
)

// PutRequest says where to put data.
type PutRequest struct {
	Target    nid.ProcessID `json:"target"`          // the process to send to
	Source    nid.NID       `json:"source,omitzero"` // local NID to send from; zero lets LNet choose
	Portal    int           `json:"portal"`          // index of the portal at the target, 0 to 63
	MatchBits Bits          `json:"match_bits"`      // match bits of the match entry at the target
	HdrData   Bits          `json:"hdr_data"`        // header data, shown in the event at the target
	Offset    uint32        `json:"offset"`          // offset of the first byte at the target
	Ack       bool          `json:"ack"`             // wait for the ACK of each message
	Timeout   time.Duration `json:"timeout"`         // time limit for each message; 0: 10 s
}

// Put sends all of body in messages of up to 1 MiB at rising offsets. It sends a message when
// the previous one has been sent or, with Ack, acknowledged. An empty body becomes one empty
// message.
func (n *Node) Put(ctx context.Context, r PutRequest, body io.Reader, report Report) error {
	buffer := make([]byte, pieceSize)
	offset := uint64(r.Offset)
	for first := true; ; first = false {
		size, err := fill(buffer, body)
		switch {
		case err != nil:
			return fmt.Errorf("read data: %w", err)
		case size == 0 && !first:
			return nil
		case offset > math.MaxUint32:
			return errOffset
		}
		if err := n.putPiece(ctx, r, uint32(offset), buffer[:size], report); err != nil {
			return fmt.Errorf("PUT to %v, portal %d, offset %d: %w", r.Target, r.Portal, offset, err)
		}
		if size < len(buffer) {
			return nil
		}
		offset += uint64(size)
		// The message has been sent, so the buffer can be used again. If a message fails, the driver
		// may still be reading its buffer.
	}
}

// fill reads until b is full or r ends. Unlike io.ReadFull, it does not return io.ErrUnexpectedEOF at the end
// of r: that error always comes from r itself, and means that the stream has broken off.
func fill(b []byte, r io.Reader) (n int, err error) {
	for n < len(b) {
		m, err := r.Read(b[n:])
		n += m
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

var errOffset = errors.New("offsets have 32 bits: 4 GiB is the end")

func (n *Node) putPiece(ctx context.Context, r PutRequest, offset uint32, data []byte, report Report) error {
	x := exchange{
		node: n, buffer: data, threshold: 1, timeout: r.Timeout, answer: portals.EventSend,
		start: func(md portals.MDHandle) error {
			return n.table.Put(portals.PutRequest{
				Self: r.Source, MD: md, Ack: r.Ack, Target: r.Target, Portal: r.Portal,
				MatchBits: uint64(r.MatchBits), Offset: offset, HdrData: uint64(r.HdrData),
			})
		},
		report: func(e *portals.Event) error { return report(Step{Event: newEvent(e)}) },
	}
	if r.Ack {
		x.threshold, x.answer = 2, portals.EventAck
	}
	_, err := x.run(ctx)
	return err
}
