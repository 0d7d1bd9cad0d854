package wire_test

import (
	"fmt"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// A tool reads a message in which a client names its new master.
func ExampleParseMessage() {
	data := (&wire.Message{
		Kind: wire.Choose, Client: wire.ClientIDOf("compute-17"), Incarnation: 7, Epoch: 2, Server: nid.MustParse("10.0.0.1@tcp"),
	}).AppendTo(nil)

	m, err := wire.ParseMessage(data)
	if err != nil {
		panic(err)
	}
	fmt.Println(m.Kind, m.Client, m.Incarnation, m.Epoch, m.Server)
	// Output:
	// choose d90bb4151804d2762ab2f378e61c3072 7 2 10.0.0.1@tcp
}
