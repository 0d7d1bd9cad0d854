//go:build ibverbs && cgo && linux

package ibv

import (
	"bytes"
	"errors"
	"net/netip"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"ulnet/lnd/verbs"
)

// TestOnFakeFlush: work requests that are posted and not done complete as flushed when their
// connection ends, whether or not the device reports them.
func TestOnFakeFlush(t *testing.T) {
	for _, tt := range []struct {
		name    string
		noFlush bool
		end     func(*end)
		event   bool
	}{
		{"disconnect", false, func(x *end) { x.conn.Disconnect() }, true},
		{"close", false, func(x *end) { x.conn.Close() }, false},
		{"close, the device does not flush", true, func(x *end) { x.conn.Close() }, false},
		{"disconnect and close, the device does not flush", true, func(x *end) { x.conn.Disconnect(); x.want(verbs.Disconnected); x.conn.Close() }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := fake(t)
			a, b := newNode(t, "127.0.0.2"), newNode(t, "127.0.0.3")
			x, y := connect(t, a, b)
			s.set(&s.hold, 1)
			if tt.noFlush {
				s.set(&s.noFlush, 1)
			}
			memory := make([]byte, 64)
			mr, err := a.pd.Register([][]byte{memory}, 0)
			if err != nil {
				t.Fatal(err)
			}
			for i := range nodeSends {
				x.post(verbs.SendWR{ID: uint64(i), Pieces: []verbs.SGE{{Bytes: memory, MR: mr}, {Bytes: []byte("copy")}}, Signaled: i%2 == 0})
			}
			if err := x.conn.PostSend(make([]verbs.SendWR, 1)); !errors.Is(err, verbs.ErrFull) {
				t.Errorf("one more: %v", err)
			}
			tt.end(x)
			if tt.event {
				if ev := x.want(verbs.Disconnected); ev.Status != verbs.Success {
					t.Errorf("it ends with %v", ev.Status)
				}
			}
			for i := range nodeSends {
				x.wantDone(uint64(i), verbs.Flushed)
			}
			mr.Deregister()
			y.want(verbs.Disconnected)
			x.conn.Close()
			y.conn.Close()
			a.close()
			b.close()
			if len(x.events) != 0 {
				t.Errorf("an event follows: %+v", <-x.events)
			}
		})
	}
}

// TestOnFakeEmptyPool: messages wait for free buffers; buffers that the consumer has stay
// valid after the connection and the device have ended.
func TestOnFakeEmptyPool(t *testing.T) {
	fake(t)
	a, b := newNode(t, "127.0.0.2"), newNode(t, "127.0.0.3")
	b.keep = true
	x, y := connect(t, a, b)
	var kept []verbs.Completion
	for i := range nodeBuffers {
		x.post(verbs.SendWR{ID: uint64(i), Pieces: []verbs.SGE{{Bytes: []byte{byte(i)}}}, Signaled: true})
		x.wantDone(uint64(i), verbs.Success)
		c := within(t, "a message", b.kept)
		if c.ID != 77 || c.QPN != y.conn.QPN() {
			t.Errorf("received %+v", c)
		}
		kept = append(kept, c)
	}
	if s := b.pool.Stats(); s.Free != 0 {
		t.Errorf("%d buffers are free", s.Free)
	}
	x.post(verbs.SendWR{ID: 99, Pieces: []verbs.SGE{{Bytes: []byte("waits")}}, Signaled: true})
	b.pool.Return(kept[3].Buffer)
	x.wantDone(99, verbs.Success)
	kept[3] = within(t, "the message that waited", b.kept)
	if got := string(kept[3].Buffer.Bytes); got != "waits" {
		t.Errorf("got %q", got)
	}
	hangUp(x, y)
	a.close()
	b.close()
	for i, c := range kept {
		if i != 3 && !bytes.Equal(c.Buffer.Bytes, []byte{byte(i)}) {
			t.Errorf("message %d changed", i)
		}
		b.pool.Return(c.Buffer)
	}
	defer func() {
		if recover() == nil {
			t.Error("a buffer was returned twice")
		}
	}()
	b.pool.Return(kept[0].Buffer)
}

// TestOnFakeTooLong: a message longer than the buffers ends the connection.
func TestOnFakeTooLong(t *testing.T) {
	fake(t)
	a, b := newNode(t, "127.0.0.2"), newNode(t, "127.0.0.3")
	for _, size := range []int{nodeBufferSize + 1, nodeBufferSize + netHeaderSize, nodeBufferSize + netHeaderSize + 1} {
		x, y := connect(t, a, b)
		x.post(verbs.SendWR{Pieces: []verbs.SGE{{Bytes: make([]byte, size)}}})
		if ev := y.want(verbs.Disconnected); ev.Status != verbs.LocalLength {
			t.Errorf("%d bytes: the connection ends with %+v", size, ev)
		}
		x.want(verbs.Disconnected)
		x.conn.Close()
		y.conn.Close()
		for len(x.done) > 0 {
			<-x.done
		}
	}
	if len(b.got) != 0 {
		t.Error("a message was told")
	}
	a.close()
	b.close()
	if s := b.pool.Stats(); s.Free != nodeBuffers {
		t.Errorf("%d buffers are free at the end", s.Free)
	}
}

// TestOnFakeDeviceClose: closing a device ends the connections that are left.
func TestOnFakeDeviceClose(t *testing.T) {
	s := fake(t)
	a, b := newNode(t, "127.0.0.2"), newNode(t, "127.0.0.3")
	x, y := connect(t, a, b)
	requests := make(chan verbs.Request, 1)
	if _, err := b.dev.Listen(987, func(r verbs.Request) { requests <- r }); err != nil {
		t.Fatal(err)
	}
	z := newEnd(a)
	var err error
	if z.conn, err = a.dev.Connect(netip.MustParseAddrPort("127.0.0.3:987"), verbs.ConnConfig{QP: a.qp()}, z.event); err != nil {
		t.Fatal(err)
	}
	request := within(t, "a request", requests)
	mr, err := b.pd.Register([][]byte{make([]byte, 10), make([]byte, 10)}, 3)
	if err != nil {
		t.Fatal(err)
	}
	u, err := b.dev.NewUD(verbs.UDConfig{PD: b.pd, Sends: b.cq, Recvs: b.cq, Pool: b.pool, MaxSends: 2})
	if err == nil {
		err = u.Join(netip.MustParseAddr("239.0.0.1"))
	}
	if err != nil {
		t.Fatal(err)
	}
	s.set(&s.hold, 1)
	y.post(verbs.SendWR{ID: 1})
	if err := b.cq.Close(); err == nil {
		t.Error("a queue closed that has queue pairs")
	}
	if err := b.pd.Close(); err == nil {
		t.Error("a domain closed that has regions")
	}
	if err := b.dev.Close(); err != nil {
		t.Fatal(err)
	}
	y.want(verbs.Disconnected)
	y.wantDone(1, verbs.Flushed)
	x.want(verbs.Disconnected)
	z.want(verbs.Rejected)
	if _, err := request.Accept(verbs.ConnConfig{QP: b.qp()}, y.event); err == nil {
		t.Error("a request was accepted after its device closed")
	}
	if err := y.conn.PostSend(make([]verbs.SendWR, 1)); !errors.Is(err, verbs.ErrClosed) {
		t.Errorf("posting to a closed device: %v", err)
	}
	mr.Deregister()
	y.conn.Disconnect()
	y.conn.Close()
	u.Close()
	b.close()
	if err := a.dev.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestOnFakeDeregister: memory that the device does not release is never freed.
func TestOnFakeDeregister(t *testing.T) {
	s := fake(t)
	a := newNode(t, "127.0.0.2")
	var freed atomic.Int32
	register := func() verbs.MR {
		memory := new([4096]byte)
		runtime.AddCleanup(memory, func(int) { freed.Add(1) }, 0)
		mr, err := a.pd.Register([][]byte{memory[:]}, verbs.LocalWrite|verbs.RemoteWrite)
		if err != nil {
			t.Fatal(err)
		}
		return mr
	}
	collect := func() {
		for range 3 {
			runtime.GC()
		}
		runtime.Gosched()
	}
	good := register()
	collect()
	if freed.Load() != 0 {
		t.Fatal("registered memory was freed")
	}
	good.Deregister()
	for range 100 {
		if collect(); freed.Load() == 1 {
			break
		}
	}
	if freed.Load() != 1 {
		t.Error("memory was not freed after Deregister")
	}
	bad := register()
	s.set(&s.noDereg, 1)
	bad.Deregister()
	collect()
	if freed.Load() != 1 {
		t.Error("memory was freed that the device has")
	}
	s.set(&s.noDereg, 0)
	kept.Lock()
	n := len(kept.list)
	kept.Unlock()
	if n == 0 {
		t.Error("nothing keeps the memory")
	}
	// The fake keeps a region, and therefore its protection domain, for ever.
	if err := a.dev.Close(); err != nil {
		t.Error(err)
	}
	s.live[2], s.live[3], s.mistakes = 0, 0, 0
}

// TestOnFakeBusyQueue: a connection is closed while its messages wait for the upcall. Their
// buffers can still be returned to the pool.
func TestOnFakeBusyQueue(t *testing.T) {
	fake(t)
	a, b := newNode(t, "127.0.0.2"), newNode(t, "127.0.0.3")
	b.keep = true
	b.kept = make(chan verbs.Completion) // unbuffered: each upcall waits for the test
	x, y := connect(t, a, b)
	for i := range nodeSends {
		x.post(verbs.SendWR{ID: uint64(i), Signaled: true})
		x.wantDone(uint64(i), verbs.Success)
	}
	y.conn.Close()
	x.want(verbs.Disconnected)
	<-time.After(4 * linger / 50)
	for b.pool.Stats().Free != nodeBuffers {
		select {
		case c := <-b.kept:
			b.pool.Return(c.Buffer)
		case <-time.After(time.Millisecond):
		}
	}
	x.conn.Close()
	a.close()
	b.close()
	if s := b.pool.Stats(); s.Free != nodeBuffers {
		t.Errorf("%d buffers are free at the end", s.Free)
	}
}

// TestOnFakeRoom: a post from inside an upcall, or during one, can use the room of work
// requests that the device has completed.
func TestOnFakeRoom(t *testing.T) {
	fake(t)
	a, b := newNode(t, "127.0.0.2"), newNode(t, "127.0.0.3")
	a.done = make(chan verbs.Completion) // unbuffered: each upcall waits for the test
	x, y := connect(t, a, b)
	const total = nodeBuffers // no more messages than the peer has buffers, so that none waits for a buffer
	for i := range total {
		x.post(verbs.SendWR{ID: uint64(i), Signaled: true})
	}
	for i := range total {
		x.wantDone(uint64(i), verbs.Success)
	}
	full := false
	for i := range 2 * mostPending { // a post fails once as many completions as allowed wait for their upcall
		if err := x.conn.PostSend([]verbs.SendWR{{ID: uint64(i), Signaled: true}}); err != nil {
			full = errors.Is(err, verbs.ErrFull)
			break
		}
	}
	if !full {
		t.Error("it never was full")
	}
	go func() {
		for range x.done {
			// Take the remaining completions.
		}
	}()
	hangUp(x, y)
	a.close()
	b.close()
	close(x.done)
}
