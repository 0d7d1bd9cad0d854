package service

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ulnet/lnd/lndtest/spec"
)

// numbered duplicates the files to consecutive descriptors, and returns the number of the first one. A
// nil file leaves a gap.
func numbered(t *testing.T, files ...*os.File) (first int) {
	t.Helper()
	const above = 500 // other tests do not open so many files
	for i, f := range files {
		if f == nil {
			continue
		}
		fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, above+i)
		if err != nil || fd != above+i {
			t.Fatalf("descriptor %d, want %d: %v", fd, above+i, err)
		}
		t.Cleanup(func() { _ = unix.Close(fd) }) // an error means that the tested code has closed it already
	}
	return above
}

// isOpen reports whether a descriptor is open.
func isOpen(fd int) bool {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	return err == nil
}

// handed returns the environment of a process that is handed descriptors with names.
func handed(count int, names string) func(string) string {
	return environment(map[string]string{
		"LISTEN_PID": strconv.Itoa(os.Getpid()), "LISTEN_FDS": strconv.Itoa(count), "LISTEN_FDNAMES": names,
	})
}

// fileOf returns the file of a socket.
func fileOf(t *testing.T, c interface{ File() (*os.File, error) }) *os.File {
	t.Helper()
	f, err := c.File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// plain returns the options of listeners for TCP alone: usually Go listens for Multipath TCP, too.
func plain() *net.ListenConfig {
	cfg := new(net.ListenConfig)
	cfg.SetMultipathTCP(false)
	return cfg
}

// listenTCP returns a listener on a port of 127.0.0.1, and its file.
func listenTCP(t *testing.T) (*net.TCPListener, *os.File) {
	t.Helper()
	l, err := plain().Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	tcp := l.(*net.TCPListener)
	return tcp, fileOf(t, tcp)
}

// TestInherit: of the descriptors of a manager only sockets that listen for connections, of TCP or at
// a path, and those of UDP without a peer are taken. Other sockets are closed, and what is not a socket is left alone.
func TestInherit(t *testing.T) {
	spec.Covers(t, "OP-81")
	l, listening := listenTCP(t)
	udp, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	peer, err := net.Dial("udp", udp.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	dialled, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer dialled.Close()
	path := filepath.Join(t.TempDir(), "s")
	local, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	abstract, err := net.ListenUnix("unix", &net.UnixAddr{Name: "@" + path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer abstract.Close()
	unixgram, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path + ".dgram", Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer unixgram.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	files := []*os.File{r, fileOf(t, udp), nil, fileOf(t, dialled.(*net.TCPConn)), fileOf(t, local), listening, listening, fileOf(t, abstract), fileOf(t, peer.(*net.UDPConn)), fileOf(t, unixgram)}
	first := numbered(t, files...)
	in := inherit(handed(len(files), "a:b"), first)
	want := []string{
		"500 \"a\": not a socket", "502 \"\": fstat: bad file descriptor", "503 \"\": does not listen",
		fmt.Sprintf("506 \"\": a second socket of %v", l.Addr()), "507 \"\": a Unix socket without a path",
		"508 \"\": a UDP socket with a peer", "509 \"\": neither a TCP nor a UDP socket, nor a stream at a path",
	}
	for i, err := range in.refused {
		if i >= len(want) || err.Error() != "descriptor "+want[i] {
			t.Errorf("refused: %v", err)
		}
	}
	if len(in.refused) != len(want) || len(in.at) != 3 || in.at[tcpAt(addressOf(l.Addr()))] == nil || in.at[unixAt(path)] == nil || in.at[udpAt(addressOf(udp.LocalAddr()))] == nil {
		t.Errorf("%d refused, inherited %v", len(in.refused), in.at)
	}
	for i := range files {
		if open := isOpen(first + i); open != (i == 0 || i == 1 || i == 4 || i == 5) {
			t.Errorf("descriptor %d is open: %v", first+i, open)
		}
	}
	for _, taken := range in.at {
		if err := taken.file.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestInheritCount: a count that makes no sense, and descriptors of another process, change
// nothing. Programs of this process do not get the variables.
func TestInheritCount(t *testing.T) {
	spec.Covers(t, "OP-81")
	own := strconv.Itoa(os.Getpid())
	_, listening := listenTCP(t)
	first := numbered(t, listening)
	for _, test := range []struct {
		pid, count string
		refused    int
	}{
		{own, "1000000000", 1},
		{own, "1025", 1},
		{own, "-1", 1},
		{own, "", 1},
		{own, "99999999999999999999", 1},
		{own, "0", 0},
		{"1", "1", 0},
		{"", "1", 0},
	} {
		in := inherit(environment(map[string]string{"LISTEN_PID": test.pid, "LISTEN_FDS": test.count}), first)
		if len(in.refused) != test.refused || len(in.at) != 0 || !isOpen(first) {
			t.Errorf("LISTEN_PID=%s LISTEN_FDS=%s: refused %v, inherited %v, open %v", test.pid, test.count, in.refused, in.at, isOpen(first))
		}
	}
	names := []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}
	for _, name := range names {
		t.Setenv(name, "1")
	}
	Inherit(os.Getenv)
	for _, name := range names {
		if value, ok := os.LookupEnv(name); ok {
			t.Errorf("programs get %s=%s", name, value)
		}
	}
}

// TestInheritUnusable: the manager forgets a socket of its store that cannot be used, so that its address
// is free. It forgets no socket of a socket unit, and none that has the same name as a usable socket.
func TestInheritUnusable(t *testing.T) {
	spec.Covers(t, "OP-81")
	abstract, err := net.ListenUnix("unix", &net.UnixAddr{Name: "@" + filepath.Join(t.TempDir(), "s"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer abstract.Close()
	l, listening := listenTCP(t)
	k, name := newKeeper(t), tcpAt(addressOf(l.Addr())).name()
	unusable := fileOf(t, abstract)
	s := k.process(t, "lnetd.socket:"+name+":"+name+":unix-1-2", unusable, listening, listening, unusable)
	if text := k.await(t, ""); text != "FDSTOREREMOVE=1\nFDNAME=unix-1-2" {
		t.Errorf("the first message is %q", text)
	}
	s.manager.Ready("")
	if text := k.await(t, ""); !strings.HasPrefix(text, "READY=1") {
		t.Errorf("the second message is %q", text)
	}
}
