package tree

import "slices"

// NodeSetting describes a setting of a node, as it occurs in the section global, in 'lnetctl
// set', and in lnetd's file.
type NodeSetting struct {
	Name  string // name in the section global, such as retry_count
	Key   string // name of Lustre's module parameter, which is the key in lnetd's file
	Least int64  // smallest value
	Most  int64  // largest value
	Usual int64  // value of a node on which nothing was set
	Ours  bool   // Lustre's tool has no key for the setting
	// Inverse: the module parameter is 1 where the setting is 0.
	Inverse bool
}

// maxSeconds is a day. Kernels also accept longer times, which may overflow 32 bits.
const maxSeconds = 24 * 60 * 60

// nodeSettings are all settings of a node: first those of Lustre's tool, in its order, and then
// ulnet's own.
var nodeSettings = []NodeSetting{
	{Name: "numa_range", Key: "lnet_numa_range", Most: 1<<31 - 1},
	{Name: "max_interfaces", Key: "lnet_interfaces_max", Least: 16, Most: 4096, Usual: 200},
	{Name: "discovery", Key: "lnet_peer_discovery_disabled", Most: 1, Usual: 1, Inverse: true},
	{Name: "drop_asym_route", Key: "lnet_drop_asym_route", Most: 1},
	{Name: "retry_count", Key: "lnet_retry_count", Most: 5, Usual: 2},
	{Name: "transaction_timeout", Key: "lnet_transaction_timeout", Least: 1, Most: maxSeconds, Usual: 150},
	{Name: "health_sensitivity", Key: "lnet_health_sensitivity", Most: 1000, Usual: 100},
	{Name: "recovery_interval", Key: "lnet_recovery_interval", Least: 1, Most: maxSeconds, Usual: 1},
	{Name: "router_sensitivity", Key: "router_sensitivity_percentage", Most: 100, Usual: 100},
	{Name: "response_tracking", Key: "lnet_response_tracking", Most: 3, Usual: 3},
	{Name: "recovery_limit", Key: "lnet_recovery_limit", Most: maxSeconds},
	{Name: "max_recovery_ping_interval", Key: "lnet_max_recovery_ping_interval", Least: 1, Most: maxSeconds, Usual: 900},
	{Name: "avoid_asym_router_failure", Key: "avoid_asym_router_failure", Most: 1, Usual: 1, Ours: true},
	{Name: "alive_router_check_interval", Key: "alive_router_check_interval", Most: maxSeconds, Usual: 60, Ours: true},
	{Name: "router_ping_timeout", Key: "router_ping_timeout", Least: 1, Most: maxSeconds, Usual: 50, Ours: true},
}

// NodeSettings lists all settings of a node: first those of Lustre's tool, in its order, and
// then ulnet's own.
func NodeSettings() []NodeSetting { return slices.Clone(nodeSettings) }

// KernelsOwn returns the settings without those for which Lustre's tool has no key: that tool
// would stop reading the section at such a key.
func (g *Global) KernelsOwn() *Global {
	return g.without(func(NodeSetting, int64) bool { return true })
}

// withoutUsual returns the settings without those that only ulnet has and that have their usual
// values.
func (g *Global) withoutUsual() *Global {
	return g.without(func(s NodeSetting, value int64) bool { return s.Usual == value })
}

// without returns the settings without those that only ulnet has and for which drop returns
// true.
func (g *Global) without(drop func(s NodeSetting, value int64) bool) *Global {
	if g == nil {
		return nil
	}
	left := *g
	fields := left.fields()
	for _, s := range nodeSettings {
		if to := fields[s.Name]; s.Ours && *to != nil && drop(s, **to) {
			*to = nil
		}
	}
	return &left
}
