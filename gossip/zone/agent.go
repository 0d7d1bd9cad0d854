package zone

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/portals/keyring"
)

// Errors of an [Agent].
var (
	ErrNotHere   = errors.New("zone: no endpoint of the id is a NID of this node")
	ErrNotJoined = errors.New("zone: the node does not take part: it has not joined, or has left")
	ErrJoined    = errors.New("zone: the node takes part already")
	ErrOldLife   = errors.New("zone: the incarnation is not above those before")
	ErrStopped   = errors.New("zone: the agent was stopped")
	ErrSelf      = errors.New("zone: a node does not remove itself: it leaves")
	ErrNoMember  = errors.New("zone: that node is no member")
)

// AgentConfig configures an [Agent].
type AgentConfig struct {
	// Config: Self has a NID of the node, and is by default the name of the host with all
	// NIDs of the node, of which there may be no second one on the host; Table and Wire are the agent's own affair;
	// Wall is by default the node's incarnation, which is the wall clock in
	// nanoseconds.
	Config
	Log *slog.Logger // nil discards
	// Clock shows by its jumps that the node stood still. Default the node's; in
	// real time machine.BootClock notices more.
	Clock machine.Clock
	// Last is the highest incarnation that was kept of earlier lives of this id, 0 if
	// none was: the next life begins above it.
	Last uint64
	// Keep keeps an incarnation above that of the node, which this life took, for
	// Last of the next one (MS-A2). It is called before anybody hears of the
	// incarnation, may block, and must not call the agent. Nil: nothing is kept.
	Keep func(incarnation uint64)
}

// Agent lets a node be a member of a zone: it steps a [Machine], posts buffers for
// what arrives, and sends what the machine wants sent. It has no goroutine of its
// own, and one timer.
//
// Attributes are sequentially consistent per owner (MS-74): whoever sees something
// that a node wrote sees all that it wrote before, too, or what it wrote over that
// since. Nothing is promised across owners, nor about when.
//
// Methods are safe for concurrent use.
type Agent struct {
	table   *portals.Table
	cfg     AgentConfig
	pid     nid.PID  // of all nodes
	m       *Machine // stepped by stepper, and that by runner
	stepper *stepper
	runner  *machine.Runner[stepInput, effects]
	log     *slog.Logger

	inbox    portals.Inbox
	outbox   portals.Outbox[sending]
	watchers watchers
	queries  queries
	watched  map[ID]func() // connections; used by apply, and by Stop after that

	changing sync.Mutex // held while the node joins, leaves or writes
	stopped  atomic.Bool

	strayBits atomic.Uint64
	otherPID  atomic.Uint64
}

// Start makes a node ready for a zone, in which it takes no part before
// [Agent.Join]. The error is a *[ConfigError], [ErrNotHere], what the table of ids
// says, [portals.ErrNoLoopback] or [portals.ErrNoDiscovery] for a node that lacks
// one of these, or what portals says of the buffers.
func Start(table *portals.Table, cfg AgentConfig) (*Agent, error) {
	if err := table.Ready(); err != nil {
		return nil, err
	}
	a := &Agent{table: table, pid: table.Node().PID(), log: cfg.Log, watched: make(map[ID]func())}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	if cfg.Clock == nil {
		cfg.Clock = table.Node().Clock()
	}
	cfg.Table, cfg.Wire = nil, true
	if cfg.Wall == 0 {
		cfg.Wall = table.Node().Incarnation()
	}
	var err error
	if !cfg.Self.IsValid() {
		if cfg.Self, err = selfOf(table); err != nil {
			return nil, err
		}
	}
	if a.m, err = New(cfg.Config); err != nil {
		return nil, err
	}
	a.cfg = cfg
	here, nets := addresses(table, cfg.Self)
	if !here {
		return nil, ErrNotHere
	}
	a.watchers.init(cfg.Clock)
	a.openOutbox()
	a.queries.init(a)
	a.stepper = newStepper(a.m, nets)
	a.runner = machine.NewRunner(machine.Config[stepInput, effects]{
		Machine: a.stepper, Clock: cfg.Clock, Apply: a.apply,
		Fault: func(err error) { a.log.Error("zone timer", slog.Any("err", err)) },
	})
	if err := a.inbox.Open(table, portals.InboxConfig{Portal: Portal, Size: a.m.cfg.MaxMessage, Handle: a.arrived}); err != nil {
		a.runner.Close()
		return nil, fmt.Errorf("zone: post buffers: %w", err)
	}
	return a, nil
}

// addresses reports whether an id has a NID of this node, and on which networks the
// node is.
func addresses(table *portals.Table, self ID) (here bool, nets []nid.Net) {
	endpoints := self.Endpoints()
	for _, id := range table.Node().IDs() {
		nets = append(nets, id.NID.Net())
		for _, e := range endpoints {
			here = here || e == id.NID
		}
	}
	return here, nets
}

// Join begins to take part, as a life with an incarnation above all before: 0 stands
// for the node's own, or the next one if that is above it. Errors: [ErrJoined],
// [ErrOldLife], [ErrStopped].
func (a *Agent) Join(incarnation uint64) error {
	a.changing.Lock()
	defer a.changing.Unlock()
	var last Version
	var life life
	a.runner.Inspect(func() { last, life = a.m.Version(), a.m.life })
	before := max(last.Inc, a.cfg.Last)
	own := a.table.Node().Incarnation()
	if incarnation == 0 {
		incarnation = max(own, before+1)
	}
	switch {
	case a.stopped.Load():
		return ErrStopped
	case life == joined:
		return ErrJoined
	case incarnation <= before || incarnation > MaxIncarnation:
		return ErrOldLife
	}
	if incarnation > own {
		a.keep(incarnation)
	}
	a.runner.Do(stepInput{Input: Input{Kind: Join, Inc: incarnation}})
	return nil
}

func (a *Agent) keep(incarnation uint64) {
	if a.cfg.Keep != nil {
		a.cfg.Keep(incarnation)
	}
}

// Leave says goodbye to the neighbours, with an exit code that all listeners are
// told, and ends taking part until the next [Agent.Join]. Attributes are gone then.
func (a *Agent) Leave(code int32) error {
	a.changing.Lock()
	defer a.changing.Unlock()
	if !a.Joined() {
		return ErrNotJoined
	}
	a.runner.Do(stepInput{Input: Input{Kind: Leave, Code: code}})
	return nil
}

// Remove removes a member from the views of the whole zone, as one that exists there only:
// listeners are told that it said goodbye with [CodeRemoved]. A node that lives is back at
// once. Errors: [ErrNotJoined], [ErrSelf], [ErrNoMember].
func (a *Agent) Remove(id ID) (err error) {
	a.changing.Lock()
	defer a.changing.Unlock()
	a.runner.Inspect(func() {
		_, is := a.m.Has(a.m.Table().Lookup(id))
		switch {
		case a.m.life != joined || a.stopped.Load():
			err = ErrNotJoined
		case id == a.cfg.Self:
			err = ErrSelf
		case !is:
			err = ErrNoMember
		}
	})
	if err == nil {
		a.runner.Do(stepInput{Input: Input{Kind: Remove}, about: id})
	}
	return err
}

// Set writes an attribute of this node. It says nothing of when others see it.
// Errors: [ErrNotJoined], [ErrKey], [ErrTable], [ErrKeys]; Stats.NotWritten counts them.
func (a *Agent) Set(key string, value []byte) error { return a.write(Set, key, value) }

// Delete deletes an attribute of this node; one that is not there is no error.
func (a *Agent) Delete(key string) error { return a.write(Delete, key, nil) }

func (a *Agent) write(kind InputKind, key string, value []byte) error {
	a.changing.Lock()
	defer a.changing.Unlock()
	err := ErrNotJoined
	a.runner.Inspect(func() {
		if a.m.life == joined && !a.stopped.Load() {
			err = a.m.admit(&Attribute{Key: key, Value: value, Deleted: kind == Delete})
		}
	})
	if err == nil {
		a.runner.Do(stepInput{Input: Input{Kind: kind, Key: key, Value: value}})
	}
	return err
}

// SetKeys changes the keys from now on, as when the cluster is given new ones in steps.
func (a *Agent) SetKeys(keys keyring.Keys) { a.runner.Inspect(func() { a.m.SetKeys(keys) }) }

// Stop ends taking part without a word: to the others the node is dead, unless it
// said goodbye with [Agent.Leave]. Nobody is told anything after it but by calls that
// are under way. Neither AgentConfig.Keep nor what [Agent.Query] calls may call it.
func (a *Agent) Stop() {
	if a.stopped.Swap(true) {
		return
	}
	a.runner.Close()
	a.inbox.Close()
	a.queries.close()
	a.watchers.close()
	for _, stop := range a.watched { // any order: each is of its own
		stop()
	}
}

// apply does what a step wants done.
func (a *Agent) apply(out *effects) {
	if out.Incarnation > 0 {
		a.keep(out.Incarnation)
	}
	for i := range out.watch {
		a.watch(&out.watch[i])
	}
	for i := range out.Sends {
		s := &out.Sends[i]
		a.send(&out.to[i], out.Buf[s.Begin:s.End], s.Priority, out.step)
	}
	for i := range out.Dispatches {
		s := &out.Dispatches[i]
		a.send(&out.across[i], out.Buf[s.Begin:s.End], s.Priority, out.step)
	}
	for i := range out.Events {
		a.happened(&out.Events[i], out.step)
	}
	a.inbox.Refill()
}

// watch begins or ends to look at the connection with a node (MS-A30).
func (a *Agent) watch(w *watch) {
	if stop := a.watched[w.to.id]; stop != nil {
		stop()
		delete(a.watched, w.to.id)
	}
	if !w.on {
		return
	}
	in := stepInput{Input: Input{Kind: Down}, about: w.to.id}
	if w.to.across {
		in.Kind = DispatchFailed
	}
	a.watched[w.to.id] = a.table.WatchPeer(nid.ProcessID{NID: w.to.nid, PID: a.pid}, func(c portals.PeerChange) {
		if !c.Up && !c.Known {
			a.runner.Do(in)
		}
	})
}
