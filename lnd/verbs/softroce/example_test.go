package softroce_test

import (
	"fmt"
	"net/netip"
	"time"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/softroce"
	"ulnet/lnd/verbs/softroce/emulator"
)

// consumer opens a device with the objects that a consumer needs, and prints each completion.
func consumer(open verbs.Opener, addr string, clock *emulator.Clock) (verbs.Device, verbs.ConnConfig) {
	device, err := open(verbs.OpenConfig{Addr: netip.MustParseAddr(addr), Clock: clock})
	if err != nil {
		panic(err)
	}
	pd, _ := device.NewPD()
	pool, _ := pd.NewPool(verbs.PoolConfig{Buffers: 16, Size: 4096})
	cq, _ := device.NewCQ(64, func(batch []verbs.Completion) {
		for _, c := range batch {
			fmt.Println(addr, c.Op, c.Status, string(c.Buffer.Bytes))
			if c.Op == verbs.Receive {
				pool.Return(c.Buffer)
			}
		}
	})
	return device, verbs.ConnConfig{QP: verbs.QPConfig{PD: pd, Sends: cq, Recvs: cq, Pool: pool, MaxSends: 16}, RetryCount: 5, RNRRetryCount: 6}
}

// Two devices, here on a wire in memory and in virtual time; with softroce.Open and a real
// clock they use UDP sockets.
func Example() {
	clock := emulator.NewClock()
	network := emulator.New(emulator.Config{Clock: clock, Faults: emulator.Faults{Delay: time.Millisecond, Loss: 0.1}})
	open := softroce.NewOpener(softroce.Options{Network: network})

	server, accepting := consumer(open, "10.0.0.1", clock)
	_, _ = server.Listen(987, func(r verbs.Request) {
		fmt.Printf("%v asks: %.2s\n", r.Peer().Addr(), r.Private())
		_, _ = r.Accept(accepting, func(verbs.Conn, verbs.Event) {})
	})
	client, asking := consumer(open, "10.0.0.2", clock)
	asking.Private = []byte("hi")
	_, _ = client.Connect(netip.MustParseAddrPort("10.0.0.1:987"), asking, func(c verbs.Conn, e verbs.Event) {
		if e.Kind == verbs.Established {
			_ = c.PostSend([]verbs.SendWR{{Op: verbs.Send, Signaled: true, Pieces: []verbs.SGE{{Bytes: []byte("a message")}}}})
		}
	})
	clock.Run(time.Minute)
	_ = client.Close()
	_ = server.Close()
	// Output:
	// 10.0.0.2 asks: hi
	// 10.0.0.1 RECEIVE success a message
	// 10.0.0.2 SEND success
}
