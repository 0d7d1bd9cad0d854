// Package fault spoils the messages of real drivers on purpose, as package sim
// does with simulated ones: it loses, delays, doubles and reorders them, cuts
// nodes off from each other, and pauses the node.
//
// [Wrap] applies a [Plan] to a driver. All drivers of a node share the plan, which can
// be changed while they run. The peer's side of the wire stays as it
// is: the plan acts on whole LNet messages, between lnet and the driver, so connections
// stay up, and no error is reported.
//
// # Where a rule acts
//
// A [Rule] names messages by the source and destination in their header, their type and portal.
// It acts on messages that this node sends, and on messages that arrive from others. A message
// of the node to itself is spoiled once, when it is sent. Two nodes with the same rule spoil a
// message between them twice.
//
// All rules that match a message count, in their order. Each changes some aspects of a perfect
// link. If two change the same aspect, the later one wins. A rule with "cut" loses the message
// whatever the other rules say.
//
//	lost        A message that is sent is finalized without an error, as if the network
//	            had lost it. A message that arrives is read and thrown away. A GET by
//	            RDMA that arrives is answered by the driver, as if lnet had dropped it
//	delayed     A message that is sent is kept, and given to the driver when it is due;
//	            its payload must not change until it has really left. A message that
//	            arrives is read into memory at once, so that messages behind it are not
//	            delayed, and given to lnet when it is due. If lnet then finds that the
//	            message breaks the protocol, it is dropped and counted, but the peer's
//	            connections stay
//	duplicated  A copy with a payload of its own is sent, or handed to lnet
//	reordered   The message is delayed by hold, so that later messages pass it
//	paused      The message is kept as a delayed one is, until the node goes on; then the
//	            kept messages go on in order
//
// # LNet's rules
//
// Beside these rules there are the drop and delay rules of LNet (package faultrule), which
// [Plan.AddRule] adds. They act where the kernel's do, on messages that no Rule has lost:
//
//	drop    Without health errors: a message that arrives is discarded, even if this node
//	        has sent it to itself. lnet counts it as a drop, with the NI and the peer.
//	        With health errors: a message that is sent does not reach the driver. It ends
//	        with a class of failure, for which lnet may send it again. Messages by lo and
//	        datagrams are not affected: they have no peer
//	delay   A message is delayed when it is sent, and a message that arrives is delayed too;
//	        a message by lo is delayed only when it is sent
//
// When a multicast datagram is sent, it is spoiled once for all of its receivers. Its
// destination is then the NID of the group, which is on no side of a partition. When it arrives
// at a node, it is spoiled for that node alone, and its destination is also that node.
//
// Messages with a latency that varies overtake each other. The kept messages are bounded
// in number and bytes. A message beyond the bounds is lost and counted, or passes the
// others if it is kept only because it is behind them. A driver that shuts down
// finalizes kept messages with ESHUTDOWN, and [Close] and [Plan.Stop] do so before. All
// other faults, such as loss, act until the driver has shut down.
//
// PeerUp and PeerDown are passed on at once: a kept message may arrive after the end of
// the connection that brought it, except for a GET by RDMA, which the driver answers by
// that connection.
//
// # Cost
//
// Without faults every call and upcall of a message costs one call more, and Send
// and Parse an atomic load; nothing is allocated. With faults every message
// passes one lock.
package fault
