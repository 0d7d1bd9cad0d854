// Package readloop implements [lnd.ReadLoop]: it lets a goroutine that is blocked in
// EQ.Wait take over the read loop of a connection (Leader/Followers), which saves a
// goroutine switch for each message. The connection has a goroutine of its own that
// runs the loop and hands it over between two messages:
//
//	state  run by           next state
//	Own    own goroutine    Idle, when a message has ended the wait of a follower that requested the loop
//	Idle   no goroutine     Taken, by the first Receive; or Own, by Return, Recall or the [Watchdog]
//	Taken  a follower       Idle when its wait is over; or Own, if the source leaves work to its goroutine
//
// The policy has three rules. A follower that waits requests the loop, which becomes idle with
// the message that ends the wait, and whichever follower waits next runs it. The watchdog takes
// an idle loop back when something has lain unread for one to two of its periods, or when the follower
// has been absent for long. When it has found something unread, the next requests are refused, twice as
// many each time. Followers that come back soon for many messages lower that number again.
//
// Only the goroutine that runs the loop touches the source, so reading needs no lock. While the
// loop is Idle, everything that arrives stays in the socket, messages for other receivers
// included. A goroutine that needs something read sooner calls Recall.
//
// The follower's goroutine makes the upcalls for everything it reads, whichever receiver a
// message is for: many followers of one connection share one reader, which wakes those whose
// messages came with one read. While the lock of a [Loop] is held, only two other locks are
// taken: that of its Watchdog and that of the follower. The follower must not call the Loop with
// its own lock held.
package readloop
