//go:build ibverbs && cgo && linux

package ibv

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// The tests whose names begin with TestOnFake run in a process of their own, which loads the
// libraries of testdata/fake before the real ones. The fake libraries simulate an RDMA device in
// memory. The device checks what is freed and when, and fails where a test tells it to.

const fakeEnv = "ULNET_IBV_FAKE"

// fakeState is the Go form of struct state in fake.h.
type fakeState struct {
	failAt, hold, noFlush, refuseAt, noDereg int64
	calls, posts                             int64
	live                                     [9]int64
	mistakes                                 int64
	mistake                                  [256]byte
}

// TestFake runs the tests on the fake libraries.
func TestFake(t *testing.T) {
	if os.Getenv(fakeEnv) != "" {
		t.Skip("these are those tests")
	}
	dir := t.TempDir()
	sources, err := filepath.Glob("testdata/fake/*.c")
	if err != nil || len(sources) == 0 {
		t.Fatal("no sources of the fake", err)
	}
	lib, file := filepath.Join(dir, "fake.so"), filepath.Join(dir, "state")
	args := append([]string{"-Wall", "-Wextra", "-Werror", "-g", "-O1", "-fPIC", "-shared", "-o", lib}, sources...)
	if out, err := exec.CommandContext(t.Context(), "gcc", append(args, "-lpthread")...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	if err := os.WriteFile(file, make([]byte, unsafe.Sizeof(fakeState{})), 0o600); err != nil {
		t.Fatal(err)
	}
	args = []string{"-test.run=^TestOnFake", "-test.v", "-test.timeout=5m"}
	for _, name := range []string{"test.short", "test.shuffle"} {
		args = append(args, "-"+name+"="+flag.Lookup(name).Value.String())
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	// malloc overwrites what is freed, so that a use after free shows.
	cmd.Env = append(os.Environ(), "LD_PRELOAD="+lib, fakeEnv+"="+file, "MALLOC_PERTURB_=165")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v", err)
	}
	t.Logf("%s", out)
}

// fake gives a test the state of the fake. At the end of the test it checks that nothing is
// left and that no mistake was made.
func fake(t *testing.T) *fakeState {
	t.Helper()
	path := os.Getenv(fakeEnv)
	if path == "" {
		t.Skip("run by TestFake")
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size := int(unsafe.Sizeof(fakeState{}))
	b, err := syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	s := (*fakeState)(unsafe.Pointer(&b[0]))
	*s = fakeState{}
	t.Cleanup(func() { s.clean(t); _ = syscall.Munmap(b) })
	return s
}

// clean reports objects that were not freed, and mistakes in the use of the libraries.
func (s *fakeState) clean(t *testing.T) {
	t.Helper()
	names := [...]string{"event channels", "cm ids", "PDs", "MRs", "SRQs", "completion channels", "CQs", "QPs", "AHs"}
	for i, name := range names {
		if n := atomic.LoadInt64(&s.live[i]); n != 0 {
			t.Errorf("%d %s are left", n, name)
			s.live[i] = 0
		}
	}
	if n := atomic.LoadInt64(&s.mistakes); n != 0 {
		t.Errorf("%d mistakes, the first: %s", n, unsafe.String(&s.mistake[0], cLen(s.mistake[:])))
	}
}

func cLen(b []byte) int {
	for i, c := range b {
		if c == 0 {
			return i
		}
	}
	return len(b)
}

func (s *fakeState) set(field *int64, n int64) { atomic.StoreInt64(field, n) }

// within waits for a value, and fails the test if none comes.
func within[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(time.Minute):
		t.Fatalf("nothing within 20 s: %s", what)
		panic("not reached")
	}
}
