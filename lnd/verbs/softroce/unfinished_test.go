package softroce

import (
	"bytes"
	"net/netip"
	"testing"
	"time"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnd/verbs/softroce/emulator"
	"ulnet/lnd/verbs/softroce/wire"
)

// halving is a network on which the ports of the addresses in cut send only the first packet of a
// message that has several; the others are lost.
type halving struct {
	wire.Network
	cut map[netip.Addr]bool
}

// Open implements wire.Network.
func (n *halving) Open(cfg wire.Config) (wire.Conn, error) {
	c, err := n.Network.Open(cfg)
	return &halvingPort{c, n, cfg.Local.Addr()}, err
}

type halvingPort struct {
	wire.Conn
	n    *halving
	addr netip.Addr
}

func (p *halvingPort) Send(list []wire.Burst) (int, error) {
	var left []wire.Burst
	for _, b := range list {
		if op := ibta.OpCode(b.Bytes[0]); p.n.cut[p.addr] && op == ibta.SendFirst {
			b.Bytes, b.Segments = b.Bytes[:min(b.Size, len(b.Bytes))], 1
		} else if p.n.cut[p.addr] && (op == ibta.SendMiddle || op == ibta.SendLast) {
			continue
		}
		left = append(left, b)
	}
	_, err := p.Conn.Send(left)
	return len(list), err
}

// TestUnfinishedMessages: three peers send the first packet of a message each, to a node with three
// receive buffers, and two of them die. A message of another peer arrives all the same, and so does the
// message of the peer that is still alive when it sends the rest.
func TestUnfinishedMessages(t *testing.T) {
	v := newVirtual(t, 1, emulator.Faults{Delay: 10 * time.Microsecond})
	at := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}) }
	net := &halving{v.net, map[netip.Addr]bool{}}
	v.open = NewOpener(Options{Network: net})
	server := openNode(t, v.open, verbs.OpenConfig{Addr: at(200), Clock: v.clock, MTU: 1024})
	var err error
	if server.pool, err = server.pd.NewPool(verbs.PoolConfig{Buffers: 3, Size: 4096}); err != nil {
		t.Fatal(err)
	}
	server.listen()
	message := func(i int) []byte { return bytes.Repeat([]byte{byte(i + 1)}, 3000+i) }
	for i := range 4 {
		n := openNode(t, v.open, verbs.OpenConfig{Addr: at(i), Clock: v.clock, MTU: 1024})
		c, err := n.device.Connect(addrPort(server.device), n.config(), n.event)
		if err != nil {
			t.Fatal(err)
		}
		v.clock.Run(v.clock.Now() + time.Millisecond)
		net.cut[at(i)] = i < 3
		if err := c.PostSend([]verbs.SendWR{send(uint64(i), message(i))}); err != nil {
			t.Fatal(err)
		}
		v.clock.Run(v.clock.Now() + time.Millisecond)
		v.net.Cut(at(200), at(i), i == 0 || i == 2)
	}
	if len(server.got) != 0 {
		t.Fatal("a message found a buffer")
	}
	v.clock.Run(v.clock.Now() + 200*time.Millisecond)
	if len(server.got) != 1 {
		t.Error("no message arrived")
	}
	net.cut[at(1)] = false
	v.clock.Run(v.clock.Now() + 30*time.Second)
	for _, i := range []int{3, 1} {
		if len(server.got) == 0 {
			t.Fatalf("message %d did not arrive", i)
		}
		if b := <-server.got; !bytes.Equal(b, message(i)) {
			t.Errorf("message %d: %d bytes", b[0]-1, len(b))
		}
	}
	if s := server.pool.Stats(); s.Free != 3 || len(server.got) != 0 {
		t.Errorf("%d buffers are free of 3, and %d messages more have arrived", s.Free, len(server.got))
	}
}

// TestYield: the buffer of a SEND is freed if no packet has come between two yields. The rest of the
// SEND needs a buffer again, for which it waits like a new one.
func TestYield(t *testing.T) {
	var stuck bool
	p := newPair(t, 1, weather{delay: time.Millisecond, drop: func(from int, q *ibta.Packet) bool {
		return stuck && from == 0 && q.OpCode != ibta.SendFirst
	}}, nil)
	defer p.explain()
	pool := p.pools[1]
	begin := func(b []byte) {
		stuck = true
		p.post(0, send(1, b))
		p.run(p.now + 5*time.Millisecond)
		for _, want := range []int{1, 1, 0, 0} {
			if pool.taken != want {
				t.Fatalf("%d buffers are taken, want %d", pool.taken, want)
			}
			_ = p.step(1, rcInput{Yield: true, Later: true})
		}
	}
	message := bytes.Repeat([]byte("message."), 400)
	begin(message)
	stuck, pool.free = false, 0
	p.run(p.now + 100*time.Millisecond)
	if len(p.got[1]) != 0 || p.ends[1].counters.NoBuffer == 0 || pool.taken != 0 {
		t.Fatalf("%d messages without a buffer; %d buffers are taken", len(p.got[1]), pool.taken)
	}
	pool.free = 64
	p.run(p.now + time.Second)
	if len(p.got[1]) != 1 || !bytes.Equal(p.got[1][0], message) || pool.free != 64 {
		t.Fatalf("%d messages, %d buffers are free of 64", len(p.got[1]), pool.free)
	}
	begin(message)
	_ = p.step(1, rcInput{Fail: verbs.Flushed})
	if pool.free != 64 {
		t.Errorf("%d buffers are free of 64 after the end", pool.free)
	}
}

// TestYieldMemory: a SEND whose buffer was freed takes memory for what has come of it, not for the
// longest message, and may still not be longer than that.
func TestYieldMemory(t *testing.T) {
	passes := map[ibta.OpCode]bool{ibta.SendFirst: true}
	p := newPair(t, 1, weather{delay: time.Millisecond, drop: func(from int, q *ibta.Packet) bool {
		return from == 0 && !passes[q.OpCode]
	}}, nil)
	r := &p.ends[1].resp
	// a buffer has room for four times testMTU, so this SEND is too long
	p.post(0, send(1, make([]byte, 5*testMTU)))
	p.run(p.now + 5*time.Millisecond)
	for range 2 {
		_ = p.step(1, rcInput{Yield: true, Later: true})
	}
	if n := cap(r.buffer.Bytes); !r.apart || r.length != testMTU || n > 2*testMTU {
		t.Errorf("%d bytes of memory for %d, apart: %v", n, r.length, r.apart)
	}
	passes[ibta.SendMiddle] = true
	p.run(p.now + time.Second)
	if len(r.buffer.Bytes) != 4*testMTU || p.failed[1] != verbs.Success {
		t.Errorf("%d bytes have come: %v", len(r.buffer.Bytes), p.failed[1])
	}
	passes[ibta.SendLast] = true
	p.run(p.now + time.Minute)
	if len(p.got[1]) != 0 || p.failed[0] != verbs.RemoteInvalid || p.pools[1].taken != 0 {
		t.Errorf("%d messages, %v, %d buffers are taken", len(p.got[1]), p.failed[0], p.pools[1].taken)
	}
	p.explain()
}
