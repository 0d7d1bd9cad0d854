package portals

import "ulnet/lnd"

// Segment is a piece of an MD's memory.
type Segment = lnd.Segment

// MaxPayload is the largest payload of one message in bytes (LNET_MTU).
const MaxPayload = lnd.MaxPayload
