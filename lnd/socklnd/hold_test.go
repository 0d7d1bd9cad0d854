package socklnd

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
)

// helloLoopback is request and HELLO of a kernel at 127.0.0.1 that dials
// 127.0.0.2, CONTROL, with an incarnation to be filled in.
const helloLoopback = "0071ceac 01000000 0200007f00000200" +
	"63697245 03000000 0100007f00000200 0200007f00000200 39300000 00000000 %016x 0000000000000000 01000000 00000000"

// dialLoopback opens a CONTROL connection over TCP to the NI at 127.0.0.2, once
// its acceptor has room for it.
func dialLoopback(t *testing.T, f *tcpFabric, h *host, incarnation int) net.Conn {
	t.Helper()
	for {
		c, err := net.Dial("tcp", f.real(h.ni.addr).String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.Write(unhex(t, fmt.Sprintf(helloLoopback, incarnation)))
		answer := make([]byte, 56)
		if _, err := io.ReadFull(c, answer); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(fmt.Sprintf("%x", answer), "ffffffff00000000") {
			return c
		}
		_ = c.Close() // refused: the host is still closing the client's last connection
	}
}

// TestHoldNoticesHangUp: again and again a peer connects, sends a message that lnet holds forever, and
// closes the connection. Each time the message is given up, and nothing is left of it.
func TestHoldNoticesHangUp(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no way to find out without reading")
	}
	for name, end := range map[string]func(*net.TCPConn){
		"FIN": func(c *net.TCPConn) { _ = c.Close() },
		"RST": func(c *net.TCPConn) { _ = c.SetLinger(0); _ = c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			f := newTCPFabric()
			h := start(t, "127.0.0.2", f.config(Config{}))
			held := make(chan struct{}, 1)
			h.parse = func(*host, *lnd.Delivery) (lnd.Answer, error) {
				held <- struct{}{}
				return lnd.Hold, nil
			}
			before := runtime.NumGoroutine()
			conns := effort.Of(60, 200, 200)
			for i := range conns {
				c := dialLoopback(t, f, h, i+1)
				_, _ = c.Write(kernelPut(t, 0, pattern(100_000)))
				<-held
				end(c.(*net.TCPConn))
				h.await("the message to be given up", func() bool { return h.gone == i+1 })
			}
			h.await("the end of the last connection", func() bool { return len(h.downs) == conns })
			slots := func() int { return h.ni.Snapshot().Accepted } // the slot is free when the last reader has ended
			for begin := time.Now(); runtime.NumGoroutine() > before+1 || slots() > 0; runtime.Gosched() {
				if time.Since(begin) > h.patience {
					t.Fatalf("%d goroutines, %d at the beginning; %d slots", runtime.NumGoroutine(), before, slots())
				}
			}
			if h.conns() > 0 || len(h.broken) > 0 {
				t.Errorf("%d connections, broken %v", h.conns(), h.broken)
			}
		})
	}
}

// TestHoldOverTCP (SK-23): a held message is read whole after Recv, at once or later,
// and so is what comes behind it.
func TestHoldOverTCP(t *testing.T) {
	spec.Covers(t, "SK-23")
	f := newTCPFabric()
	h := start(t, "127.0.0.2", f.config(Config{}))
	deliveries := make(chan *lnd.Delivery, 1)
	h.parse = func(_ *host, d *lnd.Delivery) (lnd.Answer, error) {
		deliveries <- d
		return lnd.Hold, nil
	}
	c := dialLoopback(t, f, h, 1)
	defer c.Close()
	messages := effort.Of(100, 200, 200)
	go func() {
		for i := range messages {
			_, _ = c.Write(kernelPut(t, 0, pattern(1000*i)))
		}
	}()
	for i := range messages {
		d := <-deliveries
		if i%2 == 0 {
			// time in which the reader may begin its wait at the socket; it differs from round to
			// round
			for range i {
				runtime.Gosched()
			}
		}
		takeAll(d)
		h.ni.Recv(d)
		if got := h.wantArrivals(i + 1)[i]; !bytes.Equal(got.payload, pattern(1000*i)) {
			t.Fatalf("message %d differs", i)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.downs) > 0 {
		t.Error(h.downs)
	}
}

// TestRecvIsOneStep: the reader does not go on with a held message before Recv has
// returned: otherwise Recv could interrupt the wait for the next message.
func TestRecvIsOneStep(t *testing.T) {
	var h held
	resume := h.wait()
	h.mu.Lock()
	done := make(chan struct{})
	go func() { h.recv(); close(done) }()
	for range 10_000 {
		runtime.Gosched()
		if len(resume) > 0 {
			t.Error("resumed while Recv has the rest to do")
			break
		}
	}
	h.mu.Unlock()
	<-done
	if len(resume) != 1 {
		t.Error("not resumed")
	}
}
