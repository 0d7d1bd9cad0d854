package wire_test

import (
	"fmt"

	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/wire"
)

// A tool reads the answer of a node that is busy with the session of another console.
func ExampleParseMessage() {
	session := wire.Session{Console: nid.MustParse("10.0.0.1@tcp"), Stamp: 598523}
	data, err := (&wire.Message{
		Header: wire.Header{Features: wire.BulkLength}, Status: wire.EBUSY,
		Body: &wire.MakeSessionReply{Session: session, Timeout: 100, Name: "nightly"},
	}).AppendBinary(nil)
	if err != nil {
		panic(err)
	}

	m, err := wire.ParseMessage(data)
	if err != nil {
		panic(err)
	}
	reply := m.Body.(*wire.MakeSessionReply)
	fmt.Println(m.Type, m.Status, reply.Session, reply.Name)
	// Output:
	// make-session reply EBUSY 598523@10.0.0.1@tcp nightly
}
