package engine

import (
	"time"

	"ulnet/gossip/zone/wire"
)

// MemberStatus is what is known of a member.
type MemberStatus struct {
	ID         wire.ID      `json:"id"`                   // id of the member
	Version    wire.Version `json:"version"`              // the newest version known of the member
	Self       bool         `json:"self,omitempty"`       // this member is the node itself
	Reports    int          `json:"reports,omitempty"`    // reports by nodes that suspect the member, without refuted ones
	Attributes int          `json:"attributes,omitempty"` // number of the member's attributes
}

// LinkStatus is what is known of a neighbour.
type LinkStatus struct {
	ID        wire.ID       `json:"id"`                  // id of the neighbour
	State     string        `json:"state"`               // connecting, up or another state of the link
	Successor bool          `json:"successor,omitempty"` // this node wants the link because the neighbour is its successor
	Random    bool          `json:"random,omitempty"`    // this node wants the link because it drew the neighbour
	Theirs    bool          `json:"theirs,omitempty"`    // the neighbour wants the link
	Heard     time.Duration `json:"heard"`               // time since the last message of the neighbour
	// NeverHeard is set if no message has arrived on this link; then Heard is 0.
	NeverHeard bool          `json:"never_heard,omitempty"`
	Backoff    time.Duration `json:"backoff,omitempty"` // time between attempts to connect, in nanoseconds
}

// SuspicionStatus is a report that was not refuted.
type SuspicionStatus struct {
	Suspect  wire.ID      `json:"suspect"`  // the member that is suspected
	Reporter wire.ID      `json:"reporter"` // the node that reported it
	Version  wire.Version `json:"version"`  // version of the suspect, as the reporter knew it
	Counts   bool         `json:"counts"`   // false: the reporter suspects too many nodes for its report to count
	Silent   bool         `json:"silent"`   // the reporter heard nothing of the suspect; false: connections to it failed
	Needed   int          `json:"needed"`   // number of reports that remove the suspect (Θ_eff)
}

// Status is a summary of a machine's state.
type Status struct {
	State     string        `json:"state"`     // state of this node, such as joined
	Version   wire.Version  `json:"version"`   // version of this node
	Members   int           `json:"members"`   // number of members, this node included
	Gone      int           `json:"gone"`      // number of nodes in the history
	Links     int           `json:"links"`     // number of links that are up
	Suspects  int           `json:"suspects"`  // members with reports that were not refuted
	Monitors  int           `json:"monitors"`  // members to which each suspicion is sent immediately
	Hash      uint64        `json:"hash"`      // hash of the view: equal views have equal hashes
	Tables    uint64        `json:"tables"`    // hash of the versions of all attribute tables
	Discovery time.Duration `json:"discovery"` // time between requests of discovery
	Muted     bool          `json:"muted"`     // so many links failed that this node files no suspicions for now
	Paused    bool          `json:"paused"`    // this node was paused recently
	Stats     Stats         `json:"stats"`     // counters since the start
}

// Status returns a summary of the state.
func (m *Machine) Status() Status {
	return Status{
		State: phaseNames[m.phase], Version: m.ver, Members: m.view.members, Gone: m.view.gone,
		Links: m.links.count(up), Suspects: len(m.suspicions.list), Monitors: len(m.attributes.monitors),
		Hash: m.view.hash, Tables: m.attributes.hash, Discovery: m.discovery.interval,
		Muted: m.blind.muted, Paused: m.now < m.pauses.until, Stats: m.stats,
	}
}

// Len returns how many members the view has, this node included.
func (m *Machine) Len() int { return m.view.members }

// Hash returns a digest of all members' ids and incarnations.
func (m *Machine) Hash() uint64 { return m.view.hash }

// Self returns the reference of this node in the table of ids.
func (m *Machine) Self() wire.Ref { return m.self }

// Version returns the version of this node.
func (m *Machine) Version() wire.Version { return m.ver }

// Table returns the table of ids. Only the goroutine that steps the machine may use it.
func (m *Machine) Table() *Table { return m.cfg.Table }

// Has reports whether a node is in the view, and with which version.
func (m *Machine) Has(p wire.Ref) (wire.Version, bool) {
	e := m.view.at(p)
	return e.version(), e.state == inView
}

// Each calls f for all members in the order of the ring.
func (m *Machine) Each(f func(wire.Ref, wire.Version)) {
	for _, p := range m.cfg.Table.ring {
		if e := m.view.at(p); e.state == inView {
			f(p, e.version())
		}
	}
}

// Members returns all members in the order of the ring.
func (m *Machine) Members() (list []MemberStatus) {
	m.Each(func(p wire.Ref, v wire.Version) {
		s := MemberStatus{ID: m.cfg.Table.ID(p), Version: v, Self: p == m.self, Reports: len(m.suspicions.on(p))}
		if r := m.attributes.of[p]; r != nil {
			s.Attributes = r.keys - r.deaths
		}
		list = append(list, s)
	})
	return list
}

// Links returns the neighbours.
func (m *Machine) Links() (list []LinkStatus) {
	for i := range m.links.list {
		l := &m.links.list[i]
		s := LinkStatus{
			ID: m.cfg.Table.ID(l.node), State: l.state.String(),
			Successor: l.mine&wire.Successor != 0, Random: l.mine&wire.Random != 0, Theirs: l.theirs != 0,
			NeverHeard: !l.met, Backoff: l.backoff,
		}
		if l.met {
			s.Heard = m.now - l.last
		}
		list = append(list, s)
	}
	return list
}

// Neighbours appends the nodes to which a link is up.
func (m *Machine) Neighbours(list []wire.Ref) []wire.Ref {
	m.links.each(up, func(l *link) { list = append(list, l.node) })
	return list
}

// Suspicions returns all reports that were not refuted.
func (m *Machine) Suspicions() (list []SuspicionStatus) {
	suspected := m.suspected()
	for i := range m.suspicions.list {
		s := &m.suspicions.list[i]
		for _, r := range s.reports {
			list = append(list, SuspicionStatus{
				Suspect: m.cfg.Table.ID(s.node), Reporter: m.cfg.Table.ID(r.by), Version: r.version,
				Counts: m.counts(r.by), Silent: r.silent, Needed: m.enough(s, suspected),
			})
		}
	}
	return list
}

// Attributes returns the attributes of a node in the order in which they were
// written, and the version of its table.
func (m *Machine) Attributes(p wire.Ref) (list []wire.Attribute, u uint64) {
	if r := m.attributes.of[p]; r != nil {
		return r.live(), r.u
	}
	return nil, 0
}

// DelegationStatus is the role of a node of a base zone in the hierarchy.
type DelegationStatus struct {
	Delegate     bool    `json:"delegate"`            // this node is a delegate of its zone
	Activation   uint64  `json:"activation"`          // number of this node's activation; 0: it is not the active delegate
	Supervisor   wire.ID `json:"supervisor,omitzero"` // the supervisor with which it has registered
	Answered     bool    `json:"answered"`            // whether that supervisor answered
	Registration uint64  `json:"registration"`        // number of the active delegate's latest registration
	Supervisors  int     `json:"supervisors"`         // number of supervisors that the delegate knows
	Avoided      int     `json:"avoided"`             // number of supervisors that did not answer lately
	// Unreached are the avoided supervisors, in the order in which this delegate gave them up.
	Unreached []UnreachedStatus `json:"unreached,omitempty"`
	// CutOff is set after none of the supervisors that this delegate tried has answered. If this
	// is the active delegate, another registered delegate then replaces it.
	CutOff bool `json:"cut_off,omitempty"`
	// Contested is set if the supervisor considers another node the active delegate of a zone of
	// this name.
	Contested bool `json:"contested,omitempty"`
}

// UnreachedStatus is a supervisor with which a delegate cannot register.
type UnreachedStatus struct {
	Supervisor wire.ID       `json:"supervisor"` // the supervisor that does not answer
	Why        Trouble       `json:"why"`        // how the last attempt failed
	For        time.Duration `json:"for"`        // time since the supervisor was first given up
	Last       time.Duration `json:"last"`       // time since the supervisor was last given up
	Tries      int           `json:"tries"`      // attempts to register so far
}

// Delegation returns the role of this node in the hierarchy, the zero value without a
// hierarchy.
func (m *Machine) Delegation() DelegationStatus {
	d := m.delegate
	if d == nil {
		return DelegationStatus{}
	}
	s := DelegationStatus{
		Delegate: d.serving, Activation: d.own, Supervisor: d.chosen, Answered: d.answered, Registration: d.registration,
		Supervisors: len(d.supervisors), Avoided: len(d.troubles), CutOff: d.mark == unreached, Contested: d.contested,
	}
	for i := range d.troubles {
		t := &d.troubles[i]
		s.Unreached = append(s.Unreached, UnreachedStatus{t.ID, t.why, m.now - t.since, m.now - t.last, t.tries})
	}
	return s
}

// Guarded returns the names of the base zones whose delegates are registered here, sorted.
func (m *Machine) Guarded() (list []string) {
	for _, name := range m.supervisor.names {
		if len(m.supervisor.zones[name].delegates) > 0 {
			list = append(list, name)
		}
	}
	return list
}

// Explanation is all that is known of a node.
type Explanation struct {
	ID         wire.ID           `json:"id"`                   // id of the node
	State      string            `json:"state"`                // member, gone or unknown
	Version    wire.Version      `json:"version,omitzero"`     // the newest version known of the node
	Gone       *GoneStatus       `json:"gone,omitempty"`       // nil: the node is not in the history
	Link       *LinkStatus       `json:"link,omitempty"`       // nil: there is no link to the node
	Suspicions []SuspicionStatus `json:"suspicions,omitempty"` // reports that suspect the node
	Tables     uint64            `json:"tables"`               // version of the node's attribute table
}

// Explain returns all that is known of a node.
func (m *Machine) Explain(id wire.ID) Explanation {
	p := m.cfg.Table.Lookup(id)
	e := m.view.at(p)
	x := Explanation{ID: id, State: stateNames[e.state], Version: e.version()}
	for _, g := range m.History() {
		if g.ID == id {
			x.Gone = &g
		}
	}
	for _, l := range m.Links() {
		if l.ID == id {
			x.Link = &l
		}
	}
	for _, s := range m.Suspicions() {
		if s.Suspect == id {
			x.Suspicions = append(x.Suspicions, s)
		}
	}
	_, x.Tables = m.Attributes(p)
	return x
}
