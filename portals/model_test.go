package portals_test

import (
	"bytes"
	"slices"
	"syscall"
	"time"

	"ulnet/lnet/nid"
	"ulnet/portals"
)

// model is a portal table as simple as possible: lists that are searched from the start, no
// handles, no locks, one call at a time. Its methods are the calls of Table and the actions
// of the network. Each adds its results to events, sent, released and drops.
type model struct {
	credits int           // most messages in flight to one peer
	timeout time.Duration // transaction timeout

	now     time.Duration
	sweepAt time.Duration // the next check for late answers; 0: none is due
	portals [3]modelPortal
	mds     []*modelMD // all MDs that were ever made
	mes     []*modelME
	peers   map[nid.NID]*modelPeer

	events   []portals.Event
	sent     []*modelSend // messages given to the network
	released []*modelArrival
	drops    map[string]uint64
	late     uint64 // expected value of the counter response_timeout_count
}

type modelPortal struct {
	used, unique, lazy bool
	list               []*modelME // entries in the order in which they are tried
	held               []*modelArrival
}

type modelME struct {
	name   int
	handle portals.MEHandle
	portal int
	match  portals.Match
	unlink portals.UnlinkOption
	md     *modelMD
	live   bool
}

type modelMD struct {
	name      int
	handle    portals.MDHandle
	conf      portals.MD
	length    int
	memory    []byte // bytes that the MD's memory must contain
	threshold int
	offset    int
	auto      bool
	me        *modelME
	refs      int
	asked     []modelAsked
	since     time.Duration // time of the latest operation whose answer is tracked; 0: none is awaited
	dead      bool          // the MD has no handle any more
	aborted   bool          // a call has unlinked the MD
	late      bool
	ended     bool // the last event of the MD has been emitted
}

func newModel(credits int, timeout time.Duration) *model {
	return &model{
		credits: credits, timeout: timeout, now: 1,
		peers: make(map[nid.NID]*modelPeer), drops: make(map[string]uint64),
	}
}

func anyone(id nid.NID) bool { return !id.IsValid() || id.IsAny() }
func anyPID(p nid.PID) bool  { return p == 0 || p == nid.PIDAny }

func modelUnique(m portals.Match) bool {
	return m.Ignore == 0 && !anyone(m.ID.NID) && !anyPID(m.ID.PID)
}

func (m *model) meAttach(portal int, match portals.Match, unlink portals.UnlinkOption, pos portals.InsertPosition) (*modelME, error) {
	if portal < 0 || portal >= len(m.portals) {
		return nil, syscall.EINVAL
	}
	p := &m.portals[portal]
	if p.used && p.unique != modelUnique(match) {
		return nil, syscall.EPERM
	}
	p.used, p.unique = true, modelUnique(match)
	at := len(p.list)
	if pos == portals.Before {
		at = 0
	}
	return m.newME(portal, match, unlink, at), nil
}

func (m *model) newME(portal int, match portals.Match, unlink portals.UnlinkOption, at int) *modelME {
	e := &modelME{name: len(m.mes), portal: portal, match: match, unlink: unlink, live: true}
	m.portals[portal].list = slices.Insert(m.portals[portal].list, at, e)
	m.mes = append(m.mes, e)
	return e
}

func (m *model) meInsert(beside *modelME, match portals.Match, unlink portals.UnlinkOption, pos portals.InsertPosition) (*modelME, error) {
	if !beside.live {
		return nil, syscall.ENOENT
	}
	p := &m.portals[beside.portal]
	if p.unique || modelUnique(match) || pos == portals.Local || (match.Ignore == 0) != (beside.match.Ignore == 0) {
		return nil, syscall.EPERM
	}
	at := slices.Index(p.list, beside)
	switch competes := match.Ignore != 0 || match.Bits == beside.match.Bits; {
	case competes && pos == portals.After:
		at++
	case competes:
	case pos == portals.After:
		at = len(p.list)
	default:
		at = 0
	}
	return m.newME(beside.portal, match, unlink, at), nil
}

func (m *model) newMD(conf portals.MD, unlink portals.UnlinkOption) *modelMD {
	d := &modelMD{name: len(m.mds), conf: conf, threshold: conf.Threshold, auto: unlink == portals.Unlink}
	for _, s := range conf.Segments {
		d.length += len(s)
	}
	d.memory = bytes.Join(conf.Segments, nil)
	m.mds = append(m.mds, d)
	return d
}

func modelBadMD(conf portals.MD) bool {
	length := 0
	for _, s := range conf.Segments {
		length += len(s)
	}
	return conf.Options&portals.HasMaxSize != 0 && (conf.MaxSize < 0 || conf.MaxSize > length) || conf.Threshold < -1
}

func (m *model) mdBind(conf portals.MD, unlink portals.UnlinkOption) (*modelMD, error) {
	if modelBadMD(conf) || conf.Options&(portals.OpPut|portals.OpGet) != 0 {
		return nil, syscall.EINVAL
	}
	return m.newMD(conf, unlink), nil
}

func (m *model) mdAttach(e *modelME, conf portals.MD, unlink portals.UnlinkOption) (*modelMD, error) {
	switch {
	case modelBadMD(conf) || conf.Options&(portals.OpPut|portals.OpGet) == 0:
		return nil, syscall.EINVAL
	case !e.live:
		return nil, syscall.ENOENT
	case e.md != nil:
		return nil, syscall.EBUSY
	}
	d := m.newMD(conf, unlink)
	d.me, e.md = e, d
	m.tryHeld(e, d)
	return d, nil
}

// tryHeld tries the held messages, in order, against the new MD alone.
func (m *model) tryHeld(e *modelME, d *modelMD) {
	p := &m.portals[e.portal]
	for _, a := range slices.Clone(p.held) {
		if !e.admits(a) || !d.takes(portals.OpPut) {
			continue
		}
		p.held = slices.DeleteFunc(p.held, func(b *modelArrival) bool { return a == b })
		m.released = append(m.released, a)
		if !m.accept(a, d) {
			m.drop(a, "too long")
		}
	}
}

// detach ends an MD: no message finds it any more, and no answer to its operations is tracked. Its ME is unlinked too
// if it was made with Unlink.
func (m *model) detach(d *modelMD) {
	d.dead, d.since = true, 0
	if e := d.me; e != nil {
		d.me, e.md = nil, nil
		if e.unlink == portals.Unlink {
			m.removeME(e)
		}
	}
}

func (m *model) removeME(e *modelME) {
	e.live = false
	p := &m.portals[e.portal]
	p.list = slices.DeleteFunc(p.list, func(o *modelME) bool { return o == e })
}

func (m *model) mdUnlink(d *modelMD) error {
	if d.dead {
		return syscall.ENOENT
	}
	m.unlink(d)
	return nil
}

func (m *model) unlink(d *modelMD) {
	m.detach(d)
	d.aborted = true
	if d.refs == 0 {
		d.ended = true
		m.emit(d, portals.Event{Kind: portals.EventUnlink, Unlinked: true})
	}
}

func (m *model) meUnlink(e *modelME) error {
	if !e.live {
		return syscall.ENOENT
	}
	e.unlink = portals.Unlink
	if e.md != nil {
		m.unlink(e.md)
	} else {
		m.removeME(e)
	}
	return nil
}

func (m *model) clearLazy(portal int) {
	p := &m.portals[portal]
	p.lazy = false
	for _, a := range p.held {
		m.released = append(m.released, a)
		m.drop(a, "lazy portal cleared")
	}
	p.held = nil
}

// emit adds the event e of the MD d.
func (m *model) emit(d *modelMD, e portals.Event) {
	e.MD, e.Options, e.UserPtr = d.handle, d.conf.Options, d.name
	m.events = append(m.events, e)
}

func (d *modelMD) exhausted() bool {
	return d.threshold == 0 || d.conf.Options&portals.HasMaxSize != 0 && d.offset+d.conf.MaxSize > d.length
}

func (d *modelMD) takes(op portals.MDOption) bool { return !d.exhausted() && d.conf.Options&op != 0 }

// begin starts an operation on the MD.
func (d *modelMD) begin() {
	if d.threshold > 0 {
		d.threshold--
	}
	d.refs++
}

// complete ends an operation of an MD with an event.
func (m *model) complete(d *modelMD, e portals.Event, err error) {
	d.refs--
	if d.refs == 0 && !d.ended && (d.dead || d.auto && d.exhausted()) {
		m.detach(d)
		d.ended, e.Unlinked = true, true
		if d.late && err == nil {
			err = syscall.ETIMEDOUT
		}
	}
	e.Err = err
	m.emit(d, e)
}

// modelAsked is an answer that the model awaits.
type modelAsked struct {
	id    nid.ProcessID
	reply bool
}

// awaits reports whether any answer of a kind is awaited.
func (d *modelMD) awaits(reply bool) bool {
	return slices.ContainsFunc(d.asked, func(a modelAsked) bool { return a.reply == reply })
}

// forget removes one awaited answer of a process, if there is one. If comes is set, the
// answer may come from another NID of the process's node.
func (d *modelMD) forget(id nid.ProcessID, reply, comes bool) (was bool) {
	i := slices.Index(d.asked, modelAsked{id, reply})
	if i < 0 && comes {
		i = slices.IndexFunc(d.asked, func(a modelAsked) bool {
			return a.reply == reply && a.id.PID == id.PID && oneNode(a.id.NID, id.NID)
		})
	}
	if i < 0 {
		return false
	}
	if d.asked = slices.Delete(d.asked, i, i+1); len(d.asked) == 0 {
		d.since = 0
	}
	return true
}
