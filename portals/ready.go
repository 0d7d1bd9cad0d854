package portals

import (
	"errors"
	"slices"
	"syscall"

	"ulnet/lnet"
)

// Errors that [Table.Ready] returns.
var (
	ErrNoLoopback = errors.New("portals: the node has no 0@lo, through which it sends to its own NIDs: " +
		"add an NI of package lnd/lo before all others, or start the node with portals/node")
	ErrNoDiscovery = errors.New("portals: the node does not answer pings, and a peer that discovers it before its first message then sends it nothing: " +
		"call discovery.New after 0@lo was added and before other NIs and agents, or start the node with portals/node")
)

// discoveryPortal is the portal of pings and pushes (LNET_RESERVED_PORTAL).
const discoveryPortal = 0

// Ready returns an error if the node lacks a part without which a protocol starts but then
// fails silently. [ErrNoLoopback]: the node does not reach its own NIDs. [ErrNoDiscovery]: the
// node does not answer the pings that peers send before their first message to it. Protocols
// call Ready when they start. A node whose discovery is turned off
// (lnet_peer_discovery_disabled) answers pings and is ready.
//
//	ESHUTDOWN  the table was closed
func (t *Table) Ready() error {
	if t.queues.isClosed() {
		return opError("Ready", syscall.ESHUTDOWN)
	}
	if !slices.ContainsFunc(t.node.NIs(), func(ni *lnet.NI) bool { return ni.NID().IsLo() }) {
		return ErrNoLoopback
	}
	p := t.portal(discoveryPortal)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kind == unset { // no agent of discovery has attached an entry here
		return ErrNoDiscovery
	}
	return nil
}
