package node

import (
	"errors"
	"sync/atomic"
	"syscall"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config/tree"
	"ulnet/lnet"
)

// limits are settings that a kernel has, too, and that Set changes.
type limits struct {
	numaRange     atomic.Int64 // value of numa_range, which is kept and shown but has no effect
	maxInterfaces atomic.Int64 // largest number of a peer's NIs
}

// ResetStats makes Status count from zero again for the node as a whole. The counters of NIs and peers keep
// their values, as in LNet.
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

// setLimits changes numa_range, max_interfaces or response_tracking.
func (n *Node) setLimits(s Setting) error {
	if err := checkBounds(s); err != nil {
		return err
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

// startLimits puts the limits of the configuration in force.
func (n *Node) startLimits() error {
	return errors.Join(
		n.setLimits(Setting{Name: "numa_range", Value: n.cfg.NUMARange}),
		n.setLimits(Setting{Name: "max_interfaces", Value: n.cfg.MaxInterfaces}),
	)
}

// checkBounds refuses a value that is out of the bounds of its setting.
func checkBounds(s Setting) error {
	for _, one := range tree.NodeSettings() {
		if one.Name == s.Name && (int64(s.Value) < one.Least || int64(s.Value) > one.Most) {
			return cli.Errnof(syscall.EINVAL, "%s is %d to %d, not %d", s.Name, one.Least, one.Most, s.Value)
		}
	}
	return nil
}
