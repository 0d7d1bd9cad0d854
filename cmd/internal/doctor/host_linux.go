package doctor

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// System is the host on which this process runs. All of it is seen in the network namespace of
// the calling thread.
type System struct{}

// Sysctl reads below /proc/sys.
func (System) Sysctl(name string) (string, error) {
	if strings.Contains(name, "/") || strings.Contains(name, "..") {
		return "", fs.ErrInvalid
	}
	// In net.ipv4.conf.eth0.5.rp_filter, the part from conf to the last dot is the name of an interface.
	parts := strings.SplitN(name, ".", 4)
	if len(parts) == 4 {
		if i := strings.LastIndex(parts[3], "."); i >= 0 {
			parts = append(parts[:3], parts[3][:i], parts[3][i+1:])
		}
	}
	b, err := os.ReadFile(filepath.Join(append([]string{"/proc/sys"}, parts...)...))
	return strings.TrimSpace(string(b)), err
}

// Ruleset runs nft.
func (System) Ruleset(ctx context.Context) ([]byte, error) {
	path, err := exec.LookPath("nft")
	if err != nil { // Debian installs it in a folder that is in the PATH of root alone
		if path, err = exec.LookPath("/usr/sbin/nft"); err != nil {
			return nil, fmt.Errorf("nft: %w", ErrNotThere)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "-j", "list", "ruleset")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil && strings.Contains(stderr.String(), "not permitted") {
		return nil, ErrNotPermitted
	}
	if err != nil {
		return nil, fmt.Errorf("nft: %w: %s", err, firstLine(stderr.String()))
	}
	return out, nil
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s
}

// Interface asks for the MTU, and with the ioctls of ethtool for features.
func (System) Interface(name string) (Interface, error) {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return Interface{}, err
	}
	out := Interface{Name: name, MTU: i.MTU, GRO: map[string]bool{}}
	for feature, command := range ethtoolCommands {
		if on, err := ethtool(name, command); err == nil {
			out.GRO[feature] = on
		}
	}
	return out, nil
}

// Addresses asks for all interfaces.
func (System) Addresses() (list []Address, err error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	for _, i := range all {
		addrs, err := i.Addrs()
		if err != nil {
			continue // the interface is gone
		}
		for _, x := range addrs {
			p, err := netip.ParsePrefix(x.String())
			if a := p.Addr(); err == nil && a.IsGlobalUnicast() {
				list = append(list, Address{i.Name, a, i.Flags&net.FlagRunning != 0})
			}
		}
	}
	return list, nil
}

// Route connects a UDP socket, which sends nothing.
func (System) Route(to netip.Addr) (r Route, err error) {
	fd, err := unix.Socket(family(to), unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return r, err
	}
	defer unix.Close(fd)
	level, discover, mtu := unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_MTU
	if !to.Is4() {
		level, discover, mtu = unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_MTU
	}
	if err := unix.SetsockoptInt(fd, level, discover, unix.IP_PMTUDISC_DO); err != nil {
		return r, err
	}
	if err := unix.Connect(fd, sockaddr(netip.AddrPortFrom(to, 9))); err != nil {
		return r, err
	}
	if r.MTU, err = unix.GetsockoptInt(fd, level, mtu); err != nil {
		return r, err
	}
	own, err := unix.Getsockname(fd)
	if err != nil {
		return r, err
	}
	r.Source = addrOf(own)
	return r, nil
}

func family(a netip.Addr) int {
	if a.Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

func sockaddr(a netip.AddrPort) unix.Sockaddr {
	if a.Addr().Is4() {
		return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
	}
	return &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
}

func addrOf(s unix.Sockaddr) netip.Addr {
	switch s := s.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrFrom4(s.Addr)
	case *unix.SockaddrInet6:
		return netip.AddrFrom16(s.Addr)
	}
	return netip.Addr{}
}

// Clock reads the clocks of the kernel, and whether the time of day is synchronized.
func (System) Clock() (c Clock, err error) {
	var wall, mono, boot, after unix.Timespec
	for range 10 { // repeated if this process was paused between the first reading and the last one, so that the readings are of different instants
		if err := cmp.Or(unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot), unix.ClockGettime(unix.CLOCK_REALTIME, &wall),
			unix.ClockGettime(unix.CLOCK_MONOTONIC, &mono), unix.ClockGettime(unix.CLOCK_BOOTTIME, &after)); err != nil {
			return c, err
		}
		if after.Nano()-boot.Nano() < int64(time.Millisecond) {
			break
		}
	}
	c.Wall = time.Unix(wall.Unix())
	c.Monotonic, c.Boot = time.Duration(mono.Nano()), time.Duration(after.Nano())
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	if err != nil {
		return c, fmt.Errorf("adjtimex: %w", err)
	}
	c.Synchronized = state != unix.TIME_ERROR && t.Status&unix.STA_UNSYNC == 0
	c.MaxError = time.Duration(t.Maxerror) * time.Microsecond
	return c, nil
}

// Listener reads the tables of sockets, and looks for their inode among the descriptors of processes.
func (System) Listener(network string, at netip.AddrPort) (string, error) {
	const listening = "0A"
	found := ""
	for _, table := range []string{network, network + "6"} {
		b, err := os.ReadFile("/proc/thread-self/net/" + table)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		for _, line := range strings.Split(string(b), "\n")[1:] {
			f := strings.Fields(line)
			if len(f) < 10 || network == "tcp" && f[3] != listening {
				continue
			}
			if local, err := parseSocket(f[1]); err == nil && local.Port() == at.Port() && overlaps(local.Addr(), at.Addr()) {
				found = f[9]
			}
		}
	}
	if found == "" {
		return "", nil
	}
	return holderOf(found), nil
}

// overlaps reports whether a socket bound to one address would conflict with one at another address.
func overlaps(bound, wanted netip.Addr) bool {
	bound = bound.Unmap()
	return bound == wanted || bound.IsUnspecified() || wanted.IsUnspecified()
}

// holderOf returns the name and number of the process with a socket.
func holderOf(inode string) string {
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	var holders []string
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && to == "socket:["+inode+"]" {
			pid := strings.Split(link, "/")[2]
			name, _ := os.ReadFile("/proc/" + pid + "/comm")
			holders = append(holders, fmt.Sprintf("%s (%s)", strings.TrimSpace(string(name)), pid))
		}
	}
	return mainHolder(holders)
}

// mainHolder chooses, among the processes that have a socket, the one that uses it: not systemd, which
// keeps the sockets of services to pass them on after a restart, unless it is the only one.
func mainHolder(holders []string) string {
	for _, h := range holders {
		if !strings.HasPrefix(h, "systemd ") {
			return h
		}
	}
	if len(holders) > 0 {
		return holders[0]
	}
	return "another process, or one of another user"
}

// parseSocket parses an address in a table of sockets: words of the address in the byte order of the
// host, and the port.
func parseSocket(s string) (netip.AddrPort, error) {
	host, port, _ := strings.Cut(s, ":")
	p, err := strconv.ParseUint(port, 16, 16)
	if err != nil || len(host) != 8 && len(host) != 32 {
		return netip.AddrPort{}, fmt.Errorf("socket %q", s)
	}
	var b []byte
	for ; host != ""; host = host[8:] {
		word, err := strconv.ParseUint(host[:8], 16, 32)
		if err != nil {
			return netip.AddrPort{}, err
		}
		b = append(b, byte(word), byte(word>>8), byte(word>>16), byte(word>>24))
	}
	a, _ := netip.AddrFromSlice(b)
	return netip.AddrPortFrom(a, uint16(p)), nil
}

// permission turns the errors of missing capabilities into ErrNotPermitted.
func permission(err error) error {
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		return ErrNotPermitted
	}
	return err
}
