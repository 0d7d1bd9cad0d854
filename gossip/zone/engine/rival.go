package engine

import (
	"time"

	"ulnet/gossip/zone/wire"
)

// rivals are the active delegates of a zone that has another active delegate, which takes
// precedence. A zone may have two for a moment, while one takes over from the other. If several
// stay active, either base zones have the same name, or a zone is partitioned. The supervisor
// cannot tell these cases apart, and an administrator has to act in both.
type rivals struct {
	since, heard time.Duration // since when there is a rival, whichever, and when one last registered
	told         bool
}

// contest handles a registration of an active delegate while another active delegate of the
// zone takes precedence. It removes the delegate that registers, and reports whether to tell
// that delegate that the name of its zone is taken.
func (g *guarded) contest(m *Machine, d *wire.Dispatch) bool {
	r := &g.rivals
	if r.heard == 0 || m.now-r.heard > m.cfg.Timeout {
		*r = rivals{since: m.now}
	}
	r.heard = m.now
	g.drop(d.From)
	if m.now-r.since < m.cfg.Timeout {
		return false
	}
	m.stats.Contested++
	if !r.told {
		r.told = true
		m.contested(g.name, g.delegates[0].Named, wire.Named{ID: d.From, Version: d.Version})
	}
	return true
}

// contested reports to the user that a zone has two active delegates. The parameter counts is the one of the
// two that takes precedence.
func (m *Machine) contested(zone string, counts, other wire.Named) {
	m.tell(Event{Kind: Contested, Zone: zone, Members: []wire.Named{counts, other}})
}

// taken records whether the supervisor knows another active delegate of a zone with this name.
func (d *delegation) taken(m *Machine, r *wire.Dispatch) {
	was := d.contested
	if d.contested = r.Flags&wire.Taken != 0; d.contested {
		m.stats.Contested++
	}
	if d.contested && !was {
		m.contested(m.cfg.Zone, wire.Named{ID: r.About, Version: r.AboutVersion}, wire.Named{ID: m.cfg.Self, Version: m.ver})
	}
}
