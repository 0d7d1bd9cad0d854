package wire_test

import (
	"fmt"

	"ulnet/scoll/rmcast/wire"
)

// A tool reads a datagram: the first half of a message.
func ExampleParseDatagram() {
	data := (&wire.Datagram{
		Group: 7, Version: wire.Version{Epoch: 1, Counter: 3}, Origin: 2, Length: 10, Seq: 40, Count: 2, Size: 5, Stable: 38, First: 1,
	}).AppendTo(nil)
	data = append(data, "hello"...)

	d, fragment, err := wire.ParseDatagram(data)
	if err != nil {
		panic(err)
	}
	fmt.Printf("group %d, list %v, origin %d: datagram %d has part %d of %d: %s\n", d.Group, d.Version, d.Origin, d.Seq, d.Index+1, d.Count, fragment)
	// Output:
	// group 7, list 1.3, origin 2: datagram 40 has part 1 of 2: hello
}
