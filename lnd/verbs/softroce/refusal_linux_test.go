package softroce

import (
	"bytes"
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ulnet/lnd/verbs"
	"ulnet/lnet/machine"
)

// TestKernelDoesNotCut makes the kernel refuse bursts, which it does for sockets without
// checksums: the device notices, sends the datagrams one by one with the ICRCs that they need
// then, and loses none.
func TestKernelDoesNotCut(t *testing.T) {
	var nodes [2]*testNode
	for i := range nodes {
		nodes[i] = openNode(t, Open, verbs.OpenConfig{Addr: loopbackAddr(), Clock: machine.RealClock(), ReceiveBuffer: 4 << 20})
		s := nodes[i].device.(*device).hub.port.(*udpPort).socket
		var err error
		if e := s.rawConn().Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_NO_CHECK, 1) }); e != nil || err != nil {
			t.Fatal(e, err)
		}
	}
	nodes[1].listen()
	moveInTime(t, nodes, connect(t, nodes[0], nodes[1]), 4)
	for i, n := range nodes {
		h := n.device.(*device).hub
		if s := h.stats(); h.cut.Load() || s.BadICRC > 0 || s.Unsent > 0 {
			t.Errorf("node %d: cut %v, %+v", i, h.cut.Load(), s)
		}
	}
}

// lines collects the lines of a log.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

// TestNoWay: the system has no route to a peer. That is counted, logged once, and the connection
// is not made.
func TestNoWay(t *testing.T) {
	var log lines
	n := openNode(t, Open, verbs.OpenConfig{Addr: loopbackAddr(), Clock: machine.RealClock(), Log: slog.New(slog.NewTextHandler(&log, nil))})
	cfg := n.config()
	cfg.Timeout = 5 * time.Second // long enough for a repeated request on a busy machine
	c, err := n.device.Connect(netip.MustParseAddrPort("192.0.2.1:987"), cfg, n.event)
	if err != nil {
		t.Fatal(err)
	}
	if e := take(t, n.events); e.Kind != verbs.Unreachable {
		t.Errorf("%+v", e)
	}
	if err := c.PostSend([]verbs.SendWR{send(1, nil)}); !errors.Is(err, verbs.ErrClosed) {
		t.Error(err)
	}
	s := n.device.(*device).hub.stats()
	if s.Unsent < 2 || s.Full > 0 || s.QueuePairs != 0 {
		t.Errorf("%+v", s)
	}
	log.mu.Lock()
	defer log.mu.Unlock()
	if strings.Count(log.b.String(), "level=WARN") != 1 {
		t.Error(log.b.String())
	}
}
