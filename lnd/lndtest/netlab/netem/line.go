package netem

import (
	"math/rand/v2"
	"slices"
	"time"

	"ulnet/lnet/machine"
)

// input of a line: a frame, a new plan, or both. An empty input means that the timer has fired.
// The line takes the frame's memory over.
type input struct {
	Frame []byte // frame to transmit; nil: none
	Plan  *Plan  // new plan, in force from now on; nil: no change
}

// output of a line: frames that leave now, in order. The same memory can be
// in it twice, and must not be changed.
type output struct {
	Frames [][]byte // frames to deliver now
}

// Counters of a line. Frames + Duplicated = Delivered + Lost + Overflowed +
// the frames that are on the line.
type Counters struct {
	Frames     uint64 `json:"frames"`     // frames that the line was given to transmit
	Delivered  uint64 `json:"delivered"`  // frames that were delivered, copies included
	Lost       uint64 `json:"lost"`       // frames that Plan.Loss lost
	Overflowed uint64 `json:"overflowed"` // frames dropped because the queue was full
	Duplicated uint64 `json:"duplicated"` // frames that were delivered twice
	Corrupted  uint64 `json:"corrupted"`  // frames in which a 16-bit word was changed
	Reordered  uint64 `json:"reordered"`  // frames that were held back
}

// Add returns the sum of two counts.
func (c Counters) Add(d Counters) Counters {
	return Counters{
		Frames: c.Frames + d.Frames, Delivered: c.Delivered + d.Delivered,
		Lost: c.Lost + d.Lost, Overflowed: c.Overflowed + d.Overflowed,
		Duplicated: c.Duplicated + d.Duplicated, Corrupted: c.Corrupted + d.Corrupted, Reordered: c.Reordered + d.Reordered,
	}
}

// line is one direction of a wire. It is a machine (see lnet/machine) and not
// safe for concurrent use.
type line struct {
	plan     Plan
	random   *rand.Rand
	queue    []queued      // frames on the line, in the order in which they reach the other end
	bytes    int           // bytes of all frames in queue
	free     time.Duration // when all frames so far have been sent, at the rate Plan.Rate
	last     time.Duration // when the latest frame that was not held back reaches the other end
	counters Counters
}

// queued is a frame on the line, and the time at which it reaches the other end.
type queued struct {
	frame []byte
	at    time.Duration
}

var _ machine.Machine[input, output] = (*line)(nil)

// newLine returns a line that passes everything. The line owns random from now on.
func newLine(random *rand.Rand) *line { return &line{random: random} }

// Counters returns the counts of frames so far.
func (l *line) Counters() Counters { return l.counters }

// Step implements machine.Machine. A given plan must be valid.
func (l *line) Step(now time.Duration, in input, out *output) (wake time.Duration) {
	if in.Plan != nil {
		l.plan = *in.Plan
	}
	if len(in.Frame) > 0 {
		l.take(now, in.Frame)
	}
	l.release(now, out)
	if len(l.queue) == 0 {
		return machine.Never
	}
	return l.queue[0].at
}

// take decides what happens to a frame: loss, delay, copies.
func (l *line) take(now time.Duration, frame []byte) {
	l.counters.Frames++
	if l.chance(l.plan.Loss) {
		l.counters.Lost++
		return
	}
	if l.chance(l.plan.Corrupt) && corrupt(frame, l.random) {
		l.counters.Corrupted++
	}
	l.enqueue(now, frame)
	if l.chance(l.plan.Duplicate) {
		l.counters.Duplicated++
		l.enqueue(now, frame)
	}
}

func (l *line) enqueue(now time.Duration, frame []byte) {
	if l.bytes+len(frame) > l.plan.queue() {
		l.counters.Overflowed++
		return
	}
	at := now
	if l.plan.Rate > 0 {
		l.free = max(l.free, now) + time.Duration(int64(len(frame))*8*int64(time.Second)/l.plan.Rate)
		at = l.free
	}
	at += l.plan.Delay
	if l.plan.Jitter > 0 {
		at += time.Duration(l.random.Int64N(int64(l.plan.Jitter)))
	}
	if l.chance(l.plan.Reorder) {
		l.counters.Reordered++
		at += l.plan.holdBack()
	} else {
		at = max(at, l.last)
		l.last = at
	}
	l.insert(queued{frame, at})
}

// insert keeps the queue in order. Only frames that are held back stand behind the position
// of a new frame, so the search from the end is short.
func (l *line) insert(q queued) {
	i := len(l.queue)
	for i > 0 && l.queue[i-1].at > q.at {
		i--
	}
	l.queue = slices.Insert(l.queue, i, q)
	l.bytes += len(q.frame)
}

func (l *line) release(now time.Duration, out *output) {
	n := 0
	for n < len(l.queue) && l.queue[n].at <= now {
		out.Frames = append(out.Frames, l.queue[n].frame)
		l.bytes -= len(l.queue[n].frame)
		l.queue[n].frame = nil
		n++
	}
	l.counters.Delivered += uint64(n)
	l.queue = l.queue[n:]
}

// chance draws whether something with a given probability happens. If the probability is 0, it
// takes no random number, so that a plan without randomness takes none.
func (l *line) chance(probability float64) bool {
	return probability > 0 && l.random.Float64() < probability
}
