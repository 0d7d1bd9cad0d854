package socklnd

import (
	"net"
	"testing"
	"time"

	"ulnet/lnd/lndtest"
)

// streamPair returns a stream and the other end of its connection.
func streamPair(t *testing.T, poll *polling) (stream, net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	b, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); b.Close() })
	return newStream(a, poll), b
}

// read reads in a goroutine and returns a channel for the result.
func read(s stream) <-chan byte {
	got := make(chan byte, 1)
	go func() {
		small := make([]byte, 8)
		if _, n, err := s.readIdle(small, len(small)); err != nil || n != 1 {
			small[0] = 0
		}
		got <- small[0]
	}()
	return got
}

func await(t *testing.T, got <-chan byte, want byte) {
	t.Helper()
	select {
	case b := <-got:
		if b != want {
			t.Errorf("read %d, want %d", b, want)
		}
	case <-time.After(60 * time.Second):
		t.Fatal("nothing was read")
	}
}

// TestBusyPoll: a reader that finds no data polls, and a second reader waits without polling. When
// data arrives for the second reader, the first stops polling, so that the second gets the CPU.
func TestBusyPoll(t *testing.T) {
	poll := &polling{limit: time.Minute}
	one, toOne := streamPair(t, poll)
	first := read(one)
	if !lndtest.Poll(poll.taken.Load) {
		t.Fatal("the first reader does not look again")
	}
	two, toTwo := streamPair(t, poll)
	second := read(two)
	_, _ = toTwo.Write([]byte{2})
	// the first reader, which polls, may see this data before the second reader does; the second must
	// get it in any case
	await(t, second, 2)
	third, toThree := streamPair(t, poll)
	first = again(t, poll, one, toOne, first)
	// no goroutine reads this connection yet, as if its reader were busy elsewhere
	_, _ = toThree.Write([]byte{3})
	if !lndtest.Poll(func() bool { return !poll.taken.Load() }) {
		t.Error("the first reader does not see that another one has to be run")
	}
	await(t, read(third), 3)
	_, _ = toOne.Write([]byte{1})
	await(t, first, 1)
	if poll.taken.Load() {
		t.Error("the place is still taken after the read")
	}
}

// again makes a reader read a byte, and then poll.
func again(t *testing.T, poll *polling, s stream, to net.Conn, before <-chan byte) <-chan byte {
	t.Helper()
	_, _ = to.Write([]byte{1})
	await(t, before, 1)
	next := read(s)
	if !lndtest.Poll(poll.taken.Load) {
		t.Error("the reader does not look again after it has read")
	}
	return next
}

// TestBusyPollEnds: after the limit a reader waits, and reads what comes.
func TestBusyPollEnds(t *testing.T) {
	poll := &polling{limit: time.Nanosecond}
	one, toOne := streamPair(t, poll)
	first := read(one)
	_, _ = toOne.Write([]byte{1})
	await(t, first, 1)
	if !lndtest.Poll(func() bool { return poll.begin() }) {
		t.Error("the place is not given back")
	}
	if (&polling{}).begin() {
		t.Error("who shall not look again does")
	}
}

// TestBusyPollReadsOnNews: a reader that polls reads once at first, because another reader may have taken the news that data
// has arrived, and then only when there is news.
func TestBusyPollReadsOnNews(t *testing.T) {
	poll := &polling{limit: time.Millisecond}
	one, toOne := streamPair(t, poll)
	// spin polls until the read of the given number finds something, or the limit is over; never says that none does.
	const never = -1
	spin := func(finds int) (reads int) {
		_ = one.(*rawStream).rc.Control(func(fd uintptr) {
			poll.spin(fd, func(uintptr) bool { reads++; return reads == finds })
		})
		return reads
	}
	if n := spin(never); n > 2 { // the socket can also be written to, which may be news when it is added
		t.Errorf("%d reads without news", n)
	}
	_, _ = toOne.Write([]byte{1})
	if !lndtest.Poll(func() bool { _, other := poll.pollSet.look(0); return other }) {
		t.Fatal("no news of the data")
	}
	if n := spin(1); n != 1 {
		t.Errorf("%d reads although another reader has taken the news", n)
	}
	poll.pollSet.add(1 << 30) // no socket, so the system does not add it
	poll.limit = time.Minute
	if n := spin(5); n != 5 {
		t.Errorf("%d reads although the news may be incomplete", n)
	}
}

// TestBusyPollKeepsData: data that arrives while the reader stops polling is read at once.
func TestBusyPollKeepsData(t *testing.T) {
	for range 200 {
		poll := &polling{limit: 20 * time.Microsecond}
		one, toOne := streamPair(t, poll)
		for range 10 {
			got := read(one)
			_, _ = toOne.Write([]byte{1})
			await(t, got, 1)
		}
	}
}
