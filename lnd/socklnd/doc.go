// Package socklnd is the LNet driver for TCP. It speaks with the ksocklnd
// module of Lustre, in versions 2 and 3 of its protocol, over IPv4.
//
// # Connections
//
// Two nodes share a CONTROL connection for small messages, and conns_per_peer
// connections for bulk in each direction, which is one unless it is configured
// or the link is of 4 Gbit/s or more. Whoever has something to send dials them,
// in the order CONTROL, BULK_IN, BULK_OUT, and again BULK_IN, BULK_OUT; who is
// dialled uses them as well. A connection begins with an acceptor request (which
// NID is wanted) and a HELLO (who is calling), answered by a HELLO; see lnet/wire
// and lnd/socklnd/ksock for the bytes. If both sides dial at once, the
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
// # Priority
//
// A priority message goes on the CONTROL connection, whatever its size, and
// there passes all that waits but earlier priority messages. Bulk has its own
// connections, so it is ahead only in the first moments, when the first
// connection takes all that has waited for it, and where the peer gives no
// others: then what is being written comes first, 256 KiB and the message that
// exceeds them. Kernels put large messages on BULK_OUT and take any on any
// connection. A large priority message delays the small ones behind it: give
// priority to what is small. CONTROL carries a DSCP and SO_PRIORITY, see
// [Config].ControlTOS.
//
// # Limits
//
// The handshakes and the accepted connections of a listener are bounded, in
// all and by address, see [Config].MaxHandshakes and MaxConns. Messages to a
// peer that reads nothing are bounded by the credits of lnet, which waits for
// Finalize, and end after sock_timeout.
//
// # Without a listener
//
// A node with [AcceptNone] is reached on the connections that it has dialled,
// as long as there are any. Therefore it opens them again when they end, with
// a pause and then the usual back-off, until that has failed for an hour.
// Without a reserved port a peer in mode all knows such a node by its port
// only, and can do no more than answer on the connection it came on.
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
//	          bounds the numbers of handshakes and connections
//	shake     one connection during its handshake: hello_passive.go, hello_active.go
//	peer      the shell of one connSet: dials, attaches, closes
//	connSet   machine: which connections are to be made, accepted, refused, and when;
//	          connset_step.go has what goes in and out
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
// Each cookie is acknowledged by a NOOP of its own (zcack.go).
//
// A tap sees bytes when they are handed to the connection: if the connection
// fails, the last batch that it saw may not have left.
package socklnd
