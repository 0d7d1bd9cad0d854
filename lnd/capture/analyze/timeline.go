package analyze

import (
	"cmp"
	"math/bits"
	"time"
)

// mark is a kind of event that the timeline counts, besides the operations with an answer.
type mark uint8

const (
	markUnanswered mark = iota // an operation without an answer, counted at the time when it began
	markResent
	markStall
	markConnected
	markEnded
	markRestart
	markSilence

	marks
)

var markNames = [marks]string{
	"unanswered", "resent", "stalled", "connected", "connection ended", "node restarted", "keepalive missing",
}

const (
	columns    = 240
	firstWidth = time.Millisecond // width of a column at first
	rowsFrom   = 7                // row 0 has latencies below 2^7 ns
	latencies  = 32               // number of rows; each has latencies up to twice those of the row before
)

// timeline has latencies and marks over time, in a fixed number of columns. For an instant behind the
// last column, each pair of columns becomes one that is twice as wide.
type timeline struct {
	width   time.Duration // width of a column in time; 0: nothing was noted yet
	columns [columns]column
}

type column struct {
	latencies [kinds][latencies]uint32
	marks     [marks]uint32
}

// at returns the column of an instant.
func (t *timeline) at(now time.Duration) *column {
	t.width = cmp.Or(t.width, firstWidth)
	for now/t.width >= columns {
		t.widen()
	}
	return &t.columns[now/t.width]
}

func (t *timeline) widen() {
	for i := range t.columns {
		var c column
		if 2*i < columns {
			c = t.columns[2*i]
			c.add(&t.columns[2*i+1])
		}
		t.columns[i] = c
	}
	t.width *= 2
}

func (c *column) add(d *column) {
	for k := range c.latencies {
		for row := range c.latencies[k] {
			c.latencies[k][row] += d.latencies[k][row]
		}
	}
	for m := range c.marks {
		c.marks[m] += d.marks[m]
	}
}

// latency notes an operation that began at an instant.
func (t *timeline) latency(at time.Duration, k Kind, latency time.Duration) {
	row := min(max(0, bits.Len64(uint64(latency))-rowsFrom), latencies-1)
	t.at(at).latencies[k][row]++
}

func (t *timeline) mark(at time.Duration, m mark) { t.at(at).marks[m]++ }
