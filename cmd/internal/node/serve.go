package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"ulnet/portals"
)

// ServeRequest selects the GETs to answer.
type ServeRequest struct {
	Portal     int  `json:"portal"`      // index of the portal, 0 to 63
	MatchBits  Bits `json:"match_bits"`  // match bits that a GET must have
	IgnoreBits Bits `json:"ignore_bits"` // bits of MatchBits that need not match
	Count      int  `json:"count"`       // number of GETs to answer; 0: all that come until the context ends
}

// serveEvents is how many events are queued while report is busy; further ones are only counted.
const serveEvents = 1024

// Serve answers each GET with the part of the content at the offset that the GET names, and
// reports it. The content has at most MaxBuffer bytes. A GET that reaches beyond the end gets a
// shorter REPLY. Serve returns nil after Count GETs.
func (n *Node) Serve(ctx context.Context, r ServeRequest, content io.Reader, report Report) error {
	memory, err := io.ReadAll(io.LimitReader(content, MaxBuffer+1))
	if err != nil {
		return fmt.Errorf("read content: %w", err)
	}
	if len(memory) > MaxBuffer {
		return fmt.Errorf("content has more than %d bytes", MaxBuffer)
	}
	if r.Count < 0 {
		return errors.New("count is negative")
	}
	s := &server{events: make(chan portals.Event, serveEvents), gone: make(chan struct{})}
	me, err := s.post(n.table, r, memory)
	if err != nil {
		return err
	}
	defer n.table.MEUnlink(me) // fails with ENOENT if the entry was unlinked after Count GETs
	if err := report(Step{Ready: true}); err != nil {
		return err
	}
	return s.run(ctx, report)
}

type server struct {
	events chan portals.Event
	missed atomic.Int64
	gone   chan struct{} // closed when the last event of the MD has arrived
}

func (s *server) post(table *portals.Table, r ServeRequest, memory []byte) (portals.MEHandle, error) {
	threshold := portals.ThresholdInfinite
	if r.Count > 0 {
		threshold = r.Count
	}
	me, _, err := table.Post(r.Portal, portals.Match{Bits: uint64(r.MatchBits), Ignore: uint64(r.IgnoreBits)}, portals.MD{
		Segments: [][]byte{memory}, Threshold: threshold, Handler: s.handle,
		Options: portals.OpGet | portals.ManageRemote | portals.Truncate,
	}, portals.Unlink)
	return me, err
}

// handle queues an event for report. It never blocks: if the queue is full, the event is only
// counted.
func (s *server) handle(e *portals.Event) {
	select {
	case s.events <- *e:
	default:
		s.missed.Add(1)
	}
	if e.Unlinked {
		close(s.gone)
	}
}

func (s *server) run(ctx context.Context, report Report) error {
	for {
		select {
		case e := <-s.events:
			if err := s.report(&e, report); err != nil {
				return err
			}
		case <-s.gone:
			return s.drain(report)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// drain reports the events that are still queued, once no more can follow.
func (s *server) drain(report Report) error {
	close(s.events)
	for e := range s.events {
		if err := s.report(&e, report); err != nil {
			return err
		}
	}
	return nil
}

func (s *server) report(e *portals.Event, report Report) error {
	if missed := s.missed.Swap(0); missed > 0 {
		if err := report(Step{Missed: int(missed)}); err != nil {
			return err
		}
	}
	return report(Step{Event: newEvent(e)})
}
