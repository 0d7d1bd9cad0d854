// Package readloop implements [lnd.ReadLoop]: it lets a goroutine that is blocked in
// EQ.Wait take over the read loop of a connection (Leader/Followers), which saves a
// goroutine switch for each message. The connection has a goroutine of its own that
// runs the loop and hands it over between two messages:
//
//	state  reader           next state
//	Own    own goroutine    Idle, when a message has ended the wait of a follower that requested the loop
//	Idle   no goroutine     Taken by Receive; Own by Return, Recall or the [Watchdog]
//	Taken  the follower     Idle when its wait is over; Own if the source leaves work to the own goroutine
//
// Only the goroutine that runs the loop touches the source, so reading needs no lock. While the
// loop is Idle, everything that arrives stays in the socket, messages for other receivers
// included. Therefore the watchdog takes an idle loop back after one to two of its periods.
// Also, only a follower that waits again and again gets the loop: the first requests are
// refused, and after each unused hand-over more of them are refused. A goroutine that needs
// something read sooner calls Recall.
//
// The follower's goroutine makes the upcalls for everything it reads, whichever receiver a
// message is for. While the lock of a [Loop] is held, only two other locks are taken: that of
// its Watchdog and that of the follower. The follower must not call the Loop with its own lock
// held.
package readloop
