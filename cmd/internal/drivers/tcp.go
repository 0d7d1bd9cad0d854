package drivers

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"ulnet/lnd"
	"ulnet/lnd/socklnd"
	"ulnet/lnet/nid"
	"ulnet/portals/node"
)

// TCP is the driver socklnd, whose tunables are at the top level of the configuration file.
type TCP struct {
	Plain
	socklnd.Config // the tunables that its method Tunables lists
}

// Type implements [Driver], as do the methods below.
func (*TCP) Type() nid.NetType { return nid.TCP }

// Name implements [Driver].
func (*TCP) Name() string { return "socklnd" }

// Section implements [Driver].
func (*TCP) Section() string { return "" }

// tcpTunables are the tunables of socklnd that LNet's tools show, in the order in which the tools
// show them. The tools show our tunable sock_timeout under the name timeout.
const tcpTunables = "conns_per_peer sock_timeout=timeout tos"

// Shown implements [Driver].
func (*TCP) Shown() string { return tcpTunables }

// config returns the driver's configuration: its own tunables, and the settings that several
// drivers share.
func (t *TCP) config(s Settings) socklnd.Config {
	c := t.Config
	c.Accept, c.AcceptPort = socklnd.AcceptMode(s.AcceptMode()), uint16(s.AcceptPort)
	c.AcceptBacklog, c.AcceptTimeout = s.AcceptBacklog, s.AcceptTimeout
	c.SourceAddress = socklnd.SourceAddress(s.SourceAddress)
	c.NoMulticast, c.MulticastPort = !s.Multicast, uint16(s.MulticastPort)
	c.MulticastBase, c.MulticastBase6 = groupAddr(s.MulticastBase), groupAddr(s.MulticastBase6)
	c.MulticastTTL, c.MulticastRxBuffer = s.MulticastTTL, s.MulticastRxBuffer
	return c
}

// Add implements [Driver].
func (t *TCP) Add(to *node.Config, s Settings, sockets Sockets) func(lnd.NI) *Status {
	to.TCP = t.config(s)
	if sockets != nil {
		to.TCP.Bind = sockets.Listen
	}
	return statusTCP
}

// DialOnly implements [DialOnly].
func (t *TCP) DialOnly(s Settings) (lnd.Driver, error) {
	c := t.config(s)
	c.Accept = socklnd.AcceptNone
	return socklnd.New(c)
}

// Listens implements [Driver].
func (*TCP) Listens(s Settings) string {
	return fmt.Sprintf("accept port %d (%s)", s.AcceptPort, s.AcceptMode())
}

// Believes implements [Driver].
func (*TCP) Believes(s Settings) string {
	switch mode := s.AcceptMode(); {
	case mode == "trust" || mode == "all":
		return "accept: " + mode
	case s.AcceptPort > 1023: // on a peer, an unprivileged user may listen on the port that this node dials
		return fmt.Sprintf("accept_port: %d", s.AcceptPort)
	}
	return ""
}

// HintStart returns what a user can do if the listener cannot be started.
func (t *TCP) HintStart(s Settings, err error) string {
	switch {
	case errors.Is(err, syscall.EACCES):
		return "or choose a port above 1023 with --accept-port, on all nodes"
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Sprintf("something listens on port %d there: if it is lnetd, use its node (lnetctl without --standalone, see --socket); or choose another address with --networks 'tcp(ADDRESS)', or another port with --accept-port", s.AcceptPort)
	}
	return t.Plain.HintStart(s, err)
}

// HintUnreached returns what a user can do if a node cannot be reached. The hints are about
// ports and connections.
func (t *TCP) HintUnreached(s Settings, target nid.NID, err error) string {
	switch {
	case is(err, syscall.ECONNREFUSED): // checked first, because such an error also has an errno of LNet, by which a case below could match
		return fmt.Sprintf("does LNet run there, and does it listen on port %d (accept_port)?", s.AcceptPort)
	case is(err, syscall.EACCES, syscall.EPERM):
		return "to dial from a port below 1024, which nodes ask for, takes root or CAP_NET_BIND_SERVICE"
	case is(err, syscall.EADDRINUSE):
		return "all ports below 1024 are in use: see 'ss -tn'"
	case is(err, syscall.ECONNRESET, syscall.EPIPE):
		return fmt.Sprintf("it closed the connection: is %v one of its NIDs, and does it accept connections from here (accept, source_address)?", target)
	case is(err, syscall.ETIMEDOUT, os.ErrDeadlineExceeded):
		return fmt.Sprintf("does it run, and does a firewall let TCP port %d through in both directions?", s.AcceptPort)
	case is(err, syscall.EPROTO):
		return fmt.Sprintf("it answers, but not as a node does: what listens on its port %d?", s.AcceptPort)
	}
	return t.Plain.HintUnreached(s, target, err)
}

// is reports whether err is one of the target errors.
func is(err error, targets ...error) bool {
	for _, t := range targets {
		if errors.Is(err, t) {
			return true
		}
	}
	return false
}

func statusTCP(ni lnd.NI) *Status {
	lower, ok := ni.(*socklnd.NI)
	if !ok {
		return nil
	}
	s := lower.Snapshot()
	status := &Status{
		Accept: string(s.Accept), SourceAddress: string(s.SourceAddress), Handshakes: s.Handshakes,
		Tunables: document(tcpTunables, s.Tunables),
		Reasons:  reasons(socklnd.Reasons(), s.Counters.Of),
	}
	if m := &s.Multicast; m.Interface != "" {
		status.Multicast = &Multicast{m.Port, m.Limits, m.TxMessages, m.TxBytes, m.RxMessages, m.RxBytes, m.Missed}
	}
	if s.Listen.IsValid() {
		status.Listen = s.Listen.String()
	}
	for _, p := range s.Peers {
		status.Connections += len(p.Conns)
	}
	return status
}
