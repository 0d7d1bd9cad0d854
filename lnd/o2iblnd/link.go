package o2iblnd

import "ulnet/lnd"

var _ lnd.LinkFollower = (*NI)(nil)

// LinkUp implements lnd.LinkFollower. It passes the call to a device that can read the MTU of its interface again.
func (ni *NI) LinkUp() {
	if d, ok := ni.dev.(interface{ LinkUp() }); ok {
		d.LinkUp()
		ni.cast.follow()
	}
}
