// Package loan is how drivers lend the reading of their sockets to who waits for a
// message: what stands behind a [lnd.Lender]. A socket is read by a goroutine of its
// own, which owns the right to read, and lends it between two messages:
//
//	state     who reads      next state
//	Own       own goroutine  Lent, after a message for which the asker waited
//	Lent      nobody         Borrowed by Receive; Own by Return, Recall or the [Watch]
//	Borrowed  the borrower   Lent when it need not wait; Own if the source leaves
//	                         something to the own goroutine
//
// Only who has the right touches the source, and so it needs no lock. While the right
// is Lent nobody reads: what arrives lies in the socket, also what is for others. So
// a right that nobody uses goes back after one to two periods of the watch, and only
// who waits again and again gets one: askers are refused first, the more the more
// loans were of no use. Who wants something read before takes it back (Recall).
//
// The borrower's goroutine makes all upcalls of what it receives, those for others
// included. With the lock of a [Lending] held no other is taken but that of its Watch or
// of the borrower, who must not call it with that held.
package loan
