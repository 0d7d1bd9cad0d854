package o2iblnd

import "ulnet/lnd"

// rx is a message of the peer on its way to lnet.
type rx struct {
	lnd.Delivery
	cookie uint64
	slot   uint32 // GET_REQ: of its tx
}
