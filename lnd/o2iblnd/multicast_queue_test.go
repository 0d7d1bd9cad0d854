package o2iblnd

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// bitsOf returns the match bits of datagrams.
func bitsOf(t *testing.T, sent [][]byte) (list []uint64) {
	t.Helper()
	for _, b := range sent {
		var g wire.Datagram
		if err := kib.Datagrams.Parse(b, &g); err != nil {
			t.Fatal(err)
		}
		list = append(list, g.Header.Put().MatchBits)
	}
	return list
}

// TestCastQueue: only as many datagrams as the queue pair takes are posted at a time. The
// others wait in order, except that those with priority go first. Each is finalized once.
func TestCastQueue(t *testing.T) {
	ni, dev, up := stubNI(t, Config{})
	var want []uint64
	for i := range uint64(200) {
		ni.Multicast(castMessage(ni, i, []byte("payload")))
		want = append(want, i)
	}
	urgent := castMessage(ni, 1000)
	urgent.Priority = true
	ni.Multicast(urgent)
	want = slices.Insert(want, maxCasts, 1000)
	u := dev.qp
	if len(u.posted) != maxCasts || len(up.list) != 0 {
		t.Fatalf("%d are posted, %d have ended", len(u.posted), len(up.list))
	}
	for n := 1; len(u.posted) > 0; n = n%maxCasts + 1 {
		seen := make(map[uint64]bool)
		for _, d := range u.posted {
			if seen[d.ID] || d.To != ni.GroupNID(5).Addr() || d.QPN != verbs.MulticastQPN || d.QKey != 0x01234567 || !d.Signaled {
				t.Fatalf("posted %+v", d)
			}
			seen[d.ID] = true
		}
		u.complete(min(n, len(u.posted)), verbs.Success)
	}
	if got := bitsOf(t, u.sent); !slices.Equal(got, want) {
		t.Errorf("sent %v, want %v", got, want)
	}
	for i, m := range up.list {
		if up.errs[m] != nil || m.SentAt != time.Minute || m.Header.Put().MatchBits != want[i] {
			t.Errorf("message %d, sent at %v, ended with %v", m.Header.Put().MatchBits, m.SentAt, up.errs[m])
		}
	}
	if s := ni.multicastSnapshot(); len(up.list) != 201 || s.TxMessages != 201 || s.TxBytes != 1400 || s.QPN != 9 {
		t.Errorf("%d have ended, %+v", len(up.list), s)
	}
}

// TestCastFailures: a datagram that cannot be sent ends with an error that names the reason,
// and is counted; the next one leaves.
func TestCastFailures(t *testing.T) {
	for _, tt := range []struct {
		name   string
		bend   func(m *lnd.Message)
		refuse error
		status verbs.Status
		errno  syscall.Errno
		count  Reason
	}{
		{name: "too long", bend: func(m *lnd.Message) {
			m.Payload = lnd.Payload{Segments: [][]byte{make([]byte, 945)}, Length: 945}
			m.Header.PayloadLength = 945
		}, errno: syscall.EMSGSIZE, count: DatagramTooLong},
		{name: "no group", bend: func(m *lnd.Message) { m.Group = 0 }, errno: syscall.EINVAL},
		{name: "another length", bend: func(m *lnd.Message) { m.Header.PayloadLength++ }, errno: syscall.EINVAL},
		{name: "large NID", bend: func(m *lnd.Message) { m.Header.SrcNID = nid.MustParse("fd00::1@tcp") }, errno: syscall.EINVAL},
		{name: "too large for the device", refuse: verbs.ErrTooLarge, errno: syscall.EMSGSIZE, count: DatagramTooLong},
		{name: "refused", refuse: verbs.ErrFull, errno: syscall.EIO, count: DatagramFailed},
		{name: "not sent", status: verbs.General, errno: syscall.EIO, count: DatagramFailed},
		{name: "too long to be sent", status: verbs.LocalLength, errno: syscall.EMSGSIZE, count: DatagramTooLong},
		{name: "flushed", status: verbs.Flushed, errno: syscall.ESHUTDOWN},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ni, dev, up := stubNI(t, Config{})
			m := castMessage(ni, 1, []byte("payload"))
			if tt.bend != nil {
				tt.bend(m)
			}
			dev.qp.refuse = tt.refuse
			ni.Multicast(m)
			dev.qp.refuse = nil
			if tt.status != verbs.Success {
				dev.qp.complete(1, tt.status)
			}
			if !errors.Is(up.errs[m], tt.errno) || m.SentAt != 0 {
				t.Errorf("ended with %v, want %v; sent at %v", up.errs[m], tt.errno, m.SentAt)
			}
			if n := ni.counts.snapshot(); dropped(&n) != min(uint64(tt.count), 1) || n.Of(tt.count) != min(uint64(tt.count), 1) {
				t.Errorf("counters %v", n)
			}
			next := castMessage(ni, 2, make([]byte, 944))
			ni.Multicast(next)
			dev.qp.complete(1, verbs.Success)
			if len(up.list) != 2 || up.list[1] != next || up.errs[next] != nil {
				t.Errorf("the next one ended with %v", up.errs[next])
			}
		})
	}
}

// TestCastPieces: a payload in more pieces than the device gathers is joined to one piece.
func TestCastPieces(t *testing.T) {
	ni, dev, _ := stubNI(t, Config{})
	for n, want := range []int{1, 2, 3, 4, 2, 2} {
		segments := make([][]byte, n)
		for i := range segments {
			segments[i] = bytes.Repeat([]byte{byte(i)}, i+1)
		}
		ni.Multicast(castMessage(ni, 1, segments...))
		sent := dev.qp.sent[len(dev.qp.sent)-1]
		if payload := sent[kib.DatagramOverhead:]; dev.qp.pieces != want || !bytes.Equal(payload, bytes.Join(segments, nil)) {
			t.Errorf("%d segments: %d pieces, want %d; payload %v", n, dev.qp.pieces, want, payload)
		}
	}
}

// TestCastShutdown: Shutdown sends the queued datagrams and then closes everything. If its context
// ends before that, the datagrams fail, and it closes everything at once.
func TestCastShutdown(t *testing.T) {
	for _, patient := range []bool{true, false} {
		ni, dev, up := stubNI(t, Config{})
		var all []*lnd.Message
		for i := range uint64(maxCasts + 5) {
			all = append(all, castMessage(ni, i))
			ni.Multicast(all[i])
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- ni.cast.shutdown(ctx) }()
		s := &ni.cast.sending
		for closing := false; !closing; { // wait until Shutdown has begun
			s.mu.Lock()
			closing = s.closing
			s.mu.Unlock()
		}
		late := castMessage(ni, 99)
		ni.Multicast(late)
		if patient {
			for len(dev.qp.posted) > 0 {
				dev.qp.complete(1, verbs.Success)
			}
		} else {
			cancel()
		}
		err := <-ended
		for _, m := range append(all, late) {
			want := !patient || m == late
			if got, done := up.errs[m]; !done || want != errors.Is(got, syscall.ESHUTDOWN) {
				t.Errorf("patient %v: message %d ended %v with %v", patient, m.Header.Put().MatchBits, done, got)
			}
		}
		if patient != (err == nil) || !patient && !errors.Is(err, context.Canceled) || len(up.list) != len(all)+1 {
			t.Errorf("patient %v: %v; %d ended", patient, err, len(up.list))
		}
		if !dev.qp.closed || !dev.queues[0].closed || !dev.queues[1].closed || dev.closed != 1 || dev.pool.closed != 1 {
			t.Errorf("patient %v: not everything is closed", patient)
		}
		isErrno(t, "join", ni.Join(1), syscall.ESHUTDOWN)
		if err := ni.cast.shutdown(t.Context()); err != nil || dev.closed != 1 {
			t.Errorf("again: %v", err)
		}
		cancel()
	}
}

func isErrno(t *testing.T, what string, err error, want syscall.Errno) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

// TestNoMulticast: an NI that is configured without multicast has none, and its error says
// so; if a device refuses multicast the error gives the reason.
func TestNoMulticast(t *testing.T) {
	ni, dev, up := stubNI(t, Config{NoMulticast: true})
	if _, ok := lnd.AsMulticaster(ni); ok {
		t.Error("it has multicast")
	}
	isErrno(t, "join", ni.Join(1), syscall.EOPNOTSUPP)
	m := castMessage(ni, 1)
	ni.Multicast(m)
	isErrno(t, "multicast", up.errs[m], syscall.EOPNOTSUPP)
	if len(dev.queues) > 0 {
		t.Error("it has queues")
	}

	ni, dev, _ = stubNI(t, Config{})
	dev.qp.refuse = syscall.ENOBUFS
	isErrno(t, "join", ni.Join(1), syscall.ENOBUFS)
	if l := ni.MulticastLimits(); l.ReceiveBuffer != 0 || l.MaxPayload != 944 || len(ni.multicastSnapshot().Groups) > 0 {
		t.Errorf("limits %+v", l)
	}
	dev.qp.refuse = nil
	if err := ni.Join(1); err != nil {
		t.Fatal(err)
	}
	if l := ni.MulticastLimits(); l.Burst(l.MaxPayload) < 100 || l.Burst(0) > 512 {
		t.Errorf("limits %+v", l)
	}
}

// TestSlowJoin: while a device is joining a group, which takes hardware seconds, datagrams
// for the group are delivered, others leave, and limits and snapshots are available.
func TestSlowJoin(t *testing.T) {
	ni, dev, up := stubNI(t, Config{})
	u := dev.qp
	u.hold, u.held = make(chan struct{}), make(chan struct{})
	joined := make(chan error)
	go func() { joined <- ni.Join(5) }()
	<-u.held
	if in := castFrom("10.0.0.2@o2ib"); ni.cast.inspect(castArrival(t, in), new(wire.Datagram)) != ReasonNone {
		t.Error("what arrives is dropped")
	}
	m := castMessage(ni, 1)
	ni.Multicast(m)
	u.complete(1, verbs.Success)
	if up.errs[m] != nil || len(up.list) != 1 || ni.MulticastLimits().ReceiveBuffer == 0 || len(ni.multicastSnapshot().Groups) != 1 {
		t.Errorf("ended with %v; %+v", up.errs[m], ni.multicastSnapshot())
	}
	u.refuse = syscall.ENOBUFS
	close(u.hold)
	isErrno(t, "join", <-joined, syscall.ENOBUFS)
	if groups := ni.multicastSnapshot().Groups; len(groups) > 0 {
		t.Errorf("still in %v", groups)
	}
}

// castArrival makes the completion with which g arrives.
func castArrival(t *testing.T, g *wire.Datagram) *verbs.Completion {
	t.Helper()
	b, err := kib.Datagrams.Append(nil, g)
	if err != nil {
		t.Fatal(err)
	}
	return &verbs.Completion{
		Op: verbs.Receive, Buffer: verbs.Buffer{Bytes: b}, SrcAddr: netip.MustParseAddr("10.0.0.2"), Group: netip.MustParseAddr("239.76.0.5"),
	}
}

// TestMulticastConfig: the error about an invalid setting names the setting.
func TestMulticastConfig(t *testing.T) {
	for text, cfg := range map[string]Config{
		"":                  {MulticastBase: netip.MustParseAddr("224.1.0.0"), MulticastQKey: 1<<31 - 1},
		"multicast_base":    {MulticastBase: netip.MustParseAddr("224.0.0.0")},
		"multicast_base ":   {MulticastBase: netip.MustParseAddr("239.76.1.0")},
		"multicast_base  ":  {MulticastBase: netip.MustParseAddr("10.0.0.0")},
		"multicast_base   ": {MulticastBase: netip.MustParseAddr("ff15::")},
		"multicast_qkey":    {MulticastQKey: 1 << 31},
		"multicast_buffers": {MulticastBuffers: -1},
	} {
		cfg.Open = func(verbs.OpenConfig) (verbs.Device, error) { return nil, nil }
		_, err := New(cfg)
		if name := strings.TrimSpace(text); (err == nil) != (name == "") || err != nil && !strings.Contains(err.Error(), name) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestCastAllocations: a datagram costs no memory, whether it is sent or received.
func TestCastAllocations(t *testing.T) {
	ni, dev, _ := stubNI(t, Config{})
	up := new(quiet)
	ni.up = up
	up.sink = lnd.Payload{Segments: [][]byte{make([]byte, 100)}, Length: 100}
	m := castMessage(ni, 1, make([]byte, 50), make([]byte, 50))
	dev.qp.bare = true
	batch := make([]verbs.Completion, 1)
	if n := testing.AllocsPerRun(100, func() {
		ni.Multicast(m)
		batch[0].ID = dev.qp.posted[0].ID
		dev.qp.posted, dev.qp.sent = dev.qp.posted[:0], dev.qp.sent[:0]
		dev.qp.done(batch)
	}); n > 0 {
		t.Errorf("%v allocations for each datagram that is sent", n)
	}
	ni.cast.setGroups([]lnd.Group{5})
	g := castFrom("10.0.0.2@o2ib")
	g.Payload, g.Header.PayloadLength = make([]byte, 100), 100
	b, err := kib.Datagrams.Append(nil, g)
	if err != nil {
		t.Fatal(err)
	}
	in := []verbs.Completion{{Op: verbs.Receive, Buffer: verbs.Buffer{Bytes: b}, SrcAddr: netip.MustParseAddr("10.0.0.2"), Group: netip.MustParseAddr("239.76.0.5")}}
	if n := testing.AllocsPerRun(100, func() { ni.cast.receive(in, &dev.pool) }); n > 0 {
		t.Errorf("%v allocations for each datagram that arrives", n)
	}
	if up.sent < 100 || up.got < 100 {
		t.Errorf("%d sent, %d arrived", up.sent, up.got)
	}
}

// quiet is an lnet that accepts every message and only counts, so that it allocates nothing.
type quiet struct {
	lnd.Upcalls
	sink      lnd.Payload
	sent, got int
}

func (q *quiet) Parse(d *lnd.Delivery) (lnd.Answer, error) {
	d.Sink = q.sink
	return lnd.Accept, nil
}
func (q *quiet) Delivered(*lnd.Delivery, error) { q.got++ }
func (q *quiet) Finalize(*lnd.Message, error)   { q.sent++ }
