package socklnd

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

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

// TestBusyPollWakesNoThread: messages that a reader finds by polling wake no thread that sleeps
// in a poller. When the reader has stopped polling, a message wakes it.
func TestBusyPollWakesNoThread(t *testing.T) {
	poll := &polling{limit: time.Minute}
	one, toOne := streamPair(t, poll)
	polled := again(t, poll, one, toOne, read(one)) // once polling has found a message, the reader mutes the socket: arriving data wakes no thread
	sleeper := newSleeper(t, one)
	before := sleeper.sleeps(t)
	for range 20 {
		polled = again(t, poll, one, toOne, polled)
	}
	if n := sleeper.sleeps(t) - before; n > 2 {
		t.Errorf("20 messages have woken the poller %d times", n)
	}
	two, toTwo := streamPair(t, poll)
	_, _ = toTwo.Write([]byte{2}) // ends the polling of the first reader
	if !lndtest.Poll(func() bool { return !poll.taken.Load() }) {
		t.Fatal("the reader polls on")
	}
	await(t, read(two), 2)
	_, _ = toOne.Write([]byte{1})
	await(t, polled, 1)
}

// TestBusyPollKeepsData: data that arrives while the reader stops polling is read at once.
func TestBusyPollKeepsData(t *testing.T) {
	for range 200 {
		poll := &polling{limit: 20 * time.Microsecond}
		one, toOne := streamPair(t, poll)
		one.(*rawStream).polls = true
		for range 10 {
			got := read(one)
			_, _ = toOne.Write([]byte{1})
			await(t, got, 1)
		}
	}
}

// sleeper is a thread that sleeps in an epoll instance with a socket, as a thread of the Go
// runtime does.
type sleeper struct{ thread int }

func newSleeper(t *testing.T, s stream) sleeper {
	t.Helper()
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	end, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	add := func(fd uintptr) {
		e := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET&(1<<32-1), Fd: int32(fd)}
		if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, int(fd), &e); err != nil {
			t.Fatal(err)
		}
	}
	add(uintptr(end))
	_ = s.(*rawStream).rc.Control(add)
	begun, ended := make(chan int), make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread() // the thread is never unlocked, so it ends with the goroutine
		begun <- unix.Gettid()
		events := make([]unix.EpollEvent, 1)
		for {
			if n, err := unix.EpollWait(epoll, events, -1); n > 0 && events[0].Fd == int32(end) || err != nil && err != unix.EINTR {
				return
			}
		}
	}()
	w := sleeper{<-begun}
	t.Cleanup(func() {
		_, _ = unix.Write(end, []byte{1, 0, 0, 0, 0, 0, 0, 0})
		<-ended
		unix.Close(epoll)
		unix.Close(end)
	})
	if !lndtest.Poll(func() bool { return w.state(t, "State:") == "S (sleeping)" }) {
		t.Fatal("the thread does not sleep")
	}
	return w
}

// sleeps returns how often the thread has gone to sleep.
func (w sleeper) sleeps(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(w.state(t, "voluntary_ctxt_switches:"))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// state returns a value of the system's state of the thread.
func (w sleeper) state(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/status", w.thread))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name); ok {
			return strings.TrimSpace(value)
		}
	}
	t.Fatalf("no %s in %s", name, text)
	return ""
}

// TestMutedUnread: unread finds the bytes that have arrived on a muted socket, which wakes no thread
// for so few bytes.
func TestMutedUnread(t *testing.T) {
	poll := &polling{limit: time.Minute}
	one, to := streamPair(t, poll)
	got := read(one)
	if !lndtest.Poll(poll.taken.Load) {
		t.Fatal("no reader polls")
	}
	got = again(t, poll, one, to, got)
	_, _ = to.Write([]byte{1})
	await(t, got, 1)
	if !one.(*rawStream).muted {
		t.Fatal("the socket wakes threads")
	}
	if one.unread() {
		t.Error("bytes lie unread before some were sent")
	}
	_, _ = to.Write(make([]byte, 1000))
	if !lndtest.Poll(one.unread) {
		t.Error("1000 bytes lie unread and are not found")
	}
}
