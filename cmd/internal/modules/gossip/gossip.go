// Package gossip is the module of gossip: its parameters, its agent from start to stop, and what
// other modules learn from it.
package gossip

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"
	"syscall"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
	"ulnet/gossip"
	"ulnet/gossip/engine"
	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
	"ulnet/scoll"
	"ulnet/scoll/rmcast"
)

// InitRequest has the parameters of gossip, but not the NIDs of the participants. Numbers have
// the same meaning as in the section gossip of the configuration.
type InitRequest struct {
	IntervalMS int64  `json:"interval_ms"` // time between gossip cycles, in milliseconds
	RTTMS      int64  `json:"rtt_ms"`      // estimated round-trip time of the network, in milliseconds
	Fudge      int    `json:"fudge"`       // cycles of tolerance, see gossip.Config.Fudge; -1: by the number of participants
	DeadFactor int    `json:"dead_factor"` // how fast the age limit rises with the number of participants, see gossip.Config.DeadFactor; 0 means 0, not the default
	DeadSlack  int    `json:"dead_slack"`  // cycles added to the age limit, see gossip.Config.DeadSlack
	Obsolete   int    `json:"obsolete"`    // units of the Lamport clock after which a message is obsolete; 0: by the number of participants
	Quorum     int    `json:"quorum"`      // there is a quorum while more than this percentage of the participants is alive; 0 means 0, not the default
	ColdStart  bool   `json:"cold_start"`  // the node sends messages from its first cycle on, instead of being silent at first
	Strict     bool   `json:"strict"`      // gossip does exactly what the design says
	Seed       uint64 `json:"seed"`        // seed of the random choices; 0: chosen by the node
}

// NewInitRequest returns the parameters that a configuration sets.
func NewInitRequest(g config.Gossip) InitRequest {
	return InitRequest{
		IntervalMS: g.Interval.Milliseconds(), RTTMS: g.RTT.Milliseconds(), Fudge: g.Fudge, DeadFactor: g.DeadFactor,
		DeadSlack: g.DeadSlack, Obsolete: g.Obsolete, Quorum: g.Quorum, ColdStart: g.ColdStart, Strict: g.Strict, Seed: g.Seed,
	}
}

// inBounds refuses numbers of milliseconds that overflow a Duration. Package gossip checks its
// own, narrower bounds.
func (r InitRequest) inBounds() error {
	const day = 24 * 60 * 60 * 1000
	if min(r.IntervalMS, r.RTTMS) < 0 || max(r.IntervalMS, r.RTTMS) > day {
		return cli.Errnof(syscall.EINVAL, "interval_ms %d and rtt_ms %d: want 0 to %d", r.IntervalMS, r.RTTMS, day)
	}
	return nil
}

func (r InitRequest) agent() gossip.Config {
	return config.Gossip{
		Interval: time.Duration(r.IntervalMS) * time.Millisecond, RTT: time.Duration(r.RTTMS) * time.Millisecond,
		Fudge: r.Fudge, DeadFactor: r.DeadFactor, DeadSlack: r.DeadSlack, Obsolete: r.Obsolete, Quorum: r.Quorum,
		ColdStart: r.ColdStart, Strict: r.Strict, Seed: r.Seed,
	}.Agent()
}

// Module is gossip at a node (GO-40 to GO-49): the parameters from an init on, and an agent
// from start to stop.
type Module struct {
	node.Host
	view      *view
	followers []follower // modules that follow gossip; not changed after Open
	changed   []func()   // functions called when participants change; not changed after Open

	keys     keyring.Keys // keys of the daemon's configuration; guarded by the mutex commands
	commands sync.Mutex   // each command holds it until the command ends, so that they run one at a time

	mu     sync.Mutex
	setup  *settings     // parameters of gossip; nil before init; guarded by mu, like all below
	staged *engine.List  // the list of participants that was last staged
	agent  *gossip.Agent // the present agent; nil unless gossip runs
	past   []Change      // changes that agents before the present one reported
	epoch  time.Time     // wall-clock time at which the node's clock began
}

// follower has the functions of a module that follows the agents.
type follower struct {
	begins func(*gossip.Agent)
	ends   func()
}

// New returns the module of a node.
func New(host node.Host) *Module {
	m := &Module{Host: host, view: newView(host.Clock)}
	m.Follow(m.view.attach, m.view.detach)
	return m
}

// Routes are the operations of gossip.
func (m *Module) Routes() []control.Route {
	return []control.Route{
		OpStatus.Do(control.Told(m.Status)), OpParams.Do(control.Ask(m.Params)),
		OpHistory.Do(control.Told(m.History)), OpListStatus.Do(control.Ask(m.ListStatus)),
		OpExplain.Do(control.Quick(func(r Participant) (gossip.Explanation, error) { return m.Explain(r.NID) })),
		OpInit.DoWith(control.With(m.Init)),
		OpStage.DoWith(control.With(func(_ control.None, nids io.Reader) error { return m.Stage(nids) })),
		OpStart.Do(control.Just(m.Start)), OpStop.Do(control.Just(m.Stop)),
		OpCommit.Do(control.Act(m.Commit)), OpCancel.Do(control.Just(m.Cancel)),
	}
}

// View returns a view of which other nodes are alive. While gossip runs, the view is that of
// gossip; otherwise, all nodes count as alive, so that they are tried.
func (m *Module) View() scoll.View { return m.view }

// SeenView returns the view for managers of reliable multicast. Those that watch it are told only of deaths that gossip has
// seen, and not that gossip has not started again on a server.
func (m *Module) SeenView() rmcast.View { return seenView{m.view} }

// Follow registers functions of another module, which are called when an agent begins and when
// an agent ends. It must be called before Open, like OnChange.
func (m *Module) Follow(begins func(*gossip.Agent), ends func()) {
	m.followers = append(m.followers, follower{begins, ends})
}

// OnChange registers a function that is called when the participants may have changed. It
// must not block.
func (m *Module) OnChange(f func()) { m.changed = append(m.changed, f) }

// settings are what an init has set, until the next init.
type settings struct {
	asked InitRequest
	list  *engine.List
	cfg   gossip.Config
	names []string // names of the participants
}

func newSettings(asked InitRequest, list *engine.List, cfg gossip.Config) *settings {
	s := &settings{asked: asked, list: list, cfg: cfg}
	for i := range list.Len() {
		s.names = append(s.names, list.NID(i).String())
	}
	return s
}

// Open begins gossip as the configuration says.
func (m *Module) Open() error {
	c := m.Config.Gossip
	m.commands.Lock()
	m.keys = c.Keys
	m.commands.Unlock()
	if len(c.NIDs) == 0 {
		return nil
	}
	list, err := engine.NewList(c.NIDs)
	if err == nil {
		err = m.init(NewInitRequest(c), list)
	}
	if err != nil {
		return c.NIDsAt.Wrap(err)
	}
	if c.Start {
		return c.NIDsAt.Wrap(m.Start())
	}
	return nil
}

// Init sets the parameters, and the NIDs of the participants, in the format of config.ParseNIDs.
// Setting the same ones again changes nothing. Errors:
//
//	EINVAL  impossible parameters or NIDs, or no NID of this node
//	EBUSY   gossip runs with other parameters or NIDs
func (m *Module) Init(r InitRequest, nids io.Reader) error {
	ids, err := config.ParseNIDs("NIDs", nids)
	if err != nil {
		return cli.Errno(syscall.EINVAL, err)
	}
	list, err := engine.NewList(ids)
	if err != nil {
		return cli.Errno(syscall.EINVAL, err)
	}
	return m.init(r, list)
}

func (m *Module) init(r InitRequest, list *engine.List) error {
	m.commands.Lock()
	defer m.commands.Unlock()
	if err := r.inBounds(); err != nil {
		return err
	}
	cfg := r.agent()
	if _, err := cfg.Engine().Limits(list.Len()); err != nil {
		return cli.Errno(syscall.EINVAL, err)
	}
	if err := m.contains(list); err != nil {
		return err
	}
	if cfg.Seed == 0 {
		var b [8]byte
		rand.Read(b[:])
		cfg.Seed = binary.LittleEndian.Uint64(b[:])
	}
	cfg.Trace, cfg.Keys = true, m.keys
	cfg.Log, cfg.Clock, cfg.Notify = m.Log, m.Clock, m.happened
	m.mu.Lock()
	same, agent := m.setup != nil && m.setup.asked == r && m.setup.list.Digest() == list.Digest(), m.agent
	m.mu.Unlock()
	switch {
	case same:
		return nil
	case agent != nil && agent.Status().Stopped:
		m.end(agent) // the agent has given up; it is closed, so that this init can set other parameters
	case agent != nil:
		return cli.Hint(cli.Errnof(syscall.EBUSY, "gossip runs with other parameters"),
			"'gossipctl stop' first; 'gossipctl list stage' changes the list while it runs")
	}
	m.mu.Lock()
	m.setup, m.staged = newSettings(r, list, cfg), nil
	m.mu.Unlock()
	m.tellChange()
	return nil
}

// contains refuses a list without a NID of this node.
func (m *Module) contains(list *engine.List) error {
	own := m.NIDs()
	if slices.ContainsFunc(own, func(id nid.NID) bool { return list.Index(id) >= 0 }) {
		return nil
	}
	return cli.Hint(cli.Errnof(syscall.EINVAL, "no NID of this node is among the participants"),
		"this node is %s: add one of its NIDs to the list, of every participant", cli.NIDList(own))
}

// Start makes the node take part in gossip. Errors:
//
//	EINVAL    there was no init, or the list does not have exactly one NID of this node
//	EALREADY  the node takes part already
func (m *Module) Start() error {
	m.commands.Lock()
	defer m.commands.Unlock()
	m.mu.Lock()
	setup, agent := m.setup, m.agent
	m.mu.Unlock()
	switch {
	case setup == nil:
		return cli.Hint(cli.Errnof(syscall.EINVAL, "gossip has no parameters yet"),
			"'gossipctl init' sets them, or the section gossip of the configuration of lnetd")
	case agent != nil && !agent.Status().Stopped:
		return cli.Hint(cli.Errnof(syscall.EALREADY, "gossip runs already"), "'gossipctl status' shows it")
	case agent != nil:
		m.end(agent) // the agent has given up, because its parameters differ from those of other nodes
	}
	cfg := setup.cfg
	cfg.Participants = setup.list.NIDs()
	agent, err := gossip.New(m.Table, cfg)
	if err != nil {
		if _, ours := errors.AsType[*gossip.Error](err); ours {
			err = cli.Errno(syscall.EINVAL, err)
		}
		return err
	}
	m.mu.Lock()
	m.agent = agent
	m.mu.Unlock()
	for _, f := range m.followers {
		f.begins(agent)
	}
	m.tellChange()
	m.Log.Info("gossip starts", slog.Int("participants", setup.list.Len()), slog.Duration("interval", setup.cfg.Interval))
	return nil
}

// Stop ends the node's part in gossip; the parameters stay. ESRCH: gossip does not run.
func (m *Module) Stop() error {
	m.commands.Lock()
	defer m.commands.Unlock()
	agent, err := m.running()
	if err != nil {
		return err
	}
	m.end(agent)
	m.Log.Info("gossip stops")
	return nil
}

// gossipCloseTime is how long the end of gossip waits for callbacks that still run.
const gossipCloseTime = time.Second

// end stops an agent, and keeps the changes that the agent has reported. The caller holds
// m.commands.
func (m *Module) end(agent *gossip.Agent) {
	for _, f := range m.followers {
		f.ends()
	}
	ctx, cancel := context.WithTimeout(context.Background(), gossipCloseTime)
	defer cancel()
	_ = agent.Close(ctx) // after an error a callback still runs; what it reports does no harm, because views ignore it
	changes := m.changes(agent)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.past = append(m.past, changes...)
	m.past = m.past[max(len(m.past)-keptPast, 0):]
	m.agent, m.staged = nil, nil
}

// Close stops the agent for good, if there is one.
func (m *Module) Close(context.Context) error {
	m.commands.Lock()
	defer m.commands.Unlock()
	if agent, err := m.running(); err == nil {
		m.end(agent)
	}
	return nil
}

func (m *Module) tellChange() {
	for _, f := range m.changed {
		f()
	}
}

// running returns the agent, or an error if gossip does not run.
func (m *Module) running() (*gossip.Agent, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.agent != nil:
		return m.agent, nil
	case m.setup == nil:
		return nil, cli.Hint(cli.Errnof(syscall.ESRCH, "gossip does not run, and has no parameters"), "'gossipctl init' sets them, 'gossipctl start' starts it")
	}
	return nil, cli.Hint(cli.Errnof(syscall.ESRCH, "gossip does not run"), "'gossipctl start' starts it")
}
