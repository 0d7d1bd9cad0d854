package node

import (
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/drivers"
	"ulnet/lnd"
	"ulnet/lnd/fault"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/path"
)

// TuneRequest changes tunables of NIs while they run.
type TuneRequest struct {
	NID     nid.NID       `json:"nid,omitzero"`      // NID of the NI; absent: all NIs
	Net     string        `json:"net,omitempty"`     // type of networks, such as tcp: all NIs on them; absent: on any network
	Timeout time.Duration `json:"timeout,omitempty"` // how long the driver tries to send; 0: not changed
	// ConnsPerPeer is the number of connections of each type to a peer. It applies to connections
	// that are made from now on. 0: depends on the speed of the link. Nil: unchanged.
	ConnsPerPeer *int `json:"conns_per_peer,omitempty"`
	Health       *int `json:"health,omitempty"` // new health, 0 to 1000; absent: as it is
}

// Tune changes tunables of running NIs: of all NIs that the request names, or of none.
//
//	EINVAL      the time-out or the health is out of range
//	ENOENT      there is no such NI
//	EOPNOTSUPP  no driver of these NIs can change this while it runs, or the configuration sets the
//	            timeout of a driver
func (n *Node) Tune(r TuneRequest) error {
	n.changing.Lock()
	defer n.changing.Unlock()
	nis, err := n.tunedBy(r)
	if err != nil {
		return err
	}
	if err := errors.Join(r.check(), n.checkConns(r, nis), n.checkTimeout(r, nis)); err != nil {
		return err
	}
	for _, ni := range nis {
		if r.Timeout > 0 {
			ni.SetTimeout(r.Timeout)
		}
		if s, can := ni.Lower().(lnd.ConnsSetter); can && r.ConnsPerPeer != nil {
			s.SetConnsPerPeer(*r.ConnsPerPeer)
		}
		if r.Health != nil {
			err = errors.Join(err, n.lnet.SetNIHealth(ni.NID(), *r.Health))
		}
	}
	return err
}

// check refuses values that are out of range.
func (r *TuneRequest) check() error {
	if r.Timeout < 0 || r.Timeout > maxSetting*time.Second || r.Timeout == 0 && r.ConnsPerPeer == nil && r.Health == nil {
		return cli.Errnof(syscall.EINVAL, "a time-out is 1 to %d seconds, not %v", maxSetting, r.Timeout)
	}
	if r.Health != nil && (*r.Health < 0 || *r.Health > path.MaxHealth) {
		return cli.Errnof(syscall.EINVAL, "health is 0 to %d, not %d", path.MaxHealth, *r.Health)
	}
	return nil
}

// checkConns refuses conns_per_peer if no driver of the NIs has that tunable.
func (n *Node) checkConns(r TuneRequest, nis []*lnet.NI) error {
	if r.ConnsPerPeer == nil || len(nis) == 0 {
		return nil
	}
	if slices.ContainsFunc(nis, func(ni *lnet.NI) bool { _, can := fault.Unwrap(ni.Lower()).(lnd.ConnsSetter); return can }) {
		return nil
	}
	return cli.Errnof(syscall.EOPNOTSUPP, "%v has no conns_per_peer", nis[0].NID())
}

// checkTimeout refuses a timeout if a driver would not follow it, because the configuration sets
// another one for that driver.
func (n *Node) checkTimeout(r TuneRequest, nis []*lnet.NI) error {
	if r.Timeout == 0 {
		return nil
	}
	for _, ni := range nis {
		if key, own := drivers.OwnTimeout(n.cfg.Of(ni.Net().Type())); own > 0 {
			return cli.Hint(cli.Errnof(syscall.EOPNOTSUPP, "the time-out of %v is %d seconds by %s in the configuration, which wins", ni.NID(), own, key),
				"set %s to 0 there, and start lnetd again", key)
		}
	}
	return nil
}

// tunedBy returns the NIs that a request names.
func (n *Node) tunedBy(r TuneRequest) (list []*lnet.NI, err error) {
	var of nid.Net
	if r.Net != "" {
		if of, err = nid.ParseNet(r.Net); err != nil {
			return nil, fmt.Errorf("%w: %w", syscall.EINVAL, err)
		}
	}
	for _, ni := range n.lnet.NIs() {
		if !ni.NID().IsLo() && (!r.NID.IsValid() || ni.NID() == r.NID) && (r.Net == "" || ni.Net().Type() == of.Type()) {
			list = append(list, ni)
		}
	}
	if len(list) == 0 && r.NID.IsValid() {
		return nil, cli.Hint(cli.Errnof(syscall.ENOENT, "%v is no interface of the node", r.NID), "'lnetctl net show' lists those of the node")
	}
	return list, nil
}
