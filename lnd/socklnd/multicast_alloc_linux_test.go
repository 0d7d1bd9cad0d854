package socklnd

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"testing"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnet/nid"
)

// castPair returns a function that sends a datagram of size bytes to a group and waits until it
// has arrived and is finalized.
func castPair(t testing.TB, size int) (once func()) {
	a, b := newEcho(size), newEcho(size)
	port := freeUDPPort(t)
	x := startCaster(t, "127.0.0.1", a, Config{MulticastPort: port})
	y := startCaster(t, "127.0.0.2", b, Config{MulticastPort: port})
	t.Cleanup(func() {
		_ = x.Shutdown(context.Background())
		_ = y.Shutdown(context.Background())
	})
	for _, ni := range []*NI{x, y} {
		if err := ni.Join(1); err != nil {
			t.Fatal(err)
		}
	}
	m := newPut(nid.ProcessID{NID: x.NID(), PID: nid.LustrePID}, nid.ProcessID{NID: x.GroupNID(1), PID: nid.LustrePID}, pattern(size))
	m.Group = 1
	once = func() {
		x.Multicast(m)
		<-a.left
		<-b.arrived
	}
	once()
	return once
}

func TestMulticastAllocations(t *testing.T) {
	if effort.Race {
		t.Skip("the race detector allocates")
	}
	for _, size := range []int{0, 8, 2048, 60000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			once := castPair(t, size)
			for range 100 {
				once()
			}
			if n := testing.AllocsPerRun(200, once); n != 0 {
				t.Errorf("%v allocations per datagram", n)
			}
		})
	}
}

func BenchmarkMulticast(b *testing.B) {
	for _, size := range []int{8, 2048} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			once := castPair(b, size)
			b.ReportAllocs()
			b.SetBytes(int64(size))
			for b.Loop() {
				once()
			}
		})
	}
}

// BenchmarkRawMulticast measures what BenchmarkMulticast does, with a plain Go program over UDP.
func BenchmarkRawMulticast(b *testing.B) {
	for _, size := range []int{8, 2048} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			lo, err := net.InterfaceByName("lo")
			if err != nil {
				b.Skip(err)
			}
			group := &net.UDPAddr{IP: net.IPv4(239, 76, 0, 9), Port: int(freeUDPPort(b))}
			in, err := net.ListenMulticastUDP("udp4", lo, group)
			if err != nil {
				b.Fatal(err)
			}
			defer in.Close()
			w, err := newDatagramWriter(netip.MustParseAddr("127.0.0.1"), lo.Index, 1, 0, 0)
			if err != nil {
				b.Fatal(err)
			}
			defer w.close()
			arrived := make(chan struct{}, 1)
			go func() {
				buf := make([]byte, 1<<16)
				for {
					if _, _, err := in.ReadFromUDPAddrPort(buf); err != nil {
						return
					}
					arrived <- struct{}{}
				}
			}()
			data, to := make([]byte, size), group.AddrPort()
			b.SetBytes(int64(size))
			for b.Loop() {
				if _, err := w.conn.WriteToUDPAddrPort(data, to); err != nil {
					b.Fatal(err)
				}
				<-arrived
			}
		})
	}
}
