package lnd

// ReadLoop is the read loop of a connection, or of a socket that several connections
// share. A [Follower], a goroutine that is blocked until a message arrives, can take it
// over and read the socket itself (Leader/Followers). That saves the switch from the
// connection's goroutine to the follower, which is most of the latency of a small message.
//
// Between two calls of Receive no goroutine reads, and what arrives stays in the socket
// until the next call. A loop that is not used for some milliseconds goes back to the
// connection's goroutine, so only a follower that soon waits again should take it over.
// All methods are safe for concurrent use.
//
// Upcalls must return: one that panics or ends the goroutine inside Receive leaves the
// connection without a reader for ever, even if the panic is recovered.
type ReadLoop interface {
	// Request says that f waits for a message, and is ready to run the loop afterwards. When a
	// message has ended f's wait, the loop is handed to f.
	Request(f Follower)
	// Receive runs the loop, with all upcalls, as long as f waits. It returns false if
	// f does not have the loop, or has it no longer: then the connection reads by itself.
	Receive(f Follower) bool
	// Interrupt makes f's Receive return if it is blocked.
	Interrupt(f Follower)
	// Return gives the loop back, or withdraws a Request.
	Return(f Follower)
}

// Follower is a goroutine that can take over a [ReadLoop].
type Follower interface {
	// Waiting reports whether f still waits for a message. After true, f calls
	// Interrupt when that changes. Waiting must not call the ReadLoop.
	Waiting() bool
}
