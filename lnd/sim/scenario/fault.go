package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// when is the kind of a fault's times: at one instant, at every interval, or random.
type when uint8

const (
	whenAt when = iota
	whenEvery
	whenRandom
)

// fault is a statement that does something to the network.
type fault struct {
	when     when
	at       time.Duration // time of a fault of kind whenAt
	every    time.Duration // interval of an "every" statement
	from, to time.Duration // time span of an "every" or "random" statement; to is 0 for the end of the run
	windowed bool          // the statement has "from"; an "every" statement without it begins after one interval
	do       action        // action of an "at" or "every" statement
	count    int           // number of faults of a "random" statement
	kinds    []string
}

func (f *fault) String() string {
	switch f.when {
	case whenEvery:
		return join("every", formatTime(f.every), f.window(), f.do.String())
	case whenRandom:
		return join("random faults", fmt.Sprint(f.count), f.window(), "of", strings.Join(f.kinds, " "))
	}
	return join("at", formatTime(f.at), f.do.String())
}

func (f *fault) window() string {
	if !f.windowed {
		return ""
	}
	text := "from " + formatTime(f.from)
	if f.to > 0 {
		text += " to " + formatTime(f.to)
	}
	return text
}

// end returns the latest time that a step of the fault can have.
func (f *fault) end(length time.Duration) time.Duration {
	switch {
	case f.when == whenAt:
		return f.at
	case f.to > 0:
		return f.to
	}
	return length
}

// window parses "from A" or "from A to B", if it is there.
func (c *cursor) window(f *fault) {
	if f.windowed = c.accept("from"); !f.windowed {
		return
	}
	f.from = c.time()
	if c.accept("to") {
		w := c.here()
		if f.to = c.period(); f.to <= f.from {
			c.fail(w, "%v is not after %v", formatTime(f.to), formatTime(f.from))
		}
	}
}

func (c *cursor) every(p *Protocol) *fault {
	f := &fault{when: whenEvery, every: c.period()}
	if c.window(f); !f.windowed {
		f.from = f.every
	}
	f.do = c.action(p)
	return f
}

// randomKinds are the faults that "random" can draw.
var randomKinds = []string{"kill", "crash", "pause", "skew", "slow", "partition", "cut", "loss", "duplicate", "reorder", "latency", "stall"}

func (c *cursor) random() *fault {
	f := &fault{when: whenRandom}
	c.want("faults")
	f.count = c.number("a number of faults", 1, 1000)
	c.want("from")
	c.i--
	c.window(f)
	if f.to == 0 {
		c.want("to")
	}
	c.want("of")
	for c.more() || len(f.kinds) == 0 && c.err == nil {
		w := c.here()
		k := c.choice("kind of fault", randomKinds)
		if slices.Contains(f.kinds, k) {
			c.fail(w, "%s stands twice", k)
		}
		f.kinds = append(f.kinds, k)
	}
	return f
}
