package rmcast

import (
	"cmp"
	"slices"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// ManagerConfig configures the [Manager] of one group.
type ManagerConfig struct {
	Self nid.NID
	// Incarnation rises with every life of the node.
	Incarnation uint64
	Group       GroupID
	// Managers are the nodes that may manage the group, in the order of their turns.
	Managers []nid.NID
	// Admit are the nodes besides Managers that may be members: this manager lets in no
	// others. Nil: all nodes.
	Admit []nid.NID
	// Window is how many datagrams of one origin are in flight at most, and Fragment
	// how many bytes of payload each has at most. Defaults 128 and 4096.
	Window   int
	Fragment int
	// Members is how many there can be at most; who wants to join a full group waits.
	// Default MaxMembers.
	Members int
	// Resend is how long a member has to acknowledge a list until it is sent again.
	// Default 200 ms.
	Resend time.Duration
	// Collect is how long a new manager waits for members to tell what they know. Four
	// times that has to be less than Config.HealAfter of all members.
	// Default 2 s.
	Collect time.Duration
	// Heartbeat is how often the other managers are told, and Takeover how long one
	// hears nothing until it is its turn. Defaults 500 ms and 3 s.
	Heartbeat, Takeover time.Duration
	// LeaveAfter is how long a leaver serves what is under way. Default 10 s.
	LeaveAfter time.Duration
	// MemberTimeout is after what silence a member is left behind, if most of the others are
	// heard: members report each half second. Default 30 s; negative: never.
	// Without a View each killed process costs that long, and ErrSplit.
	MemberTimeout time.Duration
	// FirstAck is how long a member has to acknowledge the first list with it. Default 5 s.
	FirstAck time.Duration
	// LeastFragment refuses members that cannot have so many bytes of payload in a
	// datagram by multicast, those without multicast included. Default 0: they are let in,
	// and with less than a sixteenth of Fragment all payload goes down the tree.
	LeastFragment int
	// LeastCapacity is what a member is taken to have room for if it says less, in bytes.
	// Default 0.
	LeastCapacity int
}

func (c ManagerConfig) filled() ManagerConfig {
	c.Window = min(max(cmp.Or(c.Window, 128), 1), MaxWindow)
	c.Fragment = min(max(cmp.Or(c.Fragment, 4096), 1), MaxFragment)
	c.Members = min(max(cmp.Or(c.Members, MaxMembers), 1), MaxMembers)
	c.Resend = cmp.Or(c.Resend, 200*time.Millisecond)
	c.Collect = cmp.Or(c.Collect, 2*time.Second)
	c.Heartbeat = cmp.Or(c.Heartbeat, 500*time.Millisecond)
	c.Takeover = cmp.Or(c.Takeover, 3*time.Second)
	c.LeaveAfter = cmp.Or(c.LeaveAfter, 10*time.Second)
	c.MemberTimeout = cmp.Or(c.MemberTimeout, 30*time.Second)
	c.FirstAck = cmp.Or(c.FirstAck, 5*time.Second)
	return c
}

// role is what a Manager does.
type role uint8

const (
	standby role = iota // waits its turn
	active
)

func (r role) String() string { return [...]string{"standby", "active"}[r] }

// managed is a member as its manager knows it.
type managed struct {
	Member
	mtu, capacity int
	listed        bool    // it is on the latest list, or has left with it
	since         Version // the first list with it
	listedAt      time.Duration
	known         Version       // the newest list that it has
	behindAt      time.Duration // when there was one that it did not have
	heardAt       time.Duration
	oldest        Version // it sends nothing under versions below (RM-A7)
	last          Version // of a leaver: the last list with it
	leaveBy       time.Duration
	sentAt        time.Duration
	tries         uint8
}

// departure is a member that failed or was expelled, until no version has it.
type departure struct {
	id     ID
	last   Version
	silent bool // nobody said that it has ended
}

// Manager assigns communication numbers, and tells all members of every join, leave
// and failure by a list with a version of its own (RM-12, RM-15). It is a machine
// that steps on Instructed and Health; of its effects DoReport, Changed, Elected and
// Resigned are used.
type Manager struct {
	cfg      ManagerConfig
	role     role
	epoch    uint64
	version  Version // of the latest list
	latest   Order   // that list
	members  []*managed
	leavers  []*managed
	departed []departure
	next     uint32
	usable   Version
	free     Version
	changed  bool // there are changes that wait for the latest list to be usable
	collect  collect
	claims   []claim
	moves    int // to epochs that one member has reported, since the latest list
	askedAt  time.Duration
	standby  waiting
	admitted admitted
	wall     wallClock
	complaints
	deniedAt  time.Duration // when the user may be told again that this manager is refused
	dead      map[nid.NID]bool
	lives     map[nid.NID]uint64 // the latest life of nodes that has spoken
	delays    map[nid.NID]delayed
	base      electorate
	alone     bool          // it hears too few
	watchAt   time.Duration // when silence is looked at
	patientAt time.Duration // silence before does not count
	beatAt    time.Duration
	stats     ManagerStats

	out *Output
	now time.Duration
}

// ManagerStats counts what a [Manager] did.
type ManagerStats struct {
	Joins, Leaves, Failures uint64
	Lists                   uint64 // versions
	Resent                  uint64 // lists that were not acknowledged in time
	Collections             uint64 // how often members were asked what they know
	Malformed               uint64
	Full                    uint64 // requests to join for which there was no room
	Stranger                uint64 // from nodes that may not be members
	Ahead                   uint64 // with epochs or lives far above the wall clock
	Claims                  uint64 // reports of later epochs, by members
	Contradicted            uint64 // members that said of live ones that they have failed, alone
	Denied                  uint64 // messages of this manager that members refused, as far as they said so
	Canvasses               uint64 // how often members were asked whether this manager may take over
	Alone                   uint64 // how often too few members were heard to manage the group
	Silent                  uint64 // members that were left behind because they were silent
	Unacknowledged          uint64 // members that did not acknowledge their first list
	Limits                  uint64 // requests to join of nodes with too short datagrams
}

var _ machine.Machine[Input, Output] = (*Manager)(nil)

// NewManager returns a manager. It begins with its first step.
func NewManager(cfg ManagerConfig) *Manager {
	return &Manager{
		cfg: cfg.filled(), next: 1, dead: make(map[nid.NID]bool), lives: make(map[nid.NID]uint64), delays: make(map[nid.NID]delayed), admitted: admit(cfg.Admit, cfg.Managers), wall: wallClock{life: cfg.Incarnation},
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
	switch in.Kind {
	case Instructed:
		g.arrive(in.From, in.Data)
	case Health:
		g.health(in.From, in.Alive)
	case Expel:
		g.expelled(in.From)
	}
	if g.role == active {
		g.gather()
		g.settle()
		g.remind()
		g.watch()
	} else {
		g.takeTurn()
	}
	g.out = nil
	return max(g.wake(), now+1)
}

// arrive takes a message of a member, or of another manager.
func (g *Manager) arrive(from nid.NID, b []byte) {
	if len(b) > orderSize && !g.admitted.has(from) { // with lists, which are not even parsed
		g.stats.Stranger++
		return
	}
	o, err := ParseOrder(b)
	switch {
	case err != nil || o.Group != g.cfg.Group:
		g.stats.Malformed++
	case o.Kind > OrderKnown:
		g.managed(from, &o)
	case !g.admitted.has(from):
		g.stats.Stranger++
		g.refuse(from, &o, RefusedStranger)
	case g.wall.isAhead(max(o.Epoch, o.Life), g.now):
		g.stats.Ahead++
		g.refuse(from, &o, RefusedAhead)
	case o.Version.Epoch > o.Epoch: // the highest that it knows
		g.stats.Malformed++
	case g.role == standby:
		g.waits(from, &o)
	case o.Epoch > g.epoch: // another manager was at work, or so it says
		g.claimed(from, &o)
	default:
		g.unclaim(from)
		g.told(from, &o)
	}
}

// managed takes a message that managers send.
func (g *Manager) managed(from nid.NID, o *Order) {
	switch {
	case o.Flags&OrderReplica == 0 || from == g.cfg.Self: // to the member beside this manager
	case o.Kind == OrderRefused:
		if g.stats.Denied++; g.deniedAt <= g.now && g.admitted.has(from) {
			g.deniedAt = g.now + complainEvery
			g.out.Effects = append(g.out.Effects, Effect{Kind: Denied, To: from, Why: Refusal(o.You).Err()})
		}
	case o.Kind == OrderList || o.Kind == OrderState:
		g.rival(from, o)
	}
}

// told takes a message of a member.
func (g *Manager) told(from nid.NID, o *Order) {
	switch o.Kind {
	case OrderJoin:
		g.join(from, o)
	case OrderReport:
		g.report(from, o)
	case OrderKnown:
		g.known(from, o)
	}
}

// find returns the member, or leaver, with an id.
func (g *Manager) find(id ID) *managed {
	for _, list := range [...][]*managed{g.members, g.leavers} {
		for _, m := range list {
			if m.ID == id {
				return m
			}
		}
	}
	return nil
}

func (g *Manager) isDeparted(id ID) bool {
	return slices.ContainsFunc(g.departed, func(d departure) bool { return d.id == id })
}

// join adds a member (RM-14). Another life of its node is over (RM-A8): an earlier one,
// or a later one that has not been heard for a while, as after a clock was put back.
func (g *Manager) join(from nid.NID, o *Order) {
	id := ID{from, o.Life}
	if m := g.find(id); m != nil {
		m.heardAt = g.now
		g.sendList(m)
		return
	}
	for _, list := range [...][]*managed{g.members, g.leavers} {
		for _, m := range list {
			if m.NID == from && m.Life > o.Life && g.now-m.heardAt < g.cfg.Takeover {
				return // an old message
			}
		}
	}
	if g.isDeparted(id) {
		g.expel(id)
		return
	}
	delete(g.dead, from)
	g.spoke(from, o.Life)
	g.fail(false, func(m *managed) bool { return m.NID == from })
	switch {
	case g.alone:
		g.deny(from, o, RefusedQuorum)
		return
	case g.cfg.tooShort(o):
		g.stats.Limits++
		g.refuse(from, o, RefusedLimits)
		return
	case !g.mayJoin(from):
		return
	case !g.room():
		g.stats.Full++
		return
	}
	g.stats.Joins++
	m := &managed{Member: Member{id, g.next}, heardAt: g.now}
	m.limits(&g.cfg, o)
	g.add(m)
	g.next++
}

// room reports whether there is room for a member on a list that all can take, when
// all who may depart have.
func (g *Manager) room() bool {
	return g.next != 0 && len(g.members) < g.cfg.Members && len(g.members)+len(g.leavers)+len(g.departed) < 2*g.cfg.Members
}

// add puts a member on the next list.
func (g *Manager) add(m *managed) {
	g.members = append(g.members, m)
	slices.SortFunc(g.members, func(a, b *managed) int { return cmp.Compare(a.Number, b.Number) })
	g.changed = true
}

// report takes note of what a member has, and tells it what it lacks.
func (g *Manager) report(from nid.NID, o *Order) {
	if o.Version.Epoch == g.epoch && o.Version.Compare(g.version) > 0 {
		g.stats.Malformed++ // nobody else makes lists of this epoch
		return
	}
	id := ID{from, o.Life}
	m := g.find(id)
	if m == nil {
		g.spoke(from, o.Life)
		g.fail(false, func(m *managed) bool { return m.NID == from && m.Life < o.Life }) // another life is over (RM-A8)
		if g.isDeparted(id) || !o.Version.IsValid() || o.Version.Epoch == g.epoch || g.collect.over {
			g.expel(id) // perhaps one that was silent when the others were asked
		} else if g.collect.againAt > g.now {
			g.deny(from, o, RefusedQuorum)
		} else {
			g.ask(Member{ID: id}, 0) // of a manager before
		}
		return
	}
	m.known, m.oldest, m.heardAt = o.Version, o.Oldest, g.now
	m.limits(&g.cfg, o)
	if m.known.Compare(m.since) >= 0 {
		delete(g.delays, from)
	}
	if o.Flags&OrderLeaving != 0 && slices.Contains(g.members, m) {
		g.stats.Leaves++
		g.members = slices.DeleteFunc(g.members, func(x *managed) bool { return x == m })
		m.last, m.leaveBy = g.version, g.now+g.cfg.LeaveAfter
		g.leavers = append(g.leavers, m)
		delete(g.base.ids, id)
		g.changed = true
	}
	if m.known.Compare(g.version) < 0 && g.version.IsValid() || o.Flags&OrderAsking != 0 && m.sentAt+g.cfg.Resend <= g.now {
		g.sendList(m)
		return
	}
	m.tries = 0
	if g.alone {
		g.deny(from, o, RefusedQuorum)
		return
	}
	g.sendState(m)
}

// tooShort reports whether a node's datagrams are shorter than those of the group may be.
func (c *ManagerConfig) tooShort(o *Order) bool {
	return c.LeastFragment > 0 && int(o.MTU)-HeaderSize < c.LeastFragment
}

// limits takes over what a member has for datagrams, unless that is less than all of the
// group are to have for its sake.
func (m *managed) limits(cfg *ManagerConfig, o *Order) {
	if !cfg.tooShort(o) {
		m.mtu = int(o.MTU)
	}
	if m.capacity = int(o.Capacity); m.capacity > 0 {
		m.capacity = max(m.capacity, cfg.LeastCapacity)
	}
}

// health takes note of deaths: the members on that node have failed (RM-28).
func (g *Manager) health(id nid.NID, alive bool) {
	if alive {
		delete(g.dead, id)
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
	for _, m := range g.members {
		if m.listed && m.known != g.version {
			wake = min(wake, m.sentAt+g.patience(m))
		}
	}
	for _, m := range g.leavers {
		if wake = min(wake, m.leaveBy); m.known != g.version {
			wake = min(wake, m.sentAt+g.patience(m))
		}
	}
	if len(g.collect.probes) > 0 {
		wake = min(wake, g.collect.by)
	}
	return min(wake, g.beatAt)
}
