// Package drivers registers LNDs for the daemon: each LND is a type with its configuration, a
// field of [Set] and an element of [Set.All]. All code that reads and shows configurations,
// starts nodes, shows NIs and explains failures uses [Driver].
package drivers

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/socklnd"
	"ulnet/lnet/nid"
	"ulnet/portals/node"
)

// Set is the configuration of all drivers.
type Set struct {
	TCP  TCP  // configuration of socklnd
	O2IB O2IB // configuration of o2iblnd
}

// All returns the drivers. The first one is also used for networks of a type that no driver has.
func (s *Set) All() []Driver { return []Driver{&s.TCP, &s.O2IB} }

// Of returns the driver for a type of networks.
func (s *Set) Of(t nid.NetType) Driver {
	all := s.All()
	for _, d := range all {
		if d.Type() == t {
			return d
		}
	}
	return all[0]
}

// Default returns the configuration of a node without a configuration file.
func Default() Set {
	s := Set{O2IB: O2IB{Provider: Softroce, MapOnDemand: 1, FMRPoolSize: 512, FMRFlushTrigger: 384, FMRCache: true}}
	for _, d := range s.All() {
		lnd.SetDefaults(d.Tunables())
	}
	return s
}

// A Driver is an LND with its configuration. Its type can embed [Plain] for default methods.
type Driver interface {
	// Type returns the type of the driver's networks, and Name the name of the driver.
	Type() nid.NetType
	Name() string
	// Section returns the key of the section in the configuration file that has the driver's
	// tunables; "": they are at the top level.
	Section() string
	Tunables() []lnd.Tunable
	// Shown returns the names of the tunables that LNet's tools show for an NI, in the order in which
	// the tools show them, separated by blanks. If the tools show another name, our name is followed
	// by = and that other name. A tunable that is not in Tunables has a meaning only in kernels.
	Shown() string
	// NI returns the tunables for the driver's NIs. The argument has the tunables that the file
	// sets for all drivers.
	NI(all lnd.Tunables) lnd.Tunables
	// Add adds the driver to the configuration of a node: to the field for this driver or, if there
	// is none, to the field Drivers. NIs get their listening sockets from sockets; nil: new ones. The
	// result is a function that returns the status of an NI, or nil for an NI of another driver.
	Add(to *node.Config, s Settings, sockets Sockets) (status func(lnd.NI) *Status)
	// Listens returns the address on which a node listens once it is ready; "": none is shown.
	Listens(s Settings) string
	// Believes returns the setting because of which unprivileged users of a host can use the NID of
	// that host; "": only root can.
	Believes(s Settings) string
	// HintStart returns what a user can do when an NI could not be started.
	HintStart(s Settings, err error) string
	// HintUnreached returns what a user can do when a node did not answer.
	HintUnreached(s Settings, target nid.NID, err error) string
}

// Sockets makes the sockets at which NIs are reached. An implementation can return a socket that an
// earlier process has opened, instead of a new one.
type Sockets interface {
	// Listen returns a listener for TCP connections, with the options in how.
	Listen(how net.ListenConfig, local netip.AddrPort) (net.Listener, error)
	// ListenPacket returns a UDP socket, with the options in how: a *net.UDPConn, or what embeds one.
	ListenPacket(how net.ListenConfig, local netip.AddrPort) (net.PacketConn, error)
}

// DialOnly is implemented by drivers that can work without a listener.
type DialOnly interface {
	DialOnly(s Settings) (lnd.Driver, error)
}

// Settings are the settings at the top level of the file that several drivers use.
type Settings struct {
	Accept        string        // accept: secure, all, none or trust; empty: chosen by the port
	AcceptPort    int           // accept_port: TCP port of the acceptor
	AcceptBacklog int           // accept_backlog: connections that wait for the acceptor
	AcceptTimeout time.Duration // accept_timeout: longest handshake, in seconds
	SourceAddress string        // source_address: local addresses of peers, check or off

	Multicast         bool   // multicast: NIs may send and receive multicast
	MulticastPort     int    // multicast_port: UDP port; 0: derived from accept_port
	MulticastBase     string // multicast_base: first IPv4 address of groups
	MulticastBase6    string // multicast_base6: first IPv6 address of groups
	MulticastTTL      int    // multicast_ttl: routers that a datagram may pass
	MulticastRxBuffer int    // multicast_rx_buffer_size: receive buffer, in bytes
}

// AcceptMode returns the accept mode in force: s.Accept, or the default for the port.
func (s Settings) AcceptMode() string {
	switch {
	case s.Accept != "":
		return s.Accept
	case s.AcceptPort > 1023:
		return string(socklnd.AcceptTrust)
	}
	return string(socklnd.AcceptSecure)
}

// groupAddr parses the base address of multicast groups, which has been checked before. If there
// is none, it returns the zero Addr, which stands for the driver's default.
func groupAddr(s string) netip.Addr {
	a, _ := netip.ParseAddr(s)
	return a
}

// Plain has default methods for a [Driver] without special answers.
type Plain struct{}

// NI returns the tunables that all drivers share, unchanged.
func (Plain) NI(all lnd.Tunables) lnd.Tunables { return all }

// Shown returns no names of tunables.
func (Plain) Shown() string { return "" }

// Listens returns no address.
func (Plain) Listens(Settings) string { return "" }

// Believes returns "": no setting lets unprivileged users of a host use the NID of that host.
func (Plain) Believes(Settings) string { return "" }

// HintStart returns hints about addresses, and about errors of the node.
func (Plain) HintStart(_ Settings, err error) string {
	switch {
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "--networks names an address that is not on this machine: see 'ip address'"
	case errors.Is(err, syscall.EEXIST):
		return "the node has this interface already, as 'lnetctl net show' lists: 'lnetctl net del' removes it"
	case errors.Is(err, syscall.ESHUTDOWN):
		return "the node is going down: start another one"
	case errors.Is(err, syscall.EMFILE):
		return "the process may have no more open files: raise its limit (ulimit -n, LimitNOFILE of the service)"
	case errors.Is(err, syscall.ENFILE):
		return "the machine has too many open files: raise fs.file-max ('sysctl fs.file-max')"
	}
	return "'ip address' lists the interfaces and addresses of this machine"
}

// HintUnreached implements [Driver]. The hint says how to check the IP route to the node.
func (Plain) HintUnreached(_ Settings, target nid.NID, _ error) string {
	if !target.Addr().IsValid() { // on this network a NID has a number in the place of an IP address
		return fmt.Sprintf("does LNet run there, and is %v one of its NIDs?", target)
	}
	return "is its address right, and is there a way to it? see 'ip route get " + target.Addr().String() + "'"
}
