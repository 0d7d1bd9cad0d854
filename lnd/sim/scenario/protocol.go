package scenario

import (
	"fmt"
	"io"
	"strings"
	"time"

	"ulnet/lnd/sim"
)

// Protocol is a protocol that scenarios can simulate. Its adapter fills this in; package
// flood is an example.
type Protocol struct {
	Name    string   // name, which the first line of a file has
	Summary string   // one line that says what the protocol does
	Options []Option // options that "set" can change
	Verbs   []Verb   // verbs that may follow "do"
	// Conditions are the protocol's own, besides those that every protocol has.
	Conditions []Condition
	// Series are the quantities that Instance.Sample reads. A condition may
	// compare them with a number.
	Series []Quantity
	// Levels are the levels at which the protocol can run. The first one is the default.
	Levels []Level
	// LeastNodes is how many nodes there must be; 0 means 1.
	LeastNodes int
	// CheckEvery is how often conditions are evaluated; 0 means 10 ms.
	CheckEvery time.Duration
	// BytesPerNode returns the memory in bytes that a node needs for the protocol's own state and
	// for its messages under way. Do not count the first small message to each node: the
	// simulator's own need covers that. With this, Run refuses a run that is too large before the
	// run begins.
	BytesPerNode func(level Level, nodes int, options Values) int64
	// New makes the network for one run.
	New func(*Setup) (Instance, error)
	// Replay steps new machines, without a network, with the inputs that an Instance wrote to
	// Setup.Record, and compares their outputs with the recorded ones. It is nil if Instances
	// record nothing.
	Replay func(*Setup, io.Reader) (sim.Replayed, error)
}

func (p *Protocol) leastNodes() int { return max(p.LeastNodes, 1) }

// Level says what software runs on the nodes.
type Level uint8

// The levels of simulation.
const (
	Machines Level = iota + 1 // the protocol's state machines alone
	Stacks                    // the state machines above portals and LNet
)

// String returns "machines" or "stacks".
func (l Level) String() string {
	switch l {
	case Machines:
		return "machines"
	case Stacks:
		return "stacks"
	}
	return "default"
}

// ParseLevel parses "machines" or "stacks".
func ParseLevel(text string) (Level, bool) {
	for _, l := range []Level{Machines, Stacks} {
		if text == l.String() {
			return l, true
		}
	}
	return 0, false
}

// refuse returns the error for a level at which a protocol does not run.
func (p *Protocol) refuse(l Level) error {
	return fmt.Errorf("protocol %s does not run on %v: want %s", p.Name, l, strings.Join(texts(p.Levels, Level.String), ", "))
}

// Option is a parameter of a protocol: "set NAME VALUE".
type Option struct {
	Name    string   // name of the option, one word
	Default string   // default value, as text
	Kind    Kind     // kind of value
	Choices []string // allowed words, for a value of kind Choice
	// Least and Most bound a Count or Number; a Most of 0 means that there is no upper bound.
	Least, Most int
	Doc         string // one line that explains the option
}

// Verb is a command to nodes: "at 5s do 17 VERB ARGS". The program of the node
// is stepped with a sim.Command whose text is the verb and its arguments,
// separated by single spaces.
type Verb struct {
	Name string // name of the verb, one word
	Args []Arg  // arguments in order
	Doc  string // one line that explains the verb
}

// Condition is something that an expect, always or never can ask.
type Condition struct {
	Name string // name of the condition, one word
	Args []Arg  // arguments in order
	Doc  string // one line that explains the condition
}

// Arg is an argument of a verb or condition.
type Arg struct {
	Name    string   // name of the argument in documentation
	Kind    Kind     // kind of value
	Choices []string // allowed words, for a value of kind Choice
	// Least and Most bound a Count or Number; a Most of 0 means that there is no upper bound.
	Least, Most int
	Optional    bool // whether the argument may be left out; only the last arguments of a list may be
}

// Quantity is something that can be measured at any time.
type Quantity struct {
	Name, Unit, Doc string // Name is one word; Unit is "B", "ms" or another unit, or empty; Doc is one line that explains the quantity
}

// Network describes what nodes run on, by fields of sim.Config.
type Network struct {
	Nodes      int                            // number of nodes
	Seed       uint64                         // seed of all random numbers
	Topology   sim.Topology                   // paths between nodes
	AccessRate int64                          // bandwidth of each node's link in bit/s; 0: unlimited
	CPU        sim.CPU                        // CPU time of a step
	Inbox      int                            // most messages that wait at a node; 0: as in sim.Config
	StartAt    func(sim.NodeID) time.Duration // first start of a node; nil: all at 0
}

// AtFirst reports whether a node starts at the beginning of the run.
func (n *Network) AtFirst(id sim.NodeID) bool { return n.StartAt == nil || n.StartAt(id) <= 0 }

// Setup has what is needed to make an Instance.
type Setup struct {
	Network
	Level   Level  // what runs on the nodes
	Options Values // values of all options of the protocol
	// Record gets the inputs and outputs of the machines, if the run is recorded and
	// Protocol.Replay is set; otherwise it is nil. An Instance that writes to Record has to
	// implement io.Closer, and is closed at the end of the run.
	Record io.Writer
}

// Config returns a network configuration without Boot, OnEvent, Hash and OnStep. The caller has to
// add Boot, and those of the others that it wants.
func Config[M any](n *Network) sim.Config[M] {
	return sim.Config[M]{
		Nodes: n.Nodes, Seed: n.Seed, Topology: n.Topology, AccessRate: n.AccessRate,
		CPU: n.CPU, Inbox: n.Inbox, StartAt: n.StartAt,
	}
}

// Instance is a network of one protocol in one run. One goroutine uses it.
type Instance interface {
	sim.Control
	// Check evaluates a condition of Protocol.Conditions now; why says what
	// is missing if it does not hold. It must not change anything.
	Check(condition string, args Args) (ok bool, why string)
	// Sample returns the present values of Protocol.Series.
	Sample() []float64
	// Measures are the results of a run that has ended.
	Measures() []Measure
}

// Measure is one result of a run.
type Measure struct {
	Name  string  `json:"name"`  // name of the result, for people
	Unit  string  `json:"unit"`  // unit of Value; may be empty
	Value float64 `json:"value"` // value at the end of the run
}
