package doctor

import (
	"context"
	"errors"
	"net/netip"
	"time"
)

// Errors of a Host.
var (
	ErrNotPermitted = errors.New("not permitted")      // the operation needs a capability that this process lacks
	ErrNoAnswer     = errors.New("no answer")          // no answer came in time
	ErrTooLong      = errors.New("packet is too long") // the system knows that the path does not carry a packet of this size
	ErrNotThere     = errors.New("not on this system") // the system lacks what was asked for, or the program that reads it
)

// Host is the system that lnetd runs on. All methods return soon after their context ends.
type Host interface {
	// Listener returns which process listens on a port of "tcp" or has one of "udp": its name and number
	// in parentheses, "another process" if that cannot be seen, or "" if nothing has the port. A listener
	// on all addresses counts as one on each address.
	Listener(network string, at netip.AddrPort) (string, error)
	// Interface returns the state of a network interface.
	Interface(name string) (Interface, error)
	// Addresses returns the addresses of the host, except loopback and link-local ones, in the order
	// of the interfaces.
	Addresses() ([]Address, error)
	// Route returns how packets to an address leave, if the system chooses their source.
	Route(to netip.Addr) (Route, error)
	// Echo sends an ICMP echo request of size bytes, the IP header included, that may not be
	// fragmented, and waits for the answer. Errors are ErrNoAnswer, ErrTooLong, ErrNotPermitted and
	// others.
	Echo(ctx context.Context, from, to netip.Addr, size int, wait time.Duration) error
	// Claimant returns the hardware address of another host that answers ARP requests for an IPv4
	// address of an interface, or says that there is none. For an IPv6 address it returns
	// "another host" if the system has found one (DAD).
	Claimant(ctx context.Context, name string, of netip.Addr, wait time.Duration) (string, error)
	// Clock returns the clocks of the system.
	Clock() (Clock, error)
	// Ruleset returns the rules of nftables as the JSON of nft.
	Ruleset(ctx context.Context) ([]byte, error)
	// Sysctl returns a setting of the kernel, such as net.ipv4.ip_unprivileged_port_start.
	Sysctl(name string) (string, error)
}

// Interface is the state of a network interface.
type Interface struct {
	MTU  int             // length of the longest IP packet, in bytes
	GRO  map[string]bool // features of joining and dividing packets: "gro" and "gso", as far as they are known
	Name string          // name of the interface
}

// Address is an address of the host.
type Address struct {
	Interface string     // name of the interface that has it
	Addr      netip.Addr // the address
	Up        bool       // the interface is up and has a carrier
}

// Route is how packets leave.
type Route struct {
	Source netip.Addr // source address that the system chooses
	MTU    int        // bytes of an IP packet that the path carries, as far as the system knows
}

// Clock is the state of the clocks at one instant.
type Clock struct {
	Wall         time.Time     // time of day
	Monotonic    time.Duration // since the system was started, without the time of suspensions
	Boot         time.Duration // since the system was started
	Synchronized bool          // something keeps the time of day right, such as NTP
	MaxError     time.Duration // bound of the error of the time of day, as the system estimates it
}

// ahead returns how much the time of day has gained since an earlier instant, beyond the time that
// has passed.
func (c Clock) ahead(before Clock) time.Duration {
	return c.Wall.Sub(before.Wall) - (c.Boot - before.Boot)
}
