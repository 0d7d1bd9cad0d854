package verbs

import "ulnet/lnd"

// Lending is what a Device has besides if who waits for a message can read the packets
// of the device meanwhile, those for others too. Then the upcalls are made by that
// goroutine; all else that is promised of them stays. Providers without it are read by
// their own goroutines alone.
type Lending interface {
	// Lender is for all handles of the device. It returns nil if the network below
	// cannot be lent.
	Lender() lnd.Lender
}
