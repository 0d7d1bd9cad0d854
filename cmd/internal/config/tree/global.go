package tree

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Global are the settings of a node. A nil field is not set.
type Global struct {
	NUMARange          *int64 `json:"numa_range,omitempty"`                 // kept, without effect in ulnet
	MaxInterfaces      *int64 `json:"max_interfaces,omitempty"`             // how many NIs a peer may have
	Discovery          *int64 `json:"discovery,omitempty"`                  // 1: peers are discovered
	DropAsymRoute      *int64 `json:"drop_asym_route,omitempty"`            // 1: drop messages that come through a router which is no gateway to the net of their source
	RetryCount         *int64 `json:"retry_count,omitempty"`                // how often a message is sent again
	TransactionTimeout *int64 `json:"transaction_timeout,omitempty"`        // how long a message may wait for credits and its answer may take, in seconds
	HealthSensitivity  *int64 `json:"health_sensitivity,omitempty"`         // by how much a failure lowers a health of 1000
	RecoveryInterval   *int64 `json:"recovery_interval,omitempty"`          // kept, without effect since Lustre 2.14
	RouterSensitivity  *int64 `json:"router_sensitivity,omitempty"`         // percentage of the full health that a gateway's NI needs to count as alive
	LNDTimeout         *int64 `json:"lnd_timeout,omitempty"`                // follows from other settings; only shown
	ResponseTracking   *int64 `json:"response_tracking,omitempty"`          // for which answers transaction_timeout is a limit; 1: REPLYs, 2: ACKs, 3: both, 0: those of MDs that ask for it
	RecoveryLimit      *int64 `json:"recovery_limit,omitempty"`             // seconds without a message from a peer's NI after which it is not pinged any more; 0: no limit
	MaxRecoveryPing    *int64 `json:"max_recovery_ping_interval,omitempty"` // longest time between two pings of an NI in recovery, in seconds

	// ulnet's additions: module parameters of routes, for which Lustre's tool has no key.
	AvoidAsymmetric *int64 `json:"avoid_asym_router_failure,omitempty"`   // 1: a route to a next net is down while its gateway reports its NIs on that net as down
	CheckInterval   *int64 `json:"alive_router_check_interval,omitempty"` // time between two checks of a gateway, in seconds; 0: gateways are not checked
	PingTimeout     *int64 `json:"router_ping_timeout,omitempty"`         // how long a gateway may take to answer a check, in seconds
}

// Setting is one of the settings of a node.
type Setting struct {
	Name  string // name of the setting, such as retry_count
	Value int64  // in the unit of the setting
}

// ShownOnly is the name of the setting in [Global] that cannot be set, because it follows from
// others.
const ShownOnly = "lnd_timeout"

// fields returns pointers to the settings, by name.
func (g *Global) fields() map[string]**int64 {
	return map[string]**int64{
		"numa_range": &g.NUMARange, "max_interfaces": &g.MaxInterfaces, "discovery": &g.Discovery,
		"drop_asym_route": &g.DropAsymRoute, "retry_count": &g.RetryCount, "transaction_timeout": &g.TransactionTimeout,
		"health_sensitivity": &g.HealthSensitivity, "recovery_interval": &g.RecoveryInterval,
		"router_sensitivity": &g.RouterSensitivity, ShownOnly: &g.LNDTimeout, "response_tracking": &g.ResponseTracking,
		"recovery_limit": &g.RecoveryLimit, "max_recovery_ping_interval": &g.MaxRecoveryPing,
		"avoid_asym_router_failure": &g.AvoidAsymmetric, "alive_router_check_interval": &g.CheckInterval, "router_ping_timeout": &g.PingTimeout,
	}
}

// Set sets one of the settings. It reports whether there is one of that name.
func (g *Global) Set(s Setting) bool {
	to, ok := g.fields()[s.Name]
	if ok {
		*to = &s.Value
	}
	return ok
}

// Settings lists the settings that are set, in the order of Lustre's tool.
func (g *Global) Settings() (list []Setting) {
	text, err := json.Marshal(g)
	if err == nil {
		err = members(text, func(key string, value json.RawMessage) error {
			n, err := strconv.ParseInt(string(value), 10, 64)
			list = append(list, Setting{key, n})
			return err
		})
	}
	if err != nil {
		panic(fmt.Sprintf("tree: settings are numbers: %v", err))
	}
	return list
}
