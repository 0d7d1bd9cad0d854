package verbstest

import (
	"bytes"
	"errors"
	"testing"

	"ulnet/lnd/verbs"
)

// sends checks messages of all lengths, in memory that is registered and in other memory.
func sends(t *testing.T, s *suite) {
	x := s.connect()
	mtu := s.nodes[0].device.Attr().MTU
	for _, n := range []int{0, 1, 3, 100, mtu - 1, mtu, min(mtu+1, messageSize), messageSize} {
		for i := range s.nodes {
			b := message(uint64(n), n)
			wr := verbs.SendWR{ID: uint64(n), Op: verbs.Send, Signaled: true}
			var m verbs.MR
			if n > 0 {
				m = s.register(i, 0, b)
				other := bytes.Clone(b[n/3:])
				wr.Pieces = []verbs.SGE{{Bytes: b[:n/3], MR: m}, {Bytes: other}}
				s.post(x.conns[i], wr)
				clear(other) // the device has copied the bytes
			} else {
				s.post(x.conns[i], wr)
			}
			s.arrives(1-i, x.conns[1-i], message(uint64(n), n))
			s.done(i, x.conns[i], uint64(n), verbs.Send, verbs.Success)
			if m != nil {
				m.Deregister()
			}
		}
	}
}

// writes: the bytes of a WRITE are in the region when a later message arrives, across the
// pieces of the region.
func writes(t *testing.T, s *suite) {
	x := s.connect()
	memory := [3][]byte{make([]byte, 5000), make([]byte, 1), make([]byte, 95_000)}
	target := s.register(1, verbs.LocalWrite|verbs.RemoteWrite, memory[:]...)
	frags := target.Frags(nil)
	if n := s.nodes[1].device.Attr().Frags; len(frags) > max(n, len(memory)) {
		t.Fatalf("%d fragments", len(frags))
	}
	for round := range uint64(5) {
		want := message(round, 100_001)
		source := s.register(0, 0, want)
		list, at := []verbs.SendWR(nil), 0
		for i, f := range frags {
			n := min(int(f.Length), len(want)-at)
			list = append(list, verbs.SendWR{
				ID: uint64(i), Op: verbs.Write, Signaled: true, Remote: f, RKey: target.RKey(), Pieces: []verbs.SGE{{Bytes: want[at : at+n], MR: source}},
			})
			at += n
		}
		s.post(x.conns[0], append(list, copied(100, []byte("written")))...)
		s.arrives(1, x.conns[1], []byte("written"))
		for i := range frags {
			s.done(0, x.conns[0], uint64(i), verbs.Write, verbs.Success)
		}
		s.done(0, x.conns[0], 100, verbs.Send, verbs.Success)
		source.Deregister()
		if round < 4 {
			continue
		}
		target.Deregister() // also tells the race detector that no goroutine writes any more
		if !bytes.Equal(bytes.Join(memory[:], nil), want[:100_001]) {
			t.Error("something else was written")
		}
	}
}

// order: completions and messages come in the order of posting, and unsignaled work requests
// have no completion.
func order(t *testing.T, s *suite) {
	x := s.connect()
	const total = 500
	posted := make(chan error, 1)
	go func() {
		for id := uint64(0); id < total; {
			wr := copied(id, message(id, int(id*37%3000)))
			wr.Signaled = id%3 == 0
			switch err := x.conns[0].PostSend([]verbs.SendWR{wr}); {
			case err == nil:
				id++
			case !errors.Is(err, verbs.ErrFull):
				posted <- err
				return
			}
		}
		posted <- nil
	}()
	for id := range uint64(total) {
		s.arrives(1, x.conns[1], message(id, int(id*37%3000)))
		if id%3 == 0 {
			s.done(0, x.conns[0], id, verbs.Send, verbs.Success)
		}
	}
	if err := take(t, posted); err != nil {
		t.Error(err)
	}
}

// postInside posts from inside upcalls: a message goes back and forth.
func postInside(t *testing.T, s *suite) {
	x := s.connect()
	const times = 200
	for i, n := range s.nodes {
		n.mu.Lock()
		count := 0
		n.inside = func(c *verbs.Completion) {
			if c.Op != verbs.Receive {
				return
			}
			if count++; count < times {
				if err := x.conns[i].PostSend([]verbs.SendWR{copied(uint64(count), c.Buffer.Bytes)}); err != nil {
					t.Error(err)
				}
			}
		}
		n.mu.Unlock()
	}
	s.post(x.conns[0], copied(0, []byte("to and fro")))
	for range times - 1 {
		s.arrives(1, x.conns[1], []byte("to and fro"))
		s.arrives(0, x.conns[0], []byte("to and fro"))
	}
}

// postErrors: a list with a work request that cannot be posted is refused as a whole.
func postErrors(t *testing.T, s *suite) {
	x := s.connect()
	full := make([]verbs.SendWR, maxSends+1)
	for i := range full {
		full[i] = copied(uint64(i), nil)
	}
	if err := x.conns[0].PostSend(full); !errors.Is(err, verbs.ErrFull) {
		t.Error(err)
	}
	many := verbs.SendWR{Op: verbs.Send, Pieces: make([]verbs.SGE, s.nodes[0].device.Attr().SGEs+1)}
	if err := x.conns[0].PostSend([]verbs.SendWR{copied(1, nil), many}); !errors.Is(err, verbs.ErrTooLarge) {
		t.Error(err)
	}
	s.post(x.conns[0], copied(7, []byte("all is well")))
	s.arrives(1, x.conns[1], []byte("all is well"))
	s.done(0, x.conns[0], 7, verbs.Send, verbs.Success)
	if _, err := s.nodes[0].pd.Register([][]byte{make([]byte, 10)}, verbs.RemoteWrite); err == nil {
		t.Error("RemoteWrite without LocalWrite")
	}
	cfg := s.nodes[0].config()
	cfg.Private = make([]byte, verbs.MaxRequestPrivate+1)
	if _, err := s.nodes[0].device.Connect(s.to(1), cfg, func(verbs.Conn, verbs.Event) {}); err == nil {
		t.Error("too much private data")
	}
}

// keepBuffers: messages stay as they are until they are returned, in any order, and
// after the end of the connection.
func keepBuffers(t *testing.T, s *suite) {
	x := s.connect()
	var kept []verbs.Completion
	for id := range uint64(buffers) {
		s.post(x.conns[0], copied(id, message(id, 1000)))
		s.done(0, x.conns[0], id, verbs.Send, verbs.Success)
		kept = append(kept, take(t, s.nodes[1].received))
	}
	if free := s.nodes[1].pool.Stats().Free; free != 0 {
		t.Errorf("%d buffers are free", free)
	}
	x.conns[0].Disconnect()
	take(t, x.events[1])
	for i := len(kept) - 1; i >= 0; i-- {
		if !bytes.Equal(kept[i].Buffer.Bytes, message(uint64(i), 1000)) {
			t.Errorf("message %d has changed", i)
		}
		s.nodes[1].pool.Return(kept[i].Buffer)
	}
	if free := s.nodes[1].pool.Stats().Free; free != buffers {
		t.Errorf("%d buffers are free", free)
	}
}

// emptyPool: a message that finds no buffer arrives when there is one.
func emptyPool(t *testing.T, s *suite) {
	x := s.connect()
	var kept []verbs.Completion
	for id := range uint64(buffers) {
		s.post(x.conns[0], copied(id, message(id, 10)))
		s.done(0, x.conns[0], id, verbs.Send, verbs.Success)
		kept = append(kept, take(t, s.nodes[1].received))
	}
	s.post(x.conns[0], copied(100, message(100, messageSize)))
	for s.nodes[1].pool.Stats().Empty == 0 && len(s.nodes[1].received) == 0 {
		s.post(x.conns[1], copied(1, nil)) // a message that has to wait for a buffer
		s.arrives(0, x.conns[0], nil)
		s.done(1, x.conns[1], 1, verbs.Send, verbs.Success)
	}
	for _, c := range kept {
		s.nodes[1].pool.Return(c.Buffer)
	}
	s.arrives(1, x.conns[1], message(100, messageSize))
	s.done(0, x.conns[0], 100, verbs.Send, verbs.Success)
}

// wrongRKey: the request fails, those behind it are flushed, in order, and both ends get an
// event.
func wrongRKey(t *testing.T, s *suite) {
	x := s.connect()
	memory := make([]byte, 1000)
	target := s.register(1, verbs.LocalWrite|verbs.RemoteWrite, memory)
	s.post(x.conns[0],
		copied(1, []byte("before")),
		verbs.SendWR{ID: 2, Op: verbs.Write, Remote: target.Frags(nil)[0], RKey: target.RKey() ^ 0x5A00, Pieces: []verbs.SGE{{Bytes: message(1, 100)}}},
		copied(3, []byte("behind")),
		verbs.SendWR{ID: 4, Op: verbs.Send},
	)
	s.arrives(1, x.conns[1], []byte("before"))
	s.done(0, x.conns[0], 1, verbs.Send, verbs.Success)
	s.done(0, x.conns[0], 2, verbs.Write, verbs.RemoteAccess)
	s.done(0, x.conns[0], 3, verbs.Send, verbs.Flushed)
	s.done(0, x.conns[0], 4, verbs.Send, verbs.Flushed)
	if e := take(t, x.events[0]); e.Kind != verbs.Disconnected || e.Status != verbs.RemoteAccess && !s.lossy {
		t.Errorf("%+v", e)
	}
	if e := take(t, x.events[1]); e.Kind != verbs.Disconnected {
		t.Errorf("%+v", e)
	}
	target.Deregister()
	if len(s.nodes[1].received) > 0 || !bytes.Equal(memory, make([]byte, 1000)) {
		t.Error("something was written")
	}
}

// deregister checks that a peer cannot write to memory any more after it was deregistered.
func deregister(t *testing.T, s *suite) {
	x := s.connect()
	memory := make([]byte, 1000)
	target := s.register(1, verbs.LocalWrite|verbs.RemoteWrite, memory)
	key, to := target.RKey(), target.Frags(nil)[0]
	target.Deregister()
	target.Deregister()
	again := s.register(1, verbs.LocalWrite|verbs.RemoteWrite, make([]byte, 1000))
	defer again.Deregister()
	if again.RKey() == key {
		t.Error("the key is used again at once")
	}
	s.post(x.conns[0], verbs.SendWR{ID: 1, Op: verbs.Write, Remote: to, RKey: key, Pieces: []verbs.SGE{{Bytes: message(1, 1000)}}})
	s.done(0, x.conns[0], 1, verbs.Write, verbs.RemoteAccess)
	if !bytes.Equal(memory, make([]byte, 1000)) {
		t.Error("it was written")
	}
}
