// Package capture records what drivers send and receive, and understands such
// records.
//
// # Recording
//
// A [Writer] is the lnd.Tap of a driver. It writes pcapng in which the bytes
// of each connection appear as a TCP connection to port 988 with running
// sequence numbers, so that every tool that knows LNet can read it. Packets of
// RoCEv2 appear as they are, so that their ICRCs can be verified.
//
// # Understanding
//
//	[Reader]     packets of a pcap or pcapng file
//	[Dissector]  packets → TCP connections → bytes in order
//	[Decoder]    bytes of one connection → [Record]s
//
// From RoCEv2 (UDP port 4791) a Dissector makes Records by itself. It finds the two queue pairs
// of each connection, orders packets, assembles messages, and follows the transfers of o2iblnd
// over their RDMA WRITEs.
//
// A Record is one acceptor request, HELLO, NOOP or LNet message of socklnd, all versions of its
// protocol, with its raw bytes; a packet of RoCE, a message of its connection manager, or one
// of o2iblnd; or a note that bytes are missing or cannot be parsed. Such a note never ends the
// dissection.
//
// Packets other than plain ones over Ethernet, raw IP and the pseudo-interface "any", such as those
// with tags of VLANs, are read in programs that import package encap.
//
// The package also registers layers, [LayerTypeHello] and others, with
// gopacket, for programs that take packets apart themselves.
package capture
