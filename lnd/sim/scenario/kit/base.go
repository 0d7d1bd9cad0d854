package kit

import (
	"io"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/history"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/machine/record"
	"ulnet/lnet/nid"
)

// Base is the part of an adapter's network that knows no protocol. What is done to nodes
// and links has to be done through its methods.
type Base struct {
	// Acts is the network. Its Control is nil where machines are stepped without a network, see
	// [Replay].
	sim.Acts
	Fabric *simlnd.Fabric // fabric below stacks; nil for bare machines
	// Log, if not nil, is the history of the run.
	Log      *history.Log
	recorder io.Closer
}

// Machines describes the programs of nodes at the level of machines. Their messages are of type M.
type Machines[M any] struct {
	// Boot begins an incarnation, see sim.Config. If it cannot, it calls Failed and returns nil.
	Boot    func(incarnation sim.Incarnation, kept sim.Program[M]) sim.Program[M]
	OnEvent func(at time.Duration, node sim.NodeID, ev sim.Event) // called for each event; see sim.Config
	// Hash digests the content of a message. If it is nil or Bare is set, digests of a run leave
	// the content of messages out.
	Hash func(*M) uint64
	Bare bool // leaves the content of messages out of digests; see Hash
	// Codec encodes messages for recordings; nil: no recordings.
	Codec sim.Codec[M]
}

// Start makes the network of bare machines. It writes the recording to the given writer, if that
// is not nil.
func Start[M any](b *Base, on *scenario.Network, m Machines[M], to io.Writer) error {
	cfg := scenario.Config[M](on)
	cfg.Boot, cfg.OnEvent = m.Boot, m.OnEvent
	if !m.Bare {
		cfg.Hash = m.Hash
	}
	if to != nil && m.Codec != nil {
		cfg.Recorder = sim.NewRecorder(to, m.Codec, record.Digests, nil)
		b.recorder = closer(cfg.Recorder.Close)
	}
	n, err := sim.New(cfg)
	if err == nil {
		b.control(n)
	}
	return err
}

// Stacks describes the programs of nodes at the level of stacks.
type Stacks struct {
	// Boot begins an incarnation. kept is the incarnation before it if the restart keeps the node's
	// state, otherwise nil. An error ends the run.
	Boot    func(h, kept *simlnd.Host) error
	OnEvent func(at time.Duration, node sim.NodeID, ev sim.Event) // called for each event; see sim.Config
	// Window is the Window of simlnd.Config.
	Window int
}

// StartStacks makes a network of nodes with whole stacks.
func (b *Base) StartStacks(on *scenario.Network, s Stacks) (err error) {
	b.Fabric, err = simlnd.New(simlnd.Config{
		Nodes: on.Nodes, Seed: on.Seed, Topology: on.Topology, AccessRate: on.AccessRate,
		CPU: on.CPU, Inbox: on.Inbox, StartAt: on.StartAt, OnEvent: s.OnEvent, Window: s.Window,
		Boot: func(h, kept *simlnd.Host) {
			if err := s.Boot(h, kept); err != nil {
				b.Failed(err)
			}
		},
	})
	if err == nil {
		b.control(b.Fabric)
	}
	return err
}

func (b *Base) control(c sim.Control) {
	if b.Log != nil {
		c = b.Log.Control(c)
	}
	b.Control = c
}

type closer func() error

func (c closer) Close() error { return c() }

// Close ends the recording of the run.
func (b *Base) Close() error {
	if b.recorder == nil {
		return nil
	}
	return b.recorder.Close()
}

// Now is the virtual time of the network; 0 where machines are stepped without a network.
func (b *Base) Now() time.Duration {
	if b.Control == nil {
		return 0
	}
	return b.Control.Now()
}

// Up reports whether a process runs on a node. It returns false where machines are stepped
// without a network.
func (b *Base) Up(id sim.NodeID) bool { return b.Control != nil && b.Control.Up(id) }

// NodeOf returns the node whose host has the given NID, see simlnd.Node. If no host has it, NodeOf
// returns node 0.
func NodeOf(id nid.NID) sim.NodeID {
	node, _ := simlnd.Node(id)
	return node
}

// Begins records the start of an incarnation in the history of the run.
func (b *Base) Begins(incarnation sim.Incarnation) {
	if b.Log != nil && b.Control != nil {
		b.Log.Begin(incarnation)
	}
}

// Failed ends the run with an error, such as that of an incarnation that could not be started.
func (b *Base) Failed(err error) {
	if b.Control != nil {
		b.Stop(err)
	}
}

// Replay steps new machines, without a network, with the inputs that [Start] recorded, and compares
// their outputs with the recorded ones. An adapter calls it in its Protocol.Replay.
func Replay[M any](r io.Reader, nodes int, m Machines[M]) (sim.Replayed, error) {
	return sim.Replay(r, m.Codec, m.Hash, func([]byte) (func(sim.Incarnation, sim.Program[M]) sim.Program[M], error) {
		return func(incarnation sim.Incarnation, kept sim.Program[M]) sim.Program[M] {
			if int(incarnation.Node) >= nodes {
				return nil // no node has this number: the recording is damaged
			}
			return m.Boot(incarnation, kept)
		}, nil
	})
}
