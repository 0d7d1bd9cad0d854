package engine

import "ulnet/gossip/zone/wire"

// DispatchSend is a message to another zone.
type DispatchSend struct {
	To         wire.ID        // id of the node that receives the message
	Priority   bool           // sent before other messages (MS-A32)
	Rest       bool           // continues the lists of the message before, and does not overtake it
	Dispatch   *wire.Dispatch // the message as a struct; only without Config.Wire
	Begin, End int            // with Config.Wire: the message is Output.Buf[Begin:End]
	Size       int            // length of the message in bytes
}

// dispatch sends a message to another zone, in several parts if it is too large for one. The receiver processes
// each part when it arrives, and the members that left come first: a member that has restarted is in both lists, and
// is a member in the end.
func (m *Machine) dispatch(to wire.ID, d *wire.Dispatch, priority bool) {
	d.From, d.Version = m.cfg.Self, m.ver
	m.stats.Dispatched[d.Kind]++
	for m.cfg.Wire && m.codec.DispatchSize(d) > m.cfg.MaxMessage && len(d.Left)+len(d.Joined) > 1 {
		n := min(wire.DispatchRoom(m.cfg.MaxMessage), len(d.Left)+len(d.Joined)-1)
		left := min(n, len(d.Left))
		part, rest := *d, *d
		part.Left, rest.Left = d.Left[:left], d.Left[left:]
		part.Joined, rest.Joined = d.Joined[:n-left], d.Joined[n-left:]
		part.Flags |= wire.Continued
		rest.Flags |= wire.Continues
		m.dispatchOne(to, &part, priority)
		d = &rest
	}
	m.dispatchOne(to, d, priority)
}

func (m *Machine) dispatchOne(to wire.ID, d *wire.Dispatch, priority bool) {
	s := DispatchSend{To: to, Priority: priority, Rest: d.Flags&wire.Continues != 0, Dispatch: d, Size: m.codec.DispatchSize(d)}
	if m.cfg.Wire {
		s.Begin = len(m.out.Buf)
		m.out.Buf = m.codec.AppendDispatch(m.out.Buf, d, to)
		s.Dispatch, s.End = nil, len(m.out.Buf)
	}
	m.out.Dispatches = append(m.out.Dispatches, s)
}

// dispatchArrived processes a message of another zone that came as bytes.
func (m *Machine) dispatchArrived(b []byte) {
	d, err := m.codec.ParseDispatch(b)
	if err != nil {
		m.stats.refuse(err)
		return
	}
	m.dispatched(d)
}

// dispatched processes a message of another zone.
func (m *Machine) dispatched(d *wire.Dispatch) {
	switch {
	case d.Kind == wire.Registered && m.delegate != nil && d.Zone == m.cfg.Zone:
		m.delegate.registered(m, d)
	case d.Kind == wire.Answer:
		m.answered(d)
	case d.Kind == wire.Alarm && m.cfg.Supervisor:
		m.alarmed(d)
	case m.cfg.Supervisor && (d.Kind == wire.Register || d.Kind == wire.Unregister):
		m.supervisor.register(m, d)
	case m.cfg.Supervisor && d.Kind == wire.Query:
		m.queried(d)
	default:
		m.stats.StrayDispatches++
	}
}
