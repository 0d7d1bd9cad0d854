package verbs

import "ulnet/lnd"

// ReadLooper is implemented by devices whose read loop can be handed over to a goroutine that
// waits for a message. That goroutine then makes the upcalls for all packets of the device,
// whichever handle they are for. All other rules of upcalls (see Threads in the package's text) apply
// to it. A device without this method is read only by its own goroutine.
type ReadLooper interface {
	// ReadLoop returns the loop that all handles of the device share, or nil if the
	// network below cannot hand its reading over.
	ReadLoop() lnd.ReadLoop
}
