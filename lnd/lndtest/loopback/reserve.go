package loopback

import (
	"net"
	"runtime"
	"sync"
)

// reservations are sockets of this process that stay open until it ends. Their abstract names exist in
// this network namespace only, like the ports for which they stand, and leave no files behind.
var reservations struct {
	mu      sync.Mutex
	sockets []*net.UnixConn // guarded by mu
}

// reserve returns an error if a call in this process or another one has reserved the name already.
func reserve(name string) error {
	if runtime.GOOS != "linux" {
		return nil // only Linux has abstract names, so nothing is reserved on other systems
	}
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: "@ulnet loopback " + name, Net: "unixgram"})
	if err != nil {
		return err
	}
	reservations.mu.Lock()
	defer reservations.mu.Unlock()
	reservations.sockets = append(reservations.sockets, c)
	return nil
}
