package node

import (
	"context"
	"fmt"
	"math"
	"time"

	"ulnet/lnet/nid"
	"ulnet/portals"
)

// GetRequest says what to get.
type GetRequest struct {
	Target    nid.ProcessID `json:"target"`          // the process to get from
	Source    nid.NID       `json:"source,omitzero"` // local NID; zero lets LNet choose
	Portal    int           `json:"portal"`          // index of the portal at the target, 0 to 63
	MatchBits Bits          `json:"match_bits"`      // match bits of the match entry at the target
	Offset    uint32        `json:"offset"`          // offset of the first byte at the target
	Length    uint64        `json:"length"`          // number of bytes to get; Offset + Length is 4 GiB at most
	Timeout   time.Duration `json:"timeout"`         // time limit for each message; 0: 10 s
}

// Get fetches r.Length bytes in messages of up to 1 MiB at rising offsets, one
// after the other. The payload of each is reported with its REPLY event. A REPLY that is
// shorter than requested is the last one.
func (n *Node) Get(ctx context.Context, r GetRequest, report Report) error {
	if r.Length > math.MaxUint32+1-uint64(r.Offset) {
		return errOffset
	}
	buffer := make([]byte, min(r.Length, pieceSize))
	for done := uint64(0); ; {
		size := min(r.Length-done, pieceSize)
		offset := r.Offset + uint32(done)
		reply, err := n.getPiece(ctx, r, offset, buffer[:size], report)
		if err != nil {
			return fmt.Errorf("GET from %v, portal %d, offset %d: %w", r.Target, r.Portal, offset, err)
		}
		done += uint64(reply.MLength)
		if done >= r.Length || uint64(reply.MLength) < size {
			return nil
		}
	}
}

func (n *Node) getPiece(ctx context.Context, r GetRequest, offset uint32, into []byte, report Report) (portals.Event, error) {
	x := exchange{
		node: n, buffer: into, threshold: 2, timeout: r.Timeout, answer: portals.EventReply,
		start: func(md portals.MDHandle) error {
			return n.table.Get(portals.GetRequest{
				Self: r.Source, MD: md, Target: r.Target, Portal: r.Portal,
				MatchBits: uint64(r.MatchBits), Offset: offset,
			})
		},
		report: func(e *portals.Event) error {
			step := Step{Event: newEvent(e)}
			if e.Kind == portals.EventReply && e.Err == nil {
				step.Payload = e.Bytes()
			}
			return report(step)
		},
	}
	return x.run(ctx)
}
