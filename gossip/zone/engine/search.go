package engine

import (
	"cmp"
	"slices"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnet/machine"
)

// search finds a supervisor that answers this delegate (MS-100). The delegate asks supervisors
// one after the other in the order of a hash of zone and supervisor, which is the same for all
// delegates of the zone (MS-A24). It stays with the first that answers within a timeout. From
// time to time it asks a supervisor that comes earlier in the order, and changes to it once it
// answers.
type search struct {
	supervisors []wire.Named // each known supervisor once, in the order of preference
	known       uint64       // hash of all supervisors, which a supervisor sent with their list
	learned     []wire.Named // supervisors that other members published
	troubles    []trouble
	failures    int // number of supervisors that this delegate gave up since a supervisor last answered

	chosen   wire.ID
	heard    time.Duration // when the chosen supervisor last answered, or was chosen
	answered bool          // the chosen supervisor has answered
	probing  bool          // a message to the chosen supervisor failed; if the next one fails too, the delegate gives it up
	pause    time.Duration // time before which no message is sent, because all supervisors failed recently

	speakers  map[wire.ID]speaker // the supervisors that have answered
	candidate wire.ID             // supervisor that was asked because it comes before the chosen one in the order; zero: none
	deadline  time.Duration       // time by which the candidate must have answered
}

// Trouble is why a delegate cannot register with a supervisor.
type Trouble uint8

// The reasons.
const (
	untroubled  Trouble = iota
	NotHeard            // the supervisor did not answer within the timeout
	Unreachable         // messages to the supervisor, or the connection, failed twice in a row
	Full                // the supervisor has no room for the zone
	troubles
)

var troubleNames = [troubles]string{"none", "not-heard", "unreachable", "full"}

// String returns the name of the trouble.
func (t Trouble) String() string { return name(troubleNames[:], int(t)) }

// MarshalText implements encoding.TextMarshaler.
func (t Trouble) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *Trouble) UnmarshalText(text []byte) error {
	return unmarshalName(troubleNames[:], "trouble", text, (*uint8)(t))
}

// trouble is a supervisor that was given up and has not answered since.
type trouble struct {
	wire.Named
	why         Trouble
	since, last time.Duration // when the supervisor was first and last given up
	tries       int
}

// avoidance is how long a delegate does not ask a supervisor that it gave up, if another one
// answers. It asks earlier if it learns of a later incarnation of the given-up supervisor.
const avoidance = time.Minute

// mostFailures is the number of supervisors that must fail in a row before a delegate considers
// itself cut off. If there are fewer supervisors, all of them must fail.
const mostFailures = 3

// know replaces the list of supervisors. Each supervisor is on the new list once, in its latest
// incarnation. know also forgets the troubles with supervisors that are not on it, except those
// of the configuration, which the status shows to users.
func (d *search) know(m *Machine, list []wire.Named) {
	type ranked struct {
		wire.Named
		vote uint64
	}
	order := make([]ranked, len(list))
	for i, n := range list {
		order[i] = ranked{n, vote(n.ID, m.cfg.Zone)}
	}
	slices.SortFunc(order, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.vote, a.vote), a.ID.Compare(b.ID), cmp.Compare(b.Version.Inc, a.Version.Inc))
	})
	d.supervisors = make([]wire.Named, 0, len(order))
	for _, n := range order {
		if k := len(d.supervisors); k == 0 || d.supervisors[k-1].ID != n.ID {
			d.supervisors = append(d.supervisors, n.Named)
		}
	}
	d.troubles = slices.DeleteFunc(d.troubles, func(t trouble) bool {
		return d.rank(t.ID) < 0 && !slices.Contains(m.cfg.Management, t.ID)
	})
}

// widen adds the configured supervisors, and those that other members published, to this
// delegate's list. A list that came from a supervisor has only the supervisors that this
// supervisor reaches itself.
func (d *delegation) widen(m *Machine) {
	list := slices.Clone(d.supervisors)
	add := func(n wire.Named) {
		if !slices.ContainsFunc(list, func(o wire.Named) bool { return o.ID == n.ID }) {
			list = append(list, n)
		}
	}
	for _, n := range d.learned {
		add(n)
	}
	for _, id := range m.cfg.Management {
		add(wire.Named{ID: id})
	}
	if len(list) != len(d.supervisors) {
		d.know(m, list)
	}
}

// rank returns the index of a supervisor in the order of preference, or -1.
func (d *search) rank(id wire.ID) int {
	return slices.IndexFunc(d.supervisors, func(n wire.Named) bool { return n.ID == id })
}

// trouble returns the trouble with a supervisor, in its present incarnation.
func (d *search) trouble(n *wire.Named) *trouble {
	for i := range d.troubles {
		if t := &d.troubles[i]; t.ID == n.ID && n.Version.Inc <= t.Version.Inc {
			return t
		}
	}
	return nil
}

// best returns the first supervisor of the list that was never given up, or was last given up at
// least age ago. If there is none it returns the invalid id.
func (d *search) best(m *Machine, age time.Duration) wire.ID {
	for i := range d.supervisors {
		if t := d.trouble(&d.supervisors[i]); t == nil || t.last <= m.now-age {
			return d.supervisors[i].ID
		}
	}
	return wire.ID{}
}

// choose chooses a supervisor if this delegate has none, gives up a supervisor that does not
// answer, and asks one that comes earlier in the order than the chosen one.
func (d *delegation) choose(m *Machine) {
	if d.chosen.IsValid() && m.now >= d.heard+m.cfg.Timeout {
		d.giveUp(m, d.chosen, NotHeard)
	}
	if d.candidate.IsValid() && m.now >= d.deadline {
		d.giveUp(m, d.candidate, NotHeard)
	}
	switch {
	case !d.chosen.IsValid():
		d.take(m, d.following(m))
	case d.answered && !d.candidate.IsValid():
		d.probe(m)
	}
}

// following returns the supervisor to try next: one that this delegate has not given up. If it
// has given up all, following returns the one given up longest ago, if that was at least a
// heartbeat ago.
func (d *delegation) following(m *Machine) wire.ID {
	if best := d.best(m, machine.Never); best.IsValid() {
		return best
	}
	if d.widen(m); len(d.supervisors) == 0 {
		return wire.ID{}
	}
	if best := d.best(m, machine.Never); best.IsValid() {
		return best
	}
	next, oldest := wire.ID{}, machine.Never
	for i := range d.supervisors {
		if t := d.trouble(&d.supervisors[i]); t.last < oldest {
			next, oldest = t.ID, t.last
		}
	}
	d.pause = oldest + m.cfg.Heartbeat
	return next
}

// take registers with a supervisor.
func (d *delegation) take(m *Machine, id wire.ID) {
	d.chosen, d.answered, d.probing, d.candidate, d.due = id, false, false, wire.ID{}, machine.Never
	if id.IsValid() {
		d.registration++
		d.heard = max(m.now, d.pause)
		d.whole, d.due = wholeList{wanted: d.own > 0}, d.heard
	}
}

// probe asks a supervisor that comes earlier in the order than the chosen one whether it
// answers. The delegate registers there, but not as the active one, so the census does not
// change.
func (d *delegation) probe(m *Machine) {
	better := d.best(m, avoidance)
	if better == d.chosen || !better.IsValid() || d.rank(better) > d.rank(d.chosen) && d.rank(d.chosen) >= 0 {
		return
	}
	d.candidate, d.deadline = better, m.now+m.cfg.Timeout
	m.dispatch(better, &wire.Dispatch{
		Kind: wire.Register, Zone: m.cfg.Zone, Registration: d.registration, Size: uint32(m.view.members), Hash: m.view.hash, Known: d.known,
	}, false)
}

// next returns the next deadline of the search.
func (d *search) next(m *Machine) time.Duration {
	at := machine.Never
	if d.chosen.IsValid() {
		at = d.heard + m.cfg.Timeout
	}
	switch {
	case d.candidate.IsValid():
		at = min(at, d.deadline)
	case d.answered:
		for i := 0; i < len(d.supervisors) && d.supervisors[i].ID != d.chosen; i++ {
			if t := d.trouble(&d.supervisors[i]); t != nil {
				at = min(at, t.last+avoidance)
			}
		}
	}
	return max(at, m.now+1)
}

// giveUp records that a supervisor does not answer. A delegate that was registered with it
// chooses another one next.
func (d *delegation) giveUp(m *Machine, id wire.ID, why Trouble) {
	m.stats.SupervisorsLost++
	i := slices.IndexFunc(d.troubles, func(t trouble) bool { return t.ID == id })
	if i < 0 {
		i = len(d.troubles)
		d.troubles = append(d.troubles, trouble{Named: wire.Named{ID: id}, since: m.now})
		m.tell(Event{Kind: SupervisorLost, Zone: m.cfg.Zone, Suspect: wire.Named{ID: id}, Trouble: why})
	}
	t := &d.troubles[i]
	if k := d.rank(id); k >= 0 {
		t.Version = d.supervisors[k].Version
	}
	t.why, t.last = why, m.now
	t.tries++
	if id == d.candidate {
		d.candidate = wire.ID{}
		return
	}
	d.chosen, d.answered, d.probing, d.due = wire.ID{}, false, false, machine.Never
	if d.failures++; d.failures >= min(mostFailures, len(d.supervisors)) {
		d.say(m, &d.mark, supervisorKey, unreached)
	}
}

// reached records that a supervisor answers.
func (d *delegation) reached(m *Machine, id wire.ID) {
	if i := slices.IndexFunc(d.troubles, func(t trouble) bool { return t.ID == id }); i >= 0 {
		d.troubles = slices.Delete(d.troubles, i, i+1)
		m.tell(Event{Kind: SupervisorFound, Zone: m.cfg.Zone, Suspect: wire.Named{ID: id}})
	}
	if !d.answered && id == d.chosen {
		d.answered, d.failures, d.stale = true, 0, true
		d.say(m, &d.mark, supervisorKey, id.String())
	}
}
