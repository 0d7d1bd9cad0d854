package link_test

import (
	"fmt"
	"log"

	"ulnet/lnd/link"
)

// A change is written as in scenarios and by 'lnetctl fault', and does not affect fields that it
// does not name.
func ExampleParseChange() {
	q := link.Quality{Loss: 0.01}
	change, err := link.ParseChange([]string{"latency", "1ms±500µs", "rate", "10Gbit"})
	if err != nil {
		log.Fatal(err)
	}
	q = change.Apply(q)
	fmt.Println(q)
	fmt.Println(q.Transmission(1 << 20))
	// Output:
	// latency 1ms±500µs rate 10Gbit loss 1%
	// 838.86µs
}
