// Package wire is the wire format of lnet_selftest, Lustre's test of its network: the messages
// between a console, which tests a network, and the test nodes that measure it. The test node,
// the console and lnetdump use it. It does no I/O and knows no rules beyond single messages.
//
// # RPCs
//
// An RPC is a request and its reply, each a PUT of 160 bytes without an ACK. The request goes to
// [FrameworkPortal] or [TestPortal] with the number of its service as match bits. It names the
// match bits of the reply, [Message.ReplyID], and those of bulk data; replies and bulk data go
// to [BulkPortal]. A BRW request says which way its bulk data goes: for a READ the server sends
// a PUT to the client before it replies, for a WRITE it sends a GET. A TEST request to a test
// client names a list of destinations, which the client fetches from the console by a GET.
//
// # Message
//
// A message has 160 bytes. The integers are in the byte order of the sender, which the magic
// tells, and they are not aligned: struct srpc_msg of LNet is packed.
//
//	off  size  field
//	  0   4    magic      0xeeb0f00d
//	  4   4    version    1
//	  8   4    type       an even number for a request, the next odd one for its reply
//	 12   8    reserved
//	 20   4    features   of the session
//	 24   8    reply id   in a request
//	 24   4    status     in a reply
//	           rest of the body, by type
//	160
//
// The comment of each body has the table of its fields, with offsets from the beginning of the
// message. Bytes that no field uses are written as zeros and ignored when they are read, because
// kernel nodes from 2.16 on leave bytes of an earlier reply there.
package wire
