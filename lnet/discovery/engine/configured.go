package engine

import (
	"fmt"
	"slices"
	"syscall"

	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// Edited is the answer to a Configure or Deconfigure.
type Edited struct {
	Edit uint64 // the value of Input.Edit, which says to which input this is the answer
	Err  error  // nil: the change was made; otherwise it wraps an errno, and nothing has changed
}

// configure adds NIDs to the peer that an administrator names, or creates it
// (lnet_add_peer_ni). Configuration takes precedence over discovery: other peers lose the NIDs,
// and infos of the peer change only the statuses of its NIDs.
func (m *Machine) configure(in Input, out *Output) {
	ids := configuredNIDs(in)
	p := m.peers.of(in.NID)
	err := m.checkConfigured(in, ids, p)
	if err == nil && !m.roomFor(ids, out) {
		err = errRoom
	}
	if err != nil {
		out.Edited = append(out.Edited, Edited{in.Edit, err})
		return
	}
	rails := make([]rail, 0, len(ids))
	if p != nil && p.flags.Has(lnet.PeerConfigured) {
		m.disclaim(p, out)
		rails = slices.Clone(p.rails)
	}
	flags := lnet.PeerConfigured
	if !in.Plain {
		flags |= lnet.PeerMultiRail
	}
	for _, id := range ids {
		if !slices.ContainsFunc(rails, func(r rail) bool { return r.NID == id }) {
			rails = append(rails, rail{NIStatus: wire.NIStatus{NID: id, Status: wire.StatusUp}})
		}
	}
	m.replace(rails, flags, out)
	out.Edited = append(out.Edited, Edited{in.Edit, nil})
}

// configuredNIDs lists the NIDs of an input, the primary one first, each once.
func configuredNIDs(in Input) []nid.NID {
	ids, has := []nid.NID{in.NID}, map[nid.NID]bool{in.NID: true}
	for _, id := range in.NIDs {
		if !has[id] {
			ids, has[id] = append(ids, id), true
		}
	}
	return ids
}

// checkConfigured refuses a Configure that cannot be done as a whole.
func (m *Machine) checkConfigured(in Input, ids []nid.NID, p *peer) error {
	if p != nil && p.flags.Has(lnet.PeerConfigured) && p.primary != in.NID {
		return fmt.Errorf("%v belongs to the configured peer %v: %w", in.NID, p.primary, syscall.EEXIST)
	}
	rails, added := 0, 0
	if p != nil && p.flags.Has(lnet.PeerConfigured) {
		rails = len(p.rails)
	}
	if in.Plain && max(len(ids), rails) > 1 {
		return fmt.Errorf("a peer that is not multi-rail has one NID: %w", syscall.EINVAL)
	}
	for _, id := range ids {
		of := m.peers.of(id)
		switch {
		case !id.IsValid() || id.IsAny() || id.IsLo() || m.isOwn(id):
			return fmt.Errorf("%v cannot be a peer's NID: %w", id, syscall.EINVAL)
		case of != nil && of != p && of.flags.Has(lnet.PeerConfigured):
			return fmt.Errorf("%v belongs to the configured peer %v: %w", id, of.primary, syscall.EEXIST)
		case rails == 0 || of != p:
			added++
		}
	}
	if rails+added+1 > m.limits.MaxInterfaces {
		return errRoom
	}
	return nil
}

// errRoom refuses a Configure for which there is no room.
var errRoom = fmt.Errorf("too many NIDs: %w", syscall.ENOSPC)

// roomFor makes room for those of the given NIDs that no peer has yet, and reports whether there is room.
// To make room it may forget idle peers that have none of the given NIDs.
func (m *Machine) roomFor(ids []nid.NID, out *Output) bool {
	fresh := 0
	for _, id := range ids {
		if m.peers.of(id) == nil {
			fresh++
		}
	}
	has := func(p *peer) bool {
		return slices.ContainsFunc(ids, func(id nid.NID) bool { return m.peers.of(id) == p })
	}
	for len(m.peers.byNID)+fresh > m.limits.MaxNIDs {
		if !m.evict(has, out) {
			return false
		}
	}
	return true
}

// replace makes a peer of these rails. Peers that had some of the NIDs lose them. If the first
// NID is the primary NID of a peer, that peer stays, with its state, and gets the new rails.
func (m *Machine) replace(rails []rail, flags lnet.PeerFlags, out *Output) {
	p := m.peers.of(rails[0].NID)
	same := p != nil && p.primary == rails[0].NID
	for _, r := range rails {
		if of := m.peers.of(r.NID); of != nil && !(same && of == p) {
			m.detach(of, r.NID, out)
		}
	}
	if !same {
		p = newPeer(rails...)
		m.peers.touch(p)
	} else {
		m.disclaim(p, out)
		for _, r := range p.rails {
			if !slices.ContainsFunc(rails, func(n rail) bool { return n.NID == r.NID }) {
				m.forget(p, r.NID, out)
			}
		}
		p.rails, p.by = rails, rails[0].NID
	}
	for _, r := range rails {
		m.peers.give(r.NID, p)
	}
	p.flags = p.flags&^lnet.PeerMultiRail | flags
	m.relist(p)
}

// detach takes a NID from a peer. If the peer has no other NID, it is forgotten.
func (m *Machine) detach(p *peer, id nid.NID, out *Output) {
	m.disclaim(p, out)
	if len(p.nis) == 1 {
		m.delete(p, out)
		return
	}
	m.forget(p, id, out)
	p.rails = slices.DeleteFunc(p.rails, func(r rail) bool { return r.NID == id })
	if p.by == id {
		p.by = p.rails[0].NID
	}
	m.relist(p)
}

// deconfigure removes a peer, or some of its NIDs (lnet_del_peer_ni). If the primary NID is to
// be removed, the whole peer is. The peer may be one that was discovered, not configured.
func (m *Machine) deconfigure(in Input, out *Output) {
	p := m.peers.of(in.NID)
	if p == nil || p.primary != in.NID {
		out.Edited = append(out.Edited, Edited{in.Edit, fmt.Errorf("%v is no primary NID: %w", in.NID, syscall.ENOENT)})
		return
	}
	for _, id := range in.NIDs {
		if m.peers.of(id) != p {
			out.Edited = append(out.Edited, Edited{in.Edit, fmt.Errorf("%v is no NID of the peer %v: %w", id, in.NID, syscall.ENOENT)})
			return
		}
	}
	if len(in.NIDs) == 0 || slices.Contains(in.NIDs, p.primary) {
		m.delete(p, out)
	} else {
		for _, id := range in.NIDs {
			if m.peers.of(id) == p { // p still has id, which the input may name twice
				m.detach(p, id, out)
			}
		}
	}
	out.Edited = append(out.Edited, Edited{in.Edit, nil})
}
