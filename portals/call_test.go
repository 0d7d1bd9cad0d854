package portals_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// TestPart (PT-34): a PUT sends exactly a part of its MD, and the REPLY to a GET is written to
// exactly a part, however the segments of the MD are divided.
func TestPart(t *testing.T) {
	spec.Covers(t, "PT-34")
	for name, c := range map[string]struct {
		offset, length int
		want           string // the part of "abcdefgh" that is expected
	}{
		"all":              {0, 0, "abcdefgh"},
		"the rest":         {5, 0, "fgh"},
		"the beginning":    {0, 2, "ab"},
		"of both segments": {2, 3, "cde"},
		"the end":          {7, 1, "h"},
		"nothing":          {8, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			table, net := newWire(t)
			h := &harness{Table: table, t: t, self: here}
			var l log
			memory := []byte("abcdefgh")
			md := h.bind(portals.MD{Segments: []portals.Segment{memory[:3], memory[3:]}, Threshold: inf, Handler: l.handle})
			err := table.Put(portals.PutRequest{MD: md, Target: there, Offset: 77, LocalOffset: c.offset, Length: c.length})
			if err != nil {
				t.Fatal(err)
			}
			put := net.next()
			if got := bytesOf(put); got != c.want || int(put.Header.PayloadLength) != len(c.want) {
				t.Errorf("sent %q as %d bytes, want %q", got, put.Header.PayloadLength, c.want)
			}
			net.finalize(put, nil)
			err = table.Get(portals.GetRequest{MD: md, Target: there, Offset: 77, LocalOffset: c.offset, Length: c.length})
			if err != nil {
				t.Fatal(err)
			}
			get := net.next()
			if n := get.Header.Get().SinkLength; int(n) != len(c.want) {
				t.Errorf("asked for %d bytes, want %d", n, len(c.want))
			}
			net.finalize(get, nil)
			net.mustArrive(t, replyHeader(uint32(len(c.want)), get.Header.Get().ReturnMD))
			for i, b := range memory {
				in := i >= c.offset && i < c.offset+len(c.want)
				if (b == 0xEE) != in {
					t.Errorf("byte %d is %q after the REPLY", i, b)
				}
			}
			for i, want := range []uint32{77, 77, uint32(c.offset)} {
				if e := l.events[i]; e.Offset != want || int(e.MLength) != len(c.want) || int(e.RLength) != len(c.want) {
					t.Errorf("event %v, want %d bytes at %d", &e, len(c.want), want)
				}
			}
			if got := len(l.events[2].Bytes()); got != len(c.want) {
				t.Errorf("the REPLY has %d bytes", got)
			}
		})
	}
}

// TestBadPart (PT-34): a part that the MD does not have is refused, and so is a timeout without
// a requested answer. A refused operation does not lower the threshold.
func TestBadPart(t *testing.T) {
	spec.Covers(t, "PT-34")
	table, net := newWire(t)
	h := &harness{Table: table, t: t, self: here}
	md := h.bind(portals.MD{Segments: []portals.Segment{make([]byte, 8)}, Threshold: 1})
	const huge = int(^uint(0) >> 1)
	for _, r := range []portals.PutRequest{
		{LocalOffset: -1},
		{LocalOffset: 9},
		{LocalOffset: huge},
		{Length: -1},
		{Length: 9},
		{LocalOffset: 1, Length: 8},
		{LocalOffset: huge, Length: huge},
		{Length: huge},
		{Timeout: time.Second},
		{Ack: true, Timeout: -1},
	} {
		r.MD, r.Target = md, there
		if err := table.Put(r); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("Put of %d from %d, %v: %v, want EINVAL", r.Length, r.LocalOffset, r.Timeout, err)
		}
		if !r.Ack && r.Timeout > 0 {
			continue // for a Get this timeout is valid: a GET always awaits an answer
		}
		g := portals.GetRequest{MD: md, Target: there, LocalOffset: r.LocalOffset, Length: r.Length, Timeout: r.Timeout}
		if err := table.Get(g); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("Get of %d to %d, %v: %v, want EINVAL", r.Length, r.LocalOffset, r.Timeout, err)
		}
	}
	if err := table.Put(portals.PutRequest{MD: md, Target: there}); err != nil {
		t.Errorf("after all: %v", err)
	}
	net.finalize(net.next(), nil)
}

// TestOpPtr (PT-34): the events of an operation have its OpPtr, in whichever order answers arrive, also if
// other operations of the MD have none.
func TestOpPtr(t *testing.T) {
	spec.Covers(t, "PT-34")
	table, net := newWire(t)
	h := &harness{Table: table, t: t, self: here}
	var got []string
	md := h.bind(portals.MD{
		Segments: []portals.Segment{make([]byte, 8)}, Threshold: inf, UserPtr: "the MD's",
		Handler: func(e *portals.Event) {
			if e.Kind != portals.EventUnlink && e.UserPtr != "the MD's" {
				t.Errorf("UserPtr %v", e.UserPtr)
			}
			got = append(got, fmt.Sprint(e.Kind, " ", e.OpPtr))
		},
	})
	var answers []wire.Header
	for i, ptr := range []any{"put", nil, "get", nil, "more"} {
		var err error
		if ptr == "get" {
			err = table.Get(portals.GetRequest{MD: md, Target: there, OpPtr: ptr})
		} else {
			err = table.Put(portals.PutRequest{MD: md, Target: there, OpPtr: ptr, Ack: i != 3})
		}
		if err != nil {
			t.Fatal(err)
		}
		m := net.next()
		switch {
		case ptr == "get":
			answers = append(answers, replyHeader(8, m.Header.Get().ReturnMD))
		case i != 3:
			answers = append(answers, ackHeader(m.Header.Put().AckMD, 8))
		}
		net.finalize(m, nil)
	}
	for _, a := range slices.Backward(answers) {
		net.mustArrive(t, a)
	}
	want := []string{
		"SEND put", "SEND <nil>", "SEND get", "SEND <nil>", "SEND more",
		"ACK more", "REPLY get", "ACK <nil>", "ACK put",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// TestOperationTimeout (PT-34): an operation whose answer does not arrive by its deadline
// ends with an event of its own. The MD and its other operations are not affected.
func TestOperationTimeout(t *testing.T) {
	spec.Covers(t, "PT-34")
	for name, c := range map[string]struct {
		// p: PUT with ACK, g: GET, both with a timeout of 3 s; q: PUT with ACK, 1 s; s: sent, f: failed; a:
		// answer to the latest operation; u: unlink; digit: so many seconds pass; z: the process is stopped for 9 s.
		steps string
		want  []string
		late  uint64
	}{
		"no ACK":                   {"ps 9", []string{"0s SEND", "3s ACK connection timed out"}, 1},
		"no REPLY":                 {"gs 9", []string{"0s SEND", "3s REPLY connection timed out"}, 1},
		"in time":                  {"gs 2 a 9", []string{"0s SEND", "2s REPLY"}, 0},
		"too late":                 {"gs 3 a 9", []string{"0s SEND", "3s REPLY connection timed out"}, 1},
		"not answered twice":       {"ps a a 9", []string{"0s SEND", "0s ACK"}, 0},
		"before it was sent":       {"p 4 s 9", []string{"3s ACK connection timed out", "4s SEND"}, 1},
		"answered before sent":     {"p a s 9", []string{"0s ACK", "0s SEND"}, 0},
		"failed":                   {"pf 9", []string{"0s SEND input/output error"}, 0},
		"failed after its time":    {"p 4 f 9", []string{"3s ACK connection timed out", "4s SEND input/output error"}, 1},
		"unlinked":                 {"gs u 9", []string{"0s SEND", "0s UNLINK!"}, 0},
		"unlinked and not sent":    {"g u 9 s", []string{"9s SEND!"}, 0},
		"the nearer one first":     {"ps qs 9", []string{"0s SEND", "0s SEND", "1s ACK connection timed out", "3s ACK connection timed out"}, 2},
		"one of two is answered":   {"ps 1 gs a 9", []string{"0s SEND", "1s SEND", "1s REPLY", "3s ACK connection timed out"}, 1},
		"two at once":              {"pspsps 9", []string{"0s SEND", "0s SEND", "0s SEND", "3s ACK connection timed out", "3s ACK connection timed out", "3s ACK connection timed out"}, 3},
		"stopped, and answered":    {"gs z 0 a 9", []string{"0s SEND", "9s REPLY"}, 0},
		"stopped, no answer":       {"gs z 9", []string{"0s SEND", "9.5s REPLY connection timed out"}, 1},
		"stopped, another begins":  {"gs z 0 qs 9", []string{"0s SEND", "9s SEND", "9.5s REPLY connection timed out", "10s ACK connection timed out"}, 2},
		"stopped twice":            {"gs z 0 z 0 a 9", []string{"0s SEND", "18s REPLY"}, 0},
		"stopped all the time":     {"gs z 0 z 0 z 0 z 0 z 0", []string{"0s SEND", "45s REPLY connection timed out"}, 1},
		"again after all had left": {"ps a 5 ps 9", []string{"0s SEND", "0s ACK", "5s SEND", "8s ACK connection timed out"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			h, net, clock := timed(t, lnet.Config{TransactionTimeout: 100 * time.Second}, lnd.Tunables{})
			var got []string
			md := h.bind(portals.MD{
				Segments: []portals.Segment{make([]byte, 8)}, Threshold: inf, UserPtr: 1,
				Handler: func(e *portals.Event) {
					got = append(got, fmt.Sprint(clock.now, " ", short(e)))
					if e.Err == syscall.ETIMEDOUT && (e.OpPtr != "op" || e.Initiator != there || e.UserPtr != 1) {
						t.Errorf("event of a timeout: %+v", e)
					}
				},
			})
			var answer wire.Header
			for _, step := range c.steps {
				answer = h.callStep(net, clock, md, step, answer)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if n := h.Node().Stats().ResponseTimeouts; n != c.late {
				t.Errorf("%d response timeouts, want %d", n, c.late)
			}
			clock.advance(time.Hour)
			if len(clock.timers) > 0 {
				t.Error("a timer runs when nothing is awaited")
			}
		})
	}
}

// TestEndlessTimeout (PT-34): an operation with the longest Timeout, whose deadline would lie beyond the range
// of the clock, does not keep later operations from their deadlines.
func TestEndlessTimeout(t *testing.T) {
	spec.Covers(t, "PT-34")
	h, net, clock := timed(t, lnet.Config{TransactionTimeout: 100 * time.Second}, lnd.Tunables{})
	var got []string
	md := h.bind(portals.MD{
		Segments: []portals.Segment{make([]byte, 8)}, Threshold: inf,
		Handler: func(e *portals.Event) { got = append(got, fmt.Sprint(clock.now, " ", short(e))) },
	})
	clock.advance(time.Second)
	if err := h.Get(portals.GetRequest{MD: md, Target: there, Timeout: math.MaxInt64}); err != nil {
		t.Fatal(err)
	}
	endless := net.next()
	back := endless.Header.Get().ReturnMD
	net.finalize(endless, nil)
	var answer wire.Header
	for _, step := range "gs 9" {
		answer = h.callStep(net, clock, md, step, answer)
	}
	net.mustArrive(t, replyHeader(8, back))
	if diff := cmp.Diff([]string{"1s SEND", "1s SEND", "4s REPLY connection timed out", "10s REPLY"}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// TestTimeoutBlames: an operation without an answer reduces the health of the NID to which it was sent. The
// health of two other NIDs stays: that to which a later operation of the MD was sent, and that to which an
// earlier MD in the same slot has sent.
func TestTimeoutBlames(t *testing.T) {
	spec.Covers(t, "HV-12")
	good := nid.ProcessID{NID: nid.MustParse("10.0.0.77@tcp"), PID: there.PID}
	h, net, clock := timed(t, lnet.Config{TransactionTimeout: 100 * time.Second}, lnd.Tunables{})
	for _, ids := range [][]nid.NID{{there.NID, beside.NID}, {good.NID, stranger.NID}} {
		h.Node().SetPeer(lnet.Peer{
			Primary: ids[0], NIs: []wire.NIStatus{{NID: ids[0]}, {NID: ids[1]}},
			Flags: lnet.PeerMultiRail | lnet.PeerDiscovered | lnet.PeerNIDsUpToDate,
		})
	}
	md := portals.MD{Segments: []portals.Segment{make([]byte, 8)}, Threshold: inf, Handler: func(*portals.Event) {}}
	ack := true
	put := func(d portals.MDHandle, to nid.ProcessID, timeout time.Duration) nid.NID {
		t.Helper()
		if err := h.Put(portals.PutRequest{MD: d, Ack: ack, Target: to, Timeout: timeout}); err != nil {
			t.Fatal(err)
		}
		m := net.next()
		at := m.Target.NID
		net.finalize(m, nil)
		return at
	}
	want := func(when string, at nid.NID, health int) {
		t.Helper()
		if got := h.Node().Rail(at).Health(); got != health {
			t.Errorf("%s: the health of %v is %d, want %d", when, at, got, health)
		}
	}
	both := h.bind(md)
	silent, later := put(both, there, time.Second), put(both, good, 30*time.Second)
	clock.advance(2 * time.Second)
	want("the first times out", silent, 900)
	want("the first times out", later, 1000)
	if err := h.MDUnlink(both); err != nil {
		t.Fatal(err)
	}

	first := h.bind(md)
	was := put(first, good, 0)
	net.mustArrive(t, from(nid.ProcessID{NID: was, PID: good.PID}, ackHeader(handle(first), 8)))
	if err := h.MDUnlink(first); err != nil {
		t.Fatal(err)
	}
	h.Node().ForgetPeerNID(there.NID)
	last := h.bind(md)
	put(last, there, 0) // the node knows no other NID of the target, so the PUT takes its only path: LNet has nothing to choose
	ack = false
	other := put(last, good, 0)
	clock.advance(300 * time.Second)
	want("another MD times out", was, 1000)
	want("a PUT without ACK followed", other, 1000)
}

// callStep makes the step that a letter of TestOperationTimeout stands for, and returns the
// header of the answer to the latest operation.
func (h *harness) callStep(net *network, clock *fakeClock, md portals.MDHandle, step rune, answer wire.Header) wire.Header {
	h.t.Helper()
	var err error
	latest := func() wire.Header { return net.sent[len(net.sent)-1].Header }
	switch step {
	case 'p', 'q':
		timeout := 3 * time.Second
		if step == 'q' {
			timeout = time.Second
		}
		if err = h.Put(portals.PutRequest{MD: md, Ack: true, Target: there, OpPtr: "op", Timeout: timeout}); err == nil {
			put := latest()
			return ackHeader(put.Put().AckMD, 8)
		}
	case 'g':
		if err = h.Get(portals.GetRequest{MD: md, Target: there, OpPtr: "op", Timeout: 3 * time.Second}); err == nil {
			get := latest()
			return replyHeader(8, get.Get().ReturnMD)
		}
	case 'a':
		err = net.arrive(answer, nil)
	case 'z':
		clock.now += 9 * time.Second // timers that are due meanwhile run afterwards
	default:
		h.timedStep(net, clock, md, step)
	}
	if err != nil {
		h.t.Fatalf("step %c: %v", step, err)
	}
	return answer
}

// TestCallIsTracked (PT-29, PT-34): an operation with an OpPtr and without a Timeout is tracked like one without an
// OpPtr. If its answer does not come in time, the MD is unlinked, and a later answer is dropped.
func TestCallIsTracked(t *testing.T) {
	spec.Covers(t, "PT-29", "PT-34")
	h, net, clock := timed(t, lnet.Config{TransactionTimeout: 10 * time.Second}, lnd.Tunables{})
	var l log
	md := h.bind(portals.MD{Segments: []portals.Segment{make([]byte, 8)}, Threshold: inf, Handler: l.handle})
	get := func() wire.MDHandle {
		if err := h.Get(portals.GetRequest{MD: md, Target: there, OpPtr: 1}); err != nil {
			t.Fatal(err)
		}
		m := net.next()
		back := m.Header.Get().ReturnMD
		net.finalize(m, nil)
		return back
	}
	net.mustArrive(t, replyHeader(8, get()))
	clock.advance(time.Minute)
	if diff := cmp.Diff([]string{"SEND", "REPLY"}, l.take()); diff != "" {
		t.Errorf("answered (-want +got):\n%s", diff)
	}
	late := get()
	clock.advance(time.Minute)
	if diff := cmp.Diff([]string{"SEND", "UNLINK!"}, l.take()); diff != "" {
		t.Errorf("not answered (-want +got):\n%s", diff)
	}
	net.mustArrive(t, replyHeader(8, late))
	wantDrops(t, h.Table, map[string]uint64{"stale handle": 1})
}

// TestForgedCall (PT-32, PT-34): an answer counts only if it names the operation, is a REPLY to a GET or an
// ACK to a PUT, is not longer than the part of the MD, and comes from the process to which the request was
// sent. Any other answer writes nothing, and does not prevent the right answer from being taken.
func TestForgedCall(t *testing.T) {
	spec.Covers(t, "PT-32", "PT-34")
	table, net := newWire(t)
	h := &harness{Table: table, t: t, self: here}
	memory := make([]byte, 8)
	md := h.bind(portals.MD{Segments: []portals.Segment{memory}, Threshold: inf})
	if err := table.Get(portals.GetRequest{MD: md, Target: there, LocalOffset: 6, Length: 2}); err != nil {
		t.Fatal(err)
	}
	m := net.next()
	call := m.Header.Get().ReturnMD
	net.finalize(m, nil)
	beyond, other, elder := call, call, call
	beyond.Object |= 0xFFFF << 2
	other.Interface++
	elder.Object -= 1 << 26
	user := nid.ProcessID{NID: there.NID, PID: nid.UserPID | 7}
	for _, h := range []wire.Header{
		replyHeader(8, handle(md)), ackHeader(call, 2), replyHeader(3, call), from(stranger, replyHeader(2, call)),
		from(user, replyHeader(2, call)), replyHeader(2, beyond), replyHeader(2, other), replyHeader(2, elder),
	} {
		net.mustArrive(t, h)
	}
	wantDrops(t, table, map[string]uint64{"inactive MD": 2, "too long": 1, "not asked": 2, "stale handle": 3})
	if !slices.Equal(memory, make([]byte, 8)) {
		t.Errorf("memory is % x", memory)
	}
	net.mustArrive(t, replyHeader(2, call))
	net.mustArrive(t, replyHeader(2, call))
	wantDrops(t, table, map[string]uint64{"inactive MD": 2, "too long": 1, "not asked": 2, "stale handle": 4})
	if !slices.Equal(memory, []byte{0, 0, 0, 0, 0, 0, 0xEE, 0xEE}) {
		t.Errorf("memory is % x", memory)
	}
}
