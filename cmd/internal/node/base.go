package node

import (
	"cmp"
	"runtime/debug"

	"ulnet/lnd"
	"ulnet/lnd/fault"
	"ulnet/lnet"
	"ulnet/lnet/discovery"
	"ulnet/lnet/recovery"
	"ulnet/portals/node"
)

// startBase starts n.base, the node that this one builds on, with the faults of the configuration.
func (n *Node) startBase() (err error) {
	if n.plan, n.given, err = newPlan(n.cfg.Config, n.clock); err != nil {
		return err
	}
	for _, f := range n.cfg.Faults {
		n.warnOf(f)
	}
	if n.base, err = node.Start(n.parts()); err != nil {
		n.plan.Stop()
		return err
	}
	n.lnet, n.table = n.base.LNet(), n.base.Table()
	return nil
}

// parts returns the configuration of n.base without the configured NIs. The method start adds these
// NIs, because their errors need hints for users of the commands.
func (n *Node) parts() node.Config {
	cfg := n.cfg
	parts := node.Config{
		Networks: "lo", Log: cfg.Log, Clock: n.clock, Tap: cfg.Tap,
		LNet: lnet.Config{
			Incarnation:        cfg.Incarnation,
			TransactionTimeout: cfg.TransactionTimeout,
			HealthSensitivity:  cmp.Or(cfg.HealthSensitivity, -1),
			RetryCount:         cmp.Or(cfg.RetryCount, -1),
			Recovery:           recovery.Settings{Limit: cfg.RecoveryLimit, MaxInterval: cfg.RecoveryInterval},
			ResponseTracking:   cmp.Or(cfg.ResponseTracking, -1),
			SourceUnchecked:    !cfg.SourceCheck,
			PeerIdle:           cmp.Or(cfg.PeerIdle, -1),
			RouterSilence:      cfg.RouterSilence(),
			OnShrink:           debug.FreeOSMemory, // otherwise, an idle process would collect garbage only every two minutes
		},
		Discovery: discovery.Config{
			Off: cfg.DiscoveryDisabled, CheckInterval: cmp.Or(cfg.CheckInterval, -1), CheckTimeout: cfg.RouterPingTimeout,
		},
		Wrap: func(d lnd.Driver) lnd.Driver { return fault.Wrap(d, n.plan) },
	}
	for _, d := range n.cfg.All() {
		n.statuses = append(n.statuses, d.Add(&parts, cfg.Settings, cfg.Sockets))
	}
	return parts
}
