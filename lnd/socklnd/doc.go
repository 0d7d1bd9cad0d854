// Package socklnd is the LNet driver for TCP. It speaks with the ksocklnd
// module of Lustre, in versions 2 and 3 of its protocol, over IPv4.
//
// # Connections
//
// Two nodes share up to three connections: CONTROL for small messages, and
// one for bulk in each direction. Whoever has something to send dials them, in
// the order CONTROL, BULK_IN, BULK_OUT; who is dialled uses them as well. A
// connection begins with an acceptor request (which NID is wanted) and a HELLO
// (who is calling), answered by a HELLO; see lnet/wire and
// lnd/socklnd/ksock for the bytes. If both sides dial at once, the
// connections of the higher NID win.
//
// Whatever goes wrong on one connection of a peer (NID and PID) ends all
// connections of that peer, and never those of another, be it at the same
// address. Each cause is a [Reason] and has a counter; each is logged once per
// peer, or per address while the peer is unknown.
//
// # What is promised
//
// A message that is finalized without error has been handed to TCP. It is
// delivered once or not at all: not at all if the connection fails before the
// peer has read it, which PeerDown reports. Messages that wait for a first
// connection survive a lost race; messages that were queued on a connection
// fail with it. Nothing is sent twice.
//
// # Who may be believed
//
// LNet has no authentication. Mode secure believes a HELLO because its
// connection comes from a port up to 1023, which on the sender's host only
// root may use; mode trust believes everybody. See [AcceptMode].
//
// # Inside
//
//	NI        one address in one net; finds peers, runs the scan for time-outs
//	acceptor  one address, for all NIs that have it: accepts, finds the NI that is wanted,
//	          bounds the number of unfinished handshakes
//	shake     one connection during its handshake: hello_passive.go, hello_active.go
//	peer      the shell of one connSet: dials, attaches, closes
//	connSet   machine: which connections are to be made, accepted, refused, and when
//	conn      an established connection: reader, writer, stream
//	stream    reads and writes without copy: rawStream on sockets, plainStream on any net.Conn
//
// One goroutine reads each connection and calls lnet directly. A message is
// written by its sender's goroutine if the connection is idle, else by a
// goroutine that exists while messages wait. An idle connection holds no
// buffer. Locks are taken in the order NI.mu, peer.mu, writer.mu, and apart from
// those acceptors.mu, acceptor.mu. None is held while lnet is called or
// something is logged.
//
// # What is missing
//
// Versions 1 and 4 of the protocol, and with them IPv6, are refused with the
// answer that makes a kernel choose another version (version.go). A checksum,
// which only version 2 with enable_csum sends, ends the connection (reader.go).
// Each cookie is acknowledged by a NOOP of its own (zcack.go). Priority messages
// get the CONTROL connection and pass others in the queue, but neither a DSCP
// nor SO_PRIORITY of their own.
//
// A tap sees bytes when they are handed to the connection: if the connection
// fails, the last batch that it saw may not have left.
package socklnd
