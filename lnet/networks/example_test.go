package networks_test

import (
	"fmt"
	"log"

	"ulnet/lnet/networks"
)

// The tunable networks, as in /etc/modprobe.d/lustre.conf, becomes a list.
func ExampleParse() {
	list, err := networks.Parse("tcp1(eth0,eth1),o2ib(ib0)")
	if err != nil {
		log.Fatal(err)
	}
	for _, i := range list {
		fmt.Println(i.Net, i.Name)
	}
	// Output:
	// tcp1 eth0
	// tcp1 eth1
	// o2ib ib0
}
