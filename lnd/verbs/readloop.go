package verbs

import "ulnet/lnd"

// ReadLooper is implemented by devices whose read loop can be handed over to a goroutine
// that waits for a message. Then that goroutine makes the upcalls for all packets of the
// device, whichever handle they are for; all else that is promised of upcalls holds. A
// device without it is read by its own goroutine alone.
type ReadLooper interface {
	// ReadLoop returns the loop that all handles of the device share, or nil if the
	// network below cannot hand its reading over.
	ReadLoop() lnd.ReadLoop
}
