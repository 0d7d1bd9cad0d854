package lnet

import (
	"ulnet/lnet/nid"
	"ulnet/lnet/path"
)

// Rules are selection rules (UDSP), as they are applied to the NIs of this node and of
// others. Its methods are called with locks held: they compute and return.
type Rules interface {
	// Local is the priority of an NI of this node, and of its net.
	Local(id nid.NID) (ni, net path.Priority)
	// Remote returns the priority of an NI of another node, the priority of the net of that NI at its node,
	// and the preferences for messages to the NI, nil for none.
	Remote(id nid.NID) (ni, net path.Priority, prefers *path.Preference)
}

// SetRules applies rules to all present NIs and to those that are added later; nil removes
// the rules.
func (n *Node) SetRules(r Rules) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.peers.mu.Lock()
	n.peers.rules = r
	for _, remote := range n.peers.remotes { // any order: each NID has rules of its own
		n.peers.ruleRemote(remote)
	}
	for _, remote := range n.peers.remotes { // any order: each NID has rules of its own
		n.peers.rulePeer(remote.Peer())
	}
	n.peers.mu.Unlock()
	n.rules = r
	n.ruleLocals(n.view.Load().Nets)
}

// target returns the state of the destination of a message, or nil. If the NID is behind gateways and not
// known yet, target makes a state from the rules, so that the first message to the NID already takes the
// gateway that they prefer.
func (n *Node) target(id nid.NID) *path.Remote {
	t := &n.peers
	t.mu.RLock()
	defer t.mu.RUnlock()
	if r := t.remotes[id]; r != nil {
		return &r.Remote
	}
	if t.rules == nil || !n.routesTo(id.Net()) {
		return nil
	}
	r := &remote{}
	r.NID = id
	t.ruleRemote(r)
	return &r.Remote
}

// ruleLocals applies the rules to the node's NIs and their nets. The caller holds n.mu.
func (n *Node) ruleLocals(nets []*path.Net[*path.Local]) {
	for _, net := range nets {
		for _, l := range net.NIs {
			ofNI, ofNet := path.NoPriority, path.NoPriority
			if n.rules != nil {
				ofNI, ofNet = n.rules.Local(l.NID)
			}
			l.SetPriority(ofNI)
			net.SetPriority(ofNet)
		}
	}
}

// ruleRemote applies the rules to an NI of another node. The caller holds t.mu.
func (t *peerTable) ruleRemote(r *remote) {
	if t.rules == nil {
		r.SetPriority(path.NoPriority)
		r.SetPreference(nil)
		return
	}
	ni, _, prefers := t.rules.Remote(r.NID)
	r.SetPriority(ni)
	r.SetPreference(prefers)
}

// rulePeer applies the rules to the nets of another node. The caller holds t.mu.
func (t *peerTable) rulePeer(p *path.Peer) {
	if p == nil {
		return
	}
	for _, net := range p.Nets {
		ofNet := path.NoPriority
		if t.rules != nil {
			_, ofNet, _ = t.rules.Remote(net.NIs[0].NID)
		}
		net.SetPriority(ofNet)
	}
}
