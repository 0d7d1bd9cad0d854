// Package admin is the administration service of lnetd over collectives: a program asks all
// servers of a group at once, and gets one answer with a piece from each. Package scoll reports
// the servers that did not answer.
//
//	ping     nothing: the server is up
//	version  the version of its lnetd
//	config   a digest of its configuration
//	clock    how its clock differs from the root's
//	text     a digest of the text and the bulk data that it received
//	run      what an action of its configuration did: exit code and output
//	clients  a page of its clients, if it is a server of client health
//	trace    when it did what for the request
//
// Servers answer all verbs except run and clients to any node, and clients only to other servers
// of client health. Bulk data and actions are for roots that Config.MayAct allows; see [Config]
// for other limits. LNet has no authentication: a request is only as trustworthy as the NIDs of
// its root and of the nodes between the root and this one.
//
// # Formats
//
// Everything is little-endian. A request is
//
//	 0  2  version    1
//	 2  1  verb       1 ping, 2 version, 3 config, 4 clock, 5 text, 6 run,
//	               7 clients, 8 trace; a member that does not know a verb answers EINVAL
//	 3  1  reserved
//	 4 16  id         the same in all attempts of a broadcast to live members
//	20  4  answer     longest answer of a member, in bytes
//	24  4  limit      of an action, in ms
//	28  1  length of the name
//	29     name       of an action
//	       text       the rest
//
// The first 24 bytes are the same in all versions, so that a member can forward requests that
// it does not understand, and gather the answers to them.
//
// A member's answer, a piece of the concatenation (scoll.AppendPiece), is
//
//	 0  2  version
//	 2  2  status     scoll.Status
//	 4  8  took       µs that the member needed
//	12     data:
//
//	version  text
//	config   32  SHA-256
//	text     32  SHA-256 of the text and the bulk data behind it
//	clock     8  received: when the request came, ns since 1970
//	          8  sent: when the answer went
//	          8  offset of the member's clock to that of the node that forwards the piece, ns
//	          8  bound of its error, ns
//	run       4  exit code, or minus the signal that ended it
//	          1  1 time over, 2 beginning of the output lost
//	          3  reserved
//	             output
//
//	trace    32  as clock
//	          8  forwarded: when the request was sent to all children
//	          8  last: when the last child's answer came; 0: there is none
//	         20  NID of that child, in LNet's extended form
//	          8  ns for which garbage collections stopped the member
//	          4  garbage collections that ended meanwhile
//
// With the status ENOTSUP the data is scoll.Versions: the version was unknown. A member's own
// piece is the last one of its last message. A node that gets clock or trace pieces from a child adds
// the offset that it has measured of that child, by four timestamps, to each.
package admin
