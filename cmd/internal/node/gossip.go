package node

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"syscall"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/gossip"
	"ulnet/gossip/engine"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
)

// GossipInit are the parameters of gossip; the NIDs of the participants come
// besides. Numbers are as in the section gossip of the configuration.
type GossipInit struct {
	IntervalMS int64  `json:"interval_ms"`
	RTTMS      int64  `json:"rtt_ms"`
	Fudge      int    `json:"fudge"`
	DeadFactor int    `json:"dead_factor"`
	DeadSlack  int    `json:"dead_slack"`
	Obsolete   int    `json:"obsolete"`
	Quorum     int    `json:"quorum"`
	ColdStart  bool   `json:"cold_start"`
	Strict     bool   `json:"strict"`
	Seed       uint64 `json:"seed"` // 0: chosen
}

// NewGossipInit returns the numbers of a configuration.
func NewGossipInit(g config.Gossip) GossipInit {
	return GossipInit{
		IntervalMS: g.Interval.Milliseconds(), RTTMS: g.RTT.Milliseconds(), Fudge: g.Fudge, DeadFactor: g.DeadFactor,
		DeadSlack: g.DeadSlack, Obsolete: g.Obsolete, Quorum: g.Quorum, ColdStart: g.ColdStart, Strict: g.Strict, Seed: g.Seed,
	}
}

// inBounds refuses milliseconds that no Duration holds. What gossip itself
// allows is less, and is its own affair.
func (r GossipInit) inBounds() error {
	const day = 24 * 60 * 60 * 1000
	if min(r.IntervalMS, r.RTTMS) < 0 || max(r.IntervalMS, r.RTTMS) > day {
		return gossipFailure(syscall.EINVAL, fmt.Sprintf("interval_ms %d and rtt_ms %d: want 0 to %d", r.IntervalMS, r.RTTMS, day))
	}
	return nil
}

func (r GossipInit) agent() gossip.Config {
	return config.Gossip{
		Interval: time.Duration(r.IntervalMS) * time.Millisecond, RTT: time.Duration(r.RTTMS) * time.Millisecond,
		Fudge: r.Fudge, DeadFactor: r.DeadFactor, DeadSlack: r.DeadSlack, Obsolete: r.Obsolete, Quorum: r.Quorum,
		ColdStart: r.ColdStart, Strict: r.Strict, Seed: r.Seed,
	}.Agent()
}

// gossiper is what a node has of gossip (seed 003, Administration Control
// Utility): the parameters from an init on, and an agent from start to stop.
type gossiper struct {
	node  *Node
	clock machine.Clock // goes on while the system sleeps
	view  *view         // what collectives know of it
	// health is what client health knows of it; nil: that is not enabled.
	health *healthView

	keys     keyring.Keys // of the daemon's configuration; guarded by commands
	commands sync.Mutex   // held by one command at a time

	mu     sync.Mutex
	setup  *gossipSetup   // nil before init; guarded by mu, like all below
	staged *engine.List   // the last one
	agent  *gossip.Agent  // nil unless started
	past   []GossipChange // of agents before
	epoch  time.Time      // when clock began
}

// gossipSetup is what an init leaves until the next one.
type gossipSetup struct {
	asked GossipInit
	list  *engine.List
	cfg   gossip.Config
	names []string // of the participants
}

func newGossipSetup(asked GossipInit, list *engine.List, cfg gossip.Config) *gossipSetup {
	s := &gossipSetup{asked: asked, list: list, cfg: cfg}
	for i := range list.Len() {
		s.names = append(s.names, list.NID(i).String())
	}
	return s
}

// gossipError is what is wrong with a command, as an errno too.
type gossipError struct {
	errno syscall.Errno
	err   error
}

func (e *gossipError) Error() string   { return e.err.Error() }
func (e *gossipError) Unwrap() []error { return []error{e.errno, e.err} }

func gossipFailure(errno syscall.Errno, text string) error {
	return &gossipError{errno, errors.New(text)}
}

// configure begins gossip as the configuration says.
func (g *gossiper) configure(c config.Gossip) error {
	g.commands.Lock()
	g.keys = c.Keys
	g.commands.Unlock()
	if len(c.NIDs) == 0 {
		return nil
	}
	list, err := engine.NewList(c.NIDs)
	if err == nil {
		err = g.init(NewGossipInit(c), list)
	}
	if err != nil {
		return c.NIDsAt.Wrap(err)
	}
	if c.Start {
		return c.NIDsAt.Wrap(g.start())
	}
	return nil
}

// GossipInit takes parameters and the NIDs of the participants, expressions as
// config.ParseNIDs reads them. The same again are no change. Errors:
//
//	EINVAL  parameters or NIDs that cannot be, or none of this node
//	EBUSY   gossip runs with others
func (n *Node) GossipInit(r GossipInit, nids io.Reader) error {
	ids, err := config.ParseNIDs("NIDs", nids)
	if err != nil {
		return &gossipError{syscall.EINVAL, err}
	}
	list, err := engine.NewList(ids)
	if err != nil {
		return &gossipError{syscall.EINVAL, err}
	}
	return n.gossip.init(r, list)
}

func (g *gossiper) init(r GossipInit, list *engine.List) error {
	g.commands.Lock()
	defer g.commands.Unlock()
	if err := r.inBounds(); err != nil {
		return err
	}
	cfg := r.agent()
	if _, err := cfg.Engine().Limits(list.Len()); err != nil {
		return &gossipError{syscall.EINVAL, err}
	}
	if err := g.contains(list); err != nil {
		return err
	}
	if cfg.Seed == 0 {
		var b [8]byte
		rand.Read(b[:])
		cfg.Seed = binary.LittleEndian.Uint64(b[:])
	}
	cfg.Trace, cfg.Keys = true, g.keys
	cfg.Log, cfg.Clock, cfg.Notify = g.node.cfg.Log, g.clock, g.changed
	g.mu.Lock()
	same, agent := g.setup != nil && g.setup.asked == r && g.setup.list.Digest() == list.Digest(), g.agent
	g.mu.Unlock()
	switch {
	case same:
		return nil
	case agent != nil && agent.Status().Stopped:
		g.end(agent) // it has given up, and this is the remedy
	case agent != nil:
		return cli.Hint(gossipFailure(syscall.EBUSY, "gossip runs with other parameters"),
			"'gossipctl stop' first; 'gossipctl list stage' changes the list while it runs")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.setup, g.staged = newGossipSetup(r, list, cfg), nil
	return nil
}

// setKeys changes the keys, also of what begins later.
func (g *gossiper) setKeys(keys keyring.Keys) {
	g.commands.Lock()
	defer g.commands.Unlock()
	g.keys = keys
	g.mu.Lock()
	agent := g.agent
	if g.setup != nil {
		setup := *g.setup // others may be reading it
		setup.cfg.Keys = keys
		g.setup = &setup
	}
	g.mu.Unlock()
	if agent != nil {
		agent.SetKeys(keys)
	}
}

// contains refuses a list without a NID of this node.
func (g *gossiper) contains(list *engine.List) error {
	own := g.node.NIDs()
	if slices.ContainsFunc(own, func(id nid.NID) bool { return list.Index(id) >= 0 }) {
		return nil
	}
	return cli.Hint(gossipFailure(syscall.EINVAL, "no NID of this node is among the participants"),
		"this node is %s: add one of its NIDs to the list, of every participant", nidList(own))
}

func nidList(ids []nid.NID) string {
	if len(ids) == 0 {
		return "on no network"
	}
	text := ids[0].String()
	for _, id := range ids[1:] {
		text += " " + id.String()
	}
	return text
}

// GossipStart begins to take part. Errors:
//
//	EINVAL    there was no init, or not one NID of this node is in the list
//	EALREADY  it has begun
func (n *Node) GossipStart() error { return n.gossip.start() }

func (g *gossiper) start() error {
	g.commands.Lock()
	defer g.commands.Unlock()
	g.mu.Lock()
	setup, agent := g.setup, g.agent
	g.mu.Unlock()
	switch {
	case setup == nil:
		return cli.Hint(gossipFailure(syscall.EINVAL, "gossip has no parameters yet"),
			"'gossipctl init' sets them, or the section gossip of the configuration of lnetd")
	case agent != nil && !agent.Status().Stopped:
		return cli.Hint(gossipFailure(syscall.EALREADY, "gossip runs already"), "'gossipctl status' shows it")
	case agent != nil:
		g.end(agent) // it has given up
	}
	cfg := setup.cfg
	cfg.Participants = setup.list.NIDs()
	agent, err := gossip.New(g.node.table, cfg)
	if err != nil {
		if _, ours := errors.AsType[*gossip.Error](err); ours {
			err = &gossipError{syscall.EINVAL, err}
		}
		return err
	}
	g.mu.Lock()
	g.agent = agent
	g.mu.Unlock()
	g.view.attach(agent)
	if g.health != nil {
		g.health.attach(agent, g.clock.Now())
		g.node.gossipChanged()
	}
	g.node.cfg.Log.Info("gossip starts", slog.Int("participants", setup.list.Len()), slog.Duration("interval", setup.cfg.Interval))
	return nil
}

// GossipStop ends taking part; the parameters stay. ESRCH: it does not run.
func (n *Node) GossipStop() error {
	g := &n.gossip
	g.commands.Lock()
	defer g.commands.Unlock()
	agent, err := g.running()
	if err != nil {
		return err
	}
	g.end(agent)
	n.cfg.Log.Info("gossip stops")
	return nil
}

// gossipCloseTime is for how long the end of gossip waits for those who are being told.
const gossipCloseTime = time.Second

// end stops an agent and keeps what it has seen. The caller holds g.commands.
func (g *gossiper) end(agent *gossip.Agent) {
	g.view.detach()
	if g.health != nil {
		g.health.detach()
	}
	ctx, cancel := context.WithTimeout(context.Background(), gossipCloseTime)
	defer cancel()
	_ = agent.Close(ctx) // what views are told late they ignore
	changes := g.changes(agent)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.past = append(g.past, changes...)
	g.past = g.past[max(len(g.past)-keptPast, 0):]
	g.agent, g.staged = nil, nil
}

// close stops the agent for good, if there is one.
func (g *gossiper) close() {
	g.commands.Lock()
	defer g.commands.Unlock()
	if agent, err := g.running(); err == nil {
		g.end(agent)
	}
}

// running returns the agent.
func (g *gossiper) running() (*gossip.Agent, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.agent != nil:
		return g.agent, nil
	case g.setup == nil:
		return nil, cli.Hint(gossipFailure(syscall.ESRCH, "gossip does not run, and has no parameters"), "'gossipctl init' sets them, 'gossipctl start' starts it")
	}
	return nil, cli.Hint(gossipFailure(syscall.ESRCH, "gossip does not run"), "'gossipctl start' starts it")
}
