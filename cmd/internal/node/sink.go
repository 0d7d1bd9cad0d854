package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"ulnet/portals"
)

// MaxBuffer is the largest buffer of Sink and the largest content of Serve in
// bytes.
const MaxBuffer = 64 << 20

// A sink keeps up to sinkBuffers buffers posted, fewer if they are large. When a sink closes, it
// checks every settleInterval whether its last MD is gone.
const (
	sinkBuffers = 16
	sinkMemory  = 64 << 20 // largest memory of the buffers in bytes; there is at least one buffer
	fewBuffers  = 8        // a sink with fewer buffers keeps its portal lazy all the time

	settleTimeout  = time.Second
	settleInterval = time.Millisecond
)

// SinkRequest selects the PUTs to accept.
type SinkRequest struct {
	Portal       int  `json:"portal"`        // index of the portal, 0 to 63
	MatchBits    Bits `json:"match_bits"`    // match bits that a PUT must have
	IgnoreBits   Bits `json:"ignore_bits"`   // bits of MatchBits that need not match
	Size         int  `json:"size"`          // size of a buffer in bytes; 0: 1 MiB
	Count        int  `json:"count"`         // number of messages to take; 0: all that come until the context ends
	ManageRemote bool `json:"manage_remote"` // a message is stored at the offset that its sender gives
	Truncate     bool `json:"truncate"`      // cut messages that are too long instead of dropping them
}

// Sink accepts PUTs and reports each with its payload. Every message gets a buffer of its own;
// with ManageRemote, its payload is stored at the offset that the sender chose. Sink posts
// several buffers, and posts each again when its message has been reported. While no buffer is
// free, the portal is lazy, so that messages of a sender that is faster than report wait and are
// not lost. Sink returns nil after Count messages.
func (n *Node) Sink(ctx context.Context, r SinkRequest, report Report) error {
	if r.Size == 0 {
		r.Size = pieceSize
	}
	if err := r.check(); err != nil {
		return err
	}
	users, err := n.table.NewEQ(1)
	if err != nil {
		return err
	}
	buffers := r.buffers()
	s := &sink{
		node: n, request: r, filled: make(chan *sinkBuffer, buffers), users: users,
		backpressure: backpressure{table: n.table, lazy: &n.lazy[r.Portal], portal: r.Portal, enough: int64(buffers)},
	}
	defer s.close()
	if buffers < fewBuffers {
		s.backpressure.enough++
		s.backpressure.start()
	}
	for range buffers {
		if err := s.post(&sinkBuffer{memory: make([]byte, r.Size)}); err != nil {
			return err
		}
	}
	if err := report(Step{Ready: true}); err != nil {
		return err
	}
	return s.run(ctx, report)
}

func (r *SinkRequest) check() error {
	switch {
	case r.Size < 0 || r.Size > MaxBuffer:
		return fmt.Errorf("size %d: want 1 to %d bytes", r.Size, MaxBuffer)
	case r.Count < 0:
		return fmt.Errorf("count %d: want 0 or more", r.Count)
	case r.Portal < 0 || r.Portal >= portals.Portals:
		return fmt.Errorf("portal %d: want 0 to %d", r.Portal, portals.Portals-1)
	}
	return nil
}

// buffers returns how many buffers to post.
func (r *SinkRequest) buffers() int {
	n := min(sinkBuffers, max(1, sinkMemory/r.Size))
	if r.Count > 0 {
		n = min(n, r.Count)
	}
	return n
}

type sink struct {
	node    *Node
	request SinkRequest
	posted  []*sinkBuffer // buffers at the portal table, and buffers with a message that are not removed from this list yet
	taken   int           // number of messages for which buffers were posted, if Count is set
	filled  chan *sinkBuffer
	backpressure
	// users is the EQ of the sink's MDs. The sink reads no events from it, and uses it only to
	// count the MDs: an MD stays in its EQ until its last use, which includes the ACK that
	// follows its event.
	users *portals.EQ
}

// sinkBuffer is memory for one message. The portal table owns it while it is posted. Once the field event is
// set, the sink owns it.
type sinkBuffer struct {
	memory []byte
	me     portals.MEHandle
	event  portals.Event
}

// post passes b to the portal table, unless buffers for all Count messages have been posted.
func (s *sink) post(b *sinkBuffer) error {
	r := s.request
	if r.Count > 0 && s.taken == r.Count {
		return nil
	}
	s.taken++
	s.backpressure.posted(r.Count > 0 && s.taken == r.Count)
	if err := s.attach(b); err != nil {
		return err
	}
	s.posted = append(s.posted, b)
	s.release()
	return nil
}

func (s *sink) attach(b *sinkBuffer) error {
	r := s.request
	me, err := s.node.table.MEAttach(r.Portal, portals.Match{Bits: uint64(r.MatchBits), Ignore: uint64(r.IgnoreBits)}, portals.Unlink, portals.After)
	if err != nil {
		return err
	}
	b.me = me
	options := portals.OpPut
	if r.ManageRemote {
		options |= portals.ManageRemote
	}
	if r.Truncate {
		options |= portals.Truncate
	}
	_, err = s.node.table.MDAttach(me, portals.MD{
		Segments: [][]byte{b.memory}, Threshold: 1, Options: options, EQ: s.users,
		// The handler never blocks: the channel has room for every buffer, and an MD
		// of threshold 1 has one event.
		Handler: func(e *portals.Event) {
			if e.Kind == portals.EventPut {
				s.used()
				b.event = *e
				s.filled <- b
			}
		},
	}, portals.Unlink)
	if err != nil {
		_ = s.node.table.MEUnlink(me)
	}
	return err
}

func (s *sink) run(ctx context.Context, report Report) error {
	for done := 0; s.request.Count == 0 || done < s.request.Count; {
		select {
		case b := <-s.filled:
			s.remove(b)
			step := Step{Event: newEvent(&b.event)}
			if b.event.Err == nil {
				step.Payload = b.event.Bytes()
				done++
			} else {
				s.taken--
			}
			if err := report(step); err != nil {
				return err
			}
			if err := s.post(b); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (s *sink) remove(b *sinkBuffer) {
	s.posted = slices.DeleteFunc(s.posted, func(p *sinkBuffer) bool { return p == b })
}

// close unlinks the posted buffers, and waits for a short time until the last ACK has left,
// because the node may end right after. A message that is arriving in a buffer is still
// received.
func (s *sink) close() {
	s.last.Store(true)
	for _, b := range s.posted {
		_ = s.node.table.MEUnlink(b.me) // fails with ENOENT if a message has just used the match entry
	}
	s.end()
	late := time.After(settleTimeout)
	tick := time.NewTicker(settleInterval)
	defer tick.Stop()
	for errors.Is(s.users.Free(), syscall.EBUSY) {
		select {
		case <-tick.C:
		case <-late:
			return
		}
	}
}
