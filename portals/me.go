package portals

import (
	"syscall"

	"ulnet/lnet/nid"
)

// Match says which messages a match entry takes: those from ID whose match
// bits equal Bits in every bit that is 0 in Ignore. A zero or Any NID and a
// zero or Any pid in ID match everybody.
type Match struct {
	ID     nid.ProcessID
	Bits   uint64
	Ignore uint64
}

// normal returns m with "any" in one form, the zero value.
func (m Match) normal() Match {
	if m.ID.NID.IsAny() {
		m.ID.NID = nid.NID{}
	}
	if m.ID.PID == nid.PIDAny {
		m.ID.PID = 0
	}
	return m
}

// unique reports whether at most one initiator and one value of the match
// bits fit.
func (m Match) unique() bool {
	return m.Ignore == 0 && m.ID.NID.IsValid() && m.ID.PID != 0
}

// admits tests everything but the operation.
func (m *Match) admits(id nid.ProcessID, bits uint64) bool {
	return (m.Bits^bits)&^m.Ignore == 0 &&
		(m.ID.PID == 0 || m.ID.PID == id.PID) &&
		(!m.ID.NID.IsValid() || m.ID.NID == id.NID)
}

// InsertPosition says where a new ME stands among those that a message could
// also match (lnet_ins_pos).
type InsertPosition uint8

// The insert positions.
const (
	Before InsertPosition = iota // is tried before the others
	After                        // is tried after the others
	Local                        // as After: there are no CPU partitions here
)

// me is a match entry (struct lnet_me). Guarded by the lock of its portal.
type me struct {
	slot       uint32
	generation uint64
	handle     MEHandle // 0: free
	match      Match
	unlink     UnlinkOption
	md         *md // the attached MD, nil if none
	next, prev *me // ring of the MEs that share a list
}

// MEAttach adds a match entry to a portal. It takes nothing until an MD is
// attached to it.
//
//	EINVAL  no such portal
//	EPERM   the portal's first ME was fully specified (one initiator, one
//	        value) and this one is not, or the other way round
//	ENOMEM  no more handles
func (t *Table) MEAttach(portal int, match Match, unlink UnlinkOption, pos InsertPosition) (MEHandle, error) {
	p := t.portal(portal)
	if p == nil || pos > Local {
		return 0, opError("MEAttach", syscall.EINVAL)
	}
	match = match.normal()
	p.mu.Lock()
	defer p.mu.Unlock()
	kind := wildcard
	if match.unique() {
		kind = unique
	}
	if p.kind != unset && p.kind != kind {
		return 0, opError("MEAttach", syscall.EPERM)
	}
	slot, ok := p.mes.take()
	if !ok {
		return 0, opError("MEAttach", syscall.ENOMEM)
	}
	p.kind = kind
	e := p.mes.at(slot)
	generation := e.generation + 1
	*e = me{
		slot: slot, generation: generation, match: match, unlink: unlink,
		handle: meCookie(portal, slot, generation),
	}
	p.insert(e, pos)
	return e.handle, nil
}

// lockME returns the ME of a handle and its portal, locked, or nil.
func (t *Table) lockME(h MEHandle) (*portal, *me) {
	if cookieKind(uint64(h)) != cookieME {
		return nil, nil
	}
	p := &t.portals[mePortal(h)]
	p.mu.Lock()
	e := p.mes.at(cookieSlot(uint64(h)))
	if e == nil || e.handle != h {
		p.mu.Unlock()
		return nil, nil
	}
	return p, e
}

// freeME removes an ME. The caller holds the portal's lock.
func (p *portal) freeME(e *me) {
	p.remove(e)
	e.handle, e.md = 0, nil
	p.mes.put(e.slot, e.generation)
}

// The generation of an ME's handle has the portal in its low bits, so that a
// handle tells whose lock guards the ME.
const portalBits = 6

func meCookie(portal int, slot uint32, generation uint64) MEHandle {
	return MEHandle(makeCookie(cookieME, slot, generation<<portalBits|uint64(portal)))
}

func mePortal(h MEHandle) int { return int(uint64(h)>>cookieGenShift) & (1<<portalBits - 1) }
