package engine

import (
	"errors"
	"iter"
	"slices"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// role is the part that a Manager plays at the moment.
type role uint8

const (
	standby role = iota // another manager is active, or none is
	active
)

func (r role) String() string { return [...]string{"standby", "active"}[r] }

// managed is the state of a member at its manager.
type managed struct {
	wire.Member
	mtu, capacity int
	listed        bool         // the member has been on a published list
	since         wire.Version // version of the first list with this member
	first         wire.Version // since, if the member has joined this manager, so that it uses no older list; otherwise zero
	listedAt      time.Duration
	known         wire.Version  // version of the newest list that the member has
	behindAt      time.Duration // time since when the member has lacked the latest list
	heardAt       time.Duration
	oldest        wire.Version  // the member sends nothing under versions below (RM-A7)
	fewAt         time.Duration // when the member last used no list that is too old, see noteKeeping
	last          wire.Version  // of a leaving member: the last list that it is on
	leaveBy       time.Duration // of a leaving member: from then on it counts as ended if it is silent, see dropLeavers
	sentAt        time.Duration
	tries         uint8
	rejoinsAt     time.Duration // when the member asked to join, although it had a list; 0: it has not, or has reported since
}

// departure is a member that failed or was expelled. It is kept until no version in use
// contains it.
type departure struct {
	id     wire.ID
	last   wire.Version
	silent bool // the member was left behind for its silence, and its process may be alive; whether it counts as a voter is in Manager.base
	again  bool // the node may join again even if there is no room for further nodes, see readmit
}

// Manager is the state machine of a manager. It assigns communication numbers, and announces
// each join, leave and failure by a list with a new version (RM-12, RM-15). It takes the
// inputs Instructed, Health, Ended and Expel; its effects are DoReport, Changed, Elected, Resigned,
// Refused, Denied, Doubting and Quorum.
type Manager struct {
	cfg      ManagerConfig
	role     role
	epoch    uint64
	version  wire.Version // version of the latest list
	latest   wire.Order   // the latest list
	lists    []byte       // the encoded members of the latest list; not overwritten, since effects refer to them
	members  []*managed
	leavers  []*managed
	departed []departure
	next     uint32
	usable   wire.Version
	free     wire.Version
	changed  bool // there are changes that no list has yet: they wait until the latest list is usable, and for pace
	collect  collect
	claims   []claim
	moves    int // how often this manager chose an epoch above one that a single member reported, since the latest list
	askedAt  time.Duration
	reportAt time.Duration // when a node last reported that it knows a list
	standby  waiting
	admitted admitted
	wall     wallClock
	complaints
	deniedAt     time.Duration         // when the user may next be told that another node refuses this manager
	dead         map[nid.NID]bool      // nodes that are reported dead; true: that is certain
	incarnations map[nid.NID]uint64    // incarnation in the latest message of each node, see spoke
	began        map[nid.NID]beginning // when the present incarnation of each node was first heard of
	delays       map[nid.NID]delayed
	base         electorate
	alone        bool          // the manager hears too few members to change the group, or to be elected
	toldAlone    bool          // what the user was told of that, see tellAlone
	watchAt      time.Duration // when to check next for silent members
	patientAt    time.Duration // silence before this instant does not count
	beatAt       time.Duration
	changedAt    time.Duration // when the latest list was published that is not only about failures
	stats        ManagerStats

	out *Output
	now time.Duration
}

var _ machine.Machine[Input, Output] = (*Manager)(nil)

// NewManager returns a manager. It begins with its first step.
func NewManager(cfg ManagerConfig) *Manager {
	return &Manager{
		cfg: cfg.Filled(), next: 1, dead: make(map[nid.NID]bool), incarnations: make(map[nid.NID]uint64), began: make(map[nid.NID]beginning), delays: make(map[nid.NID]delayed), admitted: admit(cfg.Admit, cfg.Managers), wall: newWallClock(cfg.Wall, cfg.Incarnation),
		askedAt: -machine.Never,
	}
}

// Step implements machine.Machine.
func (g *Manager) Step(now time.Duration, in Input, out *Output) (wake time.Duration) {
	g.now, g.out = now, out
	if !g.wall.started {
		g.wall.start(now)
		g.begin()
	}
	g.wall.set(in.Wall, now)
	before := g.concern()
	g.take(in)
	if g.role == active {
		g.gather()
		g.settle()
		g.remind()
		g.watch()
	} else {
		g.takeTurn()
	}
	g.tellAlone()
	if g.concern() != before && g.Doubts() {
		g.out.emit(Effect{Kind: Doubting})
	}
	g.out = nil
	return max(g.wake(), now+1)
}

// take handles an input.
func (g *Manager) take(in Input) {
	switch in.Kind {
	case Instructed:
		g.arrive(in.From, in.Data)
	case Health:
		g.health(in.From, in.Alive, in.Doubt)
	case Ended:
		g.certain(in.From)
	case Expel:
		g.expelled(in.From)
	}
}

// arrive handles a message of a member, or of another manager.
func (g *Manager) arrive(from nid.NID, b []byte) {
	if len(b) > wire.OrderSize && !g.admitted.has(from) { // only a message with lists is longer than OrderSize: it is not even parsed unless an admitted node sent it
		g.stats.Stranger++
		return
	}
	o, err := wire.ParseOrder(b)
	switch {
	case errors.Is(err, wire.ErrVersion):
		g.otherVersion(from, b)
	case err != nil || o.Group != g.cfg.Group:
		g.stats.Malformed++
	case o.Kind > wire.OrderKnown:
		g.managed(from, &o)
	case !g.admitted.has(from):
		g.stats.Stranger++
		g.refuse(from, &o, wire.RefusedStranger)
	case g.wall.isAhead(max(o.Epoch, o.Incarnation), g.now):
		g.stats.Ahead++
		g.refuse(from, &o, wire.RefusedAhead)
	case o.Version.Epoch > o.Epoch: // Epoch must be the highest epoch that the sender knows
		g.stats.Malformed++
	case g.role == standby:
		g.waits(from, &o)
	case o.Epoch > g.epoch: // this member knows the epoch of another manager
		g.claimed(from, &o)
	default:
		g.unclaim(from)
		g.told(from, &o)
	}
}

// managed handles a message of another manager.
func (g *Manager) managed(from nid.NID, o *wire.Order) {
	switch {
	case o.Flags&wire.OrderReplica == 0 || from == g.cfg.Self: // the message is for the member on this node
	case o.Kind == wire.OrderRefused:
		if g.stats.Denied++; g.deniedAt <= g.now && g.admitted.has(from) {
			g.deniedAt = g.now + complainEvery
			g.out.emit(Effect{Kind: Denied, To: from, Why: refusal(wire.Refusal(o.You))})
		}
	case o.Kind == wire.OrderList || o.Kind == wire.OrderState:
		g.rival(from, o)
	}
}

// told handles a message that a member sent.
func (g *Manager) told(from nid.NID, o *wire.Order) {
	switch o.Kind {
	case wire.OrderJoin:
		g.join(from, o)
	case wire.OrderReport:
		g.report(from, o)
	case wire.OrderKnown:
		g.known(from, o)
	}
}

// find returns the member or leaver with an ID, or nil.
func (g *Manager) find(id wire.ID) *managed {
	for m := range g.all() {
		if m.ID == id {
			return m
		}
	}
	return nil
}

// all iterates over members and leaving members.
func (g *Manager) all() iter.Seq[*managed] {
	return func(yield func(*managed) bool) {
		for _, list := range [...][]*managed{g.members, g.leavers} {
			for _, m := range list {
				if !yield(m) {
					return
				}
			}
		}
	}
}

func (g *Manager) isDeparted(id wire.ID) bool {
	return slices.ContainsFunc(g.departed, func(d departure) bool { return d.id == id })
}

// report records the state that a member reports, and sends it lists and states that it lacks.
func (g *Manager) report(from nid.NID, o *wire.Order) {
	if o.Version.Epoch == g.epoch && o.Version.Compare(g.version) > 0 {
		g.stats.Malformed++ // the list is invented: only this manager makes lists of this epoch
		return
	}
	if o.Version.IsValid() {
		g.reportAt = g.now
	}
	id := wire.ID{NID: from, Incarnation: o.Incarnation}
	m := g.find(id)
	g.spoke(from, o.Incarnation)
	if m == nil {
		g.fail(false, func(m *managed) bool { return m.NID == from && m.Incarnation < o.Incarnation }) // an earlier incarnation has ended (RM-A8)
		if g.isDeparted(id) || !o.Version.IsValid() || o.Version.Epoch == g.epoch || g.collect.over || g.collect.joinsAgain(id, o.Version) {
			g.expel(id) // the node must join again: for instance, its member did not answer in time when the search asked it
		} else if g.collect.againAt > g.now {
			g.deny(from, o, wire.RefusedQuorum)
		} else {
			g.ask(wire.Member{ID: id}, 0) // ask the member what it knows: an earlier manager had it on its list
		}
		return
	}
	m.known, m.heardAt, m.rejoinsAt = o.Version, g.now, 0
	m.uses(o.Oldest)
	m.limits(&g.cfg, o)
	if m.known.Compare(m.since) >= 0 {
		delete(g.delays, from)
	}
	if o.Flags&wire.OrderLeaving != 0 && slices.Contains(g.members, m) {
		g.stats.Leaves++
		g.members = slices.DeleteFunc(g.members, func(x *managed) bool { return x == m })
		m.last, m.leaveBy = g.version, g.now+g.cfg.LeaveAfter
		g.leavers = append(g.leavers, m)
		g.base.remove(id)
		g.changed = true
	}
	if m.known.Compare(g.version) < 0 && g.version.IsValid() || o.Flags&wire.OrderAsking != 0 && m.sentAt+g.cfg.Resend <= g.now {
		g.sendListAgain(m)
		return
	}
	m.tries = 0
	if g.alone {
		g.deny(from, o, wire.RefusedQuorum)
		return
	}
	g.sendState(m)
}

// limits records the datagram size of a member, unless it is shorter than the group allows. It
// also records the member's memory, if the member reports it, as at least LeastCapacity.
func (m *managed) limits(cfg *ManagerConfig, o *wire.Order) {
	if !cfg.tooShort(o) {
		m.mtu = int(o.MTU)
	}
	if m.capacity = int(o.Capacity); m.capacity > 0 {
		m.capacity = max(m.capacity, cfg.LeastCapacity)
	}
}

// health records what discovery says: when it is certain that a node has died, its members have
// failed (RM-28).
func (g *Manager) health(id nid.NID, alive, doubt bool) {
	switch {
	case alive:
		delete(g.dead, id)
		return
	case doubt:
		if !g.dead[id] {
			g.dead[id] = false
		}
		return
	}
	g.dead[id] = true
	if g.role == active {
		g.fail(false, func(m *managed) bool { return m.NID == id })
	}
}

func (g *Manager) patience(m *managed) time.Duration { return g.cfg.Resend << m.tries }

func (g *Manager) wake() time.Duration {
	if g.role == standby {
		return g.turnWake()
	}
	wake := g.watchWake()
	for m := range g.all() {
		if m.listed && m.known != g.version {
			wake = min(wake, m.sentAt+g.patience(m))
		}
	}
	if g.changed {
		if at := g.pace(); at > g.now {
			wake = min(wake, at)
		}
	}
	if len(g.collect.probes) > 0 {
		for _, by := range [...]time.Duration{g.collect.by, g.reportsBy()} {
			if by > g.now { // otherwise the search waits for the other one, or has ended
				wake = min(wake, by)
			}
		}
	}
	return min(wake, g.beatAt)
}
