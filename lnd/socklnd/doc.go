// Package socklnd is the LNet driver for TCP. It speaks with the ksocklnd
// module of Lustre, in versions 1 to 4 of its protocol, over IPv4 and IPv6.
//
// # Connections
//
// Two nodes share a CONTROL connection for small messages, and conns_per_peer connections for
// bulk in each direction. The default of conns_per_peer is one, and more for a link of 4 Gbit/s
// or more. The node that has something to send dials the connections, in the order CONTROL,
// BULK_IN, BULK_OUT, and again BULK_IN, BULK_OUT; the dialled node uses them as well. A
// connection begins with an acceptor request, which names the wanted NID, and a HELLO, which
// names the dialling node and is answered by a HELLO; see lnet/wire and lnd/socklnd/ksock for
// the bytes. If both sides dial at once, the connections of the higher NID win.
//
// An error on one connection of a peer (NID and PID) ends all connections of that peer, and
// never those of another peer, even at the same address. Each cause is a [Reason] and has a
// counter; each is logged once per peer, or per address while the peer is unknown.
//
// # What is promised
//
// No message is delivered twice: a message is written to one connection, once, and never
// again on another. When connections end, the following happens to the message:
//
//	the message                            at the sender          at the receiver
//	waits for a first connection           waits; ends with an    nothing
//	                                       error if dials fail
//	queued, nothing of it written          ends with the cause    nothing
//	written in part                        ends with the cause    nothing, or cut: Delivered with an error
//	written whole, not finalized yet       ends with an error or  all, or nothing, or cut
//	                                       without
//	finalized without error: TCP has it    nothing more           all, or nothing, or cut
//	arrived; lnet has it on hold           -                      given up, or Delivered with an error
//
// So after an error the message may have arrived, and without an error it may not have
// arrived: only LNet's ACK and REPLY are proof. A loss after Finalize is followed by
// PeerDown. A payload is delivered whole or with an error, in order on its connection;
// messages on different connections, as small and large ones are, may pass each other. An
// error on one connection of a peer ends all connections of the peer that are established
// then.
//
// # Identity
//
// A peer is the NID and PID of the HELLO by which it dials, with the exception of mode all (see
// [AcceptMode]), or the NID that was dialled and that the answer has to repeat. The NI closes a
// connection without an answer if the NID of the HELLO is of another net, is its own, has no IP
// address, or has another address than the connection (see [SourceAddress]). So a HELLO adds no
// NIDs of unknown nets to any table. To act as a node, a process must be able to open connections
// from the node's address; in mode trust every process on the node's host can. An NI dials from
// the address of its own NID. lnet decides whether the source NIDs in message headers agree with
// the peer. If mode all names a peer by its socket, the driver puts that name in place of the
// source NID.
//
// # Versions
//
// An NI of IPv4 dials in version 3 and speaks all four; one of IPv6 has a NID that fits
// version 4 alone. version.go has the table. A peer that refuses a version is dialled again
// in the peer's version, twice at most. Version 1 has bare LNet headers; version 2 adds
// checksums and zero-copy acks, version 3 several acks in one NOOP and keepalives, version 4
// large NIDs.
//
// An NI does not dial an address of the other IP version. A message whose NIDs do not fit the headers
// of its connection ends with EINVAL, because a NID that is cut to 4 bytes is another node's.
// Kernels with an IPv4 and an IPv6 NI in one net send such NIDs; here the peer has the NID of its
// HELLO. A peer that mode all names by its socket is named by its whole IPv6 address.
//
// # Checksums
//
// With enable_csum messages of version 2 leave with a checksum. The driver verifies every checksum
// that arrives in version 2, whatever enable_csum says, over all bytes, those of discarded payload
// included; kernels do not verify truncated messages. A mismatch ends the message with EIO, and
// the connections. Later versions have no checksum: a value in the field is counted but not
// verified.
//
// # Zero-copy acks
//
// This side asks for no acks and answers each cookie once, after the payload has been read or
// dropped. The ack goes on BULK_IN, where waiting acks are merged to pairs and ranges, or on
// any other connection while there is no BULK_IN; in version 2 it goes on a connection for
// small messages. Acks that are not merged are sent together with waiting messages. No more
// than 1024 NOOPs wait on a connection: a peer that requests more does not read, and its
// connections are closed. An ack that arrives is a protocol error.
//
// # Priority
//
// A priority message goes on the BULK_IN connection, whatever its size. All else that leaves
// on that connection is acks and keepalives, and the message overtakes everything that waits
// there except earlier priority messages. So neither bulk nor small messages are ahead of it, even if the
// peer has stopped reading these because a handler of the peer is too slow (package portals,
// Back-pressure). Without BULK_IN, as in the first moments and in version 2, it goes on
// CONTROL, behind the bytes that are being written: 256 KiB and the message that exceeds them.
// Kernels send only acks on BULK_IN, and take any message on any connection. A large priority
// message delays those behind it: give priority to small messages. CONTROL and BULK_IN carry a
// DSCP and SO_PRIORITY, see [Config].ControlTOS.
//
// # Multicast
//
// An NI is a [lnd.Multicaster] on Linux, unless NoMulticast is set or its interface has no
// multicast. A datagram is one UDP packet, never fragmented, with an LNet PUT behind 8 bytes
// that name the format (ksock, Multicast datagram). Group g is the address MulticastBase + g,
// and its NID that address on the NI's net, so that the header names the address that the
// packet goes to. It leaves from the NI's address and a port of its own, in the goroutine of
// the sender; if the system has no room, another goroutine waits for room and sends it.
// Datagrams leave in the order of Multicast.
//
// Other NIs of the host, in this process or others, receive the datagrams of this NI: they
// have the same port (SO_REUSEADDR) and join for themselves. An NI's own datagrams come back,
// too, and are dropped by their NID. A datagram that arrives is dropped with a Reason, from
// DatagramCut on, unless it came from the address of its source NID, was sent to the group
// that it names, and that group was joined. That stops misconfigured nodes, but not an attack
// with forged addresses.
//
// A receiver has one socket for all its groups, of which the system allows some 20
// (net.ipv4.igmp_max_memberships), and reads several datagrams with one call. A datagram that
// finds the receive buffer full is lost and counted. lnet never holds a datagram, so there is
// no head-of-line blocking.
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
// A node with [AcceptNone] is reached on the connections that it has dialled, as long as
// there are any. Therefore it opens them again when they end, with a pause and then the usual
// back-off, until that has failed for an hour. If such a node has no reserved port, a peer in
// mode all knows it by its port only, and can do no more than answer on the connection that
// brought the request.
//
// # Which peers are believed
//
// LNet has no authentication. Mode secure believes a HELLO because its
// connection comes from a port up to 1023, which on the sender's host only
// root may use; mode trust believes every HELLO. See [AcceptMode].
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
//	casting   multicast: the groups, a datagramWriter and a datagramReader
//
// One goroutine reads each connection and calls lnet directly. While a message is held it reads
// nothing, but notices that the other end hangs up (hold.go). A message is written by its sender's
// goroutine if the connection is idle, else by a goroutine that exists while messages wait; that
// goroutine also writes small messages that come in a burst (burst.go). An idle connection holds
// no pooled buffer; once a small message has come alone it keeps 512 bytes for the next. Locks are
// taken in the order NI.mu, peer.mu, writer.mu, and apart from those acceptors.mu, acceptor.mu.
// None is held while lnet is called or something is logged.
//
// # Hand-over of the read loop
//
// A goroutine that waits for a message can take over the read loop of a connection on a socket
// (Leader/Followers), see [lnd.ReadLoop] and package readloop. The loop is handed over between
// two messages of any size. A follower reads payloads to their MDs as the connection's own
// goroutine does, and waits for the rest of a message. The loop goes back, with what has come of
// a message, when the follower's wait ends in the middle of one, and when a message is held or
// ends the connection. While the loop is idle no goroutine reads: messages for other goroutines
// stay in the socket, and the end of the connection goes unnoticed. One goroutine for a driver, the
// watchdog, takes idle loops back; it ends soon after the last hand-over. The end of an NI does
// not wait for the watchdog, which from then on uses nothing of the NI. Only the goroutine that
// runs the loop touches the reader.
//
// # Limits of what the driver notices
//
// While a message is held, the end of its peer is noticed on Linux only, and not before this
// host's system knows of it. The system does not know of it while the peer's system still has
// bytes to send for which there is no room here.
//
// A tap sees bytes when they are handed to the connection. If the connection fails, the last batch
// that the tap saw may not have left.
package socklnd
