package nid_test

import (
	"fmt"
	"net/netip"

	"ulnet/lnet/nid"
)

func ExampleParse() {
	for _, s := range []string{"10.0.0.1", "2001:db8::1@tcp2", "0x1f@gni", "0@lo", "10.0.0.1@tcp70000"} {
		n, err := nid.Parse(s)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(n, n.Net().Type(), n.Net().Num())
	}
	// Output:
	// 10.0.0.1@tcp tcp 0
	// 2001:db8::1@tcp2 tcp 2
	// 31@gni gni 0
	// 0@lo lo 0
	// NID "10.0.0.1@tcp70000": network number above 65535
}

func ExampleFromAddr() {
	n := nid.FromAddr(nid.MustParseNet("tcp1"), netip.MustParseAddr("192.168.1.10"))
	fmt.Printf("%v %#x\n", n, n.Value4())
	// Output: 192.168.1.10@tcp1 0x20001c0a8010a
}

func ExampleProcessID() {
	id := nid.ProcessID{NID: nid.MustParse("10.0.0.1"), PID: nid.LustrePID}
	fmt.Println(id)
	id.PID = 51234 | nid.UserPID
	fmt.Println(id)
	// Output:
	// 12345-10.0.0.1@tcp
	// U51234-10.0.0.1@tcp
}
