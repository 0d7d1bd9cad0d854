package discovery

import (
	"syscall"

	"ulnet/lnet/discovery/engine"
	"ulnet/lnet/nid"
)

// AddPeer configures a peer with these NIDs, or adds them to one that is configured. This
// configuration takes precedence over discovery, earlier or later: other peers lose the NIDs, and
// infos of the peer change only the statuses of its NIDs. A peer that is not multi-rail has its primary NID alone. Errors wrap
// an errno, and then nothing has changed:
//
//	EINVAL     a NID cannot belong to a peer, or a peer that is not multi-rail gets several
//	EEXIST     a NID belongs to another configured peer
//	ENOSPC     there are too many NIDs
//	ESHUTDOWN  discovery was closed
func (a *Agent) AddPeer(primary nid.NID, nids []nid.NID, multiRail bool) error {
	return a.edit(engine.Input{Kind: engine.Configure, NID: primary, NIDs: nids, Plain: !multiRail})
}

// RemovePeer removes a peer, configured or discovered, if nids is empty or has its primary NID.
// Otherwise it removes only these NIDs from the peer. A later message to a removed NID causes its
// discovery. ENOENT: there is no such peer, or it has no such NID.
func (a *Agent) RemovePeer(primary nid.NID, nids []nid.NID) error {
	return a.edit(engine.Input{Kind: engine.Deconfigure, NID: primary, NIDs: nids})
}

// edit gives the machine an input and waits for its answer.
func (a *Agent) edit(in engine.Input) error {
	done := make(chan error, 1)
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return syscall.ESHUTDOWN
	}
	if a.edits == nil {
		a.edits = make(map[uint64]chan error)
	}
	a.lastEdit++
	in.Edit = a.lastEdit
	a.edits[in.Edit] = done
	a.mu.Unlock()
	a.input(in)
	return <-done
}

// edited passes the machine's answers to the calls of edit that wait for them.
func (a *Agent) edited(list []engine.Edited) {
	if len(list) == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range list {
		if done, ok := a.edits[e.Edit]; ok {
			done <- e.Err
			delete(a.edits, e.Edit)
		}
	}
}

// endEdits makes the calls of edit that wait for an answer fail. The caller holds a.mu.
func (a *Agent) endEdits() {
	for _, done := range a.edits { // any order: no call waits for another
		done <- syscall.ESHUTDOWN
	}
	clear(a.edits)
}
