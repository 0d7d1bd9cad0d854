package o2iblnd

import (
	"ulnet/lnd"
	"ulnet/lnet/nid"
)

// Driver makes NIs on RDMA. Those that it makes on one address, for several nets, share
// a device and a listener.
type Driver struct {
	cfg Config
}

var _ lnd.Driver = (*Driver)(nil)

// New returns a driver with the given tunables, or an ErrConfig.
func New(cfg Config) (*Driver, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Driver{cfg: cfg.withDefaults()}, nil
}

// Type implements lnd.Driver.
func (d *Driver) Type() nid.NetType { return nid.O2IB }

// Config returns the tunables with their defaults filled in, but for those that depend
// on the NI: see Snapshot.
func (d *Driver) Config() Config { return d.cfg }
