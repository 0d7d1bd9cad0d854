// Package o2iblnd is the LNet driver for RDMA. It speaks the protocol of Lustre's
// ko2iblnd, in version 2, over the queue pairs of a provider of package verbs: software
// RoCE (softroce), or libibverbs (ibv). kib has the bytes of its messages.
//
// # Connections
//
// The NID of a node is its IPv4 address. A node that has something to send asks the connection
// manager at port 987 (service) of the peer's address for conns_per_peer connections. Each is a
// reliable queue pair. Requests and answers (CONNREQ, CONNACK) travel in the private data of
// connection management. With them the nodes agree upon the queue depth, which is the smaller
// peer_credits of the two, and upon the number of WRITEs that a transfer may take. Each also
// names the incarnation of its node by a stamp.
//
// If both sides connect at once the request of the higher NID wins, unless the other side
// repeats its own after 10 ms: then the winner's request was lost, or came before the other
// side listened. A node that accepts a request withdraws its own, so that one of the two
// remains. If no connection follows within a second, or the accepted request fails, a node with
// waiting messages requests one itself, because the accepted request may have been forged: every
// host can send one in a peer's name.
//
// A node that finds a new stamp of a peer ends the old connections and makes the peer
// request one again, so a restarted node connects twice. A node adopts what a reject offers:
// a shorter queue, fewer fragments, another stamp. Version 1 of the protocol, which Lustre
// had before 2.4, is refused and not spoken.
//
// An error on a connection ends that connection; a header that lnet refuses ends all
// connections of the peer. Each cause is a [Reason] and has a counter; each is logged once
// per peer, or per address while the peer is unknown.
//
// # Messages
//
//	the LNet message                      on the wire
//	up to 3976 bytes of payload           IMMEDIATE, copied on both sides
//	a longer PUT or REPLY                 PUT_REQ; the peer names its memory (PUT_ACK); WRITEs, PUT_DONE
//	a GET of more, whose sink is known    GET_REQ names memory; WRITEs of the peer, GET_DONE
//
// There is no REPLY to a GET_REQ on the wire: GET_DONE stands for it, and is delivered as one.
// At the other side the REPLY of lnet that names the MD of a GET_REQ becomes WRITEs and
// GET_DONE; if lnet has dropped the GET, GET_DONE says ENODATA, and after the timeout
// ETIMEDOUT. The answer may be shorter than the sink. (Kernels then omit the end of the data,
// o2iblnd-wire §8.3. Over softroce such a GET ends with EIO, reason not_written; with hardware
// this is not noticed. If a program gets data from a kernel, and the data may be shorter than
// the sink, it should ask for at most 3976 bytes.)
//
// # What is promised
//
// No message is delivered twice, and a message that is delivered without an error is whole.
// When the connection of a message ends, the following happens to the message:
//
//	the message                             at the sender         at the receiver
//	waits for a first connection            waits; an error if    nothing
//	                                        all own requests fail
//	queued, or under way                    ends with the cause   all, or nothing, or Delivered with an error
//	finalized without error: the peer's     nothing more          all, unless the process ends first;
//	device has it, PUT_DONE included                              see below
//	arrived; lnet has it on hold            -                     given up, or Delivered with an error
//
// A message is finalized when the peer's device has acknowledged it. So lnet also gets IMMEDIATEs that
// arrive while a connection ends, unless the peer has broken the protocol, lnet has refused one of its
// messages, or the NI shuts down. If the other side ends the connection when a PUT_DONE is on its way,
// the message is Delivered with an error. Memory that the peer may
// write to is deregistered before lnet hears of the end of its transfer: a WRITE that comes
// late finds no memory.
//
// Messages of one connection are delivered in order within each row of the first
// table; a transfer and an IMMEDIATE may pass each other.
//
// # Credits
//
// A message that needs a receive buffer of the peer, an IMMEDIATE or a REQ, costs a credit. The
// peer gives credits back with the messages that it sends. When it owes half of them
// (peer_credits_hiw) and has no message to send, it sends a NOOP. Messages that lnet holds keep
// their credits; so it also sends one when it owes fewer, if the other side has at most its last
// credit, and PUTs and GETs under way will not return enough credits: see scarce. When messages arrive together, it counts all of them before it decides. Answers cost no credit,
// because REQs wait while too many answers may come: see exchange. A peer that sends more than
// it has credits for, or gives back more than it got, is closed.
//
// lnet has credits of its own for each peer. A GET that is sent as GET_REQ keeps one until GET_DONE
// has come. So the REPLY that answers a GET_REQ takes none at the other side ([lnd.Delivery].RDMAGet).
// A peer may send GET_REQs faster than their answers leave. While more answers are under way than the
// queue depth, a connection gives credits back only as answers end: so there are at most twice as many.
//
// # Priority
//
// A priority message passes messages that are queued for its connection, and the last credit is
// reserved for priority messages. It does not overtake work requests that the device already
// has. WRITEs are posted in turns of 344 KiB, and the device has at most two turns of them.
//
// # Held messages
//
// A PUT_REQ that lnet holds keeps its credit: with a queue depth of 8, seven of them hold up all
// further messages of their peer, except for priority messages. The payload of an IMMEDIATE that
// lnet holds is copied to memory of its own, and the buffer is returned at once; its credit too,
// up to 64 for each connection, and for all connections of a peer together 64 times conns_per_peer of
// this side. Further held messages keep their credits. When they have all credits of a connection, only
// priority messages arrive on it until lnet continues one of them; answers do not arrive either. On TCP the first
// held message does the same.
//
// # Buffers
//
// The connections of an NI share its receive buffers ([Config].RxBuffers, 4 KiB each, 4 MiB
// in all), which are fewer than all peers have credits for. A message occupies a buffer from
// its first packet until lnet has taken it; an idle connection occupies none. A message that
// finds no buffer is dropped, counted by the pool, and sent again by its sender's device.
//
// # Time-outs
//
// A message waits for a connection for 10 s longer than one request may take: at least 15 s, or 22.25 s
// with the default timeout. Then it ends alone. A message that has waited for credits, for its
// completion or for the peer's answer longer than timeout ends its connection, and so every message on it
// (o2iblnd-wire §10). The NI looks at all connections four times in that time, at least once a second.
// Time in which handlers keep the NI from handling what arrives does not count, up to a minute for each
// message, see absences.
// A connection that has sent nothing for keepalive sends a NOOP, whose loss ends it.
//
// # Which peers are believed
//
// LNet has no authentication. A request must come from the address that its NID names;
// whether packets can have forged addresses depends on the network. Any host that reaches UDP
// port 4791 and knows or guesses numbers of queue pairs and packets can forge packets: RoCE
// is for networks of trusted hosts.
//
// # Multicast
//
// An NI is a [lnd.Multicaster] if its device has datagrams. See multicast.go.
//
// # Inside
//
//	Driver    the NIs, and an acceptor for each address
//	acceptor  a device and its listener, for all NIs that have the address
//	NI        one address in one net: domain, buffers, completion queue, peers; runs the scan
//	peer      the shell of one peerSet: asks, attaches, closes
//	peerSet   machine: which connections are asked for, accepted, refused, and when
//	conn      the shell of one exchange: posts, hands messages to lnet and takes them from it
//	exchange  machine: credits, queues, transfers and deadlines of an established connection
//	tx, rx    what is under way with the peer; a message on its way to lnet
//
// The only goroutines are those of the device, which makes the upcalls, and of timers.
// Deliveries name the read loop of the device if it can be handed over
// ([verbs.ReadLooper]): then the goroutine that waits for a message makes the upcalls.
// Send posts in the goroutine of its caller. The steps of an exchange are done under
// conn.mu. One goroutine at a time carries out their effects without the lock
// (conn.unlock), so that work requests leave in the order of the steps and the memory of
// a message is not released before it was posted. That goroutine may finalize messages of
// other callers.
//
// Locks are taken in the order Driver.mu, acceptor.mu, NI.mu, peer.mu, conn.mu. None but
// the first is held while the device or lnet is called or something is logged.
//
// # Limits
//
// IPv4 alone: the messages have no room for other NIDs. An NI has up to max_conns
// connections, and ntx messages that are not finalized; further ones are refused. The driver
// does not know which peers are routers: a GET to a node behind one is sent as IMMEDIATE.
package o2iblnd
