package doctor

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/drivers"
	"ulnet/cmd/internal/node"
	"ulnet/lnet"
	"ulnet/lnet/nid"
)

// daemon asks for the state of the node, which other checks use.
func (e *exam) daemon() {
	s, err := e.node.Status(e.ctx)
	if err == nil && !s.Unconfigured {
		e.up, e.status = true, s
		e.asked, _ = e.host.Clock() // an error needs no report here: the check "clock" reads the clocks again and reports it
		if e.peers, err = e.node.Peers(e.ctx); err != nil {
			e.unknown("", "try again", "peers: %v", err)
		}
		e.ok("", "lnetd runs with %d interfaces and %d peers", len(e.nis()), len(e.peers))
		return
	}
	e.mute = err == nil || errors.Is(err, errMute) || control.Denied(err)
	if e.absent(err) {
		e.hostAddresses()
	}
}

// absent adds a finding that says why there is no state of a node. If err is nil, the daemon runs and
// LNet is not configured. It returns false if the error only means that the time limit is over.
func (e *exam) absent(err error) bool {
	switch {
	case err == nil:
		e.warn("", "bring it up with 'lnetctl lnet configure'", "lnetd runs, and LNet is not configured")
	case errors.Is(err, errMute):
		e.fail("", "keep 'lnetctl bugreport' and the log ('journalctl -u lnetd'), then 'systemctl restart lnetd'", "%v", err)
	case control.Denied(err):
		e.unknown("", "run it as root, or as the user or in the group of lnetd", "this user may not ask the daemon")
	case e.late(""):
		return false
	default:
		next := cli.HintOf(err)
		if next == "" {
			next = "start it with 'systemctl start lnetd', or name its socket with --socket"
		}
		e.fail("", next, "%v", err)
	}
	return true
}

// hostAddresses adds an NI for each address of the host, for the checks that need no node.
func (e *exam) hostAddresses() {
	all, err := e.host.Addresses()
	if err != nil {
		e.unknown("", "see 'ip addr'", "the addresses of the host: %v", err)
		return
	}
	for _, a := range all[:min(len(all), maxAddresses)] {
		status := "down"
		if a.Up {
			status = "up"
		}
		listen := netip.AddrPortFrom(a.Addr, e.opts.AcceptPort).String()
		e.status.NIs = append(e.status.NIs, node.NIStatus{
			NISnapshot: lnet.NISnapshot{NID: nid.FromAddr(nid.MakeNet(nid.TCP, 0), a.Addr), Status: status, Cause: "no carrier, or taken down", Interface: a.Interface},
			LND:        drivers.Status{Listen: listen},
		})
	}
}

// nis returns the NIs except 0@lo. Without a node these are the ones that hostAddresses has added.
func (e *exam) nis() (list []*node.NIStatus) {
	for i := range e.status.NIs {
		if ni := &e.status.NIs[i]; !ni.NID.IsLo() {
			list = append(list, ni)
		}
	}
	return list
}

func isTCP(n nid.NID) bool { return n.Net().Type() == nid.TCP }

// inSoftware reports whether an NI is on RDMA in software.
func inSoftware(ni *node.NIStatus) bool { return ni.LND.Verbs != nil && ni.LND.Provider == "softroce" }

func (e *exam) links() {
	for _, ni := range e.nis() {
		if ni.Status == "up" && !ni.Fatal {
			e.ok(ni.NID, "up, on %s", ni.Interface)
			continue
		}
		e.fail(ni.NID, fmt.Sprintf("see 'ip link show %s' and the cable, or take the network out with 'lnetctl net del'", ni.Interface), "%s: %s", ni.Status, ni.Cause)
	}
}

// rocePort is the UDP port of RoCEv2.
const rocePort = 4791

// ports looks whether lnetd listens, or could if it ran.
func (e *exam) ports() {
	if !e.up {
		if !e.mute {
			e.freePort("tcp", netip.AddrPortFrom(netip.IPv4Unspecified(), e.opts.AcceptPort))
			return
		}
		e.unknown("", "see the check daemon", "the port is that of the daemon that runs")
		return
	}
	for _, ni := range e.nis() {
		switch {
		case inSoftware(ni):
			e.heldPort(ni, "udp", netip.AddrPortFrom(ni.NID.Addr(), rocePort))
		case !isTCP(ni.NID):
		case ni.LND.Listen == "":
			e.warn(ni.NID, "set 'accept: secure' if peers are to dial this node", "listens nowhere: accept is none")
		default:
			at, err := netip.ParseAddrPort(ni.LND.Listen)
			if err != nil {
				e.unknown(ni.NID, "see 'ss -lnp'", "listens at %q", ni.LND.Listen)
				continue
			}
			if at.Addr().IsUnspecified() {
				at = netip.AddrPortFrom(ni.NID.Addr(), at.Port())
			}
			e.heldPort(ni, "tcp", at)
		}
	}
}

// freePort looks whether a port is free, so that lnetd could listen on it.
func (e *exam) freePort(network string, at netip.AddrPort) {
	holder, err := e.host.Listener(network, at)
	switch {
	case err != nil:
		e.unknown("", "see 'ss -lnp'", "%s port %d: %v", network, at.Port(), err)
	case strings.HasPrefix(holder, "lnetd"):
		e.fail("", "name its control socket with --socket, or run lnetctl as a user that may open it", "%s port %d: %s has it, and does not answer at this socket", network, at.Port(), holder)
	case holder != "":
		e.fail("", fmt.Sprintf("end it, or give lnetd another accept_port; 'ss -lnp sport = %d' shows it", at.Port()), "%s port %d: %s has it, and lnetd does not answer", network, at.Port(), holder)
	default:
		e.ok("", "%s port %d is free", network, at.Port())
	}
}

// heldPort looks whether lnetd has a port that it should have.
func (e *exam) heldPort(ni *node.NIStatus, network string, at netip.AddrPort) {
	holder, err := e.host.Listener(network, at)
	switch {
	case err != nil:
		e.unknown(ni.NID, "see 'ss -lnp'", "%s %v: %v", network, at, err)
	case holder == "":
		e.fail(ni.NID, "run lnetctl in the network namespace of lnetd; otherwise restart lnetd, and see its log", "nothing has %s %v here, and lnetd says that it does", network, at)
	case strings.HasPrefix(holder, "lnetd") || strings.HasPrefix(holder, "another process"):
		e.ok(ni.NID, "%s %v is taken by %s", network, at, holder)
	default:
		e.warn(ni.NID, fmt.Sprintf("see 'ss -lnp sport = %d'", at.Port()), "%s %v is taken by %s", network, at, holder)
	}
}

// reserved looks whether lnetd and its peers dial from ports up to 1023, and whether only root may use
// these ports on this host, which peers with accept: secure rely on.
func (e *exam) reserved() {
	for _, ni := range e.nis() {
		before := len(e.found)
		e.reservedOf(ni)
		if len(e.found) == before && ni.LND.Accept != "" {
			e.ok(ni.NID, "accept: %s", ni.LND.Accept)
		}
	}
	start, err := e.host.Sysctl("net.ipv4.ip_unprivileged_port_start")
	var first int
	if !e.up {
		e.unknown("", "see the check daemon", "whether lnetd may use them is not known without a node")
	}
	if _, scanned := fmt.Sscan(start, &first); err == nil && scanned == nil && first < 1024 {
		e.warn("", "sysctl net.ipv4.ip_unprivileged_port_start=1024", "every user of this host may use ports from %d on, so peers with accept: secure believe every user here", first)
	}
}

func (e *exam) reservedOf(ni *node.NIStatus) {
	r := ni.LND.Reasons
	if n := r["no_reserved_port"]; n > 0 {
		e.fail(ni.NID, "give lnetd CAP_NET_BIND_SERVICE (its systemd unit does), or run it as root", "%d connections were not dialled, because lnetd may not use ports up to 1023", n)
	}
	if n := r["no_free_port"]; n > 0 {
		e.fail(ni.NID, "end other programs that dial from such ports, or lower conns_per_peer", "%d connections were not dialled, because all ports from 512 to 1023 are in use", n)
	}
	if n := r["unprivileged_port"]; n > 0 {
		e.warn(ni.NID, "the peers lack CAP_NET_BIND_SERVICE, or NAT changes their ports; 'accept: all' takes them all the same",
			"%d connections from ports above 1023 were refused: accept is %s", n, ni.LND.Accept)
	}
}
