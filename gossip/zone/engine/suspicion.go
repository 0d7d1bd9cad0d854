package engine

import (
	"slices"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// suspicions is the repository S of the design: the suspected members, each with its reporters
// (membership design, Failure Detection).
type suspicions struct {
	list  []suspect
	index map[wire.Ref]int // suspect's index in list
	open  map[wire.Ref]int // number of reports by each reporter
	total int              // number of all reports
	fresh bool             // reports have changed since all suspects were judged
	due   time.Duration    // when the next grace period of a suspect ends
}

type suspect struct {
	node    wire.Ref
	reports []report
	grace   time.Duration // end of the grace period, in which the suspect can refute the reports; 0: there is not enough evidence
	// prolonged: the end of the grace period was put off, which happens only once, see prolong.
	prolonged bool
}

type report struct {
	by      wire.Ref
	version wire.Version
	silent  bool    // the reporter noticed only silence, see Lists.Silences
	direct  bool    // the reporter itself sent the report to this node
	peer    nid.NID // if direct: where the report came from
}

// on returns the reports about a node.
func (s *suspicions) on(p wire.Ref) []report {
	if i, ok := s.index[p]; ok {
		return s.list[i].reports
	}
	return nil
}

// graced reports whether the grace period of a node runs: enough nodes suspect it, and it can still refute
// that.
func (s *suspicions) graced(p wire.Ref) bool {
	i, ok := s.index[p]
	return ok && s.list[i].grace > 0
}

// add stores a report, and reports whether it is new: by a new reporter, about a newer version
// (Alg. 1, line 20), or of a failure after one of silence.
func (s *suspicions) add(p wire.Ref, r report) bool {
	if s.index == nil {
		s.index, s.open = make(map[wire.Ref]int), make(map[wire.Ref]int)
	}
	i, ok := s.index[p]
	if !ok {
		i = len(s.list)
		s.list = append(s.list, suspect{node: p})
		s.index[p] = i
	}
	reports := s.list[i].reports
	j := slices.IndexFunc(reports, func(old report) bool { return old.by == r.by })
	if j < 0 {
		s.list[i].reports = append(reports, r)
		s.open[r.by]++
		s.total++
		s.fresh = true
		return true
	}
	old := &reports[j]
	newer := old.version.Less(r.version) || old.version == r.version && old.silent && !r.silent
	if newer || r.direct && !old.direct && r.version == old.version && r.silent == old.silent {
		*old, s.fresh = r, true
	}
	return newer
}

// refuted drops the reports about a node that name older versions of it (MS-43).
func (s *suspicions) refuted(p wire.Ref, v wire.Version) {
	s.keep(p, func(r report) bool { return !r.version.Less(v) })
}

// keep drops some reports about a node: those for which the function given to it returns false.
func (s *suspicions) keep(p wire.Ref, keep func(report) bool) {
	i, ok := s.index[p]
	if !ok {
		return
	}
	s.list[i].reports = slices.DeleteFunc(s.list[i].reports, func(r report) bool {
		if keep(r) {
			return false
		}
		s.total--
		if s.open[r.by]--; s.open[r.by] == 0 {
			delete(s.open, r.by)
		}
		s.fresh = true
		return true
	})
	if len(s.list[i].reports) > 0 {
		return
	}
	delete(s.index, p)
	last := len(s.list) - 1
	if s.list[i] = s.list[last]; i < last {
		s.index[s.list[i].node] = i
	}
	s.list[last] = suspect{}
	s.list = s.list[:last]
}

// forget drops the reports about a node that left the view, and those by it (MS-A29).
func (s *suspicions) forget(p wire.Ref) {
	s.keep(p, func(report) bool { return false })
	if s.open[p] == 0 {
		return
	}
	for i := len(s.list) - 1; i >= 0; i-- { // from the end, because the last element replaces a removed one
		s.keep(s.list[i].node, func(r report) bool { return r.by != p })
	}
}

// processSuspicion stores a report (Alg. 1, line 16). judge decides once all reports of a
// message are stored.
func (m *Machine) processSuspicion(s *wire.Suspicion, silent bool) {
	switch {
	case s.Suspect == m.self:
		m.accused(s.Version)
		return
	case s.Reporter == s.Suspect || !m.view.has(s.Reporter): // the report is invalid (MS-A29)
		m.stats.BadReporter++
		return
	case !m.plausible(s.Version):
		m.tooFarAhead(s.Suspect, s.Version)
		return
	}
	overtaken := s.Reporter != m.self && !m.spoke(s.Reporter) && m.overtaken(s.Suspect, s.Version)
	e := m.view.at(s.Suspect)
	if overtaken || e.state != inView || s.Version.Less(e.version()) { // the report is stale (MS-37)
		m.stats.Stale++
		m.delta.refutes(m, s.Suspect)
		return
	}
	if m.suspicions.open[s.Reporter] >= m.mostReports() && m.suspicions.total >= reportsPerMember*m.view.members+minReports {
		m.stats.TooManyReports++
		return
	}
	switch { // the report is newer than the view (MS-A5)
	case s.Version.Inc > e.inc:
		m.processAlive(s.Suspect, s.Version)
	case s.Version.Minor > e.minor: // by raising its version the suspect has refuted older reports
		m.suspicions.refuted(s.Suspect, s.Version)
		m.raise(s.Suspect, e, s.Version)
	}
	known := silent && m.suspicions.graced(s.Suspect) // if true, the neighbours know of the suspicion, too
	r := report{by: s.Reporter, version: s.Version, silent: silent}
	if m.spoke(s.Reporter) {
		if r.direct, r.peer = true, m.peer; m.primary.IsValid() {
			r.peer = m.primary
		}
	}
	if m.suspicions.add(s.Suspect, r) && !known {
		m.delta.suspicion(m, s, silent)
		if m.delegate != nil {
			m.delegate.alarm(m, s)
		}
		m.verify(s.Suspect)
	}
}

// judge removes every suspect with enough evidence against it (Alg. 1, line 21).
func (m *Machine) judge() {
	for m.suspicions.fresh || m.now >= m.suspicions.due {
		m.suspicions.fresh, m.suspicions.due = false, machine.Never
		suspected := m.suspected()
		for i := range m.suspicions.list {
			s := &m.suspicions.list[i]
			if newest, guilty := m.guilty(s, m.enough(s, suspected)); guilty {
				m.remove(s.node, newest, Dead, 0)
				m.suspicions.fresh = true // with one suspect fewer, fewer reports may be enough (MS-A1)
				break
			}
		}
	}
}

// graceRounds is the grace period of a silent node, in rounds of updates.
const graceRounds = 3

// guilty reports whether enough nodes suspect a node to remove it now, and the newest version
// that they name. The node is removed at once only if the reporters themselves told this node of a failure, or
// if the threshold is 1. Otherwise it has a grace period first: reports that another node passed on may be
// invented, and silence may come of a partition shorter than the timeout. If the reports are of silence, this
// node notifies the suspect of them during the grace period (see summonses).
func (m *Machine) guilty(s *suspect, enough int) (wire.Version, bool) {
	all, failures, newest := m.evidence(s)
	switch {
	case all < enough:
		s.grace, s.prolonged = 0, false
		return newest, false
	case m.proven(s, enough), failures >= enough && m.cfg.Threshold == 1:
		return newest, true
	case failures >= enough:
		if end := m.now + m.relayGrace(); s.grace == 0 || end < s.grace {
			s.grace, s.prolonged = end, false
		}
	case s.grace == 0:
		s.grace = m.now + graceRounds*m.cfg.Aggregation
		m.tell(Event{Kind: Doubted, Node: s.node, Version: newest})
		m.summon(s.node, newest, doubted)
	}
	m.suspicions.due = min(m.suspicions.due, s.grace)
	return newest, m.now >= s.grace
}

// evidence returns how many reports about a suspect count, how many of these are of failures,
// and the newest version that they name. If another node's report counts, this node's own
// report counts too, however many nodes this node suspects.
func (m *Machine) evidence(s *suspect) (all, failures int, newest wire.Version) {
	own, ownFailure := 0, 0
	for _, r := range s.reports {
		failure := 1
		if r.silent {
			failure = 0
		}
		switch {
		case m.counts(r.by):
			all, failures, newest = all+1, failures+failure, newer(newest, r.version)
		case r.by == m.self:
			own, ownFailure = 1, failure
		}
	}
	if all > 0 {
		all, failures = all+own, failures+ownFailure
	}
	return all, failures, newest
}

// proven reports whether enough hosts have seen that a suspect failed. They are this host, if this node has
// reported a failure, and the hosts of members whose reports of a failure came from these members themselves.
// It is called for a suspect on which enough reports count.
func (m *Machine) proven(s *suspect, enough int) bool {
	var room [8]nid.NID // room for some NIDs, which saves an allocation
	hosts, others, own := room[:0], 0, 0
	for i := range s.reports {
		switch r := &s.reports[i]; {
		case r.silent:
		case r.by == m.self:
			own = 1
		case r.direct && m.counts(r.by) && !slices.Contains(hosts, r.peer):
			others++
			if r.peer.IsValid() {
				hosts = append(hosts, r.peer)
			}
		}
		if others+own >= enough {
			return true
		}
	}
	return false
}

// counts reports whether reports by a node count. Reports by a node with more than mostReports reports
// do not count, because it is probably at fault itself (MS-A1). But if this node itself has more than
// mostReports reports, it accepts the reports of such nodes: it and they may be the few survivors.
func (m *Machine) counts(by wire.Ref) bool {
	most := m.mostReports()
	return m.suspicions.open[by] <= most || by != m.self && m.suspicions.open[m.self] > most
}

// mostReports is the largest number of open reports of a node that count. A node with more reports
// suspects nearly all of its neighbours; see counts.
func (m *Machine) mostReports() int { return 2*(m.cfg.Successors+m.cfg.Random) + 4 }

// Bounds of the number of open reports: if it reaches reportsPerMember for each member plus
// minReports, further reports by nodes that have mostReports or more are refused. If all nodes
// reported all others, the reports would not fit in memory.
const (
	reportsPerMember = 16
	minReports       = 1024
)

// enough returns Θ_eff: the number of reports that are needed to remove a suspect. Members that
// are suspected themselves are not expected to report (MS-A1).
func (m *Machine) enough(s *suspect, suspected int) int {
	if m.credible(s) {
		suspected-- // suspected counts the suspect too, but only the other members could report it
	}
	others := m.view.members - 1
	return max(1, min(m.cfg.Threshold, others-suspected))
}

// suspected returns the number of suspected members, or 0 if so few are suspected that enough returns the
// threshold in any case.
func (m *Machine) suspected() (n int) {
	if m.view.members-1-len(m.suspicions.list) >= m.cfg.Threshold {
		return 0
	}
	for i := range m.suspicions.list {
		if m.credible(&m.suspicions.list[i]) {
			n++
		}
	}
	return n
}

// credible reports whether at least one of the nodes that suspect s is not suspected itself. So if two
// nodes suspect each other and no other node suspects them, neither counts as suspected.
func (m *Machine) credible(s *suspect) bool {
	return slices.ContainsFunc(s.reports, func(r report) bool {
		return m.counts(r.by) && !slices.ContainsFunc(m.suspicions.on(r.by), func(q report) bool { return m.counts(q.by) })
	})
}

// all returns all reports, for a message: those of failures, and those of silence.
func (s *suspicions) all() (failures, silences []wire.Suspicion) {
	for i := range s.list {
		for _, r := range s.list[i].reports {
			report := wire.Suspicion{Reporter: r.by, Suspect: s.list[i].node, Version: r.version}
			if r.silent {
				silences = append(silences, report)
			} else {
				failures = append(failures, report)
			}
		}
	}
	return failures, silences
}
