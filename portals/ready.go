package portals

import (
	"errors"
	"slices"

	"ulnet/lnet"
)

// Errors of [Table.Ready].
var (
	ErrNoLoopback = errors.New("portals: the node has no 0@lo, through which it sends to its own NIDs: " +
		"add an NI of package lnd/lo before all others, or start the node with portals/node")
	ErrNoDiscovery = errors.New("portals: the node does not answer pings, and a peer that discovers it before its first message then sends it nothing: " +
		"call discovery.New after 0@lo was added and before other NIs and agents, or start the node with portals/node")
)

// discoveryPortal takes pings and pushes (LNET_RESERVED_PORTAL).
const discoveryPortal = 0

// Ready reports whether the node has the parts without which it starts all right and then
// fails without a word: [ErrNoLoopback] if it does not reach its own NIDs, [ErrNoDiscovery]
// if it hears nothing from peers that ping it before their first message to it.
// Protocols call it when they start. A node whose discovery is turned off
// (lnet_peer_discovery_disabled) answers pings and is ready.
func (t *Table) Ready() error {
	if !slices.ContainsFunc(t.node.NIs(), func(ni *lnet.NI) bool { return ni.NID().IsLo() }) {
		return ErrNoLoopback
	}
	p := t.portal(discoveryPortal)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kind == unset { // nothing was ever attached there
		return ErrNoDiscovery
	}
	return nil
}
