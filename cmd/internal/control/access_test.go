package control_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"ulnet/cmd/internal/cli"
	. "ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
)

func TestPolicy(t *testing.T) {
	for _, test := range []struct {
		name   string
		uid    uint32
		groups []uint32
		want   Access
	}{
		{"owner", 10, []uint32{99}, AccessWrite},
		{"root", 0, []uint32{0}, AccessWrite},
		{"member by primary group", 11, []uint32{20}, AccessRead},
		{"member by another group", 11, []uint32{5, 20, 6}, AccessRead},
		{"stranger", 11, []uint32{10, 21}, AccessNone},
		{"stranger without groups", 20, nil, AccessNone},
	} {
		if got := AccessOf(10, 20, test.uid, test.groups); got != test.want {
			t.Errorf("%s: access %d, want %d", test.name, got, test.want)
		}
	}
}

func TestPeerCredentials(t *testing.T) {
	d := serve(t, Config{Routes: (&fakeNode{}).routes()})
	c := d.dial(t).(*net.UnixConn)
	uid, is, err := PeerCredentials(c) // the process at the other end of the connection is this process, too
	if err != nil {
		t.Fatal(err)
	}
	groups, err := os.Getgroups()
	if err != nil {
		t.Fatal(err)
	}
	if int(uid) != os.Getuid() || !slices.Contains(is, uint32(os.Getgid())) || len(is) != len(groups)+1 {
		t.Errorf("credentials %d, %v of uid %d, gid %d, groups %v", uid, is, os.Getuid(), os.Getgid(), groups)
	}
}

// TestAccessOverTheSocket: what a client may do depends on the owner and the group that the socket has when the client
// connects, also if these have changed since the server began.
func TestAccessOverTheSocket(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can connect as others")
	}
	const owner, group, stranger = 4001, 4002, 4003
	path := filepath.Join(t.TempDir(), "s")
	socket, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	routes := allRoutes()
	var writes []string
	for i, r := range routes {
		if r.Path == node.OpStatus.Path {
			routes[i] = node.OpStatus.Do(Told((&fakeNode{}).Status))
		}
		if r.Method == http.MethodPost {
			writes = append(writes, post(r.Path, ""))
		}
	}
	if len(writes) < 30 {
		t.Fatalf("only %d commands", len(writes))
	}
	serveSocket(t, Config{Routes: routes}, path, socket)
	read := "GET /v1/status HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
	talk(t, connectAs(t, path, 0, 0, nil), read) // after its answer the server has begun
	if err := os.Chown(path, owner, group); err != nil {
		t.Fatal(err)
	}
	openPath(t, path)
	for _, test := range []struct {
		name        string
		uid, gid    int
		groups      []int
		read, write int // wanted HTTP status of a question, and of a command
	}{
		{"root", 0, 0, nil, 200, 400},
		{"owner", owner, stranger, nil, 200, 400},
		{"member", stranger, group, nil, 200, 403},
		{"member by another group", stranger, stranger, []int{1, group}, 200, 403},
		{"stranger", stranger, stranger, nil, 403, 403},
	} {
		t.Run(test.name, func(t *testing.T) {
			wants := map[string]int{read: test.read, strings.Replace(read, "/v1/status", OpReport.Path, 1): test.read}
			for _, write := range writes {
				wants[write] = test.write
			}
			for raw, want := range wants {
				answer := talk(t, connectAs(t, path, test.uid, test.gid, test.groups), raw)
				if !strings.HasPrefix(answer, fmt.Sprintf("HTTP/1.1 %d ", want)) {
					t.Errorf("%.30q: answer %.200q, want %d", raw, answer, want)
				}
			}
		})
	}
}

// TestAccessOfAnotherFile: if another file takes the place of the socket, for example one of a user who may write
// to the directory, the owner and group of that file do not decide what clients may do.
func TestAccessOfAnotherFile(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can connect as others")
	}
	const stranger = 4003
	d := serve(t, Config{Routes: (&fakeNode{}).routes()})
	read := "GET /v1/status HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
	talk(t, connectAs(t, d.path, 0, 0, nil), read) // after its answer the server has begun
	openPath(t, d.path)
	moved := d.path + ".moved"
	if err := os.Rename(d.path, moved); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(d.path, stranger, stranger); err != nil {
		t.Fatal(err)
	}
	answer := talk(t, connectAs(t, moved, stranger, stranger, nil), read)
	if !strings.HasPrefix(answer, "HTTP/1.1 403 ") {
		t.Errorf("answer %.200q, want 403", answer)
	}
}

// openPath makes the socket accessible to every user, so that the server has to check the
// credentials.
func openPath(t *testing.T, path string) {
	t.Helper()
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	for dir := filepath.Dir(path); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// connectAs connects from a thread that has other credentials.
func connectAs(t *testing.T, path string, uid, gid int, groups []int) net.Conn {
	t.Helper()
	type result struct {
		fd  int
		err error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // never unlocked, so that the thread ends with the goroutine
		fd, err := connectThread(path, uid, gid, groups)
		done <- result{fd, err}
	}()
	r := <-done
	if r.err != nil {
		t.Fatal(r.err)
	}
	f := os.NewFile(uintptr(r.fd), path)
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// connectThread changes the credentials of this thread alone, with raw system
// calls, and connects.
func connectThread(path string, uid, gid int, groups []int) (int, error) {
	ids := make([]uint32, len(groups)+1) // one element longer than needed, so that the first element has an address even if there are no groups
	for i, g := range groups {
		ids[i] = uint32(g)
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(unsafe.Pointer(&ids[0])), 0); errno != 0 {
		return -1, fmt.Errorf("setgroups: %w", errno)
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESGID, uintptr(gid), uintptr(gid), uintptr(gid)); errno != 0 {
		return -1, fmt.Errorf("setresgid: %w", errno)
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)); errno != 0 {
		return -1, fmt.Errorf("setresuid: %w", errno)
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	return fd, unix.Connect(fd, &unix.SockaddrUnix{Name: path})
}

func TestClientWithoutDaemon(t *testing.T) {
	_, err := node.OpStatus.Call(t.Context(), NewClient(t.TempDir()+"/s"), None{})
	if err == nil || !strings.HasPrefix(err.Error(), "no daemon at ") || cli.HintOf(err) != "is lnetd running? see --socket" {
		t.Errorf("error %v, hint %q", err, cli.HintOf(err))
	}
}

// TestLongPath: a tool says what is wrong with a socket path that no daemon can have.
func TestLongPath(t *testing.T) {
	_, err := node.OpStatus.Call(t.Context(), NewClient("/"+strings.Repeat("x", 107)), None{})
	if err == nil || !strings.Contains(err.Error(), "path longer than 107 bytes") || cli.HintOf(err) != "see --socket" {
		t.Error(err, cli.HintOf(err))
	}
}
