package node

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/lnet"
	"ulnet/lnet/nid"
)

// HealthSettings are the settings of health that Set changes, by their names in the kernel's
// tool. Each function changes one of them in s.
var HealthSettings = map[string]func(s *lnet.HealthSettings, value int){
	"retry_count":         func(s *lnet.HealthSettings, v int) { s.RetryCount = v },
	"transaction_timeout": func(s *lnet.HealthSettings, v int) { s.TransactionTimeout = time.Duration(v) * time.Second },
	"health_sensitivity": func(s *lnet.HealthSettings, v int) {
		s.Sensitivity = v
		if v == 0 {
			s.RetryCount = 0 // as in LNet: sensitivity 0 sets retry_count to 0, where it stays when the sensitivity is raised again
		}
	},
	"recovery_interval":          func(*lnet.HealthSettings, int) {}, // has no meaning since Lustre 2.14
	"recovery_limit":             func(s *lnet.HealthSettings, v int) { s.Recovery.Limit = time.Duration(v) * time.Second },
	"max_recovery_ping_interval": func(s *lnet.HealthSettings, v int) { s.Recovery.MaxInterval = time.Duration(v) * time.Second },
}

// maxSetting is a day in seconds, as in the configuration. Kernels also accept longer times, which
// may overflow 32 bits.
const maxSetting = 24 * 60 * 60

// countSettings are the settings of health that are counts, not times.
var countSettings = map[string]struct{}{"retry_count": {}, "health_sensitivity": {}}

// setHealth changes settings of health, all or none. It sets the sensitivity first, because sensitivity 0 sets the
// retry count to 0, too.
func (n *Node) setHealth(list ...Setting) error {
	for _, s := range list {
		if err := checkHealth(s); err != nil {
			return err
		}
	}
	n.changing.Lock()
	defer n.changing.Unlock()
	next := n.lnet.Health()
	for _, first := range []bool{true, false} {
		for _, s := range list {
			if first == (s.Name == "health_sensitivity") {
				HealthSettings[s.Name](&next, s.Value)
			}
		}
	}
	return n.lnet.SetHealth(next)
}

// checkHealth refuses a setting that is not one of HealthSettings, and a time that is out of bounds.
func checkHealth(s Setting) error {
	if HealthSettings[s.Name] == nil {
		return fmt.Errorf("%q: %w", s.Name, ErrSetting)
	}
	if _, count := countSettings[s.Name]; !count && s.Value > maxSetting { // package lnet checks the bounds of counts
		return cli.Errnof(syscall.EINVAL, "%s is at most %d, not %d", s.Name, maxSetting, s.Value)
	}
	if s.Name == "max_recovery_ping_interval" && s.Value < 1 { // refused here, because package lnet takes 0 for the default
		return cli.Errnof(syscall.EINVAL, "%s is 1 to %d seconds, not %d", s.Name, maxSetting, s.Value)
	}
	return nil
}

// HealthRequest sets the health of an NI of the node, or of a peer.
type HealthRequest struct {
	Peer  bool    `json:"peer"`  // set the health of peers' NIs; false: of the node's own NIs
	NID   nid.NID `json:"nid"`   // NID of the NI; zero: all NIs
	Value int     `json:"value"` // new health, 0 to 1000
}

// SetNIHealth sets the health of NIs. ENOENT: there is no NI with that NID.
func (n *Node) SetNIHealth(r HealthRequest) error {
	set, show := n.lnet.SetNIHealth, "'lnetctl net show' lists the node's"
	if r.Peer {
		set, show = n.lnet.SetPeerHealth, "'lnetctl peer show' lists those that are known"
	}
	if r.NID.IsValid() {
		return cli.Hint(set(r.NID, r.Value), "%s", show)
	}
	return setAll(n.healthOf(r.Peer), r.Value, set)
}

// setAll sets the health of NIs. It leaves out NIs that have gone since they were listed.
func setAll(ids []nid.NID, value int, set func(nid.NID, int) error) error {
	for _, id := range ids {
		if err := set(id, value); err != nil && !errors.Is(err, syscall.ENOENT) {
			return err
		}
	}
	return nil
}

// healthOf returns the NIDs of peers, or of the node.
func (n *Node) healthOf(peers bool) (ids []nid.NID) {
	if !peers {
		for _, ni := range n.lnet.NIs() {
			if !ni.NID().IsLo() {
				ids = append(ids, ni.NID())
			}
		}
		return ids
	}
	for _, p := range n.lnet.Snapshot().Peers {
		ids = append(ids, p.NID)
	}
	return ids
}
