package recording

import (
	"bytes"
	"testing"
	"time"

	"ulnet/lnd/capture"
	"ulnet/lnd/capture/capturetest"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/wire"
	lnetwire "ulnet/lnet/wire"
)

// Message is a recorded message of lnet_selftest.
type Message struct {
	At       time.Duration    // time since the first message of the recording
	Kind     lnetwire.MsgType // Put, Get or Reply
	From, To nid.ProcessID    // the sender and the destination
	Portal   uint32           // portal index of a PUT or GET
	Bits     uint64           // match bits; a REPLY has those of its GET
	Length   int              // bytes that a PUT or REPLY moves, or that a GET asks for
	Data     []byte           // the payload; nil: moved by RDMA, so that the recording does not have it
	Answered bool             // a GET whose REPLY is in the recording
}

// Read returns the messages of a recording to the portals of lnet_selftest, and the REPLYs to its
// GETs.
func Read(t testing.TB, file string) []Message {
	t.Helper()
	r := reader{gets: map[lnetwire.MDHandle]int{}}
	capturetest.Decode(t, file, r.take)
	return r.list
}

type reader struct {
	list  []Message
	start time.Time
	gets  map[lnetwire.MDHandle]int // index in list of each GET
}

func (r *reader) take(c *capture.Record) {
	if c.Kind != capture.Message {
		return
	}
	if r.start.IsZero() {
		r.start = c.Time
	}
	h := &c.Header
	m := Message{
		At: c.Time.Sub(r.start), Kind: h.Type, From: nid.ProcessID{NID: h.SrcNID, PID: h.SrcPID}, To: nid.ProcessID{NID: h.DestNID, PID: h.DestPID},
		Length: int(h.PayloadLength),
	}
	if len(c.Payload) == m.Length {
		m.Data = bytes.Clone(c.Payload)
	}
	switch h.Type {
	case lnetwire.Put:
		m.Portal, m.Bits = h.Put().Portal, h.Put().MatchBits
	case lnetwire.Get:
		m.Portal, m.Bits, m.Length = h.Get().Portal, h.Get().MatchBits, int(h.Get().SinkLength)
	case lnetwire.Reply:
		get, ok := r.gets[h.Reply().DstMD]
		if !ok {
			return
		}
		r.list[get].Answered = true
		m.Portal, m.Bits = r.list[get].Portal, r.list[get].Bits
	default:
		return
	}
	if m.Portal < wire.TestPortal || m.Portal > wire.BulkPortal {
		return
	}
	if m.Kind == lnetwire.Get {
		r.gets[h.Get().ReturnMD] = len(r.list)
	}
	r.list = append(r.list, m)
}

// Parse parses a request or reply.
func (m *Message) Parse(t testing.TB) wire.Message {
	t.Helper()
	parsed, err := wire.ParseMessage(m.Data)
	if err != nil {
		t.Fatalf("%v: %v", m.From, err)
	}
	return parsed
}

// IsRequest reports whether the message is a request to a service.
func (m *Message) IsRequest() bool {
	return m.Kind == lnetwire.Put && (m.Portal == wire.TestPortal || m.Portal == wire.FrameworkPortal)
}
