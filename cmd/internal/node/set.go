package node

import (
	"errors"
	"fmt"
	"log/slog"
	"syscall"

	"ulnet/lnet"
)

// Setting changes a tunable of a running node.
type Setting struct {
	// Name is discovery, routing, tiny_buffers, small_buffers, large_buffers, numa_range,
	// max_interfaces, response_tracking, one of RouteSettings, or one of HealthSettings.
	Name  string `json:"name"`
	Value int    `json:"value"` // 0 or 1 for discovery and routing, a number of buffers (0: the default), or else a number in the unit of the setting
}

// ErrSetting is the error for a tunable that cannot be set while the node runs.
var ErrSetting = errors.New("no such setting")

// Set changes a tunable.
//
//	EINVAL  the value is out of range
//	EBUSY   routing is turned on while messages are still leaving after it was turned off
func (n *Node) Set(s Setting) error {
	switch s.Name {
	case "discovery", "routing":
		if s.Value != 0 && s.Value != 1 {
			return fmt.Errorf("%s is 0 or 1, not %d: %w", s.Name, s.Value, syscall.EINVAL)
		}
	}
	switch s.Name {
	case "discovery":
		n.base.Discovery().SetDiscovery(s.Value == 1)
		return nil
	case "routing":
		return n.setRouting(s.Value == 1)
	case "tiny_buffers", "small_buffers", "large_buffers":
		return n.setBuffers(s)
	case "numa_range", "max_interfaces", "response_tracking":
		return n.setLimits(s)
	}
	if change := RouteSettings[s.Name]; change != nil {
		return n.setRoutes(s, change)
	}
	return n.setHealth(s)
}

// setRouting turns forwarding on or off.
func (n *Node) setRouting(on bool) error {
	if on {
		return n.lnet.StartRouting()
	}
	if refused := n.lnet.StopRouting(); refused > 0 {
		n.cfg.Log.Warn("messages that waited to be forwarded were dropped", slog.Int("messages", refused), slog.Any("err", syscall.ECANCELED))
	}
	return nil
}

// setBuffers changes the number of buffers of one kind.
func (n *Node) setBuffers(s Setting) error {
	n.changing.Lock()
	defer n.changing.Unlock()
	if s.Value < 0 {
		return fmt.Errorf("%s: want a number of buffers, or 0 for the default, not %d: %w", s.Name, s.Value, syscall.EINVAL)
	}
	cfg := n.lnet.Router().Config
	*map[string]*int{"tiny_buffers": &cfg.Tiny, "small_buffers": &cfg.Small, "large_buffers": &cfg.Large}[s.Name] = s.Value
	return n.lnet.SetRouterBuffers(cfg)
}

// Routing returns the state of the node as a router.
func (n *Node) Routing() lnet.RouterSnapshot { return n.lnet.Router() }
