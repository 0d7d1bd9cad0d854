package main

import (
	"fmt"
	"sync"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// The portals of the soak, one for each way to receive messages.
const (
	portalSlots   = 30 // portal with one MD for each incarnation of each sender, in which the sender chooses the offset
	portalBuffers = 31 // a lazy portal, whose MDs take one message each
	portalRing    = 32 // a lazy portal, whose MDs take many small messages at rising offsets
	portalSource  = 33 // portal of the memory that GETs read
)

const (
	maxSize = wire.MaxPayload

	// A slot is a part of the MD for one sender, used by one PUT at a time. The sender chooses the offset in
	// the slot.
	slotSize    = 128 << 10
	slots       = 16
	maxSlotSize = 64 << 10
	// senderIncarnations is how many incarnations of a sender have slots of their own: messages of
	// a killed incarnation may still arrive while the next one runs.
	senderIncarnations = 4

	buffers     = 16
	rings       = 2
	ringSize    = 256 << 10
	maxRingSize = 16 << 10
	sourceSize  = 4 << 20
)

// slotBits returns the match bits of the slots that an incarnation of a sender uses.
func slotBits(id opID) uint64 {
	return uint64(id.Worker)<<8 | uint64(id.Incarnation%senderIncarnations)
}

// memory is the memory that a worker offers to the others.
type memory struct {
	w *worker

	mu      sync.Mutex
	mes     map[portals.MEHandle]bool // match entries that are attached; guarded by mu, as all below
	leaving bool
	mds     int           // number of MDs whose last event has not arrived
	gone    chan struct{} // closed when memory is being withdrawn and no MD is left
}

// offer attaches all memory to the portals.
func offer(w *worker) (*memory, error) {
	m := &memory{w: w, mes: make(map[portals.MEHandle]bool), gone: make(chan struct{})}
	table := w.node.Table()
	for _, portal := range []int{portalBuffers, portalRing} {
		if err := table.SetLazy(portal); err != nil {
			return nil, err
		}
	}
	if err := m.offerSlots(); err != nil {
		return nil, err
	}
	source := make([]byte, sourceSize)
	fill(source, sourceKey(w.cfg.Worker), 0)
	for range buffers {
		m.postBuffer(cut(make([]byte, maxSize), maxSize/3, maxSize/2+1))
	}
	for range rings {
		m.postRing(make([]byte, ringSize))
	}
	return m, m.post(portalSource, portals.Match{Ignore: ^uint64(0)}, portals.Retain, portals.MD{
		Segments: cut(source, 12345), Options: portals.OpGet | portals.ManageRemote, Handler: m.served,
	})
}

func (m *memory) offerSlots() error {
	for sender := range m.w.cfg.Names {
		for incarnation := range uint16(senderIncarnations) {
			bits := slotBits(opID{Worker: uint8(sender), Incarnation: incarnation})
			if err := m.post(portalSlots, portals.Match{Bits: bits}, portals.Retain, portals.MD{
				Segments: cut(make([]byte, slots*slotSize), slotSize+1000), Options: portals.OpPut | portals.ManageRemote,
				Handler: m.arrived,
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// postBuffer posts a buffer for one message, and posts it again after that message.
func (m *memory) postBuffer(segments []lnd.Segment) {
	m.repost(portalBuffers, portals.MD{
		Segments: segments, Threshold: 1, Options: portals.OpPut,
		Handler: func(e *portals.Event) {
			m.arrived(e)
			if e.Unlinked {
				m.postBuffer(segments)
			}
		},
	})
}

// postRing posts memory for messages of up to maxRingSize, and posts it again when it has no
// room for another message.
func (m *memory) postRing(ring []byte) {
	m.repost(portalRing, portals.MD{
		Segments: []lnd.Segment{ring}, Threshold: portals.ThresholdInfinite, MaxSize: maxRingSize,
		Options: portals.OpPut | portals.HasMaxSize,
		Handler: func(e *portals.Event) {
			m.arrived(e)
			if e.Unlinked {
				m.postRing(ring)
			}
		},
	})
}

// repost posts an MD for all senders, with a match entry that is unlinked together with the MD.
// It does nothing while the worker withdraws its memory.
func (m *memory) repost(portal int, md portals.MD) {
	if err := m.post(portal, portals.Match{Ignore: ^uint64(0)}, portals.Unlink, md); err != nil {
		m.w.violation("post an MD at portal %d: %v", portal, err)
	}
}

func (m *memory) post(portal int, match portals.Match, unlink portals.UnlinkOption, md portals.MD) error {
	m.mu.Lock()
	if m.leaving {
		m.mu.Unlock()
		return nil
	}
	m.mds++
	m.mu.Unlock()
	table := m.w.node.Table()
	me, err := table.MEAttach(portal, match, unlink, portals.After)
	if err != nil {
		return err
	}
	if md.Threshold == 0 {
		md.Threshold = portals.ThresholdInfinite
	}
	handle := md.Handler
	md.Handler = func(e *portals.Event) {
		handle(e)
		if e.Unlinked {
			m.ended(me)
		}
	}
	m.mu.Lock()
	m.mes[me] = true
	m.mu.Unlock()
	if _, err = table.MDAttach(me, md, unlink); err != nil {
		m.ended(me)
		if m.isLeaving() {
			err = nil // not an error, because withdraw has just unlinked the match entry
		}
	}
	return err
}

func (m *memory) isLeaving() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.leaving
}

func (m *memory) ended(me portals.MEHandle) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.mes, me)
	m.mds--
	if m.leaving && m.mds == 0 {
		close(m.gone)
	}
}

// arrived checks and records a PUT that has arrived.
func (m *memory) arrived(e *portals.Event) {
	if e.Kind != portals.EventPut {
		return
	}
	id := idOf(e.HdrData)
	if e.Err == nil && e.MLength != e.RLength {
		m.w.violation("PUT %v: %d bytes taken of %d", id, e.MLength, e.RLength)
	}
	if e.Err == nil {
		m.w.compare("PUT "+id.String(), e.Payload(), putKey(id, int(e.MLength)), 0)
	}
	// The comparison comes before the record, so that the content of each recorded PUT has been checked.
	m.w.journal.add(record{Kind: arrived, ID: id, Target: m.w.cfg.Worker, Size: e.MLength, Errno: errnoOf(e.Err)})
}

func (m *memory) served(e *portals.Event) {
	if e.Kind == portals.EventGet {
		m.w.journal.add(record{
			Kind: served, ID: idOf(e.MatchBits), Target: m.w.cfg.Worker, Size: e.MLength, Errno: errnoOf(e.Err),
		})
	}
}

// compare checks the content of a message.
func (w *worker) compare(what string, payload lnd.Payload, key, at uint64) {
	for _, piece := range payload.Append(nil) {
		if i := mismatch(piece, key, at); i >= 0 {
			got := piece[i:min(i+16, len(piece))]
			want := make([]byte, len(got))
			fill(want, key, at+uint64(i))
			w.violation("%s of %d bytes: from byte %d on %x, not %x", what, payload.Length, at+uint64(i), got, want)
			return
		}
		at += uint64(len(piece))
	}
}

// withdraw unlinks all memory and waits for the last events.
func (m *memory) withdraw() error {
	m.mu.Lock()
	m.leaving = true
	var mes []portals.MEHandle
	for me := range m.mes {
		mes = append(mes, me)
	}
	m.mu.Unlock()
	for _, me := range mes {
		_ = m.w.node.Table().MEUnlink(me) // an error (ENOENT) means that the match entry has just been unlinked
	}
	select {
	case <-m.gone:
		return nil
	case <-time.After(patience):
		m.mu.Lock()
		defer m.mu.Unlock()
		return fmt.Errorf("%d of %d MDs have no last event %v after they were unlinked", m.mds, len(mes), patience)
	}
}

// cut splits memory into segments at the given offsets.
func cut(b []byte, at ...int) []lnd.Segment {
	var segments []lnd.Segment
	from := 0
	for _, to := range at {
		if from < to && to < len(b) {
			segments = append(segments, b[from:to])
			from = to
		}
	}
	return append(segments, b[from:])
}
