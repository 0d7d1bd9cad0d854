package service

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	// firstDescriptor is the number of the first descriptor that a manager hands over.
	firstDescriptor = 3
	// mostDescriptors bounds how many descriptors are looked at. A node has one for each address.
	mostDescriptors = 1024
)

// Inherited are the listening sockets, of TCP and Unix, and the sockets of UDP that the service
// manager has handed to this process, by the protocol of sd_listen_fds(3): those of socket units, and
// those that an earlier process has given to the manager's store.
type Inherited struct {
	at      map[endpoint]*inherited
	refused []error  // errors of descriptors that cannot be used, and of their number
	names   []string // names of the descriptors in refused
}

// unusable returns the names under which the manager's store has sockets that cannot be used. It omits
// a name that a usable socket has as well: with such a name the manager would forget the usable one, too.
func (in *Inherited) unusable() (names []string) {
	used := map[string]bool{}
	for _, from := range in.at {
		used[from.name] = true
	}
	for _, name := range in.names {
		network, _, _ := strings.Cut(name, "-")
		if slices.Contains([]string{"tcp", "udp", "unix"}, network) && !used[name] {
			names = append(names, name)
		}
	}
	return names
}

// inherited is a socket that the manager has, too.
type inherited struct {
	file *os.File
	name string // name under which the manager has handed the socket over
	used bool   // a listener or a UDP socket was made from it
}

// stored reports whether the socket, which is at an endpoint, is in the manager's store, where an earlier
// process has put it. If not, the socket is one of a socket unit.
func (i *inherited) stored(at endpoint) bool {
	return i.name == at.name() || at.network == "unix" && strings.HasPrefix(i.name, "unix-")
}

// Inherit takes the sockets whose number is in the environment (LISTEN_FDS), and removes the variables,
// so that programs that this process starts do not take the sockets for their own. It keeps listening
// TCP sockets, listening Unix sockets with a path, and UDP sockets without a peer, one of each address,
// and closes all other sockets. Call it before this process opens sockets: if the number is too large,
// Inherit would take these, too.
func Inherit(getenv func(string) string) *Inherited {
	in := inherit(getenv, firstDescriptor)
	for _, name := range []string{"LISTEN_PID", "LISTEN_PIDFDID", "LISTEN_FDS", "LISTEN_FDNAMES"} {
		_ = os.Unsetenv(name) // cannot fail for these names
	}
	return in
}

// inherit takes the LISTEN_FDS sockets. Their descriptors are the numbers from first on.
func inherit(getenv func(string) string, first int) *Inherited {
	in := &Inherited{at: make(map[endpoint]*inherited)}
	if pid := getenv("LISTEN_PID"); pid != strconv.Itoa(os.Getpid()) {
		return in // no descriptors, or they are meant for another process
	}
	count, err := strconv.Atoi(getenv("LISTEN_FDS"))
	if err != nil || count < 0 || count > mostDescriptors {
		in.refused = append(in.refused, fmt.Errorf("LISTEN_FDS=%q: want a number from 0 to %d", getenv("LISTEN_FDS"), mostDescriptors))
		return in
	}
	names := strings.Split(getenv("LISTEN_FDNAMES"), ":")
	for i := range count {
		name := ""
		if i < len(names) {
			name = names[i]
		}
		if err := in.take(first+i, name); err != nil {
			in.names = append(in.names, name)
			in.refused = append(in.refused, fmt.Errorf("descriptor %d %q: %w", first+i, name, err))
		}
	}
	return in
}

// take takes a descriptor. It leaves alone what is not a socket, because that can be a file that
// this process has opened.
func (in *Inherited) take(fd int, name string) error {
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return os.NewSyscallError("fstat", err)
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return errors.New("not a socket")
	}
	unix.CloseOnExec(fd)
	file := os.NewFile(uintptr(fd), "socket of the service manager")
	at, err := endpointOf(fd, file)
	if err == nil && in.at[at] != nil {
		err = fmt.Errorf("a second socket of %s", at.address)
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	in.at[at] = &inherited{file: file, name: name}
	return nil
}
