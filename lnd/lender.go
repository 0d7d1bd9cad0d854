package lnd

// Lender is a connection, or what several share, whose reading can be borrowed: a
// goroutine that waits for a message then reads the socket itself, which spares it
// the switch from the connection's own goroutine, the dearest part of a small message.
//
// Who has borrowed keeps the right to read between two calls of Receive; what
// arrives then lies there until the next one. A right that is not used for some
// milliseconds goes back by itself, so only who comes back at once should
// borrow. All methods are safe for concurrent use.
//
// Upcalls must return: after one that panics or ends the goroutine inside Receive
// nobody reads the connection any more, whoever recovers from it.
type Lender interface {
	// Ask says that b waits for a message and would read what comes after it.
	// The right passes to b once a message has ended b's waiting.
	Ask(b Borrower)
	// Receive takes messages in, with all upcalls, and waits for them as long
	// as b is waiting. It returns false if b does not have the right, or no
	// longer: the connection reads by itself.
	Receive(b Borrower) bool
	// Interrupt makes b's Receive return if it waits.
	Interrupt(b Borrower)
	// Return gives the right back, or withdraws an Ask.
	Return(b Borrower)
}

// Borrower is who reads from a [Lender].
type Borrower interface {
	// Waiting reports whether b still waits. After true, b calls Interrupt
	// when that changes. It must not call the Lender.
	Waiting() bool
}
