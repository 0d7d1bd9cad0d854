package socklnd

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// speaker is a hand-made peer that speaks one version to our NI: over IPv6 in
// version 4, else over IPv4.
type speaker struct {
	*probe
	t       *testing.T
	h       *host
	net     *memNet
	framing framing
	version ksock.Version
	ours    string // addresses of the NI and of the speaker
	theirs  string
}

// speak brings up our NI and a peer with a connection of type t.
func speak(t *testing.T, v ksock.Version, ctype ksock.ConnType) *speaker {
	t.Helper()
	s := &speaker{
		t: t, net: newMemNet(), framing: newFraming(v, false), version: v,
		ours: "10.0.0.2", theirs: "10.0.0.1",
	}
	if v == ksock.V4 {
		s.ours, s.theirs = "fd88::2", "fd88::1"
	}
	s.h = start(t, s.ours, s.net.config(Config{Keepalive: -1}))
	s.h.parse, s.h.patience = validate, time.Hour
	s.probe = s.open(1023, ctype)
	synctest.Wait()
	return s
}

// open opens one more connection of the speaker.
func (s *speaker) open(port int, ctype ksock.ConnType) *probe {
	s.t.Helper()
	p := s.net.connect(s.t, addrText(s.theirs, port), addrText(s.ours, 988))
	request := must(wire.NewAcceptorRequest(s.h.ni.nid).AppendBinary(nil))
	hello := s.hello(ctype)
	_, _ = p.Write(append(request, hello...))
	p.read(len(hello))
	return p
}

func (s *speaker) hello(ctype ksock.ConnType) []byte {
	hello := ksock.Hello{
		Version: s.version, SrcNID: s.id().NID, DstNID: s.h.ni.nid, SrcPID: nid.LustrePID,
		SrcIncarnation: 42, ConnType: ctype,
	}
	return must(hello.AppendBinary(nil))
}

func (s *speaker) id() nid.ProcessID {
	return nid.ProcessID{NID: nid.MustParse(s.theirs + "@tcp"), PID: nid.LustrePID}
}

// message returns a message of the given LNet type. Its header says that it has length bytes of
// payload; its actual payload is the argument.
func (s *speaker) message(typ wire.MsgType, length uint32, payload ...byte) []byte {
	m := newPut(s.id(), s.h.id())
	m.Header.Type, m.Header.PayloadLength = typ, length
	return append(must(s.framing.appendHeaders(nil, &m.Header, 0)), payload...)
}

// TestMalformed (SK-13): after each malformed input, in every version, a receiver ends all
// connections of the peer, for a reason that is counted.
func TestMalformed(t *testing.T) {
	spec.Covers(t, "SK-13")
	for _, tt := range []struct {
		name   string
		lowest ksock.Version // lowest version of the protocol in which the input is possible
		send   func(s *speaker) []byte
		cut    bool // the speaker closes its connection after it has sent these bytes
		why    Reason
	}{
		{name: "ksock header: type", lowest: 2, why: BadMessageType, send: func(*speaker) []byte {
			return must(ksock.MsgHeader{Type: 0xC2}.AppendBinary(nil))
		}},
		{name: "ksock header: ack of unknown cookie", lowest: 2, why: BadAck, send: func(*speaker) []byte {
			return must(ksock.NewNoop(7).AppendBinary(nil))
		}},
		{name: "ksock header: bad keepalive", lowest: 2, why: BadAck, send: func(*speaker) []byte {
			return must(ksock.MsgHeader{Type: ksock.Noop, Cookies: [2]uint64{5, 1}}.AppendBinary(nil))
		}},
		{name: "duplicated HELLO", lowest: 2, why: BadMessageType, send: func(s *speaker) []byte { return s.hello(ksock.Control) }},
		{name: "LNet header: HELLO", lowest: 1, why: BadMessage, send: func(s *speaker) []byte { return s.message(wire.Hello, 0) }},
		{name: "LNet header: type", lowest: 1, why: BadMessage, send: func(s *speaker) []byte { return s.message(9, 0) }},
		{name: "LNet header: ACK with payload", lowest: 1, why: BadMessage, send: func(s *speaker) []byte { return s.message(wire.Ack, 1, 0) }},
		{name: "LNet header: GET with payload", lowest: 1, why: BadMessage, send: func(s *speaker) []byte { return s.message(wire.Get, 1, 0) }},
		{name: "LNet header: PUT too long", lowest: 1, why: BadMessage, send: func(s *speaker) []byte { return s.message(wire.Put, 1<<20+1) }},
		{name: "LNet header: REPLY too long", lowest: 1, why: BadMessage, send: func(s *speaker) []byte { return s.message(wire.Reply, 1<<32-1) }},
		{name: "LNet header: impossible NID", lowest: 4, why: BadMessage, send: func(s *speaker) []byte {
			b := s.message(wire.Put, 0)
			b[ksock.MsgHeaderSize] = 13
			return b
		}},
		{name: "stream: end in the header", lowest: 1, cut: true, why: CutMessage, send: func(s *speaker) []byte {
			return s.message(wire.Put, 0)[:s.framing.overhead()-1]
		}},
		{name: "stream: end in the payload", lowest: 1, cut: true, why: CutMessage, send: func(s *speaker) []byte {
			return s.message(wire.Put, 1000, pattern(999)...)
		}},
		{name: "stream: end in a payload of one piece", lowest: 1, cut: true, why: CutMessage, send: func(s *speaker) []byte {
			return s.message(wire.Put, 1<<20, pattern(500_000)...)
		}},
		{name: "stream: no progress in the header", lowest: 1, why: ReceiveTimeout, send: func(s *speaker) []byte {
			return s.message(wire.Put, 0)[:10]
		}},
		{name: "stream: payload stops half-way", lowest: 1, why: ReceiveTimeout, send: func(s *speaker) []byte {
			return s.message(wire.Put, 5000, pattern(2500)...)
		}},
	} {
		for v := tt.lowest; v <= ksock.V4; v++ {
			t.Run(fmt.Sprintf("%s/%v", tt.name, v), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					s := speak(t, v, ksock.Control)
					other := s.open(1022, ksock.BulkOut)
					go func() {
						_, _ = s.Write(tt.send(s))
						if tt.cut {
							s.Close()
						}
					}()
					other.expectEnd()
					s.h.await("PeerDown", func() bool { return len(s.h.downs) == 1 })
					s.h.wantCount(tt.why, 1)
				})
			})
		}
	}
}

// TestAnyMessageAnyConnection (wrong connection type, SK-14): a receiver takes every
// message on every connection, whatever its type is for.
func TestAnyMessageAnyConnection(t *testing.T) {
	spec.Covers(t, "SK-14")
	for v := ksock.V1; v <= ksock.V4; v++ {
		for ctype := ksock.Any; ctype <= ksock.BulkOut; ctype++ {
			t.Run(fmt.Sprintf("%v/%v", v, ctype), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					s := speak(t, v, ctype)
					for i, size := range []int{0, 5000} {
						go func() { _, _ = s.Write(s.message(wire.Put, uint32(size), pattern(size)...)) }()
						s.h.wantArrivals(i + 1)
					}
					s.expectOpen(time.Second)
				})
			})
		}
	}
}

// TestChoiceByVersion (SK-15): a message of less than min_bulk with all its headers goes
// on CONTROL, all others on BULK_OUT, in every version.
func TestChoiceByVersion(t *testing.T) {
	spec.Covers(t, "SK-15")
	for v := ksock.V1; v <= ksock.V4; v++ {
		t.Run(v.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := speak(t, v, ksock.Control)
				bulk := s.open(1022, ksock.BulkIn) // BULK_IN on the speaker's side is BULK_OUT on ours
				s.open(1021, ksock.BulkOut)
				synctest.Wait()
				size := 1024 - s.framing.overhead()
				s.h.put(s.id(), pattern(size-1))
				if n := len(s.read(1023)); n != 1023 {
					t.Errorf("%d bytes on CONTROL", n)
				}
				s.h.put(s.id(), pattern(size))
				if n := len(bulk.read(1024)); n != 1024 {
					t.Errorf("%d bytes on BULK_OUT", n)
				}
				s.expectOpen(time.Second)
				bulk.expectOpen(time.Second)
			})
		})
	}
}
