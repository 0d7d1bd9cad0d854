package portals

import (
	"syscall"

	"ulnet/lnet/nid"
)

// Match says which messages a match entry takes: those from ID whose match bits equal Bits.
// Bits that are 1 in Ignore are not compared.
type Match struct {
	// ID is the initiator. A zero or Any NID matches every node, a zero or Any PID every
	// process; any NID of a node stands for the node.
	ID     nid.ProcessID
	Bits   uint64 // match bits that a message must have
	Ignore uint64 // mask: bits set here are not compared with Bits
}

// normal returns m with the zero value for each form of "any".
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

// admits tests everything but the kind of operation. The NID in m may be any NID of the
// initiator's node.
func (t *Table) admits(m *Match, r *request) bool {
	return (m.Bits^r.bits)&^m.Ignore == 0 &&
		(m.ID.PID == 0 || m.ID.PID == r.id.PID) &&
		(!m.ID.NID.IsValid() || t.isFrom(r, m.ID.NID))
}

// InsertPosition says where a new ME stands among those that a message could
// also match (lnet_ins_pos).
type InsertPosition uint8

// Positions at which an ME is inserted.
const (
	Before InsertPosition = iota // the ME is tried before the others
	After                        // the ME is tried after the others
	Local                        // the same as After: there are no CPU partitions here
)

// MEAttach adds a match entry to a portal (LNetMEAttach). It takes nothing
// until an MD is attached to it.
//
//	EINVAL  no such portal
//	EPERM   the portal's first ME was fully specified (one initiator, one value of the
//	        match bits) and this one is not, or the other way round
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
	ref, ok := p.newME(match, unlink)
	if !ok {
		return 0, opError("MEAttach", syscall.ENOMEM)
	}
	p.kind = kind
	p.insert(ref, pos)
	return p.handle(portal, ref), nil
}

// MEInsert adds a match entry next to another one: messages are matched against the new entry
// just before or just after the other one (LNetMEInsert).
//
//	ENOENT  no such ME
//	EPERM   the portal is for fully specified MEs, or this is one; pos is
//	        Local; or one of the two MEs has ignore bits and the other has not
//	ENOMEM  no more handles
//
// MEs without ignore bits that differ in their match bits have no order, because no message
// matches both.
func (t *Table) MEInsert(at MEHandle, match Match, unlink UnlinkOption, pos InsertPosition) (MEHandle, error) {
	p, current := t.lockME(at)
	if p == nil {
		return 0, opError("MEInsert", syscall.ENOENT)
	}
	defer p.mu.Unlock()
	match = match.normal()
	other := p.me(current).match
	if p.kind == unique || match.unique() || pos > After || (match.Ignore == 0) != (other.Ignore == 0) {
		return 0, opError("MEInsert", syscall.EPERM)
	}
	ref, ok := p.newME(match, unlink)
	if !ok {
		return 0, opError("MEInsert", syscall.ENOMEM)
	}
	if match.Ignore == 0 && match.Bits != other.Bits {
		p.insert(ref, pos)
	} else {
		p.insertAt(current, ref, pos)
	}
	return p.handle(mePortal(at), ref), nil
}

// newME takes a slot for an ME that is on no list yet.
func (p *portal) newME(match Match, unlink UnlinkOption) (ref meRef, ok bool) {
	slot, ok := p.mes.take()
	if !ok {
		return 0, false
	}
	e := p.mes.at(slot)
	*e = me{generation: e.generation + 1, live: true, match: match, unlink: unlink}
	return meRef(slot + 1), true
}

// lockME returns the ME of a handle and its portal, which is locked, or nil.
func (t *Table) lockME(h MEHandle) (*portal, meRef) {
	if cookieKind(uint64(h)) != cookieME {
		return nil, 0
	}
	p := &t.portals[mePortal(h)]
	slot := cookieSlot(uint64(h))
	p.mu.Lock()
	e := p.mes.at(slot)
	if e == nil || !e.live || e.generation != meGeneration(h) {
		p.mu.Unlock()
		return nil, 0
	}
	return p, meRef(slot + 1)
}

// freeME removes an ME. The caller holds the portal's lock.
func (p *portal) freeME(ref meRef) {
	p.remove(ref)
	e := p.me(ref)
	e.live, e.md = false, 0
	p.mes.put(uint32(ref)-1, uint64(e.generation))
}

// mdOf returns the MD attached to an ME, or nil.
func (t *Table) mdOf(e *me) *md {
	if e.md == 0 {
		return nil
	}
	return t.mds.at(e.md - 1)
}

// The generation of an ME's handle has the portal in its low bits, so that a
// handle tells whose lock guards the ME.
const portalBits = 6

// handle returns the handle of an ME of the portal with this index.
func (p *portal) handle(index int, ref meRef) MEHandle {
	generation := uint64(p.me(ref).generation)<<portalBits | uint64(index)
	return MEHandle(makeCookie(cookieME, uint32(ref)-1, generation))
}

func mePortal(h MEHandle) int { return int(uint64(h)>>cookieGenShift) & (1<<portalBits - 1) }

func meGeneration(h MEHandle) uint32 { return uint32(uint64(h) >> (cookieGenShift + portalBits)) }
