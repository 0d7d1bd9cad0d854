package portals

import (
	"slices"

	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// request is an incoming PUT or GET, as matching sees it.
type request struct {
	op     MDOption      // OpPut for a PUT, OpGet for a GET
	id     nid.ProcessID // process that initiated the request, under its primary NID
	source nid.NID       // NID that the initiator sent from
	bits   uint64
	length uint32
	offset uint32 // the offset in the MD that was asked for; used with ManageRemote

	nids   []wire.NIStatus // all NIDs of the initiator's node, once looked is set
	looked bool            // whether nids has been looked up

	released *md // the MD that r was held for and is now offered to, although it is crowded
}

// isFrom reports whether a NID is one of the node that r came from.
func (t *Table) isFrom(r *request, id nid.NID) bool {
	return id == r.id.NID || id == r.source ||
		slices.ContainsFunc(t.nidsOf(r), func(ni wire.NIStatus) bool { return ni.NID == id })
}

// nidsOf returns the NIDs that discovery knows of the node that r came from.
func (t *Table) nidsOf(r *request) []wire.NIStatus {
	if !r.looked {
		r.nids, r.looked = t.node.Peer(r.id.NID).NIs, true
	}
	return r.nids
}

// outcome is the result of matching.
type outcome uint8

const (
	noMatch  outcome = iota
	matched          // the md is returned locked, with the operation begun
	tooLong          // the first ME that matches has too little room: the message is dropped
	mismatch         // this ME does not match: the next one is tried
	busy             // the handler of the MD is too far behind: the message is held
)

// match finds the ME that takes r (lnet_ptl_match_md): MEs with ignore bits
// first, then the exact ones, each list in its order. The caller holds p.mu.
func (t *Table) match(p *portal, r *request) (d *md, offset, mlength int, o outcome) {
	if d, offset, mlength, o = t.matchRing(p, p.ignoring, r); o != noMatch {
		return d, offset, mlength, o
	}
	d, offset, mlength, o = t.matchRing(p, p.find(r.bits, r.id), r)
	if o == noMatch && p.kind == unique && p.exact.rings > 0 {
		return t.matchOtherNIDs(p, r)
	}
	return d, offset, mlength, o
}

// matchOtherNIDs is match for the MEs of a unique portal that name the initiator by a NID other
// than its primary one. The NID from which the initiator sent the request comes first.
func (t *Table) matchOtherNIDs(p *portal, r *request) (d *md, offset, mlength int, o outcome) {
	if r.source != r.id.NID {
		d, offset, mlength, o = t.matchRing(p, p.find(r.bits, nid.ProcessID{NID: r.source, PID: r.id.PID}), r)
	}
	for _, ni := range t.nidsOf(r) {
		if o != noMatch {
			break
		}
		if ni.NID != r.id.NID && ni.NID != r.source {
			d, offset, mlength, o = t.matchRing(p, p.find(r.bits, nid.ProcessID{NID: ni.NID, PID: r.id.PID}), r)
		}
	}
	return d, offset, mlength, o
}

func (t *Table) matchRing(p *portal, head meRef, r *request) (d *md, offset, mlength int, o outcome) {
	for ref := head; ref != 0; {
		e := p.me(ref)
		if d, offset, mlength, o = t.try(p, e, r); o != mismatch {
			return d, offset, mlength, o
		}
		if ref = e.next; ref == head {
			break
		}
	}
	return nil, 0, 0, noMatch
}

// try tests one ME and, if it takes r, begins the operation on its MD (lnet_try_match_md). A
// message that fits an ME whose MD is crowded waits for that MD and is not tried against
// other MEs. The caller holds p.mu.
func (t *Table) try(p *portal, e *me, r *request) (d *md, offset, mlength int, o outcome) {
	d = t.mdOf(e)
	if d == nil || !t.admits(&e.match, r) {
		return nil, 0, 0, mismatch
	}
	d.mu.Lock()
	if d.exhausted() || d.options&r.op == 0 {
		d.mu.Unlock()
		return nil, 0, 0, mismatch
	}
	offset, mlength, fits := d.room(r.length, r.offset)
	if !fits {
		d.mu.Unlock()
		return nil, 0, 0, tooLong
	}
	if d.crowded && r.released != d {
		d.mu.Unlock()
		return d, 0, 0, busy
	}
	d.begin()
	d.offset = offset + mlength
	if d.auto && d.exhausted() {
		p.detach(d)
	}
	return d, offset, mlength, matched
}

// room returns the offset in the MD at which a request starts, and how many bytes of the request
// fit there. The offset that the request itself asks for counts only with ManageRemote. At most
// MaxPayload bytes fit, because a GET may ask for more than a REPLY can carry.
func (d *md) room(length, remote uint32) (offset, mlength int, fits bool) {
	offset = d.offset
	if d.options&ManageRemote != 0 {
		offset = int(min(uint64(remote), uint64(d.length))) // an offset beyond the MD's end counts as the end, where there is no room
	}
	free := min(d.length-offset, wire.MaxPayload)
	if d.options&HasMaxSize != 0 {
		free = min(free, d.maxSize)
	}
	if uint64(length) <= uint64(free) {
		return offset, int(length), true
	}
	return offset, free, d.options&Truncate != 0
}
