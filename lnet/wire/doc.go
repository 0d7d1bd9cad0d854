// Package wire is the LNet wire format: message headers with their commands,
// ping info, and the request to the acceptor. It does no I/O.
//
// # Message header
//
// Every LNet message is a header and PayloadLength bytes of payload. The
// header has a 72-byte form for nid4 (struct lnet_hdr_nid4) and a 96-byte form
// with extended NIDs (struct lnet_hdr_nid16), which shifts all but the NIDs:
//
//	off  off  size  field
//	 72   96
//	  0    0  8/20  destination NID
//	  8   20  8/20  source NID
//	 16   40  4     destination pid
//	 20   44  4     source pid
//	 24   48  4     type
//	 28   52  4     payload length
//	 32   56  40    command, by type; unused bytes at its end are zero
//
// The commands, by offset in those 40 bytes:
//
//	off  size  ACK         PUT           GET              REPLY      HELLO
//	  0  8     MD handle   MD for ack    MD for reply     MD handle  incarnation
//	  8  8     (interface cookie first, object cookie second)        type (4)
//	 16  8     match bits  match bits    match bits
//	 24  8     mlength(4)  header data   portal, offset
//	 32  4                 portal        sink length
//	 36  4                 offset
//
// # Byte order
//
// Integers of the message header are little-endian, except MD handles and
// header data: those are opaque, returned or delivered as they came, and this
// package carries them over bit for bit. Ping info and acceptor requests are in
// the byte order of their sender, which a magic at their beginning tells; this
// package writes either and reads both. Extended NIDs are never swapped.
//
// # Parsing
//
// Each Parse function checks lengths once, returns the rest of its argument after the bytes
// that it consumed, never panics and never keeps its argument. It accepts everything that a
// peer may send; [Header.Validate] refuses what a node must not act upon. All of the package
// is safe for concurrent use.
package wire
