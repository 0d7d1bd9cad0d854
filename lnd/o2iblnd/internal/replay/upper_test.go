package replay_test

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/o2iblnd/internal/replay"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// upper takes the place of LNet above the driver: it expects the messages of the recording, in
// order, and has memory for each.
type upper struct {
	t *testing.T
	// hold makes PUTs wait for Recv, as on a lazy portal.
	hold bool
	// parsed, if set, is called within Parse with the number of the message: a handler
	// may send from there.
	parsed func(message int)
	// drop has the numbers of the messages that lnet drops.
	drop map[int]bool

	mu       sync.Mutex // guards all fields below
	ni       lnd.NI
	peer     nid.NID
	want     []replay.Delivery
	sinks    map[wire.MDHandle]lnd.Payload // memory of the node's GETs, by the MD that the REPLY names
	next     int                           // index in want of the next message to parse
	under    map[*lnd.Delivery]int         // index in want of each message parsed but not delivered
	complete int
	ended    map[*lnd.Message]error
	downs    []error
	ups      int
}

var _ lnd.Upcalls = (*upper)(nil)

func newUpper(t *testing.T, want []replay.Delivery) *upper {
	return &upper{
		t: t, want: want, drop: map[int]bool{}, sinks: map[wire.MDHandle]lnd.Payload{}, under: map[*lnd.Delivery]int{}, ended: map[*lnd.Message]error{},
	}
}

// memory returns n bytes of memory in segments as LNet has them: in pages, with the payload
// beginning inside the first one, or, for small payloads, in two pieces.
func memory(n int) lnd.Payload {
	const page, offset = 4096, 16
	p := lnd.Payload{Offset: offset, Length: n}
	if n <= page {
		b := make([]byte, offset+n)
		p.Segments = [][]byte{b[:offset+n/3], nil, b[offset+n/3:]}
		return p
	}
	for have := 0; have < offset+n; have += page {
		p.Segments = append(p.Segments, make([]byte, page))
	}
	return p
}

// Parse implements lnd.Upcalls.
func (u *upper) Parse(d *lnd.Delivery) (lnd.Answer, error) {
	u.mu.Lock()
	d.Sink, d.Dropped = lnd.Payload{}, false
	if u.next == len(u.want) {
		u.t.Errorf("%v from %v that is not in the recording", d.Header.Type, d.From)
		d.Dropped = true
		u.mu.Unlock()
		return lnd.Accept, nil
	}
	message := u.next
	w := u.want[message]
	u.under[d] = message
	u.next++
	if d.Header != w.Header {
		u.t.Errorf("message %d: header\n%+v, want\n%+v", message, d.Header, w.Header)
	}
	if d.From != (nid.ProcessID{NID: u.peer, PID: nid.LustrePID}) {
		u.t.Errorf("message %d: from %v", message, d.From)
	}
	d.Sink = memory(int(d.Header.PayloadLength))
	if d.Header.Type == wire.Reply {
		if s, ok := u.sinks[d.Header.Reply().DstMD]; ok {
			d.Sink = s
			d.Sink.Length = min(s.Length, int(d.Header.PayloadLength))
		}
	}
	if u.drop[message] {
		d.Sink, d.Dropped = lnd.Payload{}, true
	}
	ni, hold, parsed := u.ni, u.hold && d.Header.Type == wire.Put, u.parsed
	u.mu.Unlock()
	if parsed != nil {
		parsed(message)
	}
	if hold {
		go ni.Recv(d)
		return lnd.Hold, nil
	}
	return lnd.Accept, nil
}

// Delivered implements lnd.Upcalls.
func (u *upper) Delivered(d *lnd.Delivery, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	i, known := u.under[d]
	if !known {
		u.t.Error("Delivered twice, or what was not parsed")
		return
	}
	delete(u.under, d)
	if err != nil {
		u.t.Errorf("message %d: %v", i, err)
		return
	}
	if got := d.Sink.AppendTo(nil); !bytes.Equal(got, u.want[i].Payload) {
		u.t.Errorf("message %d: %d bytes differ from the %d of the recording", i, len(got), len(u.want[i].Payload))
	}
	u.complete++
}

// Abandon implements lnd.Upcalls.
func (u *upper) Abandon(*lnd.Delivery) bool { return false }

// Finalize implements lnd.Upcalls.
func (u *upper) Finalize(m *lnd.Message, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, again := u.ended[m]; again {
		u.t.Error("a message was finalized twice")
	}
	u.ended[m] = err
}

// Waits implements lnd.Upcalls.
func (u *upper) Waits(*lnd.Message) {}

// PeerUp implements lnd.Upcalls.
func (u *upper) PeerUp(nid.ProcessID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ups++
}

// PeerDown implements lnd.Upcalls.
func (u *upper) PeerDown(_ nid.ProcessID, cause error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.downs = append(u.downs, cause)
}

// message returns what the node sends with an operation.
func (u *upper) message(op *replay.Op) *lnd.Message {
	u.mu.Lock()
	defer u.mu.Unlock()
	m := &lnd.Message{Header: op.Header, Target: nid.ProcessID{NID: u.peer, PID: nid.LustrePID}}
	m.Payload = memory(len(op.Payload))
	m.Payload.CopyIn(op.Payload)
	if op.Header.Type == wire.Get {
		g := op.Header.Get()
		m.Sink = memory(int(g.SinkLength))
		u.sinks[g.ReturnMD] = m.Sink
	}
	return m
}

// check returns an error unless every expected message has arrived, and every message of the
// node has left.
func (u *upper) check(sent []*lnd.Message) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.complete != len(u.want) {
		return fmt.Errorf("%d of %d messages arrived", u.complete, len(u.want))
	}
	for i, m := range sent {
		if err, ended := u.ended[m]; !ended || err != nil {
			return fmt.Errorf("message %d of the node, %v: finalized %v, %v", i, m.Header.Type, ended, err)
		}
	}
	return nil
}
