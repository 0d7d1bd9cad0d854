package node

import (
	"math"
	"sync/atomic"
	"syscall"

	"ulnet/cmd/internal/cli"
	"ulnet/lnet"
)

// limits are settings that a kernel has, too, and that Set changes.
type limits struct {
	numaRange     atomic.Int64 // kept and shown, but without effect
	maxInterfaces atomic.Int64 // largest number of a peer's NIs; 0: defaultMaxInterfaces
}

// ResetStats makes the counters of the node begin at zero, as Status has them. Those of NIs and
// peers go on, as in LNet.
func (n *Node) ResetStats() error {
	now := n.lnet.Stats()
	n.counted.Store(&now)
	return nil
}

// statsNow returns the counters since ResetStats.
func (n *Node) statsNow(s lnet.Stats) lnet.Stats {
	if from := n.counted.Load(); from != nil {
		return s.Since(*from)
	}
	return s
}

// The settings of LNet.
const (
	defaultMaxInterfaces = 200
	minMaxInterfaces     = 16
	maxMaxInterfaces     = 4096
)

// setLimits changes numa_range, max_interfaces or response_tracking.
func (n *Node) setLimits(s Setting) error {
	least, most := 0, math.MaxInt32
	switch s.Name {
	case "max_interfaces":
		least, most = minMaxInterfaces, maxMaxInterfaces
	case "response_tracking":
		most = 3
	}
	if s.Value < least || s.Value > most {
		return cli.Errnof(syscall.EINVAL, "%s is %d to %d, not %d", s.Name, least, most, s.Value)
	}
	n.changing.Lock()
	defer n.changing.Unlock()
	switch s.Name {
	case "numa_range":
		n.limits.numaRange.Store(int64(s.Value))
	case "max_interfaces":
		n.base.Discovery().SetMaxInterfaces(s.Value)
		n.limits.maxInterfaces.Store(int64(s.Value))
	case "response_tracking":
		n.lnet.SetResponseTracking(s.Value)
	}
	return nil
}

// maxInterfacesNow is how many NIs of a peer are known at most.
func (n *Node) maxInterfacesNow() int {
	if set := n.limits.maxInterfaces.Load(); set > 0 {
		return int(set)
	}
	return defaultMaxInterfaces
}
