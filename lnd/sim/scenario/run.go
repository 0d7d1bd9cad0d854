package scenario

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"ulnet/lnd/sim"
)

// Options change a run. A field with its zero value leaves what the file says.
type Options struct {
	Nodes int     // number of nodes
	Seed  *uint64 // seed of all random numbers; nil: as in the file
	// Level is what runs on the nodes; 0 is the protocol's default.
	Level Level
	// Record, if not nil, gets a recording for [Replay].
	Record io.Writer
	// Progress is called about every hundredth of the run.
	Progress func(Progress)
	// SampleEvery is how often the series are sampled; 0 is a hundredth of
	// the run, negative never.
	SampleEvery time.Duration
	// Verify makes the run twice at the same time, in twice the memory, to find
	// machines that are not deterministic: the first step that differs ends it
	// with a [*sim.DivergenceError].
	Verify bool
	// MemoryLimit refuses a run that would need more bytes; 0 is no limit.
	MemoryLimit int64
}

// Progress says how far a run has come.
type Progress struct {
	Virtual time.Duration // virtual time that has passed, out of Length
	Length  time.Duration // virtual time of the whole run
	Wall    time.Duration // real time so far
	Stats   sim.Stats     // counters of the network so far
}

// Result is the outcome of one run.
type Result struct {
	Seed     uint64        `json:"seed"`       // seed of all random numbers
	Nodes    int           `json:"nodes"`      // number of nodes
	Level    Level         `json:"-"`          // what ran on the nodes
	Virtual  time.Duration `json:"virtual_ns"` // virtual time of the run
	Wall     time.Duration `json:"wall_ns"`    // real time that the run took
	Digest   uint64        `json:"-"`          // digest of all steps
	Stats    sim.Stats     `json:"stats"`      // counters of the network
	Expects  []Outcome     `json:"expects"`    // outcomes of expect, always and never, in the order of the file
	Measures []Measure     `json:"measures"`   // results that the protocol reports
	Series   []Series      `json:"-"`          // sampled quantities of the protocol
}

// OK reports whether every check in r.Expects held.
func (r *Result) OK() bool {
	return !slices.ContainsFunc(r.Expects, func(o Outcome) bool { return !o.OK })
}

// Measure returns the value of the measure with this name, which the protocol must have.
func (r *Result) Measure(name string) float64 {
	for _, m := range r.Measures {
		if m.Name == name {
			return m.Value
		}
	}
	panic("scenario: no measure " + name)
}

// Outcome is the result of one expect, always or never.
type Outcome struct {
	Line int           `json:"line"`    // line number of the check in the file
	Text string        `json:"text"`    // the check in its usual form
	OK   bool          `json:"ok"`      // whether the check held
	From time.Duration `json:"from_ns"` // virtual time at which the evaluation began
	// At is the virtual time at which the outcome was certain: when the condition was found true,
	// or found false, or at the deadline.
	At  time.Duration `json:"at_ns"`
	Why string        `json:"why,omitempty"` // reason if the check failed
}

// Series is the samples of one quantity.
type Series struct {
	Quantity
	At    []time.Duration // virtual time of each sample
	Value []float64       // value of each sample
}

// Run runs a scenario. If the run needs too much memory the error is a [*MemoryError]. There is an
// error, too, if the file cannot be run, a machine broke its contract or was not deterministic, the
// recording failed, or ctx ended. An expect that fails is no error.
func Run(ctx context.Context, f *File, o Options) (*Result, error) {
	r, err := newRunner(f, o)
	if err != nil {
		return nil, err
	}
	if o.Verify {
		err = r.verify(ctx)
	} else {
		err = r.run(ctx)
	}
	// A run that failed is the one that is most likely replayed, so its recording is completed,
	// too.
	if failed := r.end(err == nil); err == nil {
		err = failed
	}
	if err != nil {
		return nil, fmt.Errorf("%s: seed %d: %w", f.Name, r.setup.Seed, err)
	}
	return r.result(), nil
}
