package node

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"syscall"

	"ulnet/cmd/internal/cli"
	"ulnet/lnet"
	"ulnet/lnet/router"
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

// SetTogether names tunables whose bounds depend on each other.
type SetTogether struct {
	Settings []Setting `json:"settings"` // all of HealthSettings, or all numbers of router buffers
}

// SetTogether changes tunables of health, or numbers of router buffers, all or none. Tunables of health
// whose values are not valid one after another may be valid together.
//
//	EINVAL  a value is out of range, or the tunables are neither all of health nor all numbers of buffers
func (n *Node) SetTogether(r SetTogether) error {
	isBuffer := func(s Setting) bool { return bufferOf(new(router.Config), s.Name) != nil }
	switch {
	case len(r.Settings) == 0:
		return nil
	case !slices.ContainsFunc(r.Settings, func(s Setting) bool { return !isBuffer(s) }):
		return n.setBuffers(r.Settings...)
	}
	for _, s := range r.Settings {
		if HealthSettings[s.Name] == nil {
			return cli.Errnof(syscall.EINVAL, "%s is not changed together with other settings", s.Name)
		}
	}
	return n.setHealth(r.Settings...)
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

// setBuffers changes the numbers of buffers of one or more kinds, all or none.
func (n *Node) setBuffers(list ...Setting) error {
	n.changing.Lock()
	defer n.changing.Unlock()
	cfg := n.lnet.Router().Config
	for _, s := range list {
		if s.Value < 0 {
			return fmt.Errorf("%s: want a number of buffers, or 0 for the default, not %d: %w", s.Name, s.Value, syscall.EINVAL)
		}
		*bufferOf(&cfg, s.Name) = s.Value
	}
	return n.lnet.SetRouterBuffers(cfg)
}

// bufferOf returns the number of buffers that a setting changes; nil: it changes none.
func bufferOf(c *router.Config, name string) *int {
	return map[string]*int{"tiny_buffers": &c.Tiny, "small_buffers": &c.Small, "large_buffers": &c.Large}[name]
}

// Routing returns the state of the node as a router.
func (n *Node) Routing() lnet.RouterSnapshot { return n.lnet.Router() }
