package capture_test

import (
	"math/rand/v2"
	"slices"
	"time"

	"ulnet/lnd/capture"
	"ulnet/lnet/wire"
)

// finFlag is the flag FIN of TCP.
const finFlag = 0x01

// modelWindow is the receive window of the nodes in a model. Stray segments lie outside it.
const modelWindow = 64 << 10

// largestWindow is the largest receive window that the dissector expects of any node.
const largestWindow = 8 << 20

// model is a random TCP connection between two nodes. It has what they send, and which of their packets are captured.
type model struct {
	*rand.Rand
	now    time.Duration
	stream [2][]byte // by side: all bytes that it sends
	isn    [2]uint32 // sequence numbers of the first bytes
	have   [2]int    // by side: how many bytes of its stream the other side has, without a gap
	list   []timed   // the packets on the wire, in their order
	told   []modelMessage
	id     uint16
	inside bool      // the capture begins inside the connection, so that it lacks the scale of the windows
	lossy  bool      // the wire loses segments
	fin    [2]uint32 // by side: 1 after its FIN, which takes a sequence number
}

// modelMessage is a message of a model, with its place in the stream of its side.
type modelMessage struct {
	from          capture.Side
	number        uint64 // its match bits
	at, data, end int    // offsets of its headers, its payload, and of the end of its payload
}

// newModel makes a random connection that begins at the time now. Its messages have the numbers from first on.
func newModel(rng *rand.Rand, now time.Duration, first uint64) *model {
	m := &model{Rand: rng, now: now, isn: [2]uint32{rng.Uint32(), rng.Uint32()}, id: uint16(rng.Uint32()), lossy: rng.IntN(3) == 0}
	if m.IntN(4) == 0 {
		m.isn[0] = -uint32(m.IntN(20000))
	}
	hello := bulkRuns(0)
	m.send(0, synFlag, 0, 0)
	m.send(1, synFlag|ackFlag, 0, 0)
	m.say(0, hello[0].bytes)
	m.say(1, hello[1].bytes)
	for n := range uint64(3 + m.IntN(25)) {
		if m.wait(); len(m.stream[0])+len(m.stream[1]) < modelWindow-8<<10 {
			m.message(capture.Side(m.IntN(2)), first+n)
		}
	}
	return m
}

// wait lets time pass: sometimes none, sometimes the time of an idle connection.
func (m *model) wait() {
	m.now += time.Duration(m.IntN(300)) * time.Microsecond
	switch m.IntN(12) {
	case 0:
		m.now += time.Duration(m.IntN(25_000)) * time.Millisecond
	case 1, 2:
		m.now += time.Duration(m.IntN(300)) * time.Millisecond
	}
}

// send adds a packet with bytes of a side's stream.
func (m *model) send(from capture.Side, flags byte, at, n int) {
	m.now += time.Duration(1+m.IntN(80)) * time.Microsecond
	m.id++
	s := segment{back: from == capture.Acceptor, id: m.id, seq: m.seq(from, at), flags: flags, window: 500, data: m.stream[from][at : at+n]}
	if flags&synFlag != 0 {
		s.seq--
	}
	if flags&ackFlag != 0 {
		s.ack = m.seq(from.Other(), m.have[from.Other()]) + m.fin[from.Other()]
	}
	if flags&finFlag != 0 {
		m.fin[from] = 1
	}
	m.list = append(m.list, timed{m.now, s})
}

func (m *model) seq(side capture.Side, offset int) uint32 { return m.isn[side] + uint32(offset) }

// message sends a PUT.
func (m *model) message(from capture.Side, number uint64) {
	size := m.IntN(200)
	if m.IntN(3) == 0 {
		size = m.IntN(6000)
	}
	b := framed(func(h *wire.Header) {
		h.SetPut(wire.PutCmd{AckMD: wire.NoHandle(), MatchBits: number})
		h.PayloadLength = uint32(size)
	})
	at := len(m.stream[from])
	m.told = append(m.told, modelMessage{from, number, at, at + len(b), at + len(b) + size})
	for range size {
		b = append(b, byte(200+m.IntN(50)))
	}
	m.say(from, b)
}

// say sends bytes in segments. The other side acknowledges them at once, or with its next data. If the wire loses a
// segment, say sends it again.
func (m *model) say(from capture.Side, b []byte) {
	lost := -1
	m.stream[from] = append(m.stream[from], b...)
	most := 100 + m.IntN(1400)
	for len(b) > 0 {
		n := min(len(b), 1+m.IntN(most))
		m.send(from, ackFlag, len(m.stream[from])-len(b), n)
		if b = b[n:]; m.lossy && lost < 0 && m.IntN(8) == 0 {
			lost, m.have[from] = len(m.list)-1, len(m.stream[from])-len(b)-n
			if m.IntN(2) == 0 { // lost before it reached the place where packets are captured
				m.list[lost].flags = 0
			}
		}
		if lost < 0 {
			m.have[from] = len(m.stream[from]) - len(b)
		}
		if m.IntN(3) == 0 || lost >= 0 {
			m.send(from.Other(), ackFlag, len(m.stream[from.Other()]), 0)
		}
	}
	if lost >= 0 {
		again := m.list[lost].segment
		m.now += time.Duration(1+m.IntN(3000)) * time.Millisecond
		m.send(from, ackFlag, int(again.seq-m.isn[from]), len(again.data))
		m.have[from] = len(m.stream[from])
	}
	if m.IntN(4) > 0 || lost >= 0 {
		m.send(from.Other(), ackFlag, len(m.stream[from.Other()]), 0)
	}
}

// end ends the connection by FINs, by a RST, or not at all.
func (m *model) end() {
	from := capture.Side(m.IntN(2))
	switch m.wait(); m.IntN(3) {
	case 0:
		for _, side := range []capture.Side{from, from.Other()} {
			m.send(side, ackFlag|finFlag, len(m.stream[side]), 0)
		}
	case 1:
		m.send(from, ackFlag|rstFlag, len(m.stream[from]), 0)
	}
}

// captured returns the packets that reached the place of the capture.
func (m *model) captured() []timed {
	return slices.DeleteFunc(slices.Clone(m.list), func(p timed) bool { return p.flags == 0 })
}
