package socklnd

import (
	"fmt"
	"io"
	"net"
	"testing"

	"ulnet/lnd"
	"ulnet/lnet/nid"
)

// pong answers messages from inside the handler. Its field left is the number of answers that are
// still to be sent.
type pong struct {
	echo
	ni   lnd.NI
	m    *lnd.Message
	left int
	done chan struct{}
}

func (p *pong) Delivered(*lnd.Delivery, error) {
	if p.left--; p.left >= 0 {
		p.ni.Send(p.m)
		return
	}
	p.done <- struct{}{}
}
func (p *pong) Finalize(*lnd.Message, error) {}

// BenchmarkHandlerToHandler is a half round trip from handler to handler.
func BenchmarkHandlerToHandler(b *testing.B) {
	for _, size := range []int{8, 4096, 65536, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			f := newTCPFabric()
			var p [2]*pong
			var id [2]nid.ProcessID
			for i := range p {
				h := start(b, fmt.Sprintf("127.0.0.%d", i+1), f.config(Config{}))
				p[i] = &pong{echo: *newEcho(size), ni: h.ni, done: make(chan struct{}, 2)}
				h.ni.up = p[i]
				id[i] = h.id()
			}
			run := func(n int) {
				p[0].left, p[1].left = n, n
				p[0].ni.Send(p[0].m)
				<-p[1].done
			}
			p[0].m, p[1].m = newPut(id[0], id[1], pattern(size)), newPut(id[1], id[0], pattern(size))
			for len(p[0].ni.(*NI).Snapshot().Peers) == 0 || len(p[0].ni.(*NI).Snapshot().Peers[0].Conns) < 3 {
				run(1)
			}
			b.SetBytes(int64(size))
			b.ResetTimer()
			run(b.N / 2)
		})
	}
}

// BenchmarkRaw measures the same round trip with a plain Go program over TCP.
func BenchmarkRaw(b *testing.B) {
	for _, size := range []int{8, 4096, 65536, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			go func() {
				c, err := l.Accept()
				if err != nil {
					return
				}
				defer c.Close()
				buf := make([]byte, size)
				for {
					if _, err := io.ReadFull(c, buf); err != nil {
						return
					}
					if _, err := c.Write(buf); err != nil {
						return
					}
				}
			}()
			c, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			buf := make([]byte, size)
			b.SetBytes(int64(size))
			b.ResetTimer()
			for range b.N / 2 {
				if _, err := c.Write(buf); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(c, buf); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkStream sends messages one way with some in flight.
func BenchmarkStream(b *testing.B) {
	for _, size := range []int{8, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			f := newTCPFabric()
			var e [2]*echo
			var h [2]*host
			for i := range e {
				h[i] = start(b, fmt.Sprintf("127.0.0.%d", i+1), f.config(Config{}))
				e[i] = newEcho(size)
				h[i].ni.up = e[i]
			}
			const inFlight = 256
			payload := pattern(size)
			free := make(chan *lnd.Message, inFlight)
			for range min(inFlight, max(8, (32<<20)/(size+1))) {
				free <- newPut(h[0].id(), h[1].id(), payload)
			}
			s := &refiller{echo: *e[0], free: free}
			h[0].ni.up = s
			h[0].ni.Send(<-free)
			<-e[1].arrived
			b.SetBytes(int64(size))
			b.ResetTimer()
			go func() {
				for range b.N {
					h[0].ni.Send(<-free)
				}
			}()
			for range b.N {
				<-e[1].arrived
			}
		})
	}
}

// refiller keeps a fixed number of messages in flight.
type refiller struct {
	echo
	free chan *lnd.Message
}

// Finalize makes the message available for the next send.
func (s *refiller) Finalize(m *lnd.Message, _ error) { s.free <- m }
