package engine

import (
	"slices"
	"time"

	"ulnet/lnet"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// hearsay is the unconfirmed part of a peer's infos. Most peers have none.
type hearsay struct {
	claimed  []wire.NIStatus         // replaced, never changed in place, because values of lnet.Peer share it
	toProbe  machine.Deadline[*peer] // time of the next probe of a claim; not set: no claim has to be probed
	patience machine.Deadline[*peer] // time until which discovery waits for probes, if set
	probing  int                     // number of probes in progress
	overflow int                     // this peer's part of Machine.claims
}

// nothing is the hearsay of peers that claim nothing. It never changes.
var nothing hearsay

// claim makes list the NIDs that p claims, in place of the earlier ones.
func (p *peer) claim(list []wire.NIStatus) {
	if p.hearsay == &nothing {
		if len(list) == 0 {
			return
		}
		p.hearsay = newHearsay(p)
	}
	p.claimed = list
}

func newHearsay(p *peer) *hearsay {
	return &hearsay{toProbe: machine.Deadline[*peer]{Of: p}, patience: machine.Deadline[*peer]{Of: p}}
}

// unburden frees the memory for claims if p has no claim and no probe any more.
func (p *peer) unburden() {
	if h := p.hearsay; len(h.claimed) == 0 && !h.patience.IsSet() && !h.toProbe.IsSet() && h.probing == 0 {
		p.hearsay = &nothing
	}
}

// peer is a remote node as discovery sees it (struct lnet_peer).
type peer struct {
	primary  nid.NID         // lp_primary_nid: primary NID, the first of the rails
	rails    []rail          // the NIDs that the peer's latest info lists, in its order
	nis      []wire.NIStatus // the NIDs in rails that are the peer's own; replaced, never changed in place, because values of lnet.Peer share it
	*hearsay                 // the NIDs that the peer claims, and their probes
	features wire.Features
	flags    lnet.PeerFlags
	acked    uint32 // lp_node_seqno: sequence number of the latest info of ours that the peer has
	owed     uint32 // sequence number of the info of ours that tells the peer that discovery was turned off here; 0: there is none, or discovery is on
	room     int    // lp_data_bytes: bytes of the peer's largest info

	data     []wire.NIStatus // info that is to be merged, with flag DATA_PRESENT
	by       nid.NID         // NID from which the latest info came
	from, to nid.NID         // lp_disc_src_nid, lp_disc_dst_nid: the NIDs of this node and of the peer between which the peer's latest REPLY or push came: the next push takes the same path, and clears both
	askAt    nid.NID         // the NID that the pings of a forced discovery go to; if p does not have it, they go to any of its NIDs
	failure  error           // why a ping or push failed, with flag PING_FAILED or PUSH_FAILED; nil: the info was invalid
	badInfo  error           // why the latest info was invalid; nil: it was valid
	badInfos int             // number of invalid infos in a row
	waiting  []nid.NID       // NIDs of the peer to report when discovery ends
	refresh  bool            // a call has asked for the state of the peer
	spent    time.Duration   // when the limit on the rate of the peer's probes allows a full burst again

	exchange *exchange                // the ping or push under way, or nil
	retry    *machine.Deadline[*peer] // when to push again after a push that has failed; nil: never
	repeats  uint8                    // how often the failed push was sent again
	unacked  *unackedPush             // a push whose ACK still counts, though its exchange has ended; nil: none
	tried    int                      // index in rails of the NID that the latest ping or push went to
	queued   bool                     // the peer is in a queue of Machine.ready
	queue    class                    // class of the first queue of Machine.ready that has the peer, if queued
	changed  bool                     // the peer is in Machine.dirty
	dropped  bool                     // the peer is no longer in the table

	older, newer *peer // neighbours in the ring of all peers, ordered by use
}

// await notes that the end of the discovery of a NID has to be reported.
func (p *peer) await(id nid.NID) {
	if !slices.Contains(p.waiting, id) {
		p.waiting = append(p.waiting, id)
	}
}

// idle reports whether a peer can be evicted without loss.
func (p *peer) idle() bool {
	return !p.flags.Has(lnet.PeerConfigured) && p.exchange == nil && !p.queued && len(p.waiting) == 0 && !p.flags.Has(lnet.PeerDiscovering)
}

// expendable reports whether a peer can be evicted: it is idle, or it waits for a slot and nothing here waits for it.
// If only idle peers were evicted, a crowd of nodes that have pushed to this node, and that wait for a push of its
// changed info, would fill the table.
func (p *peer) expendable() bool {
	return p.idle() || p.queued && p.exchange == nil && len(p.waiting) == 0 && !p.flags.Has(lnet.PeerConfigured)
}

// table finds peers by each of their NIDs and keeps them in the order of use.
type table struct {
	byNID     map[nid.NID]*peer
	forgotten int  // peers forgotten since byNID was made; see shrink
	ring      peer // head of the ring: its field newer points to the oldest peer, its field older to the newest
}

func (t *table) init() {
	t.byNID = make(map[nid.NID]*peer)
	t.ring.older, t.ring.newer = &t.ring, &t.ring
}

// of returns the peer with a NID, or nil.
func (t *table) of(id nid.NID) *peer { return t.byNID[id] }

// give makes id a NID of the peer p.
func (t *table) give(id nid.NID, p *peer) { t.byNID[id] = p }

// touch makes p the peer that was used last.
func (t *table) touch(p *peer) {
	if p.dropped {
		return
	}
	if p.newer != nil {
		t.unlink(p)
	}
	p.older, p.newer = t.ring.older, &t.ring
	p.older.newer, p.newer.older = p, p
}

func (t *table) unlink(p *peer) {
	p.older.newer, p.newer.older = p.newer, p.older
	p.older, p.newer = nil, nil
}

// inOrder returns all peers in the order of their last use, the one that was not used for longest first.
func (t *table) inOrder() (all []*peer) {
	for p := t.ring.newer; p != &t.ring; p = p.newer {
		all = append(all, p)
	}
	return all
}

// meet returns the peer with a NID and makes it if need be; nil if there is no
// room.
func (m *Machine) meet(id nid.NID, out *Output) *peer {
	if p := m.peers.of(id); p != nil {
		return p
	}
	if !m.room(nil, out) {
		m.stats.TableFull++
		return nil
	}
	p := newPeer(rail{NIStatus: wire.NIStatus{NID: id, Status: wire.StatusUp}})
	m.peers.give(id, p)
	m.peers.touch(p)
	return p
}

// newPeer returns a peer with these NIDs, which are its own.
func newPeer(rails ...rail) *peer {
	p := &peer{rails: rails, by: rails[0].NID}
	p.hearsay = &nothing
	p.relist()
	return p
}

// evictTries bounds how many peers evict looks at.
const evictTries = 64

// room makes room for a NID, by removing an expendable peer if need be. It never removes the peer
// given as keep.
func (m *Machine) room(keep *peer, out *Output) bool {
	return len(m.peers.byNID) < m.limits.MaxNIDs || m.evict(func(p *peer) bool { return p == keep }, out)
}

// evict forgets an expendable peer for which keep returns false. The peers that it passes over become the ones that
// were used last (the clock algorithm), so that the next call looks at others.
func (m *Machine) evict(keep func(*peer) bool, out *Output) bool {
	for range min(evictTries, len(m.peers.byNID)) {
		p := m.peers.ring.newer
		if p == &m.peers.ring {
			break
		}
		if p.expendable() && !keep(p) {
			m.delete(p, out)
			return true
		}
		m.peers.touch(p)
	}
	return false
}

// forget withdraws a NID of p. Callers that wait for the discovery of this NID are told that
// it is done.
func (m *Machine) forget(p *peer, id nid.NID, out *Output) {
	delete(m.peers.byNID, id)
	out.Gone = append(out.Gone, id)
	if i := slices.Index(p.waiting, id); i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
		out.Done = append(out.Done, Done{NID: id})
	}
}

// isBlank reports whether nothing is known of a peer, and nothing was published about it.
func (p *peer) isBlank() bool { return p.flags == 0 && p.idle() }

// remember adds a blank peer to the table for a NID that was forgotten, and keeps it until the time spent. Until
// then, the limit on the rate of probes allows no full burst to the peer that had the NID. So the NID causes no
// second burst if it soon becomes known again, as another peer.
func (m *Machine) remember(now, spent time.Duration, id nid.NID, out *Output) {
	if spent <= now {
		return
	}
	if p := m.meet(id, out); p != nil {
		p.spent = spent
		p.hearsay = newHearsay(p)
		m.patient.Set(&p.patience, spent)
	}
}

// discard forgets p, about which nothing is known.
func (m *Machine) discard(p *peer, out *Output) {
	delete(m.peers.byNID, p.primary)
	m.drop(p, out)
}

// delete forgets p and all its NIDs.
func (m *Machine) delete(p *peer, out *Output) {
	for _, ni := range p.nis {
		m.forget(p, ni.NID, out)
	}
	m.drop(p, out)
}

// drop takes a peer that has no NIDs any more off all lists.
func (m *Machine) drop(p *peer, out *Output) {
	m.disclaim(p, out)
	m.patient.Clear(&p.patience)
	p.rails, p.nis = nil, nil
	m.forgo(p)
	m.disregard(p, out)
	if p.exchange != nil {
		m.end(p, 0, out)
	}
	p.queued, p.dropped = false, true
	m.peers.unlink(p)
}

// changed notes that the state of a peer must be published.
func (m *Machine) changed(p *peer) {
	if !p.changed {
		p.changed = true
		m.dirty = append(m.dirty, p)
	}
}

// publish appends the peers that changed in this step.
func (m *Machine) publish(out *Output) {
	for i, p := range m.dirty {
		m.dirty[i], p.changed = nil, false
		if !p.dropped {
			out.Peers = append(out.Peers, lnet.Peer{
				Primary: p.primary, NIs: p.nis, Claimed: p.claimed, Features: p.features, Flags: m.shown(p),
			})
		}
	}
	m.dirty = m.dirty[:0]
}
