package lndtest

import (
	"bytes"
	"sync"
	"syscall"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnet/nid"
)

// testMembers: the members of a group get a datagram, whether or not its sender has joined. The
// sender itself does not get it, nor do other NIs that have not joined.
func testMembers(t *testing.T, f *casters) {
	f.join(3, 0, 1)
	first := f.cast(0, 3, []byte("from a member"))
	f.wantOnly(1, 1)
	second := f.cast(2, 3, []byte("from a stranger"))
	f.wantOnly(0, 2)
	f.wantOnly(1, 1, 2)
	f.join(4, 2)
	f.cast(1, 4, []byte("to others"))
	f.wantOnly(2, 3) // NI 2 is in group 4 alone, so it gets datagram 3, but not 1 and 2
	for i, sent := range []*lnd.Message{first, second} {
		from := f.nis[2*i].NID()
		got := f.ups[1].at(i)
		if got.header != sent.Header || got.group != 3 {
			t.Errorf("header %+v of group %d, want %+v of 3", got.header, got.group, sent.Header)
		}
		if want := (nid.ProcessID{NID: from, PID: nid.LustrePID}); got.from != want {
			t.Errorf("came from %v, want %v", got.from, want)
		}
	}
	for i, up := range f.ups {
		if len(up.peers) > 0 || up.repeated > 0 {
			t.Errorf("NI %d: told of peers %v; %d finalized again", i, up.peers, up.repeated)
		}
	}
}

func testDatagrams(t *testing.T, f *casters) {
	f.join(1, 1)
	limit := f.nis[0].MulticastLimits().MaxPayload
	if got := f.nis[1].MulticastLimits(); got.ReceiveBuffer < limit {
		t.Errorf("limits %+v: not one datagram can wait", got)
	}
	for i, n := range []int{0, 1, 7, 100, min(1000, limit), limit - 1, limit} {
		data := fill(n, uint64(n))
		f.cast(0, 1, data[:n/2], data[n/2:n/2], data[n/2:])
		f.await("arrival", f.ups[1].count(i+1))
		if got := f.ups[1].at(i); got.err != nil || !bytes.Equal(got.data, data) {
			t.Fatalf("%d bytes: got %d bytes, equal %v, error %v", n, len(got.data), bytes.Equal(got.data, data), got.err)
		}
	}
}

// testTooLong: a datagram that is too long is not sent, and the next one is.
func testTooLong(t *testing.T, f *casters) {
	f.join(1, 1)
	m := f.make(0, 1, fill(f.nis[0].MulticastLimits().MaxPayload+1, 1))
	f.nis[0].Multicast(m)
	f.await("finalize", f.ups[0].ended(m))
	isErr(t, "too long", f.ups[0].result(m), syscall.EMSGSIZE)
	f.cast(0, 1, []byte("fits"))
	f.wantOnly(1, 2)
}

// testGroups: an NI can be in several groups, and cannot join a group with an invalid number.
func testGroups(t *testing.T, f *casters) {
	f.join(1, 1, 2)
	f.join(2, 1)
	f.join(lnd.MaxGroup, 1)
	f.cast(0, 2, []byte("two"))
	f.cast(0, lnd.MaxGroup, []byte("last"))
	f.cast(0, 1, []byte("one"))
	f.wantAll(1, 1, 2, 3) // messages of different groups may arrive in any order
	f.wantOnly(2, 3)
	for _, g := range []lnd.Group{0, lnd.MaxGroup + 1} {
		isErr(t, "join", f.nis[0].Join(g), syscall.EINVAL)
	}
	if a, b := f.nis[0].GroupNID(1), f.nis[0].GroupNID(2); a == b || a != f.nis[1].GroupNID(1) {
		t.Errorf("groups 1 and 2 are %v and %v", a, b)
	}
}

// testLeave: an NI that has left a group gets nothing. One Leave is enough after two Joins.
func testLeave(t *testing.T, f *casters) {
	f.join(1, 1, 1, 2)
	f.cast(0, 1)
	f.wantOnly(1, 1)
	if err := f.nis[1].Leave(1); err != nil {
		t.Error(err)
	}
	f.cast(0, 1)
	f.wantOnly(2, 1, 2)
	f.join(1, 1)
	f.cast(0, 1)
	f.wantOnly(1, 1, 3)
	f.wantOnly(2, 1, 2, 3)
}

func testCastDropped(t *testing.T, f *casters) {
	f.join(1, 1)
	limits := []int{0, 50, lnd.MaxPayload}
	i := 0
	f.ups[1].set(func() {
		f.ups[1].parse = func(d *lnd.Delivery) (lnd.Answer, error) {
			accept(d, limits[i%len(limits)])
			i++
			return lnd.Accept, nil
		}
	})
	data := fill(700, 1)
	for range limits {
		f.cast(0, 1, data)
	}
	f.await("arrivals", f.ups[1].count(len(limits)))
	for i, limit := range limits {
		if got, want := f.ups[1].at(i).data, data[:min(limit, len(data))]; !bytes.Equal(got, want) {
			t.Errorf("sink of %d bytes: got %d bytes, want %d", limit, len(got), len(want))
		}
	}
}

// testCastReentrant: upcalls may send datagrams; a driver that recurses or holds a lock would
// fail.
func testCastReentrant(t *testing.T, f *casters) {
	rounds := effort.Of(300, 500, 2000)
	var mu sync.Mutex
	left := rounds
	f.join(1, 0, 1)
	for i := range 2 {
		f.ups[i].set(func() {
			f.ups[i].onDelivered = func(*lnd.Delivery) {
				mu.Lock()
				if left == 0 {
					mu.Unlock()
					return
				}
				left--
				m := f.make(i, 1, []byte("pong"))
				mu.Unlock()
				f.nis[i].Multicast(m)
			}
		})
	}
	m := f.make(0, 1, []byte("ping"))
	f.nis[0].Multicast(m)
	f.await("all rounds", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return left == 0
	})
}

// testCastShutdown: an NI that has ended neither sends nor receives.
func testCastShutdown(t *testing.T, f *casters) {
	f.join(1, 0, 1, 2)
	f.cast(1, 1)
	f.wantOnly(0, 1)
	f.shut(0)
	f.cast(1, 1)
	f.wantOnly(2, 1, 2)
	late := f.make(0, 1, []byte("late"))
	f.nis[0].Multicast(late)
	f.await("finalize of a late datagram", f.ups[0].ended(late))
	isErr(t, "late datagram", f.ups[0].result(late), syscall.ESHUTDOWN)
	isErr(t, "late join", f.nis[0].Join(2), syscall.ESHUTDOWN)
	if got := f.numbers(0); len(got) != 1 {
		t.Errorf("an NI that has ended got %v", got)
	}
}
