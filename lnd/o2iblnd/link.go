package o2iblnd

import "ulnet/lnd"

var _ lnd.LinkFollower = (*NI)(nil)

// LinkUp implements lnd.LinkFollower: a device that can learn that its interface has another MTU is told to look,
// and the bound of datagrams follows.
func (ni *NI) LinkUp() {
	if d, ok := ni.dev.(interface{ LinkUp() }); ok {
		d.LinkUp()
		ni.cast.follow()
	}
}
