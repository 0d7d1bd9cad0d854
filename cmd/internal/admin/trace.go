package admin

import (
	"encoding/binary"
	"runtime/debug"
	"sync"
	"time"

	"ulnet/lnet/nid"
)

// Trace is the answer to the verb Tracing: when a member did what. All instants are those of its
// own clock, in ns since 1970.
type Trace struct {
	Reading
	Forwarded int64         // when the request was sent to all children
	Last      int64         // when the answer of the last child arrived; 0: no child has answered
	Child     nid.NID       // the child that answered last; zero: none has answered
	Paused    time.Duration // for how long garbage collections stopped the member, from Received to Sent
	Cycles    uint32        // garbage collections that ended in that time
}

// traceSize is the size of an encoded Trace.
const traceSize = clockSize + 8 + 8 + nid.ExtendedSize + 8 + 4

// AppendTo appends the trace.
func (t *Trace) AppendTo(b []byte) []byte {
	le := binary.LittleEndian
	b = t.Reading.AppendTo(b)
	b = le.AppendUint64(b, uint64(t.Forwarded))
	b = le.AppendUint64(b, uint64(t.Last))
	b = t.Child.AppendExtended(b)
	b = le.AppendUint64(b, uint64(t.Paused))
	return le.AppendUint32(b, t.Cycles)
}

// ParseTrace parses a trace, or returns ErrReply.
func ParseTrace(b []byte) (t Trace, err error) {
	if len(b) != traceSize {
		return t, ErrReply
	}
	le := binary.LittleEndian
	t.Reading, _ = ParseReading(b[:clockSize]) // cannot fail, because the length is right
	b = b[clockSize:]
	t.Forwarded, t.Last = int64(le.Uint64(b)), int64(le.Uint64(b[8:]))
	if b = b[16:]; t.Last != 0 {
		if t.Child, _, err = nid.ParseExtended(b); err != nil {
			return t, ErrReply
		}
	}
	b = b[nid.ExtendedSize:]
	t.Paused, t.Cycles = max(time.Duration(le.Uint64(b)), 0), le.Uint32(b[8:])
	return t, nil
}

// timed parses the reading with which the answers to the verbs Clock and Tracing begin.
func timed(b []byte) (Reading, error) {
	if len(b) == traceSize {
		b = b[:clockSize]
	}
	return ParseReading(b)
}

// collections counts the garbage collections of this process, and how long they stopped it.
type collections struct {
	cycles int64
	paused time.Duration
}

// collector reads how many garbage collections there were. All reads use the same GCStats, because
// a trace must not allocate memory and so cause a collection itself.
type collector struct {
	mu    sync.Mutex
	stats debug.GCStats // guarded by mu
}

func (c *collector) read() collections {
	c.mu.Lock()
	defer c.mu.Unlock()
	debug.ReadGCStats(&c.stats)
	return collections{c.stats.NumGC, c.stats.PauseTotal}
}

// stamped completes an answer to the verb Clock or Tracing: it adds what is known only when the
// answer is sent. It returns other answers unchanged.
func (s *Service) stamped(g *gathering, answer []byte) []byte {
	a, err := ParseAnswer(answer)
	if err != nil || !g.request.isTimed() {
		return answer
	}
	if t, err := ParseTrace(a.Data); err == nil {
		now := s.collector.read()
		t.Sent, t.Cycles, t.Paused = s.now(), uint32(now.cycles-g.before.cycles), now.paused-g.before.paused
		t.Child, t.Last = g.latest()
		a.Data = t.AppendTo(nil)
		return a.AppendTo(nil)
	}
	c, err := ParseReading(a.Data)
	if err != nil {
		return answer
	}
	c.Sent = s.now()
	a.Data = c.AppendTo(nil)
	return a.AppendTo(nil)
}

// latest returns the child that answered last, and when.
func (g *gathering) latest() (child nid.NID, at int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range g.children {
		if c := &g.children[i]; !c.passed && !c.failed && c.t4 > at {
			child, at = c.id, c.t4
		}
	}
	return child, at
}
