//go:build ibverbs && cgo && linux

package ibv

import (
	"bytes"
	"errors"
	"net/netip"
	"testing"
	"time"

	"ulnet/lnd/verbs"
)

// TestOnFakeMessages: messages arrive as they were sent, from memory that is copied,
// registered, or both.
func TestOnFakeMessages(t *testing.T) {
	fake(t)
	a, b := newNode(t, "127.0.0.2"), newNode(t, "127.0.0.3")
	x, y := connect(t, a, b)
	memory := pattern(3000, 1)
	mr, err := a.pd.Register([][]byte{memory}, 0)
	if err != nil {
		t.Fatal(err)
	}
	x.post(
		verbs.SendWR{ID: 1},
		verbs.SendWR{ID: 2, Pieces: []verbs.SGE{{Bytes: []byte("one")}, {}, {Bytes: []byte("two")}}, Signaled: true},
		verbs.SendWR{ID: 3, Pieces: []verbs.SGE{{Bytes: []byte("head")}, {Bytes: memory[5:2000], MR: mr}, {Bytes: []byte("tail")}}, Signaled: true},
	)
	want := [][]byte{{}, []byte("onetwo"), append(append([]byte("head"), memory[5:2000]...), "tail"...)}
	for i, w := range want {
		if got := within(t, "a message", b.got); !bytes.Equal(got, w) {
			t.Errorf("message %d has %d bytes, want %d: %.20q", i, len(got), len(w), got)
		}
	}
	x.wantDone(2, verbs.Success)
	x.wantDone(3, verbs.Success)
	for i := range 1000 {
		y.post(verbs.SendWR{ID: uint64(i), Pieces: []verbs.SGE{{Bytes: pattern(i, byte(i))}}, Signaled: true})
		if got := within(t, "a message", a.got); !bytes.Equal(got, pattern(i, byte(i))) {
			t.Fatalf("message %d is another", i)
		}
		y.wantDone(uint64(i), verbs.Success)
	}
	mr.Deregister()
	mr.Deregister()
	hangUp(x, y)
	a.close()
	b.close()
}

// TestOnFakeWrite: a peer can write to registered memory, whose pieces it sees as one range,
// until the memory is deregistered.
func TestOnFakeWrite(t *testing.T) {
	fake(t)
	a, b := newNode(t, "127.0.0.2"), newNode(t, "127.0.0.3")
	for _, tt := range []struct {
		name  string
		sizes []int
	}{{"one piece", []int{5000}}, {"pieces", []int{1, 4096, 0, 77, 300}}} {
		t.Run(tt.name, func(t *testing.T) {
			a.t, b.t = t, t
			x, y := connect(t, a, b)
			var pieces [][]byte
			var whole []byte
			for _, n := range tt.sizes {
				pieces = append(pieces, pattern(n, 9))
				whole = append(whole, pattern(n, 9)...)
			}
			mr, err := b.pd.Register(pieces, verbs.LocalWrite|verbs.RemoteWrite)
			if err != nil {
				t.Fatal(err)
			}
			frags := mr.Frags(nil)
			if len(frags) != 1 || frags[0].Length != uint32(len(whole)) {
				t.Fatalf("fragments %+v", frags)
			}
			data := pattern(200, 50)
			to := verbs.Frag{Address: frags[0].Address + 3, Length: 200}
			x.post(verbs.SendWR{ID: 1, Op: verbs.Write, Pieces: []verbs.SGE{{Bytes: data}}, Remote: to, RKey: mr.RKey(), Signaled: true})
			x.wantDone(1, verbs.Success)
			copy(whole[3:], data)
			mr.Deregister()
			if got := bytes.Join(pieces, nil); !bytes.Equal(got, whole) {
				t.Error("the memory is not what was written to it, and what it was")
			}
			x.post(verbs.SendWR{ID: 2, Op: verbs.Write, Pieces: []verbs.SGE{{Bytes: data}}, Remote: to, RKey: mr.RKey()})
			x.wantDone(2, verbs.RemoteAccess)
			if ev := x.want(verbs.Disconnected); ev.Status != verbs.RemoteAccess {
				t.Errorf("the connection ends with %v", ev.Status)
			}
			y.want(verbs.Disconnected)
			x.post(verbs.SendWR{ID: 3})
			x.wantDone(3, verbs.Flushed)
			x.conn.Close()
			y.conn.Close()
		})
	}
	a.t, b.t = t, t
	a.close()
	b.close()
}

// TestOnFakeScattered: many pieces of one region are sent as one message, with the bytes that
// they have when the message is posted.
func TestOnFakeScattered(t *testing.T) {
	s := fake(t)
	a, b := newNode(t, "127.0.0.2"), newNode(t, "127.0.0.3")
	x, y := connect(t, a, b)
	before := s.live[3]
	for _, n := range []int{3, mostKeys, mostKeys + 1, 257} {
		pieces, memory := make([][]byte, n), make([]byte, 128*n)
		for i := range pieces {
			pieces[i] = memory[128*i:][:64]
		}
		mr, err := a.pd.Register(pieces, 0)
		if err != nil {
			t.Fatal(err)
		}
		if keys := s.live[3] - before; keys != int64(n) && (n <= mostKeys || keys != 1) {
			t.Errorf("%d pieces have %d registrations", n, keys)
		}
		copy(pieces[n-1], "after Register")
		x.post(verbs.SendWR{ID: 5, Pieces: []verbs.SGE{{Bytes: pieces[n-1][6:14], MR: mr}, {Bytes: pieces[0][:2], MR: mr}}, Signaled: true})
		if got := within(t, "a message", b.got); string(got) != "Register\x00\x00" {
			t.Errorf("%d pieces: got %q", n, got)
		}
		x.wantDone(5, verbs.Success)
		if err := x.conn.PostSend([]verbs.SendWR{{Pieces: []verbs.SGE{{Bytes: make([]byte, 3), MR: mr}}}}); !errors.Is(err, errForeign) {
			t.Errorf("memory outside of the region: %v", err)
		}
		mr.Deregister()
		if err := x.conn.PostSend([]verbs.SendWR{{Pieces: []verbs.SGE{{Bytes: pieces[0], MR: mr}}}}); !errors.Is(err, errForeign) {
			t.Errorf("memory that is taken back: %v", err)
		}
	}
	hangUp(x, y)
	a.close()
	b.close()
}

// TestOnFakeAsk: a request for a connection ends with the event of its outcome.
func TestOnFakeAsk(t *testing.T) {
	fake(t)
	a, b := newNode(t, "127.0.0.2"), newNode(t, "127.0.0.3")
	l, err := b.dev.Listen(987, func(r verbs.Request) {
		if err := r.Reject([]byte("no")); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(to string, timeout time.Duration) *end {
		x := newEnd(a)
		x.conn, err = a.dev.Connect(netip.MustParseAddrPort(to), verbs.ConnConfig{QP: a.qp(), Timeout: timeout}, x.event)
		if err != nil {
			t.Fatal(err)
		}
		if err := x.conn.PostSend([]verbs.SendWR{{}}); !errors.Is(err, verbs.ErrState) && !errors.Is(err, verbs.ErrClosed) {
			t.Errorf("posting too early: %v", err)
		}
		return x
	}
	x := ask("127.0.0.3:987", 0)
	if ev := x.want(verbs.Rejected); ev.Reason != 28 || len(ev.Private) != verbs.MaxRejectPrivate || !bytes.HasPrefix(ev.Private, []byte("no\x00")) {
		t.Errorf("rejected with %+v", ev)
	}
	x.conn.Close()
	if err := x.conn.PostSend([]verbs.SendWR{{}}); !errors.Is(err, verbs.ErrClosed) {
		t.Errorf("posting too late: %v", err)
	}
	x = ask("127.0.0.3:4", 0)
	if ev := x.want(verbs.Rejected); ev.Reason != 8 {
		t.Errorf("rejected with %+v", ev)
	}
	x.conn.Close()
	for _, to := range []string{"10.0.0.1:987", "127.0.0.3:9"} {
		x = ask(to, time.Second)
		x.want(verbs.Unreachable)
		x.conn.Close()
	}
	ask("127.0.0.3:9", 0).conn.Close() // closes the connection while the request is pending
	x = ask("127.0.0.3:9", 0)
	x.conn.Disconnect()
	x.want(verbs.Disconnected)
	x.conn.Close()
	_ = l.Close()
	a.close()
	b.close()
	if _, err := a.dev.Listen(1, nil); !errors.Is(err, verbs.ErrClosed) {
		t.Errorf("a closed device listens: %v", err)
	}
}

// TestOnFakeRefused: if one work request of a list cannot be posted, none of the list is.
func TestOnFakeRefused(t *testing.T) {
	s := fake(t)
	a, b := newNode(t, "127.0.0.2"), newNode(t, "127.0.0.3")
	x, y := connect(t, a, b)
	mr, err := b.pd.Register([][]byte{make([]byte, 8)}, 0)
	if err != nil {
		t.Fatal(err)
	}
	long := make([]byte, longestCopy+1)
	nine := make([]verbs.SGE, 9)
	own := make([]byte, 64)
	ownMR, err := a.pd.Register([][]byte{own}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range nine {
		nine[i] = verbs.SGE{Bytes: own[2*i : 2*i+1], MR: ownMR}
	}
	for _, tt := range []struct {
		name string
		wr   verbs.SendWR
		want error
	}{
		{"region of another domain", verbs.SendWR{Pieces: []verbs.SGE{{Bytes: make([]byte, 8), MR: mr}}}, errForeign},
		{"too long to copy", verbs.SendWR{Pieces: []verbs.SGE{{Bytes: long}}}, verbs.ErrTooLarge},
		{"too many pieces", verbs.SendWR{Pieces: nine}, verbs.ErrTooLarge},
		{"longer than its range", verbs.SendWR{Op: verbs.Write, Pieces: []verbs.SGE{{Bytes: long[:5]}}, Remote: verbs.Frag{Length: 4}}, verbs.ErrTooLarge},
	} {
		good := verbs.SendWR{Pieces: []verbs.SGE{{Bytes: []byte("never")}, {Bytes: own, MR: ownMR}}}
		if err := x.conn.PostSend([]verbs.SendWR{good, tt.wr}); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if err := x.conn.PostSend([]verbs.SendWR{{Op: verbs.Receive}}); err == nil {
		t.Error("a receive was posted")
	}
	if err := x.conn.PostSend(make([]verbs.SendWR, nodeSends+1)); !errors.Is(err, verbs.ErrFull) {
		t.Errorf("too many: %v", err)
	}
	s.set(&s.refuseAt, s.posts+1)
	if err := x.conn.PostSend(make([]verbs.SendWR, 2)); err == nil {
		t.Error("the device refused, but it is said to be posted")
	}
	s.set(&s.refuseAt, s.posts+2)
	x.post(verbs.SendWR{ID: 1}, verbs.SendWR{ID: 2}, verbs.SendWR{ID: 3})
	x.wantDone(2, verbs.Flushed)
	x.wantDone(3, verbs.Flushed)
	if ev := x.want(verbs.Disconnected); ev.Status != verbs.General {
		t.Errorf("the connection ends with %+v", ev)
	}
	x.post(verbs.SendWR{ID: 4, Pieces: []verbs.SGE{{Bytes: own, MR: ownMR}}})
	x.wantDone(4, verbs.Flushed)
	y.want(verbs.Disconnected)
	mr.Deregister()
	ownMR.Deregister()
	x.conn.Close()
	y.conn.Close()
	if got := within(t, "a message", b.got); len(got) != 0 || len(b.got) != 0 {
		t.Errorf("%q arrived, and %d more", got, len(b.got))
	}
	a.close()
	b.close()
}
