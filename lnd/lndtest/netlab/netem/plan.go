package netem

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Defaults of a Plan's zero values.
const (
	defaultQueue    = 4 << 20
	defaultHoldBack = 5 * time.Millisecond
)

// Plan says what one direction of a wire does to frames. The zero Plan passes
// them on at once. Probabilities are from 0 to 1 and concern each frame by
// itself.
type Plan struct {
	Delay  time.Duration // delay of every frame
	Jitter time.Duration // most random delay added to Delay; frames do not overtake
	Rate   int64         // bits per second; 0: no limit

	Loss      float64 // probability that a frame is lost, 0 to 1
	Duplicate float64 // probability that a copy follows a frame at once
	Corrupt   float64 // probability that an IP packet is corrupted, see the package text
	Reorder   float64 // probability that a frame waits for HoldBack, so that others overtake it

	HoldBack time.Duration // how long a reordered frame waits; 0: 5 ms
	// Queue is how many bytes are on the line at most, those that are delayed
	// included. A frame that finds no room is dropped. 0 is 4 MiB.
	Queue int
}

// Validate says what is wrong with a plan.
func (p Plan) Validate() error {
	if p.Delay < 0 || p.Jitter < 0 || p.HoldBack < 0 || p.Rate < 0 || p.Queue < 0 {
		return errors.New("a time, rate or size is negative")
	}
	for _, probability := range []float64{p.Loss, p.Duplicate, p.Corrupt, p.Reorder} {
		if !(probability >= 0 && probability <= 1) { // written so that NaN is refused, too
			return fmt.Errorf("probability %v is not from 0 to 1", probability)
		}
	}
	return nil
}

// String lists what the plan does, in the words of tc-netem(8).
func (p Plan) String() string {
	var words []string
	add := func(on bool, format string, args ...any) {
		if on {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	add(p.Delay > 0 || p.Jitter > 0, "delay %v %v", p.Delay, p.Jitter)
	add(p.Rate > 0, "rate %dbit", p.Rate)
	for _, c := range []struct {
		name        string
		probability float64
	}{{"loss", p.Loss}, {"duplicate", p.Duplicate}, {"corrupt", p.Corrupt}, {"reorder", p.Reorder}} {
		add(c.probability > 0, "%s %.3g%%", c.name, 100*c.probability)
	}
	if len(words) == 0 {
		return "nothing"
	}
	return strings.Join(words, " ")
}

func (p *Plan) queue() int {
	if p.Queue == 0 {
		return defaultQueue
	}
	return p.Queue
}

func (p *Plan) holdBack() time.Duration {
	if p.HoldBack == 0 {
		return defaultHoldBack
	}
	return p.HoldBack
}
