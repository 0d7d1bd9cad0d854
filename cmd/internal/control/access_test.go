package control

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"ulnet/cmd/internal/cli"
)

func TestPolicy(t *testing.T) {
	p := policy{owner: 10, group: 20}
	for _, test := range []struct {
		name string
		who  credentials
		want access
	}{
		{"owner", credentials{uid: 10, groups: []uint32{99}}, accessWrite},
		{"root", credentials{uid: 0, groups: []uint32{0}}, accessWrite},
		{"member by primary group", credentials{uid: 11, groups: []uint32{20}}, accessRead},
		{"member by another group", credentials{uid: 11, groups: []uint32{5, 20, 6}}, accessRead},
		{"stranger", credentials{uid: 11, groups: []uint32{10, 21}}, accessNone},
		{"stranger without groups", credentials{uid: 20}, accessNone},
	} {
		if got := p.of(test.who); got != test.want {
			t.Errorf("%s: access %d, want %d", test.name, got, test.want)
		}
	}
}

func TestPeerCredentials(t *testing.T) {
	d := serve(t, Config{Node: &fakeNode{}})
	c := d.dial(t).(*net.UnixConn)
	got, err := peerCredentials(c) // the listener's: this process
	if err != nil {
		t.Fatal(err)
	}
	groups, err := os.Getgroups()
	if err != nil {
		t.Fatal(err)
	}
	if int(got.uid) != os.Getuid() || !slices.Contains(got.groups, uint32(os.Getgid())) || len(got.groups) != len(groups)+1 {
		t.Errorf("credentials %+v of uid %d, gid %d, groups %v", got, os.Getuid(), os.Getgid(), groups)
	}
}

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
	if err := os.Chown(path, owner, group); err != nil {
		t.Fatal(err)
	}
	openPath(t, path)
	serveSocket(t, Config{Node: &fakeNode{}}, path, socket)
	read := "GET /v1/status HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
	writes := []string{
		post("/v1/ping", ""), post("/v1/fault/add", ""), post("/v1/fault/end", ""), post("/v1/fault/fail", ""),
		post("/v1/scoll/broadcast", ""), post("/v1/scoll/bench", ""), post("/v1/scoll/group/create", ""), post("/v1/scoll/group/destroy", ""),
	}
	for _, test := range []struct {
		name        string
		uid, gid    int
		groups      []int
		read, write int // status of HTTP
	}{
		{"root", 0, 0, nil, 200, 400},
		{"owner", owner, stranger, nil, 200, 400},
		{"member", stranger, group, nil, 200, 403},
		{"member by another group", stranger, stranger, []int{1, group}, 200, 403},
		{"stranger", stranger, stranger, nil, 403, 403},
	} {
		t.Run(test.name, func(t *testing.T) {
			wants := map[string]int{read: test.read}
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

// openPath lets everybody reach the socket, so that its server has to decide.
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

// connectAs connects from a thread with other credentials.
func connectAs(t *testing.T, path string, uid, gid int, groups []int) net.Conn {
	t.Helper()
	type result struct {
		fd  int
		err error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // and never unlock: the thread ends with the goroutine
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
	ids := make([]uint32, len(groups)+1) // not empty: it has an address
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
	_, err := NewClient(t.TempDir() + "/s").Status(t.Context())
	if err == nil || !strings.HasPrefix(err.Error(), "no daemon at ") || cli.HintOf(err) != "is lnetd running? see --socket" {
		t.Errorf("error %v, hint %q", err, cli.HintOf(err))
	}
}
