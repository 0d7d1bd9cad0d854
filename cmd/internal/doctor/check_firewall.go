package doctor

import (
	"errors"
	"fmt"
	"net/netip"

	"ulnet/cmd/internal/node"
)

// firewall asks what the rules of nftables would do to a new connection from anywhere.
func (e *exam) firewall() {
	text, err := e.host.Ruleset(e.ctx)
	switch {
	case errors.Is(err, ErrNotPermitted):
		e.unknown("", "run it as root", "reading the rules of nftables is not permitted")
		return
	case err != nil && e.late(""):
		return
	case err != nil:
		e.unknown("", "install nft (nftables), or see 'iptables -S' if that is in use", "the rules of nftables cannot be read: %v", err)
		return
	}
	rules, err := parseRuleset(text)
	if err != nil {
		e.unknown("", "see 'nft list ruleset'", "the rules of nftables are not understood: %v", err)
		return
	}
	for _, ni := range e.nis() {
		if p, listens := packetTo(ni); listens {
			e.filtered(ni, rules, p)
		}
	}
}

// packetTo returns the first packet of a connection to an NI.
func packetTo(ni *node.NIStatus) (p packet, listens bool) {
	p = packet{protocol: "udp", port: rocePort, to: ni.NID.Addr(), iface: ni.Interface}
	if inSoftware(ni) {
		return p, true
	}
	at, err := netip.ParseAddrPort(ni.LND.Listen)
	if err != nil || !isTCP(ni.NID) {
		return p, false
	}
	p.protocol, p.port = "tcp", at.Port()
	return p, true
}

// filtered adds a finding about what the rules do to a packet.
func (e *exam) filtered(ni *node.NIStatus, rules *ruleset, p packet) {
	what := fmt.Sprintf("%s port %d", p.protocol, p.port)
	accept := fmt.Sprintf("accept it: nft add rule inet TABLE input %s dport %d accept", p.protocol, p.port)
	switch r := rules.input(p); r.decision {
	case dropped:
		e.fail(ni.NID, accept, "new connections to %s are dropped by %s", what, r.by)
	case depends:
		e.warn(ni.NID, "see 'nft list ruleset': the rule must let in all nodes of the network", "whether connections to %s are let in depends on their source or state: %s", what, r.by)
	default:
		e.ok(ni.NID, "connections to %s are let in%s", what, r.by)
	}
}
